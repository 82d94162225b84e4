//! The value itself: what JSON knows, plus what Python hands over that JSON does not know.
use crate::{Map, Text};

/// A JSON-like value. Immutable once made; cloning copies it.
#[derive(Clone, Debug)]
pub enum Value {
    /// `null`, `None`.
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// An integer that fits into 64 bits.
    Int(i64),
    /// An integer that does not: its decimal digits with an optional leading `-`, no leading zeros.
    BigInt(Box<str>),
    /// A binary64 number, NaN and infinities included.
    Float(f64),
    /// A string.
    Str(Text),
    /// A list or tuple.
    List(Vec<Value>),
    /// A map with text keys.
    Map(Map),
    /// Something of the host's that JSON has no form for. Results only; arguments refuse it.
    Foreign(Box<Foreign>),
}

/// A host value without a JSON form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// What it is.
    pub kind: ForeignKind,
    /// Its exact text form (ISO 8601, decimal digits, a SHA-256 with the length); empty for opaque.
    pub text: String,
}

/// The kinds of host values that are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignKind {
    /// `bytes`: the SHA-256 of its content and its length.
    Bytes,
    /// `datetime.datetime`
    DateTime,
    /// `datetime.date`
    Date,
    /// `datetime.time`
    Time,
    /// `decimal.Decimal`
    Decimal,
    /// `uuid.UUID`
    Uuid,
    /// Anything else: equal to nothing, itself included.
    Opaque,
}

impl Value {
    /// The string, if this is one and it is valid Unicode.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => text.as_str(),
            _ => None,
        }
    }

    /// The map, if this is one.
    #[must_use]
    pub fn as_map(&self) -> Option<&Map> {
        match self {
            Self::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The list, if this is one.
    #[must_use]
    pub fn as_list(&self) -> Option<&[Value]> {
        match self {
            Self::List(list) => Some(list),
            _ => None,
        }
    }

    /// The boolean, if this is one.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The value as a binary64 number, if it is a number of at most 64 bits.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Int(value) => Some(*value as f64),
            Self::Float(value) => Some(*value),
            _ => None,
        }
    }

    /// The field of a map.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_map()?.get(key)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Str(text.into())
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}
