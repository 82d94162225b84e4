//! An immutable map from text to value that keeps the order in which its entries came.
use crate::{Text, Value};

/// Maps up to this size are searched entry by entry; larger ones through a sorted index.
const LINEAR: usize = 12;

/// Entries in the order in which they came, keys unique, with fast look-up for large maps.
#[derive(Clone, Debug, Default)]
pub struct Map {
    entries: Vec<(Text, Value)>,
    /// Only where the map is large. Boxed, so that a value stays small.
    index: Option<Box<Index>>,
}

/// Positions of the entries, sorted by key bytes.
#[derive(Clone, Debug)]
struct Index(Vec<u32>);

impl Map {
    /// A map of these entries.
    ///
    /// # Errors
    /// The position of the first entry whose key stands earlier too.
    pub fn new(entries: Vec<(Text, Value)>) -> Result<Self, usize> {
        if entries.len() <= LINEAR {
            let mut seen = 0_u64;
            for (at, (key, _)) in entries.iter().enumerate() {
                let bit = 1 << (trace(key.as_bytes()) & 63);
                if seen & bit != 0 && entries.iter().take(at).any(|(earlier, _)| earlier == key) {
                    return Err(at);
                }
                seen |= bit;
            }
            return Ok(Self { entries, index: None });
        }
        let map = Self::of_unique(entries);
        let Some(index) = &map.index else { return Ok(map) };
        let equal = |a: u32, b: u32| map.key(a) == map.key(b);
        let pairs = index.0.iter().zip(index.0.iter().skip(1));
        match pairs.filter(|(a, b)| equal(**a, **b)).map(|(_, b)| *b).min() {
            Some(again) => Err(again as usize),
            None => Ok(map),
        }
    }

    /// A map of entries whose keys are known to be unique. Where they are not, look-ups find one of them. No reader lets in
    /// more than 2^32 entries; look-ups do not find what lies beyond.
    #[must_use]
    pub fn of_unique(entries: Vec<(Text, Value)>) -> Self {
        let mut map = Self { entries, index: None };
        if map.entries.len() > LINEAR {
            let mut index: Vec<u32> = (0..=u32::MAX).take(map.entries.len()).collect();
            index.sort_by(|a, b| map.key(*a).cmp(map.key(*b)).then(a.cmp(b)));
            map.index = Some(Box::new(Index(index)));
        }
        map
    }

    fn key(&self, at: u32) -> &[u8] {
        self.entries.get(at as usize).map_or(&[], |(key, _)| key.as_bytes())
    }

    /// The value under `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        let Some(index) = &self.index else {
            return self.entries.iter().find(|(have, _)| have.as_bytes() == key.as_bytes()).map(|(_, value)| value);
        };
        let found = index.0.binary_search_by(|at| self.key(*at).cmp(key.as_bytes())).ok()?;
        let at = index.0.get(found)?;
        self.entries.get(*at as usize).map(|(_, value)| value)
    }

    /// The entries in the order in which they came.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Text, &Value)> {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    /// The entries themselves, in the order in which they came.
    #[must_use]
    pub fn into_entries(self) -> Vec<(Text, Value)> {
        self.entries
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

/// A cheap trace of a key: keys with different traces differ.
fn trace(key: &[u8]) -> usize {
    let byte = |byte: Option<&u8>| usize::from(byte.copied().unwrap_or(0));
    key.len() ^ byte(key.first()).wrapping_mul(7) ^ byte(key.last()).wrapping_mul(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(keys: impl IntoIterator<Item = String>) -> Vec<(Text, Value)> {
        keys.into_iter().zip(0..).map(|(key, at)| (Text::from(key), Value::Int(at))).collect()
    }

    #[test]
    fn every_key_is_found_and_no_other_whatever_the_size() {
        for size in [0, 1, 5, 12, 13, 200] {
            let map = Map::new(entries((0..size).map(|at| format!("k{at}")))).unwrap();
            for at in 0..size {
                assert_eq!(map.get(&format!("k{at}")).and_then(Value::as_f64), Some(f64::from(at)));
            }
            assert!(map.get("k").is_none() && map.get(&format!("k{size}")).is_none());
        }
    }

    #[test]
    fn the_first_repeated_key_is_reported_whatever_the_size() {
        for size in [2, 12, 13, 200] {
            let mut keys: Vec<String> = (0..size).map(|at| format!("k{at}")).collect();
            keys.insert(2, "k0".to_owned());
            keys.push("k1".to_owned());
            assert_eq!(Map::new(entries(keys)).err(), Some(2));
        }
    }

    #[test]
    fn a_value_takes_no_more_than_32_bytes() {
        assert!(std::mem::size_of::<Value>() <= 32);
    }
}
