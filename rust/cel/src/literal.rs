//! The escapes of string and bytes literals.

/// An escape that cannot be read: its place in the content, its length in bytes, what is wrong.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadEscape {
    pub at: usize,
    pub len: usize,
    pub message: String,
}

/// What one escape stands for.
enum Escape {
    Char(char),
    /// A code point below 256 in a string, an octet in bytes.
    Octet(u8),
}

/// The content of a string literal, escapes read.
pub(crate) fn unescape(content: &str) -> Result<String, BadEscape> {
    let mut text = String::with_capacity(content.len());
    each(content, true, |escape| match escape {
        Escape::Char(c) => text.push(c),
        Escape::Octet(octet) => text.push(char::from(octet)),
    })?;
    Ok(text)
}

/// The content of a bytes literal, escapes read.
pub(crate) fn unescape_bytes(content: &str) -> Result<Vec<u8>, BadEscape> {
    let mut bytes = Vec::with_capacity(content.len());
    each(content, false, |escape| match escape {
        Escape::Char(c) => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        Escape::Octet(octet) => bytes.push(octet),
    })?;
    Ok(bytes)
}

fn each(content: &str, text: bool, mut found: impl FnMut(Escape)) -> Result<(), BadEscape> {
    let mut at = 0;
    while let Some(rest) = content.get(at..).filter(|rest| !rest.is_empty()) {
        let Some(escaped) = rest.strip_prefix('\\') else {
            let c = rest.chars().next().unwrap_or_default();
            found(Escape::Char(c));
            at = at.saturating_add(c.len_utf8());
            continue;
        };
        let (escape, len) = one(escaped, text).map_err(|(len, message)| BadEscape { at, len, message })?;
        found(escape);
        at = at.saturating_add(len).saturating_add(1);
    }
    Ok(())
}

/// The escape after a backslash and its length, or the length of the whole and what is wrong with it.
fn one(rest: &str, text: bool) -> Result<(Escape, usize), (usize, String)> {
    let first = rest.chars().next().ok_or_else(|| (1, "a backslash that escapes nothing".to_owned()))?;
    let simple = match first {
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        '\\' | '?' | '"' | '\'' | '`' => first,
        'x' | 'X' => return coded(rest, 1, 2, 16, text),
        'u' if text => return coded(rest, 1, 4, 16, text),
        'U' if text => return coded(rest, 1, 8, 16, text),
        '0'..='3' => return coded(rest, 0, 3, 8, text),
        _ => {
            let len = first.len_utf8().saturating_add(1);
            return Err((len, format!("`\\{first}` is no escape")));
        }
    };
    Ok((Escape::Char(simple), first.len_utf8()))
}

fn coded(rest: &str, skip: usize, digits: usize, radix: u32, text: bool) -> Result<(Escape, usize), (usize, String)> {
    let len = skip.saturating_add(digits);
    let tail = rest.get(skip..).unwrap_or_default();
    let given = tail.chars().take(digits).take_while(|c| c.is_digit(radix)).count();
    let found = tail.get(..digits).filter(|_| given == digits);
    let Some(code) = found.and_then(|found| u32::from_str_radix(found, radix).ok()) else {
        let kind = if radix == 8 { "octal" } else { "hexadecimal" };
        // the backslash, the letter and the digits that are there: all of one byte each
        let bad = skip.saturating_add(given).saturating_add(1);
        return Err((bad, format!("this escape needs {digits} {kind} digits")));
    };
    if let (Ok(octet), true) = (u8::try_from(code), !text || digits < 4) {
        return Ok((Escape::Octet(octet), len));
    }
    match char::from_u32(code) {
        Some(c) => Ok((Escape::Char(c), len)),
        None => Err((len.saturating_add(1), format!("U+{code:04X} is no character"))),
    }
}
