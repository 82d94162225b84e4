//! The JSON writer: compact text for logs and replies. Not an identity; that is the canonical text.
use crate::escape::{write_string, Sink};
use crate::{ForeignKind, Value};

/// Writes `value` as compact JSON, keys in their own order.
///
/// JSON has no form for some values; they are written as strings: non-finite numbers as `"NaN"`, `"Infinity"`,
/// `"-Infinity"`, host values as their text, opaque ones as `"<opaque>"`. Floats keep their point: `1.0`.
pub fn write_json(value: &Value, sink: &mut impl Sink) {
    match value {
        Value::Null => sink.put(b"null"),
        Value::Bool(true) => sink.put(b"true"),
        Value::Bool(false) => sink.put(b"false"),
        Value::Int(number) => sink.put(itoa::Buffer::new().format(*number).as_bytes()),
        Value::BigInt(digits) => sink.put(digits.as_bytes()),
        Value::Float(number) => write_float(*number, sink),
        Value::Str(text) => write_string(text.as_bytes(), sink),
        Value::List(items) => {
            sink.put(b"[");
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    sink.put(b",");
                }
                write_json(item, sink);
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
                write_json(value, sink);
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

fn write_float(number: f64, sink: &mut impl Sink) {
    if number.is_nan() {
        return sink.put(b"\"NaN\"");
    }
    if number.is_infinite() {
        return sink.put(if number > 0.0 { b"\"Infinity\"" } else { b"\"-Infinity\"" });
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
