//! Finds rows that end `laps` laps of a short period, with one run-length counter per lag.
//!
//! run[p] counts how many rows in a row equal the one p rows earlier. `laps` laps of period p end at a row when
//! run[p] ≥ (laps − 1)·p: the first lap sets the pattern, the others repeat it. The smallest such p is reported, so
//! A A A A is period 1 and not 2.
use super::threads::RowColumnsMut;

const LANES: usize = 8;
/// Stands before the first row: equal to no id.
const NOTHING: u32 = u32::MAX;
/// A limit that no run exceeds, for lags that only fill the last lanes.
const NEVER: i32 = i32::MAX;

/// What the cycle pass found in one session.
#[derive(Clone, Copy, Default)]
pub(super) struct Cycles {
    pub(super) rows: u32,
    /// Position inside the session and period of the first cycle row.
    pub(super) first: Option<(u32, u32)>,
}

/// Counters of eight neighbouring lags, the longest first: then the rows before a row line up with them in memory.
#[derive(Clone, Copy)]
struct Lanes {
    runs: [i32; LANES],
    /// A run above its limit is a cycle: (laps − 1)·p − 1.
    limits: [i32; LANES],
}

/// Counters of all lags, the longest first.
#[derive(Default)]
pub(super) struct Lags {
    lanes: Vec<Lanes>,
}

/// How many entries must stand before a session's ids for periods up to `max_period`.
pub(super) fn padding(max_period: u32) -> usize {
    (max_period as usize).next_multiple_of(LANES)
}

/// The entry to pad with.
pub(super) fn pad() -> u32 {
    NOTHING
}

impl Lanes {
    /// Advances the counters by one row; negative if any is above its limit.
    #[inline(always)]
    fn advance(&mut self, before: &[u32; LANES], id: u32) -> i32 {
        let mut above = 0;
        for ((run, limit), other) in self.runs.iter_mut().zip(&self.limits).zip(before) {
            // all ones where equal, so that the lanes need no branch
            let equal = i32::from(*other == id).wrapping_neg();
            *run = run.wrapping_sub(equal) & equal;
            // both are non-negative: the difference is negative exactly when the run is longer
            above |= limit.wrapping_sub(*run);
        }
        above
    }
}

impl Lags {
    fn reset(&mut self, max_period: u32, laps: u32) {
        let limit = |lag: usize| {
            let rows = (lag as u64).saturating_mul(u64::from(laps.saturating_sub(1))).saturating_sub(1);
            if lag > max_period as usize {
                NEVER
            } else {
                i32::try_from(rows).unwrap_or(NEVER)
            }
        };
        self.lanes.clear();
        let mut lag = padding(max_period);
        while lag > 0 {
            let limits = std::array::from_fn(|lane| limit(lag.saturating_sub(lane)));
            self.lanes.push(Lanes { runs: [0; LANES], limits });
            lag = lag.saturating_sub(LANES);
        }
    }

    /// `padded` is [`padding`] times [`pad`], then the session's ids.
    pub(super) fn scan(&mut self, padded: &[u32], max_period: u32, laps: u32, rows: &mut RowColumnsMut<'_>) -> Cycles {
        self.reset(max_period, laps);
        let mut found = Cycles::default();
        if let [lanes] = self.lanes.as_mut_slice() {
            // few lags, the usual case: their counters stay in registers
            let mut own = *lanes;
            for (i, here) in padded.windows(LANES.saturating_add(1)).enumerate() {
                let (Some(before), Some(id)) = (here.first_chunk(), here.last()) else { break };
                if own.advance(before, *id) < 0 {
                    found.note(i, smallest_period(&[own]), rows);
                }
            }
            return found;
        }
        for (i, here) in padded.windows(padding(max_period).saturating_add(1)).enumerate() {
            let Some((id, before)) = here.split_last() else { break };
            let (chunks, _) = before.as_chunks();
            let mut above = 0;
            for (lanes, before) in self.lanes.iter_mut().zip(chunks) {
                above |= lanes.advance(before, *id);
            }
            if above < 0 {
                found.note(i, smallest_period(&self.lanes), rows);
            }
        }
        found
    }
}

impl Cycles {
    /// `i`: the row's position in the session.
    fn note(&mut self, i: usize, period: u32, rows: &mut RowColumnsMut<'_>) {
        self.rows = self.rows.saturating_add(1);
        self.first.get_or_insert((i as u32, period));
        if let Some(cell) = rows.period.get_mut(i) {
            *cell = period;
        }
    }
}

fn smallest_period(lanes: &[Lanes]) -> u32 {
    let lags = lanes.iter().flat_map(|lanes| lanes.runs.iter().zip(&lanes.limits));
    lags.rev().zip(1u32..).find(|((run, limit), _)| run > limit).map_or(0, |(_, lag)| lag)
}
