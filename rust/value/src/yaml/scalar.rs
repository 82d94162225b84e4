//! Scalars that stand on one line: plain, in single and in double quotes; what a plain one means in the core schema.
use crate::{Text, Value};

/// Digits that surely fit into 64 bits.
const DIGITS: usize = 18;
/// What a number may have in characters.
const NUMBER: usize = 400;

/// Whether a plain scalar may begin so.
pub(super) fn start_of_plain(text: &str) -> bool {
    let mut chars = text.chars();
    match chars.next() {
        Some('-') => chars.next().is_some_and(|next| !" ,[]{}".contains(next)),
        Some(first) => !" ?:,[]{}#&*!|>'\"%@`".contains(first),
        None => false,
    }
}

/// Whether a text begins with the colon behind a key.
pub(super) fn ends_key(text: &str) -> bool {
    text.strip_prefix(':').is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// The value of a plain scalar in the core schema of YAML 1.2 (section 10.3.2); None for numbers that ask for care.
pub(super) fn plain(text: &str) -> Option<Value> {
    let bytes = text.as_bytes();
    Some(match text {
        "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ if !matches!(bytes, [b'+' | b'-' | b'.' | b'0'..=b'9', ..]) => Value::Str(Text::from(text)),
        _ if is_int(text) => Value::Int((text.len() <= DIGITS).then(|| text.parse().ok())??),
        _ if is_float(text) => {
            let number = if text.len() <= NUMBER { text.parse().ok()? } else { f64::NAN };
            Value::Float(f64::is_finite(number).then_some(number)?)
        }
        _ if matches!(bytes, [b'0', b'o' | b'x', ..]) || is_no_number(text) => return None,
        _ => Value::Str(Text::from(text)),
    })
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_int(text: &str) -> bool {
    is_digits(text.strip_prefix(['+', '-']).unwrap_or(text))
}

fn is_float(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_number =
        if whole.is_empty() { is_digits(part) } else { is_digits(whole) && (part.is_empty() || is_digits(part)) };
    is_number && exponent.is_none_or(is_int)
}

/// `.inf`, `.nan` and their like.
fn is_no_number(text: &str) -> bool {
    let word = text.trim_start_matches(['+', '-']);
    word.eq_ignore_ascii_case(".inf") || word.eq_ignore_ascii_case(".nan")
}

/// The quoted scalar with which a text begins, and its length with the quotes. It ends on this line.
pub(super) fn quoted(text: &str) -> Option<(Text, usize)> {
    if text.starts_with('\'') {
        single(text)
    } else {
        double(text)
    }
}

fn single(text: &str) -> Option<(Text, usize)> {
    let mut value = String::new();
    let mut at = 1;
    loop {
        let rest = text.get(at..)?;
        let end = rest.find('\'')?;
        value.push_str(rest.get(..end)?);
        at += end + 1;
        if !text.get(at..)?.starts_with('\'') {
            return Some((Text::from(value), at));
        }
        value.push('\'');
        at += 1;
    }
}

fn double(text: &str) -> Option<(Text, usize)> {
    let mut value = String::new();
    let mut at = 1;
    loop {
        let rest = text.get(at..)?;
        let end = rest.find(['"', '\\'])?;
        value.push_str(rest.get(..end)?);
        at += end + 1;
        if rest.get(end..)?.starts_with('"') {
            return Some((Text::from(value), at));
        }
        let (char, length) = escape(rest.get(end + 1..)?)?;
        value.push(char);
        at += length;
    }
}

/// What stands for a character behind a backslash, and its length.
fn escape(text: &str) -> Option<(char, usize)> {
    let code = text.chars().next()?;
    let digits = match code {
        'x' => 2,
        'u' => 4,
        _ => 0,
    };
    if digits > 0 {
        let hex = text.get(1..1 + digits).filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        return Some((char::from_u32(u32::from_str_radix(hex, 16).ok()?)?, 1 + digits));
    }
    let char = match code {
        '"' | '\\' | '/' => code,
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        _ => return None,
    };
    Some((char, 1))
}
