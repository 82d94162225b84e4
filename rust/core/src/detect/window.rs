//! The last calls of an agent: counts, distinct calls and entropy, each brought up to date in constant time.
use std::collections::hash_map::Entry;
use std::collections::VecDeque;
use std::sync::LazyLock;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// A ring of the last `capacity` symbols with their counts.
///
/// The entropy is H = log2 n − (1/n) Σ c·log2 c (Shannon 1948). The sum is kept in fixed point, 2^-20 bit a unit: what
/// is added for a count is taken away as the same integer, so it never drifts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Window {
    capacity: usize,
    ring: VecDeque<u64>,
    counts: FxHashMap<u64, u32>,
    weighted: i64,
}

const UNIT: f64 = 1_048_576.0;

/// What the sum grows by when a count goes from `c` to `c + 1`, for small counts, which nearly all are.
static GAINS: LazyLock<[i64; 64]> =
    LazyLock::new(|| std::array::from_fn(|count| computed_gain(u32::try_from(count).unwrap_or(u32::MAX))));

fn gain(count: u32) -> i64 {
    match GAINS.get(count as usize) {
        Some(gain) => *gain,
        None => computed_gain(count),
    }
}

fn computed_gain(count: u32) -> i64 {
    weight(count.saturating_add(1)).saturating_sub(weight(count))
}

/// c·log2 c in fixed point.
#[allow(clippy::cast_possible_truncation)]
fn weight(count: u32) -> i64 {
    if count < 2 {
        return 0;
    }
    let count = f64::from(count);
    (count * count.log2() * UNIT).round() as i64
}

impl Window {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, ring: VecDeque::new(), counts: FxHashMap::default(), weighted: 0 }
    }

    pub(crate) fn push(&mut self, symbol: u64) {
        if self.ring.len() >= self.capacity {
            if let Some(oldest) = self.ring.pop_front() {
                self.forget(oldest);
            }
        }
        self.ring.push_back(symbol);
        let count = self.counts.entry(symbol).or_insert(0);
        self.weighted = self.weighted.saturating_add(gain(*count));
        *count = count.saturating_add(1);
    }

    fn forget(&mut self, symbol: u64) {
        if let Entry::Occupied(mut entry) = self.counts.entry(symbol) {
            let left = entry.get().saturating_sub(1);
            self.weighted = self.weighted.saturating_sub(gain(left));
            if left == 0 {
                entry.remove();
            } else {
                *entry.get_mut() = left;
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.ring.len()
    }

    pub(crate) fn count(&self, symbol: u64) -> u64 {
        self.counts.get(&symbol).copied().map_or(0, u64::from)
    }

    /// Distinct calls.
    pub(crate) fn distinct(&self) -> u64 {
        u64::try_from(self.counts.len()).unwrap_or(u64::MAX)
    }

    /// Distinct calls by all calls; 1 while it is empty.
    #[allow(clippy::cast_precision_loss)]
    pub(crate) fn share(&self) -> f64 {
        if self.ring.is_empty() {
            return 1.0;
        }
        self.counts.len() as f64 / self.ring.len() as f64
    }

    /// Shannon entropy in bits; 0 while it is empty.
    #[allow(clippy::cast_precision_loss)]
    pub(crate) fn entropy(&self) -> f64 {
        if self.ring.is_empty() {
            return 0.0;
        }
        let calls = self.ring.len() as f64;
        (calls.log2() - self.weighted as f64 / UNIT / calls).max(0.0)
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.capacity);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_and_share_follow_the_window() {
        let mut window = Window::new(4);
        for symbol in [1, 1, 2, 2] {
            window.push(symbol);
        }
        assert_eq!((window.share(), window.entropy()), (0.5, 1.0));
        for symbol in [3, 4] {
            window.push(symbol);
        }
        // 2 2 3 4: H = 1/2·1 + 1/4·2 + 1/4·2 = 1.5
        assert_eq!((window.share(), window.entropy()), (0.75, 1.5));
        for symbol in [5, 6, 7] {
            window.push(symbol);
        }
        assert_eq!((window.share(), window.entropy(), window.count(2)), (1.0, 2.0, 0));
    }
}
