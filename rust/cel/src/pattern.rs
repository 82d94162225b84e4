//! Regular expressions, bounded in size so that matching is bounded too.
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

use regex::{Regex, RegexBuilder};

/// How many patterns are remembered; past it all are forgotten.
const MOST_KNOWN: usize = 128;

/// Patterns that were compiled, by text and size. One policy is compiled several times over: by itself, with each of its
/// tests, by the self-test; and its patterns are most of what that takes.
static KNOWN: LazyLock<Mutex<HashMap<(String, usize), Regex>>> = LazyLock::new(Mutex::default);

/// The compiled pattern, or what is wrong with it in one line.
pub(crate) fn compile(pattern: &str, size: usize) -> Result<Regex, String> {
    let built =
        RegexBuilder::new(pattern).size_limit(size).dfa_size_limit(size.saturating_mul(4)).nest_limit(32).build();
    built.map_err(|error| match error {
        regex::Error::CompiledTooBig(limit) => format!("this pattern needs more than {limit} bytes"),
        error => {
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default().trim();
            format!("this pattern cannot be read: {}", last.strip_prefix("error: ").unwrap_or(last))
        }
    })
}

/// The same for a pattern that a policy writes, which is remembered.
pub(crate) fn compile_written(pattern: &str, size: usize) -> Result<Regex, String> {
    let key = (pattern.to_owned(), size);
    let Ok(mut known) = KNOWN.lock() else { return compile(pattern, size) };
    if let Some(regex) = known.get(&key) {
        return Ok(regex.clone());
    }
    let regex = compile(pattern, size)?;
    if known.len() >= MOST_KNOWN {
        known.clear();
    }
    known.insert(key, regex.clone());
    Ok(regex)
}

/// A pattern of a checked expression, for whoever reasons about it; None where it is none that a policy may write.
#[must_use]
pub fn written_pattern(pattern: &str) -> Option<Regex> {
    compile_written(pattern, crate::Limits::default().pattern).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_pattern_is_the_same_each_time_and_bounded_each_time() {
        for _ in 0..2 {
            assert!(compile_written("^a+$", 1 << 20).is_ok_and(|regex| regex.is_match("aa") && !regex.is_match("ab")));
            assert_eq!(compile_written("^a+$", 8).err().as_deref(), Some("this pattern needs more than 8 bytes"));
            assert!(compile_written("(", 1 << 20).is_err());
        }
    }

    #[test]
    fn no_more_patterns_are_remembered_than_there_is_room_for() {
        for at in 0..2 * MOST_KNOWN {
            assert!(compile_written(&format!("^{at}$"), 1 << 20).is_ok());
        }
        assert!(KNOWN.lock().is_ok_and(|known| known.len() <= MOST_KNOWN));
    }
}
