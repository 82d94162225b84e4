//! An immutable map from text to value that keeps the order in which its entries came.
use crate::{Text, Value};

/// Maps up to this size are searched entry by entry; larger ones through a sorted index.
const LINEAR: usize = 12;

/// Entries in the order in which they came, keys unique, with fast look-up for large maps.
#[derive(Clone, Debug, Default)]
pub struct Map {
    entries: Vec<(Text, Value)>,
    /// Positions of `entries` sorted by key bytes; empty while the map is small.
    index: Box<[u32]>,
}

impl Map {
    /// A map of these entries.
    ///
    /// # Errors
    /// The position of the first entry whose key stands earlier too.
    pub fn new(entries: Vec<(Text, Value)>) -> Result<Self, usize> {
        if entries.len() <= LINEAR {
            for (at, (key, _)) in entries.iter().enumerate() {
                if entries.iter().take(at).any(|(earlier, _)| earlier == key) {
                    return Err(at);
                }
            }
            return Ok(Self { entries, index: Box::default() });
        }
        let mut index: Vec<u32> = (0..u32::try_from(entries.len()).map_err(|_| entries.len())?).collect();
        let key = |at: &u32| entries.get(*at as usize).map_or(&[][..], |(key, _)| key.as_bytes());
        index.sort_by(|a, b| key(a).cmp(key(b)).then(a.cmp(b)));
        if let Some(pair) = index.windows(2).filter(|pair| key(&pair[0]) == key(&pair[1])).map(|pair| pair[1]).min() {
            return Err(pair as usize);
        }
        Ok(Self { entries, index: index.into() })
    }

    /// The value under `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        if self.index.is_empty() {
            return self.entries.iter().find(|(have, _)| have.as_bytes() == key.as_bytes()).map(|(_, value)| value);
        }
        let entry = |at: u32| self.entries.get(at as usize);
        let found = self
            .index
            .binary_search_by(|at| entry(*at).map_or(&[][..], |(have, _)| have.as_bytes()).cmp(key.as_bytes()))
            .ok()?;
        self.index.get(found).and_then(|at| entry(*at)).map(|(_, value)| value)
    }

    /// The entries in the order in which they came.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Text, &Value)> {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
