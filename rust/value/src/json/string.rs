//! Reading a JSON string: borrowed where it has no escapes, unescaped into bytes where it has.
use super::read::{Fault, Reader};
use super::ReadErrorKind as Kind;
use crate::Text;

impl Reader<'_> {
    /// Reads a string whose opening quote stands at the current place.
    pub(super) fn string(&mut self) -> Result<Text, Fault> {
        self.at += 1;
        let start = self.at;
        self.skip_plain();
        if self.peek() == Some(b'"') {
            let text = self.text.get(start..self.at).ok_or(self.fault(Kind::NotUtf8))?;
            self.at += 1;
            return Ok(Text::from(text));
        }
        self.escaped_string(start)
    }

    /// The rest of a string in which something other than plain text was met; it started at `start`.
    fn escaped_string(&mut self, start: usize) -> Result<Text, Fault> {
        let mut out = self.bytes.get(start..self.at).unwrap_or_default().to_vec();
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    break;
                }
                Some(b'\\') => self.escape(&mut out)?,
                Some(0x00..=0x1F) => return Err(self.fault(Kind::ControlCharacter)),
                Some(_) => {
                    let from = self.at;
                    self.at += 1;
                    self.skip_plain();
                    out.extend_from_slice(self.bytes.get(from..self.at).unwrap_or_default());
                }
                None => return Err(self.fault(Kind::Unfinished)),
            }
        }
        // The input is UTF-8 and escapes add whole characters, so only a lone surrogate can make this fail.
        Ok(match String::from_utf8(out) {
            Ok(text) => Text::from(text),
            Err(error) => Text::Surrogates(error.into_bytes().into()),
        })
    }

    /// Reads one escape into `out`.
    fn escape(&mut self, out: &mut Vec<u8>) -> Result<(), Fault> {
        let from = self.at;
        let byte = match self.bytes.get(from + 1) {
            Some(byte @ (b'"' | b'\\' | b'/')) => *byte,
            Some(b'b') => 0x08,
            Some(b'f') => 0x0C,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => return self.unicode_escape(out),
            Some(_) => return Err(self.fault(Kind::BadEscape)),
            None => return Err(Fault { kind: Kind::Unfinished, at: self.bytes.len() }),
        };
        out.push(byte);
        self.at += 2;
        Ok(())
    }

    /// Reads `\uXXXX`, or two of them that make one character.
    fn unicode_escape(&mut self, out: &mut Vec<u8>) -> Result<(), Fault> {
        let first = self.code_unit(self.at).ok_or(self.fault(Kind::BadEscape))?;
        self.at += 6;
        let mut point = first;
        if (0xD800..0xDC00).contains(&first) {
            if let Some(second) = self.code_unit(self.at).filter(|unit| (0xDC00..0xE000).contains(unit)) {
                self.at += 6;
                point = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
            }
        }
        if let Some(character) = char::from_u32(point) {
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        } else {
            let low = |shift: u32| 0x80 | u8::try_from((point >> shift) & 0x3F).unwrap_or(0);
            out.extend_from_slice(&[0xED, low(6), low(0)]);
        }
        Ok(())
    }

    /// The code unit that `\uXXXX` at `at` names.
    fn code_unit(&self, at: usize) -> Option<u32> {
        let [b'\\', b'u', digits @ ..] = self.bytes.get(at..at + 6)? else {
            return None;
        };
        digits.iter().try_fold(0, |unit, byte| Some(unit << 4 | char::from(*byte).to_digit(16)?))
    }

    /// Passes over what stands for itself inside a string.
    fn skip_plain(&mut self) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let stops = |byte: u8| (byte < 0x20) | (byte == b'"') | (byte == b'\\');
        let mut run = 0;
        // Whole blocks without a branch in them, which the compiler turns into vector code.
        for block in rest.chunks_exact(16) {
            if block.iter().fold(false, |any, byte| any | stops(*byte)) {
                break;
            }
            run += 16;
        }
        let tail = rest.get(run..).unwrap_or_default();
        self.at += run + tail.iter().position(|byte| stops(*byte)).unwrap_or(tail.len());
    }
}
