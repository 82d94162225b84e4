//! Words that other languages write for what CEL writes otherwise, so that a mistake by habit is told as that.

/// The operator of CEL that a word stands for elsewhere.
pub(crate) fn operator(word: &str) -> Option<&'static str> {
    match word {
        "and" | "AND" => Some("&&"),
        "or" | "OR" => Some("||"),
        "not" | "NOT" => Some("!"),
        "is" | "eq" => Some("=="),
        _ => None,
    }
}

/// The literal of CEL that a word stands for elsewhere.
pub(crate) fn literal(word: &str) -> Option<&'static str> {
    match word {
        "True" | "TRUE" => Some("true"),
        "False" | "FALSE" => Some("false"),
        "None" | "Null" | "NULL" | "nil" | "undefined" => Some("null"),
        _ => None,
    }
}
