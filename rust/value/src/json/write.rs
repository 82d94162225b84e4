//! The JSON writer: compact text for logs and replies. Not an identity; that is the canonical text.
use crate::escape::{write_string, Sink};
use crate::{ForeignKind, Value};

/// Writes `value` as compact JSON, keys in their own order.
///
/// JSON has no form for some values; they are written as strings: non-finite numbers as `"NaN"`, `"Infinity"`,
/// `"-Infinity"`, host values as their text, opaque ones as `"<opaque>"`. Floats keep their point: `1.0`.
pub fn write_json(value: &Value, sink: &mut impl Sink) {
    write(value, sink, NonFinite::Quoted);
}

/// Whether numbers that JSON has no form for are written as strings.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NonFinite {
    Quoted,
    Bare,
}

fn write(value: &Value, sink: &mut impl Sink, non_finite: NonFinite) {
    match value {
        Value::Null => sink.put(b"null"),
        Value::Bool(true) => sink.put(b"true"),
        Value::Bool(false) => sink.put(b"false"),
        Value::Int(number) => sink.put(itoa::Buffer::new().format(*number).as_bytes()),
        Value::BigInt(digits) => sink.put(digits.as_bytes()),
        Value::Float(number) => write_float(*number, sink, non_finite),
        Value::Str(text) => write_string(text.as_bytes(), sink),
        Value::List(items) => {
            sink.put(b"[");
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    sink.put(b",");
                }
                write(item, sink, non_finite);
            }
            sink.put(b"]");
        }
        Value::Map(map) => {
            sink.put(b"{");
            for (at, (key, value)) in map.iter().enumerate() {
                if at > 0 {
                    sink.put(b",");
                }
                write_string(key.as_bytes(), sink);
                sink.put(b":");
                write(value, sink, non_finite);
            }
            sink.put(b"}");
        }
        Value::Foreign(foreign) if foreign.kind == ForeignKind::Opaque => sink.put(b"\"<opaque>\""),
        Value::Foreign(foreign) => write_string(foreign.text.as_bytes(), sink),
    }
}

/// `value` as compact JSON; see [`write_json`].
///
/// ```
/// use callgate_value::{read_json, to_json};
/// assert_eq!(to_json(&read_json(b"{\"b\": 1.0, \"a\": [true]}").unwrap()), "{\"b\":1.0,\"a\":[true]}");
/// ```
#[must_use]
pub fn to_json(value: &Value) -> String {
    let mut out = Vec::with_capacity(128);
    write_json(value, &mut out);
    String::from_utf8(out).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// `value` as compact JSON in which `NaN`, `Infinity` and `-Infinity` stand bare, as Python's `json` writes them: a reader with
/// [`ReadLimits::non_finite`](crate::ReadLimits) gets the same numbers back.
///
/// ```
/// use callgate_value::{to_json_with_non_finite, Value};
/// assert_eq!(to_json_with_non_finite(&Value::List(vec![Value::Float(f64::NEG_INFINITY)])), "[-Infinity]");
/// ```
#[must_use]
pub fn to_json_with_non_finite(value: &Value) -> String {
    let mut out = Vec::with_capacity(128);
    write(value, &mut out, NonFinite::Bare);
    String::from_utf8(out).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn write_float(number: f64, sink: &mut impl Sink, non_finite: NonFinite) {
    if !number.is_finite() {
        let word: &[u8] = match (number.is_nan(), number > 0.0) {
            (true, _) => b"NaN",
            (_, true) => b"Infinity",
            (_, false) => b"-Infinity",
        };
        let quote: &[u8] = if non_finite == NonFinite::Quoted { b"\"" } else { b"" };
        sink.put(quote);
        sink.put(word);
        return sink.put(quote);
    }
    if number == 0.0 && number.is_sign_negative() {
        return sink.put(b"-0.0");
    }
    let mut buffer = ryu_js::Buffer::new();
    let text = buffer.format_finite(number);
    sink.put(text.as_bytes());
    if !text.contains(['.', 'e']) {
        sink.put(b".0");
    }
}
