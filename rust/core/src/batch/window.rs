//! Counts, distinct symbols and entropy of the last `window` rows, in constant time per row.
use super::entropy::{Bits, Weights};
use super::threads::RowColumnsMut;

/// What the window pass found in one session.
#[derive(Clone, Copy, Default)]
pub(super) struct Windowed {
    pub(super) highest_count: u32,
    /// Largest Σ c·log2 c of a full window: the one of lowest entropy.
    pub(super) heaviest: Option<i128>,
}

/// Counts of the symbols inside the window, by id.
#[derive(Default)]
pub(super) struct WindowCounts {
    counts: Vec<u32>,
    distinct: u32,
    weight: i128,
}

impl WindowCounts {
    fn reset(&mut self, distinct: u32) {
        self.counts.clear();
        self.counts.resize(distinct as usize, 0);
        self.distinct = 0;
        self.weight = 0;
    }

    /// `ids` are the session's rows, below `distinct` each.
    pub(super) fn scan(
        &mut self,
        ids: &[u32],
        distinct: u32,
        window: u32,
        weights: &Weights,
        rows: &mut RowColumnsMut<'_>,
    ) -> Windowed {
        self.reset(distinct);
        let mut found = Windowed::default();
        let wanted = !rows.distinct.is_empty();
        let filling = ids.len().min(window as usize);
        let (first, rest) = ids.split_at_checked(filling).unwrap_or((ids, &[]));
        for (i, id) in first.iter().enumerate() {
            found.highest_count = found.highest_count.max(self.enter(*id, weights));
            if wanted {
                self.write(i, &Bits::over((i as u32).saturating_add(1)), rows);
            }
        }
        if filling == window as usize {
            found.heaviest = Some(self.weight);
        }
        let bits = Bits::over(window);
        for ((leaving, id), i) in ids.iter().zip(rest).zip(filling..) {
            self.leave(*leaving, weights);
            found.highest_count = found.highest_count.max(self.enter(*id, weights));
            found.heaviest = found.heaviest.max(Some(self.weight));
            if wanted {
                self.write(i, &bits, rows);
            }
        }
        found
    }

    #[inline]
    fn enter(&mut self, id: u32, weights: &Weights) -> u32 {
        let Some(count) = self.counts.get_mut(id as usize) else { return 0 };
        *count = count.wrapping_add(1);
        self.distinct = self.distinct.wrapping_add(u32::from(*count == 1));
        self.weight = self.weight.wrapping_add(weights.step(*count).into());
        *count
    }

    #[inline]
    fn leave(&mut self, id: u32, weights: &Weights) {
        let Some(count) = self.counts.get_mut(id as usize) else { return };
        self.weight = self.weight.wrapping_sub(weights.step(*count).into());
        self.distinct = self.distinct.wrapping_sub(u32::from(*count == 1));
        *count = count.wrapping_sub(1);
    }

    fn write(&self, i: usize, bits: &Bits, rows: &mut RowColumnsMut<'_>) {
        if let Some(cell) = rows.distinct.get_mut(i) {
            *cell = self.distinct;
        }
        if let Some(cell) = rows.entropy.get_mut(i) {
            *cell = bits.entropy(self.weight);
        }
    }
}
