//! Strings between quotes: the escapes that RFC 8785 asks for, and a fast way past what needs none.

/// Where text goes: a buffer, or straight into a hash.
pub trait Sink {
    /// Takes the next bytes.
    fn put(&mut self, bytes: &[u8]);
}

impl Sink for Vec<u8> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

impl Sink for ring::digest::Context {
    fn put(&mut self, bytes: &[u8]) {
        self.update(bytes);
    }
}

impl Sink for siphasher::sip::SipHasher13 {
    fn put(&mut self, bytes: &[u8]) {
        std::hash::Hasher::write(self, bytes);
    }
}

/// Writes `text` (UTF-8, or WTF-8 with lone surrogates) between quotes. Only `"`, `\`, control characters and lone
/// surrogates are escaped, in the shortest form, hex digits in lower case.
pub fn write_string(text: &[u8], sink: &mut impl Sink) {
    sink.put(b"\"");
    let mut rest = text;
    loop {
        let (plain, tail) = rest.split_at(plain_run(rest));
        sink.put(plain);
        rest = match *tail {
            [] => break,
            [0xED, a @ 0xA0..=0xBF, b, ref tail @ ..] => {
                sink.put(&[b'\\', b'u', b'd', hex((a >> 2) & 0xF), hex((a & 3) << 2 | (b >> 4) & 3), hex(b & 0xF)]);
                tail
            }
            [byte, ref tail @ ..] => {
                write_escaped(byte, sink);
                tail
            }
        };
    }
    sink.put(b"\"");
}

fn write_escaped(byte: u8, sink: &mut impl Sink) {
    match byte {
        b'"' => sink.put(b"\\\""),
        b'\\' => sink.put(b"\\\\"),
        0x08 => sink.put(b"\\b"),
        0x09 => sink.put(b"\\t"),
        0x0A => sink.put(b"\\n"),
        0x0C => sink.put(b"\\f"),
        0x0D => sink.put(b"\\r"),
        0x00..=0x1F => sink.put(&[b'\\', b'u', b'0', b'0', hex(byte >> 4), hex(byte & 0xF)]),
        // 0xED that starts no surrogate, an ordinary character
        _ => sink.put(&[byte]),
    }
}

/// A digit below 16 in lower-case hex.
pub fn hex(digit: u8) -> u8 {
    if digit < 10 {
        b'0' + digit
    } else {
        b'a' + (digit - 10)
    }
}

/// How many bytes from the start need no second look.
#[inline]
fn plain_run(text: &[u8]) -> usize {
    let first = |marks: u64| marks.trailing_zeros() as usize / 8;
    let Some(last) = text.last_chunk::<8>() else {
        // the zeros behind a short text look like control characters
        return first(marks(first_bytes(text))).min(text.len());
    };
    let mut at = 0;
    for word in text.chunks_exact(8) {
        let marks = marks(u64::from_le_bytes(word.try_into().unwrap_or_default()));
        if marks != 0 {
            return at + first(marks);
        }
        at += 8;
    }
    // What is left is read as the end of the last eight bytes, the rest of which is known to be plain.
    match marks(u64::from_le_bytes(*last)) {
        0 => text.len(),
        marks => text.len() - 8 + first(marks),
    }
}

/// The first eight bytes, the first the lowest; zeros where there are fewer.
#[inline]
#[must_use]
pub fn first_bytes(text: &[u8]) -> u64 {
    if let Some(word) = text.first_chunk::<8>() {
        return u64::from_le_bytes(*word);
    }
    if let (Some(head), Some(tail)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        // the two overlap where they hold the same bytes
        return u64::from(u32::from_le_bytes(*head)) | u64::from(u32::from_le_bytes(*tail)) << (8 * (text.len() - 4));
    }
    match *text {
        [a] => u64::from(a),
        [a, b] => u64::from(a) | u64::from(b) << 8,
        [a, b, c] => u64::from(a) | u64::from(b) << 8 | u64::from(c) << 16,
        _ => 0,
    }
}

/// The top bit of the first special byte among eight, the lowest first; bits above it mean nothing.
#[inline]
fn marks(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const TOPS: u64 = 0x8080_8080_8080_8080;
    let zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    (control | zero(word ^ (ONES * 0x22)) | zero(word ^ (ONES * 0x5C)) | zero(word ^ (ONES * 0xED))) & TOPS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &[u8]) -> String {
        let mut out = Vec::new();
        write_string(text, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_control_character_has_its_shortest_escape() {
        let all: Vec<u8> = (0..0x20).collect();
        let expected = concat!(
            r#""\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\b\t\n\u000b\f\r\u000e\u000f"#,
            r#"\u0010\u0011\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c\u001d\u001e\u001f""#
        );
        assert_eq!(written(&all), expected);
    }

    #[test]
    fn lone_surrogates_are_escaped_and_their_neighbours_in_unicode_are_not() {
        let text = b"\xED\x9F\xBF\xED\xA0\x80\xED\xBF\xBF\xEE\x80\x80\x7F";
        assert_eq!(written(text), "\"\u{D7FF}\\ud800\\udfff\u{E000}\u{7F}\"");
    }

    #[test]
    fn an_escape_is_found_wherever_it_stands() {
        for before in 0..70 {
            let text = format!("{}\"{}", "x".repeat(before), "y".repeat(40));
            assert_eq!(written(text.as_bytes()), format!("\"{}\\\"{}\"", "x".repeat(before), "y".repeat(40)));
        }
    }
}
