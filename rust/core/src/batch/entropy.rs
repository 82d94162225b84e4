//! Shannon entropy from counts, in fixed point, so that a sliding window never drifts.
//!
//! With counts c of n rows in all, H = -Σ (c/n)·log2(c/n) = (n·log2 n − Σ c·log2 c) / n (Shannon 1948). Only
//! Σ c·log2 c changes as rows enter and leave. Each term is rounded once to 2^-32 bits and then added and taken away
//! as an integer, so after any number of rows the sum equals the one computed afresh.

/// Counts whose steps are looked up; larger ones are computed.
const TABLE: usize = 2048;
const ONE: f64 = 4_294_967_296.0;

/// c·log2 c in units of 2^-32 bits.
fn weight(count: u32) -> i128 {
    let count = f64::from(count.max(1));
    (count * count.log2() * ONE).round() as i128
}

/// `weight(count) - weight(count - 1)`; at most 34 bits of value, so it fits an `i64`.
fn computed_step(count: u32) -> i64 {
    weight(count).wrapping_sub(weight(count.saturating_sub(1))) as i64
}

/// What a count adds to Σ c·log2 c when it goes up by one.
pub(super) struct Steps {
    table: Vec<i64>,
}

impl Steps {
    pub(super) fn new() -> Self {
        Self { table: (0..TABLE as u32).map(computed_step).collect() }
    }

    /// The growth of c·log2 c from `count - 1` to `count`, in 2^-32 bits.
    #[inline]
    pub(super) fn step(&self, count: u32) -> i64 {
        match self.table.get(count as usize) {
            Some(step) => *step,
            None => computed_step(count),
        }
    }
}

/// Σ c·log2 c over whole counts, in 2^-32 bits.
pub(super) fn weight_sum(counts: &[u32]) -> i128 {
    counts.iter().filter(|count| **count > 1).fold(0, |sum, count| sum.wrapping_add(weight(*count)))
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
