//! Base64 (RFC 4648, section 4).
use super::strings::{bad, owned};
use super::Found;
use crate::functions::Func;
use crate::val::Val;
use crate::Fuel;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(super) fn call<'a>(func: Func, args: &[Val<'a>], fuel: &mut Fuel) -> Found<'a> {
    match (func, args) {
        (Func::Encode, [Val::Bytes(bytes)]) => {
            fuel.burn(bytes.len() as u64 >> 4)?;
            owned(encode(bytes), fuel).map(Some)
        }
        (Func::Decode, [Val::Str(text)]) => {
            fuel.burn(text.len() as u64 >> 4)?;
            fuel.allocate(text.len())?;
            match decode(text) {
                Some(bytes) => Ok(Some(Val::Bytes(bytes.into()))),
                None => Err(bad("the text is no base64")),
            }
        }
        _ => Ok(None),
    }
}

/// With padding.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let digit = |six: u8| ALPHABET.get(usize::from(six & 63)).copied().map_or('=', char::from);
    let mut text = String::with_capacity(bytes.len().div_ceil(3).saturating_mul(4));
    for chunk in bytes.chunks(3) {
        let (a, b, c) = match *chunk {
            [a, b, c] => (a, b, Some(c)),
            [a, b] => (a, b, None),
            [a] => (a, 0, None),
            _ => continue,
        };
        text.push(digit(a >> 2));
        text.push(digit(a << 4 | b >> 4));
        text.push(if chunk.len() > 1 { digit(b << 2 | c.unwrap_or(0) >> 6) } else { '=' });
        text.push(c.map_or('=', digit));
    }
    text
}

/// With or without padding.
fn decode(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_suffix("==").or(text.strip_suffix('=')).unwrap_or(text);
    if digits.len() != text.len() && !text.len().is_multiple_of(4) {
        return None;
    }
    let value = |digit: u8| ALPHABET.iter().position(|known| *known == digit).and_then(|at| u8::try_from(at).ok());
    let mut bytes = Vec::with_capacity(digits.len());
    for chunk in digits.as_bytes().chunks(4) {
        let (a, b) = match *chunk {
            [a, b, ..] => (value(a)?, value(b)?),
            _ => return None,
        };
        bytes.push(a << 2 | b >> 4);
        if let Some(c) = chunk.get(2) {
            let c = value(*c)?;
            bytes.push(b << 4 | c >> 2);
            if let Some(d) = chunk.get(3) {
                bytes.push(c << 6 | value(*d)?);
            }
        }
    }
    Some(bytes)
}
