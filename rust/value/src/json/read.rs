//! The JSON reader (RFC 8259): strict, bounded, and exact where readers usually are not. Integers keep all their
//! digits, lone surrogates stay what they are, a key that stands twice is an error.
use super::{ReadError, ReadErrorKind as Kind};
use crate::{Map, Text, Value};

/// How much a JSON text may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadLimits {
    /// Lists and objects inside each other; at most 256.
    pub depth: usize,
    /// Bytes of text.
    pub bytes: usize,
    /// Values, keys not counted.
    pub values: usize,
    /// Digits of one integer.
    pub digits: usize,
    /// Whether `NaN`, `Infinity` and `-Infinity` are read, as Python's `json` writes them. JSON has none of them.
    pub non_finite: bool,
}

impl Default for ReadLimits {
    fn default() -> Self {
        Self { depth: 64, bytes: 64 << 20, values: 1_000_000, digits: 10_000, non_finite: false }
    }
}

/// Nesting that no limit may exceed, so that the stack suffices.
const DEPTH_CAP: usize = 256;

/// Reads one JSON value from `text` within the usual limits: depth 64, 64 MiB, a million values.
///
/// ```
/// use callgate_value::read_json;
/// assert_eq!(read_json(b"[1, 2").unwrap_err().to_string(), "the text ends before the value does (line 1, column 6)");
/// ```
///
/// # Errors
/// The first fault, with its place.
pub fn read_json(text: &[u8]) -> Result<Value, ReadError> {
    read_json_with(text, ReadLimits::default())
}

/// Reads one JSON value from `text` within `limits`.
///
/// # Errors
/// The first fault, with its place.
pub fn read_json_with(text: &[u8], limits: ReadLimits) -> Result<Value, ReadError> {
    let error = |kind, at| ReadError::at(kind, text, at);
    if text.len() > limits.bytes {
        return Err(error(Kind::TooLong, limits.bytes));
    }
    if text.starts_with(b"\xEF\xBB\xBF") {
        return Err(error(Kind::ByteOrderMark, 0));
    }
    let utf8 = std::str::from_utf8(text).map_err(|fault| error(Kind::NotUtf8, fault.valid_up_to()))?;
    let limits = ReadLimits { depth: limits.depth.min(DEPTH_CAP), ..limits };
    let mut reader = Reader { text: utf8, bytes: text, at: 0, depth: 0, values: 0, limits, keys: Vec::new() };
    reader.document().map_err(|fault| error(fault.kind, fault.at))
}

/// A fault before its line and column are known.
#[derive(Clone, Copy)]
pub(super) struct Fault {
    pub(super) kind: Kind,
    pub(super) at: usize,
}

/// A place in a text that is known to be UTF-8.
pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    depth: usize,
    values: usize,
    limits: ReadLimits,
    /// Where the keys of the objects that are open stand, for the error about a duplicate.
    keys: Vec<usize>,
}

impl Reader<'_> {
    fn document(&mut self) -> Result<Value, Fault> {
        self.skip_blanks();
        let value = self.value()?;
        self.skip_blanks();
        if self.at < self.bytes.len() {
            return Err(self.fault(Kind::Trailing));
        }
        Ok(value)
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// A fault here, or that the text ends here.
    pub(super) fn fault(&self, kind: Kind) -> Fault {
        let kind = if self.at >= self.bytes.len() { Kind::Unfinished } else { kind };
        Fault { kind, at: self.at.min(self.bytes.len()) }
    }

    #[inline]
    fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    fn value(&mut self) -> Result<Value, Fault> {
        self.values += 1;
        if self.values > self.limits.values {
            return Err(self.fault(Kind::TooManyValues));
        }
        match self.peek() {
            Some(b'"') => Ok(Value::Str(self.string()?)),
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::list),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word(b"true", Value::Bool(true)),
            Some(b'f') => self.word(b"false", Value::Bool(false)),
            Some(b'n') => self.word(b"null", Value::Null),
            Some(b'N') => self.non_finite(b"NaN", f64::NAN),
            Some(b'I') => self.non_finite(b"Infinity", f64::INFINITY),
            _ => Err(self.fault(Kind::ExpectedValue)),
        }
    }

    fn word(&mut self, word: &[u8], value: Value) -> Result<Value, Fault> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        if !rest.starts_with(word) {
            let unfinished = word.starts_with(rest);
            let kind = if unfinished { Kind::Unfinished } else { Kind::ExpectedValue };
            return Err(Fault { kind, at: self.at + if unfinished { rest.len() } else { 0 } });
        }
        self.at += word.len();
        Ok(value)
    }

    fn non_finite(&mut self, word: &[u8], number: f64) -> Result<Value, Fault> {
        let at = self.at;
        let value = self.word(word, Value::Float(number))?;
        if self.limits.non_finite {
            Ok(value)
        } else {
            Err(Fault { kind: Kind::NonFinite, at })
        }
    }

    /// Reads a list or an object, whose opening bracket stands here, one level deeper.
    fn nested(&mut self, read: fn(&mut Self) -> Result<Value, Fault>) -> Result<Value, Fault> {
        if self.depth >= self.limits.depth {
            return Err(self.fault(Kind::TooDeep));
        }
        self.depth += 1;
        self.at += 1;
        self.skip_blanks();
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn list(&mut self) -> Result<Value, Fault> {
        let mut items = Vec::new();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Value::List(items));
        }
        loop {
            items.push(self.value()?);
            if self.ends(b']')? {
                return Ok(Value::List(items));
            }
        }
    }

    fn object(&mut self) -> Result<Value, Fault> {
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Value::Map(Map::default()));
        }
        let first_key = self.keys.len();
        let mut entries: Vec<(Text, Value)> = Vec::with_capacity(4);
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.fault(Kind::ExpectedKey));
            }
            self.keys.push(self.at);
            let key = self.string()?;
            self.skip_blanks();
            if self.peek() != Some(b':') {
                return Err(self.fault(Kind::ExpectedColon));
            }
            self.at += 1;
            self.skip_blanks();
            entries.push((key, self.value()?));
            if self.ends(b'}')? {
                break;
            }
        }
        let map = Map::new(entries).map_err(|again| Fault {
            kind: Kind::DuplicateKey,
            at: self.keys.get(first_key + again).copied().unwrap_or(self.at),
        })?;
        self.keys.truncate(first_key);
        Ok(Value::Map(map))
    }

    /// Passes over `,` (false) or `end` (true).
    #[inline]
    fn ends(&mut self, end: u8) -> Result<bool, Fault> {
        self.skip_blanks();
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                self.skip_blanks();
                Ok(false)
            }
            Some(byte) if byte == end => {
                self.at += 1;
                Ok(true)
            }
            _ => Err(self.fault(Kind::ExpectedCommaOrEnd)),
        }
    }

    fn digits(&mut self) -> Result<(), Fault> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.fault(Kind::BadNumber));
        }
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Value, Fault> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
            if self.peek() == Some(b'I') {
                return self.non_finite(b"Infinity", f64::NEG_INFINITY);
            }
        }
        let first_digit = self.at;
        self.digits()?;
        let whole = self.at - first_digit;
        if whole > 1 && self.bytes.get(first_digit) == Some(&b'0') {
            return Err(Fault { kind: Kind::BadNumber, at: first_digit });
        }
        let mut integer = true;
        if self.peek() == Some(b'.') {
            integer = false;
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            integer = false;
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        if integer {
            if whole > self.limits.digits {
                return Err(Fault { kind: Kind::TooManyDigits, at: start });
            }
            // what does not fit has no leading zeros, so its digits are its only spelling
            return Ok(text.parse().map_or_else(|_| Value::BigInt(text.into()), Value::Int));
        }
        let number: f64 = text.parse().map_err(|_| Fault { kind: Kind::BadNumber, at: start })?;
        if number.is_finite() {
            Ok(Value::Float(number))
        } else {
            Err(Fault { kind: Kind::NumberTooLarge, at: start })
        }
    }
}
