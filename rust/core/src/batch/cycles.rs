//! Finds rows that end `laps` laps of a short period, with one run-length counter per lag.
//!
//! run[p] counts how many rows in a row equal the one p rows earlier. `laps` laps of period p end at a row when
//! run[p] ≥ (laps − 1)·p: the first lap sets the pattern, the others repeat it. The smallest such p is reported, so
//! A A A A is period 1 and not 2.
use super::threads::RowColumnsMut;

const LANES: usize = 8;
/// Stands before the first row: equal to no id.
const NOTHING: u32 = u32::MAX;
/// A need that no run reaches, for lags that only fill the last lanes.
const NEVER: i32 = i32::MAX;

/// What the cycle pass found in one session.
#[derive(Clone, Copy, Default)]
pub(super) struct Cycles {
    pub(super) rows: u32,
    /// Position inside the session and period of the first cycle row.
    pub(super) first: Option<(u32, u32)>,
}

/// Counters of all lags, the longest lag first: then the rows before a row line up with them in memory.
#[derive(Default)]
pub(super) struct Lags {
    runs: Vec<[i32; LANES]>,
    needs: Vec<[i32; LANES]>,
}

/// How many entries must stand before a session's ids for periods up to `max_period`.
pub(super) fn padding(max_period: u32) -> usize {
    (max_period as usize).next_multiple_of(LANES)
}

/// The entry to pad with.
pub(super) fn pad() -> u32 {
    NOTHING
}

impl Lags {
    fn reset(&mut self, max_period: u32, laps: u32) {
        let lags = padding(max_period);
        let need = |lag: usize| {
            let rows = (lag as u64).saturating_mul(u64::from(laps.saturating_sub(1)));
            if lag > max_period as usize {
                NEVER
            } else {
                i32::try_from(rows).unwrap_or(NEVER)
            }
        };
        self.runs.clear();
        self.runs.resize(lags / LANES, [0; LANES]);
        self.needs.clear();
        let mut lag = lags;
        while lag > 0 {
            self.needs.push(std::array::from_fn(|lane| need(lag.saturating_sub(lane))));
            lag = lag.saturating_sub(LANES);
        }
    }

    /// `padded` is [`padding`] times [`pad`], then the session's ids.
    pub(super) fn scan(&mut self, padded: &[u32], max_period: u32, laps: u32, rows: &mut RowColumnsMut<'_>) -> Cycles {
        self.reset(max_period, laps);
        let lags = padding(max_period);
        let mut found = Cycles::default();
        // i: the row's position in the session
        for (i, rows_here) in padded.windows(lags.saturating_add(1)).enumerate() {
            let Some((id, before)) = rows_here.split_last() else { break };
            if !self.advance(before, *id) {
                continue;
            }
            let period = self.smallest_period();
            found.rows = found.rows.saturating_add(1);
            found.first.get_or_insert((i as u32, period));
            if let Some(cell) = rows.period.get_mut(i) {
                *cell = period;
            }
        }
        found
    }

    /// Advances every counter by one row; true if any has reached its need.
    #[inline]
    fn advance(&mut self, before: &[u32], id: u32) -> bool {
        let mut reached = 0;
        let (chunks, _) = before.as_chunks::<LANES>();
        for ((runs, needs), earlier) in self.runs.iter_mut().zip(&self.needs).zip(chunks) {
            for ((run, need), other) in runs.iter_mut().zip(needs).zip(earlier) {
                // all ones where equal, so that the lanes need no branch
                let equal = i32::from(*other == id).wrapping_neg();
                *run = run.wrapping_sub(equal) & equal;
                reached |= i32::from(*run >= *need);
            }
        }
        reached != 0
    }

    fn smallest_period(&self) -> u32 {
        let lanes = self.runs.as_flattened().iter().zip(self.needs.as_flattened()).rev();
        lanes.zip(1u32..).find(|((run, need), _)| run >= need).map_or(0, |(_, lag)| lag)
    }
}
