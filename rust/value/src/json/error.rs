//! What is wrong with a JSON text, and where.

/// What is wrong with a JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadErrorKind {
    /// The text is longer than allowed.
    TooLong,
    /// A byte sequence is not UTF-8.
    NotUtf8,
    /// The text starts with a byte order mark.
    ByteOrderMark,
    /// The text ends in the middle of a value.
    Unfinished,
    /// Something stands where a value should.
    ExpectedValue,
    /// Something stands where a key should.
    ExpectedKey,
    /// Something stands where `:` should.
    ExpectedColon,
    /// Something stands where `,` or the closing bracket should.
    ExpectedCommaOrEnd,
    /// Something stands after the value.
    Trailing,
    /// A number is not written as JSON writes numbers.
    BadNumber,
    /// An integer has more digits than allowed.
    TooManyDigits,
    /// A number is beyond binary64.
    NumberTooLarge,
    /// `NaN` or `Infinity`, which JSON does not have.
    NonFinite,
    /// A control character stands unescaped in a string.
    ControlCharacter,
    /// An escape that JSON does not have.
    BadEscape,
    /// A key stands twice in one object.
    DuplicateKey,
    /// Nested deeper than allowed.
    TooDeep,
    /// More values than allowed.
    TooManyValues,
}

impl ReadErrorKind {
    /// What is wrong, in words.
    #[must_use]
    pub fn message(self) -> &'static str {
        match self {
            Self::TooLong => "the text is longer than allowed",
            Self::NotUtf8 => "the text is not UTF-8 here",
            Self::ByteOrderMark => "the text starts with a byte order mark; remove it",
            Self::Unfinished => "the text ends before the value does",
            Self::ExpectedValue => "expected a value",
            Self::ExpectedKey => "expected a key in double quotes",
            Self::ExpectedColon => "expected `:` after the key",
            Self::ExpectedCommaOrEnd => "expected `,` or the closing bracket",
            Self::Trailing => "expected nothing after the value",
            Self::BadNumber => "this is no JSON number",
            Self::TooManyDigits => "the integer has more digits than allowed",
            Self::NumberTooLarge => "the number is too large for binary64",
            Self::NonFinite => "JSON has no NaN and no Infinity",
            Self::ControlCharacter => "a control character in a string must be escaped",
            Self::BadEscape => "this is no JSON escape",
            Self::DuplicateKey => "the key stands twice in this object",
            Self::TooDeep => "nested deeper than allowed",
            Self::TooManyValues => "more values than allowed",
        }
    }
}

/// What is wrong with a JSON text, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// What is wrong.
    pub kind: ReadErrorKind,
    /// Where, in bytes from the start.
    pub offset: usize,
    /// The line, counted from 1.
    pub line: usize,
    /// The column, in characters, counted from 1.
    pub column: usize,
}

impl ReadError {
    /// An error at `offset` of `text`.
    pub(super) fn at(kind: ReadErrorKind, text: &[u8], offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        // continuation bytes are no characters of their own
        let column =
            1 + before.get(line_start..).unwrap_or_default().iter().filter(|byte| **byte & 0xC0 != 0x80).count();
        Self { kind, offset, line, column }
    }
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (line {}, column {})", self.kind.message(), self.line, self.column)
    }
}

impl std::error::Error for ReadError {}
