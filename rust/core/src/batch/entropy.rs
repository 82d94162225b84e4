//! Shannon entropy from counts, in fixed point, so that a sliding window never drifts.
//!
//! With counts c of n rows in all, H = -Σ (c/n)·log2(c/n) = (n·log2 n − Σ c·log2 c) / n (Shannon 1948). Only
//! Σ c·log2 c changes as rows enter and leave. Each term is rounded once to 2^-32 bits and then added and taken away
//! as an integer, so after any number of rows the sum equals the one computed afresh.

/// Counts below this are looked up, larger ones computed. The table takes 8 bytes a count, so 8 MiB at most.
const TABLE: u32 = 1 << 20;
const ONE: f64 = 4_294_967_296.0;

/// c·log2 c in units of 2^-32 bits.
fn weight(count: u32) -> i128 {
    let count = f64::from(count.max(1));
    (count * count.log2() * ONE).round() as i128
}

/// c·log2 c of the counts that occur.
#[derive(Default)]
pub(super) struct Weights {
    /// Fits an `i64`: 2^20·20·2^32 is below 2^57.
    table: Vec<i64>,
}

impl Weights {
    /// Makes lookups of counts up to `highest` cheap.
    pub(super) fn cover(&mut self, highest: u32) {
        let known = self.table.len() as u32;
        self.table.extend((known..=highest).take_while(|count| *count < TABLE).map(|count| weight(count) as i64));
    }

    /// The growth of c·log2 c from `count - 1` to `count`, in 2^-32 bits.
    #[inline]
    pub(super) fn step(&self, count: u32) -> i64 {
        let below = count.saturating_sub(1);
        match (self.table.get(below as usize), self.table.get(count as usize)) {
            (Some(before), Some(after)) => after.wrapping_sub(*before),
            // the slope is log2 c + 1.44 at most, so at most 33 bits before the point
            _ => weight(count).wrapping_sub(weight(below)) as i64,
        }
    }

    /// Σ c·log2 c over whole counts, in 2^-32 bits.
    pub(super) fn sum(&self, counts: &[u32]) -> i128 {
        counts.iter().fold(0i128, |sum, count| {
            sum.wrapping_add(match self.table.get(*count as usize) {
                Some(weight) => i128::from(*weight),
                None => weight(*count),
            })
        })
    }
}

/// Turns Σ c·log2 c of a fixed number of rows into bits.
pub(super) struct Bits {
    top: i128,
    scale: f64,
}

impl Bits {
    pub(super) fn over(rows: u32) -> Self {
        Self { top: weight(rows), scale: f64::from(rows.max(1)) * ONE }
    }

    #[inline]
    pub(super) fn entropy(&self, weight_sum: i128) -> f64 {
        self.top.wrapping_sub(weight_sum).max(0) as f64 / self.scale
    }
}
