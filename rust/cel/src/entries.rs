//! Maps that an evaluation makes: entries in order, keys unique, looked up by a sorted index once they are many.
use crate::error::{ErrorKind, EvalError, Fault};
use crate::val::{Str, Val};
use std::cmp::Ordering;

/// Up to this many entries are searched one by one.
const LINEAR: usize = 8;

/// A key. Ints and uints of one value are one key.
#[derive(Clone, Debug)]
pub enum Key<'a> {
    /// `true`, `false`
    Bool(bool),
    /// Any integer of 64 bits, signed or not.
    Number(i128, bool),
    /// Text.
    Str(Str<'a>),
}

impl<'a> Key<'a> {
    /// The key that a value is, if it may be one. A whole double finds the integer of its value when `lookup` is set.
    pub(crate) fn of(value: &Val<'a>, lookup: bool) -> Option<Self> {
        match value {
            Val::Bool(value) => Some(Self::Bool(*value)),
            Val::Int(value) => Some(Self::Number(i128::from(*value), false)),
            Val::Uint(value) => Some(Self::Number(i128::from(*value), true)),
            #[allow(clippy::cast_possible_truncation)] // whole and below 2^65
            Val::Double(value) if lookup && value.fract() == 0.0 && value.abs() < 3.7e19 => {
                Some(Self::Number(*value as i128, false))
            }
            Val::Str(text) => Some(Self::Str(text.clone())),
            _ => None,
        }
    }

    /// The key as a value.
    #[must_use]
    pub fn to_val(&self) -> Val<'a> {
        match self {
            Self::Bool(value) => Val::Bool(*value),
            Self::Number(value, true) => Val::Uint(u64::try_from(*value).unwrap_or(u64::MAX)),
            Self::Number(value, false) => Val::Int(i64::try_from(*value).unwrap_or(i64::MAX)),
            Self::Str(text) => Val::Str(text.clone()),
        }
    }

    fn compare(&self, other: &Key<'_>) -> Ordering {
        match (self, other) {
            (Self::Bool(a), Key::Bool(b)) => a.cmp(b),
            (Self::Number(a, _), Key::Number(b, _)) => a.cmp(b),
            (Self::Str(a), Key::Str(b)) => (**a).cmp(&**b),
            (Self::Bool(_), _) | (Self::Number(..), Key::Str(_)) => Ordering::Less,
            _ => Ordering::Greater,
        }
    }
}

/// Entries in the order in which they were made.
#[derive(Clone, Debug, Default)]
pub struct Entries<'a> {
    entries: Vec<(Key<'a>, Val<'a>)>,
    /// Positions sorted by key; empty while there are few.
    index: Vec<u32>,
}

impl<'a> Entries<'a> {
    /// The map of these entries.
    pub(crate) fn new(entries: Vec<(Key<'a>, Val<'a>)>) -> Result<Self, Fault> {
        let mut index: Vec<u32> = (0..u32::try_from(entries.len()).unwrap_or(u32::MAX)).collect();
        let key = |at: &u32| entries.get(*at as usize).map(|(key, _)| key);
        index.sort_by(|a, b| match (key(a), key(b)) {
            (Some(a), Some(b)) => a.compare(b),
            _ => Ordering::Equal,
        });
        let same = |pair: &&[u32]| match pair {
            [a, b] => matches!((key(a), key(b)), (Some(a), Some(b)) if a.compare(b) == Ordering::Equal),
            _ => false,
        };
        if index.windows(2).any(|pair| same(&pair)) {
            return Err(EvalError::fault(ErrorKind::BadKey, "a key stands twice in the map"));
        }
        if entries.len() <= LINEAR {
            index = Vec::new();
        }
        Ok(Self { entries, index })
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn get(&self, key: &Key<'_>) -> Option<Val<'a>> {
        let compare = |(known, _): &(Key<'a>, Val<'a>)| known.compare(key);
        if self.index.is_empty() {
            return self.entries.iter().find(|entry| compare(entry) == Ordering::Equal).map(|(_, value)| value.clone());
        }
        let entry = |at: &u32| self.entries.get(*at as usize);
        let found = self.index.binary_search_by(|at| entry(at).map_or(Ordering::Less, compare)).ok()?;
        self.index.get(found).and_then(entry).map(|(_, value)| value.clone())
    }

    pub(crate) fn field(&self, name: &str) -> Option<Val<'a>> {
        self.get(&Key::Str(Str::Borrowed(name)))
    }

    /// The entries in order.
    pub fn iter(&self) -> impl Iterator<Item = &(Key<'a>, Val<'a>)> {
        self.entries.iter()
    }
}
