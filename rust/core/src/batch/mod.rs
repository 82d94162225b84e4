//! Scans whole columns of recorded calls: repeats, cycles, distinct symbols and entropy, session by session.
//!
//! A row is one call: a symbol (any 64 bits that stand for "the same call") and the session it belongs to. Rows of a
//! session keep their order and need not be adjacent. A session is scanned in three passes over dense ids, each
//! constant time per row whatever the window: [`symbols`] numbers the symbols, [`cycles`] runs one counter per lag,
//! [`window`] keeps counts and the entropy of the last `window` rows. Nothing depends on the number of threads.
mod cycles;
mod entropy;
mod groups;
mod session;
mod symbols;
mod threads;
mod window;

use std::fmt;
use std::num::NonZeroUsize;

use crate::counted::counted;

pub use groups::{SessionColumn, Stretch};
pub use session::SessionStats;

/// Most rows of one scan; counters of rows are 32-bit and signed inside.
pub const MAX_ROWS: usize = 0x7fff_fffe;
/// Longest period that may be asked for: the cost of a row grows with it.
pub const MAX_PERIOD: u32 = 65_536;

/// What to look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanOptions {
    /// Rows that `highest_count`, `min_entropy` and the windowed row columns look back on, this row included. ≥ 1.
    pub window: u32,
    /// Longest period that counts as a cycle, 1 to [`MAX_PERIOD`].
    pub max_period: u32,
    /// Laps of a period that make a cycle, ≥ 2.
    pub laps: u32,
    /// Also fill [`RowColumns`].
    pub rows: bool,
    /// Threads to use at most. One session is never split.
    pub threads: NonZeroUsize,
    /// Key of the hash table, so that nobody can choose symbols that collide. It has no influence on the result.
    pub hash_key: u64,
}

/// Per-row results, in the order of the input.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowColumns {
    /// The symbol was seen before in this session.
    pub repeat: Vec<bool>,
    /// Smallest period of which this row ends `laps` laps or more; 0 where there is none.
    pub period: Vec<u32>,
    /// Distinct symbols in the window that ends here.
    pub distinct: Vec<u32>,
    /// Shannon entropy of that window, in bits.
    pub entropy: Vec<f64>,
}

/// Sums and extremes over all sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Number of sessions.
    pub sessions: u64,
    /// Number of rows.
    pub calls: u64,
    /// Sum of the sessions' repeats.
    pub repeats: u64,
    /// Sum of the sessions' cycle rows.
    pub cycles: u64,
    /// Sessions with at least one cycle row.
    pub cycling_sessions: u64,
    /// Sum of the sessions' distinct symbols.
    pub distinct: u64,
    /// Longest run of any session.
    pub longest_run: u32,
    /// Highest windowed count of any session.
    pub highest_count: u32,
    /// Lowest entropy of any full window, in bits; `None` where no session fills one.
    pub min_entropy: Option<f64>,
}

/// What a scan found.
#[derive(Clone, Debug, PartialEq)]
pub struct Scan {
    /// One entry a session, in order of first appearance.
    pub sessions: Vec<SessionStats>,
    /// Sums and extremes of `sessions`.
    pub totals: Totals,
    /// Per-row columns, if asked for.
    pub rows: Option<RowColumns>,
}

/// Why a scan cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanError {
    /// The columns differ in length.
    UnequalLengths {
        /// Rows of the symbol column.
        symbols: usize,
        /// Rows of the session column.
        sessions: usize,
    },
    /// More than [`MAX_ROWS`].
    TooManyRows(usize),
    /// `window` is 0.
    Window,
    /// `max_period` is 0 or above [`MAX_PERIOD`].
    MaxPeriod,
    /// `laps` is below 2.
    Laps,
}

impl fmt::Display for ScanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnequalLengths { symbols, sessions } => {
                let rows = counted(symbols, "row");
                write!(f, "`symbols` has {rows} and `sessions` has {sessions}; give one session per symbol")
            }
            Self::TooManyRows(rows) => {
                write!(f, "{rows} rows are more than one scan takes ({MAX_ROWS}); split them by session")
            }
            Self::Window => write!(f, "`window` must be 1 or more"),
            Self::MaxPeriod => write!(f, "`max_period` must be from 1 to {MAX_PERIOD}"),
            Self::Laps => write!(f, "`laps` must be 2 or more; one lap repeats nothing"),
        }
    }
}

impl std::error::Error for ScanError {}

impl ScanOptions {
    fn check(&self, symbols: usize, sessions: usize) -> Result<(), ScanError> {
        if symbols != sessions {
            return Err(ScanError::UnequalLengths { symbols, sessions });
        }
        if symbols > MAX_ROWS {
            return Err(ScanError::TooManyRows(symbols));
        }
        if self.window == 0 {
            return Err(ScanError::Window);
        }
        if self.max_period == 0 || self.max_period > MAX_PERIOD {
            return Err(ScanError::MaxPeriod);
        }
        if self.laps < 2 {
            return Err(ScanError::Laps);
        }
        Ok(())
    }
}

/// Scans rows of which the i-th has the i-th symbol and the i-th session.
///
/// Beside its arguments it holds 64 bytes a session, and per thread, for the session at hand, 4 bytes a row and at most
/// 92 bytes a distinct symbol (60 where all differ). Interleaved sessions cost 12 bytes a row more; row columns 17, or 34 if interleaved.
///
/// # Errors
/// [`ScanError`] when the columns differ in length or an option is out of range.
pub fn scan(symbols: &[u64], sessions: &SessionColumn, options: &ScanOptions) -> Result<Scan, ScanError> {
    options.check(symbols.len(), sessions.rows())?;
    let grouped = groups::group(symbols, &sessions.stretches, options.hash_key);
    let (stats, rows) = threads::run(&grouped, options);
    let rows = options.rows.then(|| grouped.in_input_order(rows));
    let totals = Totals::of(&stats);
    Ok(Scan { sessions: stats, totals, rows })
}

impl Totals {
    fn of(sessions: &[SessionStats]) -> Self {
        let mut totals = Self::default();
        for stats in sessions {
            // sums of at most MAX_ROWS each over rows of one input: far below u64::MAX
            totals.sessions = totals.sessions.saturating_add(1);
            totals.calls = totals.calls.saturating_add(stats.calls.into());
            totals.repeats = totals.repeats.saturating_add(stats.repeats.into());
            totals.cycles = totals.cycles.saturating_add(stats.cycles.into());
            totals.cycling_sessions = totals.cycling_sessions.saturating_add(stats.first_cycle.is_some().into());
            totals.distinct = totals.distinct.saturating_add(stats.distinct.into());
            totals.longest_run = totals.longest_run.max(stats.longest_run);
            totals.highest_count = totals.highest_count.max(stats.highest_count);
            totals.min_entropy = match (totals.min_entropy, stats.min_entropy) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
        totals
    }
}

#[cfg(test)]
mod tests;
