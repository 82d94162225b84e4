//! Strings as Python and JSON have them: Unicode, or Unicode with lone surrogates kept as they came.
use compact_str::CompactString;

/// A string. Nearly always valid Unicode; a string with lone surrogates (legal in Python and in JSON
/// escapes) keeps its WTF-8 bytes so that it stays different from every other string.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Text {
    /// Valid Unicode.
    Utf8(CompactString),
    /// WTF-8 with at least one lone surrogate in it.
    Surrogates(Box<[u8]>),
}

impl Text {
    /// The string, if it is valid Unicode.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Utf8(text) => Some(text),
            Self::Surrogates(_) => None,
        }
    }

    /// The bytes: UTF-8, or WTF-8 where there are lone surrogates.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Utf8(text) => text.as_bytes(),
            Self::Surrogates(bytes) => bytes,
        }
    }

    /// For messages: lone surrogates become U+FFFD.
    #[must_use]
    pub fn to_lossy(&self) -> std::borrow::Cow<'_, str> {
        match self {
            Self::Utf8(text) => std::borrow::Cow::Borrowed(text),
            Self::Surrogates(bytes) => String::from_utf8_lossy(bytes),
        }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::Utf8(CompactString::new(text))
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::Utf8(CompactString::from(text))
    }
}

impl std::fmt::Debug for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&self.to_lossy(), f)
    }
}
