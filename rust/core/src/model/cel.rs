//! CEL expressions as the model carries them: text that is compiled later, and the plain field paths among it.
use callgate_value::Value;
use serde_json::json;

use super::codes;
use super::reader::{Model, Reader};
use super::schema::Defs;
use super::texts::{read_text, text};

/// The longest source that an expression may have, in bytes.
pub const LONGEST: usize = 8 * 1024;

text! {
    /// A CEL expression. A plain field path such as `result.items` is one.
    Cel, "text: a CEL expression",
    json!({"type": "string", "pattern": r"\S", "maxLength": LONGEST}),
    |text, _, reader| {
        if text.trim().is_empty() {
            let fault = reader.fault(codes::OUT_OF_RANGE, "an expression must not be empty");
            return Some(fault.hint("leave the key out instead"));
        }
        (text.len() > LONGEST).then(|| {
            reader.fault(codes::OUT_OF_RANGE, format!("the expression is longer than {LONGEST} bytes"))
        })
    }
}

impl Cel {
    /// The steps of a plain field path: `args.cursor` is `["args", "cursor"]`. Nothing if it is more than that.
    #[must_use]
    pub fn as_field_path(&self) -> Option<Vec<&str>> {
        let steps: Vec<&str> = self.0.trim().split('.').collect();
        steps.iter().all(|step| is_identifier(step)).then_some(steps)
    }
}

/// Words that CEL keeps for itself: they are no names of variables or fields.
const RESERVED: &[&str] = &[
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

fn is_identifier(step: &str) -> bool {
    let mut letters = step.bytes();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == b'_')
        && !RESERVED.contains(&step)
}

#[cfg(test)]
mod tests {
    use super::Cel;

    #[test]
    fn a_plain_field_path_is_told_from_more_than_that() {
        let path = |text: &str| Cel(text.to_owned()).as_field_path().map(|steps| steps.join("/"));
        assert_eq!(path("state"), Some("state".to_owned()));
        assert_eq!(path(" result.content_sha "), Some("result/content_sha".to_owned()));
        for more in
            ["args.a == 1", "size(x)", "result[0]", "a..b", ".a", "a.", "1.5", "'a'", "true", "a.in", "!a", "a b"]
        {
            assert_eq!(path(more), None, "{more}");
        }
    }
}
