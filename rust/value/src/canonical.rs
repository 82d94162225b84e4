//! Canonical JSON: one text a value, and no two different values one text.
//!
//! RFC 8785 (JCS) where that has a form: no blanks, keys in the order of their UTF-16 code units, numbers as
//! ECMAScript writes them, the shortest escapes. Beyond it, tokens that no JSON text can yield, so that nothing is
//! rounded and nothing collides: integers outside ±(2^53 − 1) end in `n`, `NaN` and `Infinity` stand bare, lone
//! surrogates are `\udxxx`, host values are `datetime"…"`. `docs/identity.md` is the specification.
use std::borrow::Cow;
use std::cmp::Ordering;

use crate::escape::{write_string, Sink};
use crate::{ForeignKind, Map, Text, Value};

/// The largest integer that binary64 and its neighbours hold exactly: 2^53 − 1.
pub const MAX_SAFE_INTEGER: i64 = 9_007_199_254_740_991;

/// How deep a value may be to have a canonical form; readers and lifting stop far earlier, at 64.
const DEPTH: usize = 256;

/// Why a value has no canonical form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoCanonical {
    /// Some part of it is opaque, and an opaque thing equals nothing.
    Opaque,
    /// It is nested deeper than anything that a reader lets in.
    TooDeep,
}

impl std::fmt::Display for NoCanonical {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Opaque => "a part of the value is opaque and equals nothing",
            Self::TooDeep => "the value is nested too deep",
        })
    }
}

impl std::error::Error for NoCanonical {}

/// What becomes of a string; borrowed where nothing is changed.
pub type Mask<'a> = &'a (dyn for<'t> Fn(&'t str) -> Cow<'t, str> + 'a);

/// What is changed on the way into a canonical text, for identities that are looser than the exact one.
#[derive(Clone, Copy, Default)]
pub struct Loosening<'a> {
    /// Fields of the topmost map that are left out.
    pub ignore: &'a [&'a str],
    /// Applied to every string that is a value (keys stay as they are).
    pub mask: Option<Mask<'a>>,
}

/// Writes the canonical text of `value` into `sink`.
///
/// # Errors
/// [`NoCanonical`]; what the sink has got by then is of no use.
pub fn write_canonical(value: &Value, sink: &mut impl Sink) -> Result<(), NoCanonical> {
    write_loosened(value, Loosening::default(), sink)
}

/// Writes the canonical text of `value`, changed as `loosening` says, into `sink`.
///
/// # Errors
/// [`NoCanonical`]; an ignored field does not matter. What the sink has got by then is of no use.
pub fn write_loosened(value: &Value, loosening: Loosening<'_>, sink: &mut impl Sink) -> Result<(), NoCanonical> {
    write_value(value, &loosening, 0, sink)
}

/// The canonical text of `value`. It is valid UTF-8: lone surrogates are escaped.
///
/// ```
/// use callgate_value::{canonical_json, read_json};
/// let value = read_json(br#"{"b": 1.0, "a": [9007199254740993, "\ud800"]}"#).unwrap();
/// assert_eq!(canonical_json(&value).unwrap(), r#"{"a":[9007199254740993n,"\ud800"],"b":1}"#);
/// ```
///
/// # Errors
/// [`NoCanonical`], where a part is opaque.
pub fn canonical_json(value: &Value) -> Result<String, NoCanonical> {
    let mut out = Vec::with_capacity(128);
    write_canonical(value, &mut out)?;
    Ok(String::from_utf8(out).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

fn write_value(
    value: &Value,
    loosening: &Loosening<'_>,
    depth: usize,
    sink: &mut impl Sink,
) -> Result<(), NoCanonical> {
    match value {
        Value::Null => sink.put(b"null"),
        Value::Bool(true) => sink.put(b"true"),
        Value::Bool(false) => sink.put(b"false"),
        Value::Int(number) => write_int(*number, sink),
        Value::BigInt(digits) => {
            sink.put(digits.as_bytes());
            sink.put(b"n");
        }
        Value::Float(number) => write_float(*number, sink),
        Value::Str(text) => write_text(text, loosening, sink),
        Value::List(items) => {
            let depth = deeper(depth)?;
            sink.put(b"[");
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    sink.put(b",");
                }
                write_value(item, loosening, depth, sink)?;
            }
            sink.put(b"]");
        }
        Value::Map(map) => write_map(map, loosening, depth, sink)?,
        Value::Foreign(foreign) => {
            let token: &[u8] = match foreign.kind {
                ForeignKind::Bytes => b"bytes",
                ForeignKind::DateTime => b"datetime",
                ForeignKind::Date => b"date",
                ForeignKind::Time => b"time",
                ForeignKind::Decimal => b"decimal",
                ForeignKind::Uuid => b"uuid",
                ForeignKind::Opaque => return Err(NoCanonical::Opaque),
            };
            sink.put(token);
            write_string(foreign.text.as_bytes(), sink);
        }
    }
    Ok(())
}

fn deeper(depth: usize) -> Result<usize, NoCanonical> {
    if depth < DEPTH {
        Ok(depth + 1)
    } else {
        Err(NoCanonical::TooDeep)
    }
}

fn write_map(map: &Map, loosening: &Loosening<'_>, depth: usize, sink: &mut impl Sink) -> Result<(), NoCanonical> {
    let inner = deeper(depth)?;
    let mut entries: Vec<(&Text, &Value)> = map.iter().collect();
    if depth == 0 && !loosening.ignore.is_empty() {
        entries.retain(|(key, _)| !key.as_str().is_some_and(|key| loosening.ignore.contains(&key)));
    }
    if !entries.is_sorted_by(|(a, _), (b, _)| compare_keys(a.as_bytes(), b.as_bytes()).is_le()) {
        entries.sort_unstable_by(|(a, _), (b, _)| compare_keys(a.as_bytes(), b.as_bytes()));
    }
    sink.put(b"{");
    for (at, (key, value)) in entries.into_iter().enumerate() {
        if at > 0 {
            sink.put(b",");
        }
        write_string(key.as_bytes(), sink);
        sink.put(b":");
        write_value(value, loosening, inner, sink)?;
    }
    sink.put(b"}");
    Ok(())
}

fn write_text(text: &Text, loosening: &Loosening<'_>, sink: &mut impl Sink) {
    if let Some(mask) = loosening.mask {
        // A text with lone surrogates is masked in its lossy form only where there is something to mask:
        // unmasked, it stays different from every other.
        if let Cow::Owned(masked) = mask(&text.to_lossy()) {
            return write_string(masked.as_bytes(), sink);
        }
    }
    write_string(text.as_bytes(), sink);
}

/// Writes an integer: as JCS does up to 2^53 − 1, with a trailing `n` beyond.
pub fn write_int(number: i64, sink: &mut impl Sink) {
    sink.put(itoa::Buffer::new().format(number).as_bytes());
    if number.unsigned_abs() > MAX_SAFE_INTEGER.unsigned_abs() {
        sink.put(b"n");
    }
}

/// Writes a binary64 number as ECMAScript does (RFC 8785, 3.2.2.3), or the bare word of what JSON has no form for.
pub fn write_float(number: f64, sink: &mut impl Sink) {
    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
    let whole = number as i64;
    #[allow(clippy::cast_precision_loss, clippy::float_cmp)]
    if whole as f64 == number && whole.unsigned_abs() <= MAX_SAFE_INTEGER.unsigned_abs() {
        sink.put(itoa::Buffer::new().format(whole).as_bytes());
    } else if write_short_decimal(number, sink) {
    } else if number.is_finite() {
        sink.put(ryu_js::Buffer::new().format_finite(number).as_bytes());
    } else if number.is_nan() {
        sink.put(b"NaN");
    } else {
        sink.put(if number > 0.0 { b"Infinity" } else { b"-Infinity" });
    }
}

/// Writes a number that has four decimals at most and fifteen digits at most, such as a price or a share; false for any
/// other. Its decimal is then the shortest one: no two decimals of up to fifteen digits are one binary64 number, and
/// fewer decimals were tried before.
fn write_short_decimal(number: f64, sink: &mut impl Sink) -> bool {
    let size = number.abs();
    if !(1e-4..1e10).contains(&size) {
        return false;
    }
    for (decimals, scale) in [(1, 10_u64), (2, 100), (3, 1_000), (4, 10_000)] {
        #[allow(clippy::cast_precision_loss)]
        let factor = scale as f64;
        let scaled = (size * factor).round();
        // both sides are exact integers, so the quotient is the number nearest to that decimal
        #[allow(clippy::float_cmp)]
        if scaled / factor == size {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let digits = scaled as u64;
            write_decimal(number < 0.0, digits / scale, digits % scale, decimals, sink);
            return true;
        }
    }
    false
}

/// Writes `whole.fraction`, the fraction padded to `decimals` digits.
fn write_decimal(negative: bool, whole: u64, fraction: u64, decimals: usize, sink: &mut impl Sink) {
    if negative {
        sink.put(b"-");
    }
    sink.put(itoa::Buffer::new().format(whole).as_bytes());
    let mut text = *b".0000";
    let mut rest = fraction;
    for place in text.iter_mut().skip(1).take(decimals).rev() {
        *place = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
    }
    sink.put(text.get(..=decimals).unwrap_or_default());
}

/// The order of keys in canonical text: by UTF-16 code units (RFC 8785, 3.2.3). Two lone surrogates in a row have the
/// code units of the character that they would make as a pair; the bytes then decide, so that the order is total.
///
/// Both are UTF-8, or WTF-8 with lone surrogates.
#[must_use]
pub fn compare_keys(a: &[u8], b: &[u8]) -> Ordering {
    let Some((x, y)) = a.iter().zip(b).find(|(x, y)| x != y) else {
        return a.len().cmp(&b.len());
    };
    // UTF-8 bytes order by code point. Code units order the same way, but for the code points above U+FFFF, which
    // come before U+E000 to U+FFFF there.
    if *x.max(y) < 0xED {
        return x.cmp(y);
    }
    code_units(a).cmp(code_units(b)).then_with(|| a.cmp(b))
}

/// The UTF-16 code units of UTF-8 or WTF-8 bytes.
fn code_units(bytes: &[u8]) -> impl Iterator<Item = u16> + '_ {
    let mut rest = bytes;
    let mut low: Option<u16> = None;
    std::iter::from_fn(move || {
        if let Some(unit) = low.take() {
            return Some(unit);
        }
        let bits = |byte: u8| u32::from(byte & 0x3F);
        let (point, tail) = match *rest {
            [a @ 0x00..=0x7F, ref tail @ ..] => (u32::from(a), tail),
            [a @ 0x80..=0xDF, b, ref tail @ ..] => (u32::from(a & 0x1F) << 6 | bits(b), tail),
            [a @ 0xE0..=0xEF, b, c, ref tail @ ..] => (u32::from(a & 0x0F) << 12 | bits(b) << 6 | bits(c), tail),
            [a @ 0xF0..=0xFF, b, c, d, ref tail @ ..] => {
                (u32::from(a & 0x07) << 18 | bits(b) << 12 | bits(c) << 6 | bits(d), tail)
            }
            _ => return None,
        };
        rest = tail;
        let unit = |value: u32| u16::try_from(value).unwrap_or(u16::MAX);
        if point < 0x1_0000 {
            return Some(unit(point));
        }
        let above = point - 0x1_0000;
        low = Some(unit(0xDC00 | (above & 0x3FF)));
        Some(unit(0xD800 | (above >> 10)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Foreign;

    fn text(value: &Value) -> String {
        canonical_json(value).unwrap()
    }

    #[test]
    fn integers_beyond_the_safe_range_carry_a_mark() {
        let cases = [
            (9_007_199_254_740_991, "9007199254740991"),
            (9_007_199_254_740_992, "9007199254740992n"),
            (-9_007_199_254_740_991, "-9007199254740991"),
            (-9_007_199_254_740_992, "-9007199254740992n"),
            (i64::MIN, "-9223372036854775808n"),
            (0, "0"),
        ];
        for (number, expected) in cases {
            assert_eq!(text(&Value::Int(number)), expected);
        }
    }

    #[test]
    fn short_decimals_are_written_as_the_slow_way_writes_them() {
        let mut numbers = vec![0.1, 0.3, 1e-4, 9.999e9, 0.1 + 0.2, 1.005, 123_456.789, 1e-5, 4.35, 0.0001, 1e10 + 0.5];
        numbers.extend((1..5_000).map(|n| f64::from(n) * 0.37 + 12.5));
        numbers.extend((1..5_000).map(|n| f64::from(n) / 10_000.0));
        numbers.extend((1..2_000).map(|n| f64::from_bits(0x3F00_0000_0000_0000 + n * 0x0000_1234_5678_9ABC)));
        numbers.extend((1..2_000).map(|n| 9_999_999_999.0 - f64::from(n) * 0.0001));
        for number in numbers.iter().flat_map(|number| [*number, -*number]) {
            assert_eq!(text(&Value::Float(number)), ryu_js::Buffer::new().format_finite(number));
        }
    }

    #[test]
    fn keys_are_ordered_by_code_units_and_the_order_is_total() {
        let mut keys: Vec<&[u8]> = vec![
            "\u{FFFF}".as_bytes(),
            "\u{1F600}".as_bytes(),
            b"\xED\xA0\xBD\xED\xB8\x80", // the two halves of U+1F600, each alone
            b"\xED\xA0\xBD",
            "\u{E000}".as_bytes(),
            "\u{D7FF}".as_bytes(),
            b"b",
            b"",
            b"ab",
            b"a",
        ];
        keys.sort_by(|a, b| compare_keys(a, b));
        let expected: Vec<&[u8]> = vec![
            b"",
            b"a",
            b"ab",
            b"b",
            "\u{D7FF}".as_bytes(),
            b"\xED\xA0\xBD",
            b"\xED\xA0\xBD\xED\xB8\x80",
            "\u{1F600}".as_bytes(),
            "\u{E000}".as_bytes(),
            "\u{FFFF}".as_bytes(),
        ];
        assert_eq!(keys, expected);
    }

    #[test]
    fn an_opaque_part_takes_the_canonical_form_from_the_whole() {
        let opaque = Value::Foreign(Box::new(Foreign { kind: ForeignKind::Opaque, text: String::new() }));
        assert_eq!(canonical_json(&Value::List(vec![opaque])), Err(NoCanonical::Opaque));
    }

    #[test]
    fn a_value_deeper_than_any_reader_allows_has_no_canonical_form_and_needs_little_stack() {
        let mut value = Value::Null;
        for _ in 0..2_000 {
            value = Value::List(vec![value]);
        }
        let answer = std::thread::Builder::new()
            .stack_size(512 * 1024)
            .spawn(move || (canonical_json(&value), std::mem::forget(value)).0)
            .unwrap()
            .join()
            .unwrap();
        assert_eq!(answer, Err(NoCanonical::TooDeep));
    }

    #[test]
    fn loosening_leaves_out_top_fields_and_masks_values_but_no_keys() {
        let value = crate::read_json(br#"{"at":"x1","id":7,"in":{"id":8,"x1":["x1","y"]}}"#).unwrap();
        fn mask(text: &str) -> Cow<'_, str> {
            if text == "x1" {
                Cow::Owned("<x>".to_owned())
            } else {
                Cow::Borrowed(text)
            }
        }
        let mut out = Vec::new();
        write_loosened(&value, Loosening { ignore: &["id"], mask: Some(&mask) }, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), r#"{"at":"<x>","in":{"id":8,"x1":["<x>","y"]}}"#);
    }
}
