//! Numbers with what they count, as people and models read them: `1 call`, `3 calls`, `once`.
use std::fmt::Display;

/// A number with its noun, which takes an `s` where there is another number than one.
pub(crate) fn counted(number: impl Display, noun: &str) -> String {
    let number = number.to_string();
    if number == "1" {
        return format!("1 {noun}");
    }
    format!("{number} {noun}s")
}

/// How often: `once`, `3 times`.
pub(crate) fn times(number: impl Display) -> String {
    let number = number.to_string();
    if number == "1" {
        return "once".to_owned();
    }
    format!("{number} times")
}

#[cfg(test)]
mod tests {
    use super::{counted, times};

    #[test]
    fn one_is_said_otherwise_than_none_and_several() {
        assert_eq!([0, 1, 2, 11].map(|number| counted(number, "call")), ["0 calls", "1 call", "2 calls", "11 calls"]);
        assert_eq!([0, 1, 2, 11].map(times), ["0 times", "once", "2 times", "11 times"]);
    }
}
