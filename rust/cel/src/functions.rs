//! The functions of the language and of its extensions, with their signatures.
use crate::signature::{parse_signature, Overload};
use std::collections::HashMap;
use std::sync::LazyLock;

macro_rules! functions {
    ($($func:ident $name:literal [$($signature:literal),+ $(,)?];)+) => {
        /// A function, without regard to the types it is called with.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum Func { $($func),+ }

        impl Func {
            /// Its name as authors write it.
            pub fn name(self) -> &'static str {
                match self { $(Self::$func => $name),+ }
            }
        }

        const TABLE: &[(Func, &str, &[&str])] = &[$((Func::$func, $name, &[$($signature),+])),+];
    };
}

functions! {
    Size "size" ["(string) -> int", "(bytes) -> int", "(list(A)) -> int", "(map(A, B)) -> int",
        "string.() -> int", "bytes.() -> int", "list(A).() -> int", "map(A, B).() -> int"];
    Contains "contains" ["string.(string) -> bool"];
    StartsWith "startsWith" ["string.(string) -> bool"];
    EndsWith "endsWith" ["string.(string) -> bool"];
    Matches "matches" ["string.(string) -> bool", "(string, string) -> bool"];
    TypeOf "type" ["(A) -> type"];
    ToDyn "dyn" ["(A) -> dyn"];
    ToInt "int" ["(int) -> int", "(uint) -> int", "(double) -> int", "(number) -> int", "(string) -> int", "(timestamp) -> int"];
    ToUint "uint" ["(uint) -> uint", "(int) -> uint", "(double) -> uint", "(number) -> uint", "(string) -> uint"];
    ToDouble "double" ["(double) -> double", "(int) -> double", "(uint) -> double", "(number) -> double", "(string) -> double"];
    ToString "string" ["(string) -> string", "(bool) -> string", "(int) -> string", "(uint) -> string", "(double) -> string",
        "(number) -> string", "(bytes) -> string", "(timestamp) -> string", "(duration) -> string", "(ip) -> string", "(cidr) -> string"];
    ToBytes "bytes" ["(bytes) -> bytes", "(string) -> bytes"];
    ToBool "bool" ["(bool) -> bool", "(string) -> bool"];
    ToTimestamp "timestamp" ["(timestamp) -> timestamp", "(string) -> timestamp", "(int) -> timestamp"];
    ToDuration "duration" ["(duration) -> duration", "(string) -> duration"];
    GetFullYear "getFullYear" ["timestamp.() -> int", "timestamp.(string) -> int"];
    GetMonth "getMonth" ["timestamp.() -> int", "timestamp.(string) -> int"];
    GetDate "getDate" ["timestamp.() -> int", "timestamp.(string) -> int"];
    GetDayOfMonth "getDayOfMonth" ["timestamp.() -> int", "timestamp.(string) -> int"];
    GetDayOfWeek "getDayOfWeek" ["timestamp.() -> int", "timestamp.(string) -> int"];
    GetDayOfYear "getDayOfYear" ["timestamp.() -> int", "timestamp.(string) -> int"];
    GetHours "getHours" ["timestamp.() -> int", "timestamp.(string) -> int", "duration.() -> int"];
    GetMinutes "getMinutes" ["timestamp.() -> int", "timestamp.(string) -> int", "duration.() -> int"];
    GetSeconds "getSeconds" ["timestamp.() -> int", "timestamp.(string) -> int", "duration.() -> int"];
    GetMilliseconds "getMilliseconds" ["timestamp.() -> int", "timestamp.(string) -> int", "duration.() -> int"];
    CharAt "charAt" ["string.(int) -> string"];
    IndexOf "indexOf" ["string.(string) -> int", "string.(string, int) -> int"];
    LastIndexOf "lastIndexOf" ["string.(string) -> int", "string.(string, int) -> int"];
    LowerAscii "lowerAscii" ["string.() -> string"];
    UpperAscii "upperAscii" ["string.() -> string"];
    Replace "replace" ["string.(string, string) -> string", "string.(string, string, int) -> string"];
    Split "split" ["string.(string) -> list(string)", "string.(string, int) -> list(string)"];
    Substring "substring" ["string.(int) -> string", "string.(int, int) -> string"];
    Trim "trim" ["string.() -> string"];
    Join "join" ["list(string).() -> string", "list(string).(string) -> string"];
    Reverse "reverse" ["string.() -> string", "list(A).() -> list(A)"];
    Quote "strings.quote" ["(string) -> string"];
    Format "format" ["string.(list(A)) -> string"];
    Greatest "math.greatest" ["(list(N)) -> N", "(N, N...) -> N"];
    Least "math.least" ["(list(N)) -> N", "(N, N...) -> N"];
    Ceil "math.ceil" ["(double) -> double"];
    Floor "math.floor" ["(double) -> double"];
    Round "math.round" ["(double) -> double"];
    Trunc "math.trunc" ["(double) -> double"];
    Abs "math.abs" ["(N) -> N"];
    Sign "math.sign" ["(N) -> N"];
    Sqrt "math.sqrt" ["(N) -> double"];
    IsNan "math.isNaN" ["(double) -> bool"];
    IsInf "math.isInf" ["(double) -> bool"];
    IsFinite "math.isFinite" ["(double) -> bool"];
    BitAnd "math.bitAnd" ["(int, int) -> int", "(uint, uint) -> uint"];
    BitOr "math.bitOr" ["(int, int) -> int", "(uint, uint) -> uint"];
    BitXor "math.bitXor" ["(int, int) -> int", "(uint, uint) -> uint"];
    BitNot "math.bitNot" ["(int) -> int", "(uint) -> uint"];
    BitShiftLeft "math.bitShiftLeft" ["(int, int) -> int", "(uint, int) -> uint"];
    BitShiftRight "math.bitShiftRight" ["(int, int) -> int", "(uint, int) -> uint"];
    Slice "slice" ["list(A).(int, int) -> list(A)"];
    Flatten "flatten" ["list(A).() -> list(dyn)", "list(A).(int) -> list(dyn)"];
    Distinct "distinct" ["list(A).() -> list(A)"];
    Sort "sort" ["list(A).() -> list(A)"];
    First "first" ["list(A).() -> optional(A)"];
    Last "last" ["list(A).() -> optional(A)"];
    Range "lists.range" ["(int) -> list(int)"];
    SetsContains "sets.contains" ["(list(A), list(B)) -> bool"];
    SetsEquivalent "sets.equivalent" ["(list(A), list(B)) -> bool"];
    SetsIntersects "sets.intersects" ["(list(A), list(B)) -> bool"];
    Encode "base64.encode" ["(bytes) -> string"];
    Decode "base64.decode" ["(string) -> bytes"];
    ToIp "ip" ["(string) -> ip", "cidr.() -> ip"];
    ToCidr "cidr" ["(string) -> cidr"];
    IsIp "isIP" ["(string) -> bool"];
    IsCidr "isCIDR" ["(string) -> bool"];
    IsCanonical "ip.isCanonical" ["(string) -> bool"];
    Family "family" ["ip.() -> int"];
    IsUnspecified "isUnspecified" ["ip.() -> bool"];
    IsLoopback "isLoopback" ["ip.() -> bool"];
    IsGlobalUnicast "isGlobalUnicast" ["ip.() -> bool"];
    IsLinkLocalUnicast "isLinkLocalUnicast" ["ip.() -> bool"];
    IsLinkLocalMulticast "isLinkLocalMulticast" ["ip.() -> bool"];
    ContainsIp "containsIP" ["cidr.(ip) -> bool", "cidr.(string) -> bool"];
    ContainsCidr "containsCIDR" ["cidr.(cidr) -> bool", "cidr.(string) -> bool"];
    Masked "masked" ["cidr.() -> cidr"];
    PrefixLength "prefixLength" ["cidr.() -> int"];
    OptionalOf "optional.of" ["(A) -> optional(A)"];
    OptionalNone "optional.none" ["() -> optional(dyn)"];
    OptionalOfNonZero "optional.ofNonZeroValue" ["(A) -> optional(A)"];
    OptionalUnwrap "optional.unwrap" ["(list(optional(A))) -> list(A)"];
    HasValue "hasValue" ["optional(A).() -> bool"];
    GetValue "value" ["optional(A).() -> A"];
    Or "or" ["optional(A).(optional(A)) -> optional(A)"];
    OrValue "orValue" ["optional(A).(A) -> A"];
    UnwrapOpt "unwrapOpt" ["list(optional(A)).() -> list(A)"];
}

/// The overloads of a name.
pub(crate) struct Builtin {
    pub func: Func,
    pub overloads: Vec<Overload>,
}

static BUILTINS: LazyLock<HashMap<&'static str, Builtin>> = LazyLock::new(|| {
    let builtin = |(func, name, signatures): &(Func, &'static str, &[&str])| {
        let overloads = signatures.iter().filter_map(|signature| parse_signature(signature)).collect();
        (*name, Builtin { func: *func, overloads })
    };
    TABLE.iter().map(builtin).collect()
});

/// The function of that name.
pub(crate) fn builtin(name: &str) -> Option<&'static Builtin> {
    BUILTINS.get(name)
}

/// All names, for "did you mean".
pub(crate) fn names<'n>() -> impl Iterator<Item = &'n str> {
    TABLE.iter().map(|(_, name, _)| *name)
}

/// Whether one of the overloads stands behind a value, or before its arguments.
pub(crate) fn has_style(overloads: &[Overload], member: bool) -> bool {
    overloads.iter().any(|overload| overload.member == member)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signature_of_the_table_can_be_read() {
        for (_, name, signatures) in TABLE {
            for signature in *signatures {
                assert!(parse_signature(signature).is_some(), "{name}: {signature}");
            }
        }
    }

    #[test]
    fn every_function_has_a_case() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/conformance/cel");
        let files =
            std::fs::read_dir(folder).unwrap().map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
        let cases: String = files.collect();
        let missing: Vec<&str> = names().filter(|name| !cases.contains(&format!("{name}("))).collect();
        assert_eq!(missing, Vec::<&str>::new());
    }

    #[test]
    fn no_name_stands_twice_in_the_table() {
        assert_eq!(BUILTINS.len(), TABLE.len());
    }
}
