//! CEL expressions as the model carries them: text that is compiled later.
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
