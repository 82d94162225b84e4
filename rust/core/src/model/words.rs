//! What every choice between words has in common: its reader and its JSON Schema.
use callgate_value::Value;
use serde_json::json;

use super::codes::Code;
use super::reader::Reader;
use super::spelling::did_you_mean;

/// "one of `a`, `b`", for "expected …".
#[must_use]
pub fn one_of(words: &[&str]) -> String {
    match words {
        [word] => format!("`{word}`"),
        _ => format!("one of {}", words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")),
    }
}

/// The word that the value is, if it is one of `words`.
pub fn read(value: &Value, words: &[&'static str], code: Code, reader: &mut Reader) -> Option<&'static str> {
    let Value::Str(text) = value else {
        reader.wrong_type(value, &one_of(words));
        return None;
    };
    let text = text.to_lossy();
    let found = words.iter().find(|word| **word == text).copied();
    if found.is_none() {
        let fault = reader.fault(code, format!("expected {}, found `{text}`", one_of(words)));
        let hint = did_you_mean(&text, words);
        reader.report(if hint.starts_with("did") { fault.hint(hint) } else { fault });
    }
    found
}

/// A choice between constants, each with what it means.
#[must_use]
pub fn schema(name: &str, doc: &str, words: &[(&str, String)]) -> serde_json::Value {
    let choices: Vec<_> = words.iter().map(|(word, doc)| json!({"const": word, "description": doc})).collect();
    json!({"title": name, "description": doc, "oneOf": choices})
}
