//! Regular expressions, bounded in size so that matching is bounded too.
use regex::{Regex, RegexBuilder};

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
