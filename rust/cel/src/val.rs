//! The values of an evaluation: borrowed from the data where they can be, owned where they were made.
use crate::entries::Entries;
use crate::library::network::Cidr;
use callgate_value::{Map as JsonMap, Text, Value};
use std::net::IpAddr;
use std::ops::Deref;
use std::sync::Arc;

/// The types that have a name in the language.
pub(crate) const TYPE_NAMES: [&str; 15] = [
    "bool",
    "int",
    "uint",
    "double",
    "string",
    "bytes",
    "list",
    "map",
    "null_type",
    "type",
    "google.protobuf.Timestamp",
    "google.protobuf.Duration",
    "optional_type",
    "net.IP",
    "net.CIDR",
];

/// A value. Cloning is cheap: nothing below the first level is copied.
#[derive(Clone, Debug)]
pub enum Val<'a> {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    Uint(u64),
    /// A binary64 number.
    Double(f64),
    /// Text, always valid Unicode.
    Str(Str<'a>),
    /// Octets.
    Bytes(Arc<[u8]>),
    /// A list.
    List(List<'a>),
    /// A map.
    Map(Map<'a>),
    /// A length of time in nanoseconds.
    Duration(i64),
    /// A point in time.
    Timestamp(Timestamp),
    /// A type, by its name.
    Type(&'static str),
    /// An IP address.
    Ip(IpAddr),
    /// A range of IP addresses.
    Cidr(Cidr),
    /// A value that may be missing.
    Optional(Option<Arc<Val<'a>>>),
    /// Data that CEL has no form for: an integer beyond 64 bits, text with lone surrogates, a host value.
    Raw(&'a Value),
}

/// A point in time: seconds since 1970 and nanoseconds, year 1 to year 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp {
    /// Whole seconds since 1970-01-01T00:00:00Z, rounded down.
    pub seconds: i64,
    /// Nanoseconds on top, below 1,000,000,000.
    pub nanos: u32,
}

/// Text, borrowed or owned.
#[derive(Clone, Debug)]
pub enum Str<'a> {
    /// From the data or from the expression.
    Borrowed(&'a str),
    /// Made by the evaluation.
    Owned(Arc<str>),
}

impl Deref for Str<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Owned(text) => text,
        }
    }
}

/// A list, borrowed or owned.
#[derive(Clone, Debug)]
pub enum List<'a> {
    /// From the data.
    Json(&'a [Value]),
    /// Made by the evaluation.
    Owned(Arc<Vec<Val<'a>>>),
}

impl<'a> List<'a> {
    /// A list of these values.
    #[must_use]
    pub fn owned(values: Vec<Val<'a>>) -> Self {
        Self::Owned(Arc::new(values))
    }

    /// How many elements there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Json(values) => values.len(),
            Self::Owned(values) => values.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element at `at`.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<Val<'a>> {
        match self {
            Self::Json(values) => values.get(at).map(Val::from),
            Self::Owned(values) => values.get(at).cloned(),
        }
    }

    /// The elements in order.
    pub fn iter(&self) -> impl Iterator<Item = Val<'a>> + '_ {
        (0..self.len()).filter_map(|at| self.get(at))
    }
}

/// A map, borrowed or owned.
#[derive(Clone, Debug)]
pub enum Map<'a> {
    /// From the data; its keys are strings.
    Json(&'a JsonMap),
    /// Made by the evaluation.
    Owned(Arc<Entries<'a>>),
}

impl<'a> Map<'a> {
    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Json(map) => map.len(),
            Self::Owned(entries) => entries.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value under a string key.
    #[must_use]
    #[inline]
    pub fn field(&self, name: &str) -> Option<Val<'a>> {
        match self {
            Self::Json(map) => map.get(name).map(Val::from),
            Self::Owned(entries) => entries.field(name),
        }
    }
}

impl<'a> From<&'a Value> for Val<'a> {
    #[inline]
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Int(value) => Self::Int(*value),
            Value::Float(value) => Self::Double(*value),
            Value::Str(Text::Utf8(text)) => Self::Str(Str::Borrowed(text)),
            Value::List(values) => Self::List(List::Json(values)),
            Value::Map(map) => Self::Map(Map::Json(map)),
            Value::BigInt(digits) => digits.parse().map_or(Self::Raw(value), Self::Uint),
            Value::Str(Text::Surrogates(_)) | Value::Foreign(_) => Self::Raw(value),
        }
    }
}

impl<'a> From<&'a str> for Val<'a> {
    fn from(text: &'a str) -> Self {
        Self::Str(Str::Borrowed(text))
    }
}

impl From<String> for Val<'_> {
    fn from(text: String) -> Self {
        Self::Str(Str::Owned(text.into()))
    }
}

impl From<bool> for Val<'_> {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Val<'_> {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<f64> for Val<'_> {
    fn from(value: f64) -> Self {
        Self::Double(value)
    }
}

impl<'a> Val<'a> {
    /// The name of its type, as `type(x)` gives it.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::Str(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::Type(_) => "type",
            Self::Ip(_) => "net.IP",
            Self::Cidr(_) => "net.CIDR",
            Self::Optional(_) => "optional_type",
            Self::Raw(Value::Str(_)) => "text with lone surrogates",
            Self::Raw(Value::BigInt(_)) => "integer beyond 64 bits",
            Self::Raw(_) => "host value",
        }
    }

    /// The text, if this is some.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
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

    pub(crate) fn some(value: Val<'a>) -> Self {
        Self::Optional(Some(Arc::new(value)))
    }

    /// The same value, lent by the program instead of shared with it.
    #[inline]
    pub(crate) fn lend(&'a self) -> Val<'a> {
        match self {
            Self::Str(Str::Owned(text)) => Self::Str(Str::Borrowed(text)),
            other => other.clone(),
        }
    }
}
