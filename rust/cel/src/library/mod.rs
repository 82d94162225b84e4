//! The functions of the language and its extensions, over evaluated arguments.
pub(crate) mod convert;
pub(crate) mod encoding;
pub(crate) mod format;
pub(crate) mod lists;
pub(crate) mod math;
pub(crate) mod network;
pub(crate) mod optional;
pub(crate) mod strings;

use crate::error::Fault;
use crate::eval::{no_overload, Out};
use crate::functions::Func;
use crate::val::Val;
use crate::{time, Fuel};

/// What a function may give: nothing if it does not take these types.
pub(crate) type Found<'a> = Result<Option<Val<'a>>, Fault>;

/// Calls `func`; a value before the dot is the first argument.
pub(crate) fn call<'a>(func: Func, args: &[Val<'a>], fuel: &mut Fuel) -> Out<'a> {
    let found = match func {
        Func::Size
        | Func::Contains
        | Func::StartsWith
        | Func::EndsWith
        | Func::CharAt
        | Func::IndexOf
        | Func::LastIndexOf
        | Func::LowerAscii
        | Func::UpperAscii
        | Func::Replace
        | Func::Split
        | Func::Substring
        | Func::Trim
        | Func::Join
        | Func::Quote
        | Func::Matches => strings::call(func, args, fuel)?,
        Func::Reverse => match args {
            [Val::Str(_)] => strings::call(func, args, fuel)?,
            _ => lists::call(func, args, fuel)?,
        },
        Func::Format => format::call(args, fuel)?,
        Func::TypeOf
        | Func::ToDyn
        | Func::ToInt
        | Func::ToUint
        | Func::ToDouble
        | Func::ToString
        | Func::ToBytes
        | Func::ToBool
        | Func::ToTimestamp
        | Func::ToDuration => convert::call(func, args, fuel)?,
        Func::GetFullYear
        | Func::GetMonth
        | Func::GetDate
        | Func::GetDayOfMonth
        | Func::GetDayOfWeek
        | Func::GetDayOfYear
        | Func::GetHours
        | Func::GetMinutes
        | Func::GetSeconds
        | Func::GetMilliseconds => match args {
            [Val::Timestamp(at)] => time::part(func, *at, None)?,
            [Val::Timestamp(at), Val::Str(zone)] => {
                // a look-up in the database and a search among its transitions
                fuel.burn(20)?;
                time::part(func, *at, Some(zone))?
            }
            [Val::Duration(nanos)] => time::duration_part(func, *nanos),
            _ => None,
        },
        Func::Slice
        | Func::Flatten
        | Func::Distinct
        | Func::Sort
        | Func::First
        | Func::Last
        | Func::Range
        | Func::SetsContains
        | Func::SetsEquivalent
        | Func::SetsIntersects => lists::call(func, args, fuel)?,
        Func::ToIp
        | Func::ToCidr
        | Func::IsIp
        | Func::IsCidr
        | Func::IsCanonical
        | Func::Family
        | Func::IsUnspecified
        | Func::IsLoopback
        | Func::IsGlobalUnicast
        | Func::IsLinkLocalUnicast
        | Func::IsLinkLocalMulticast
        | Func::ContainsIp
        | Func::ContainsCidr
        | Func::Masked
        | Func::PrefixLength => network::call(func, args)?,
        Func::Encode | Func::Decode => encoding::call(func, args, fuel)?,
        Func::OptionalOf
        | Func::OptionalNone
        | Func::OptionalOfNonZero
        | Func::OptionalUnwrap
        | Func::UnwrapOpt
        | Func::HasValue
        | Func::GetValue
        | Func::Or
        | Func::OrValue => optional::call(func, args, fuel)?,
        _ => math::call(func, args, fuel)?,
    };
    found.ok_or_else(|| no_overload(func.name(), &args.iter().collect::<Vec<_>>()))
}
