//! Shared state as JSON text, the form in which stores keep it and pass it on.
use serde::de::DeserializeOwned;
use serde::Serialize;

/// Reads a claim, a row or an answer.
///
/// # Errors
/// What is wrong with the text, in words.
pub fn read<T: DeserializeOwned>(text: &str, what: &str) -> Result<T, String> {
    // a list would be taken for the fields in their order
    if !text.trim_start().starts_with('{') {
        return Err(format!("this is no {what}: a JSON object is wanted"));
    }
    serde_json::from_str(text).map_err(|error| format!("this is no {what}: {error}"))
}

/// Writes a claim, a row or an answer.
///
/// # Errors
/// None in practice: no type of shared state has a form that JSON lacks.
pub fn write<T: Serialize>(value: &T) -> Result<String, String> {
    serde_json::to_string(value).map_err(|error| error.to_string())
}

/// No, which a text leaves out.
#[allow(clippy::trivially_copy_pass_by_ref)]
pub(super) fn unsaid(it: &bool) -> bool {
    !it
}

/// None at all, which a text leaves out.
#[allow(clippy::trivially_copy_pass_by_ref)]
pub(super) fn never(it: &u64) -> bool {
    *it == 0
}
