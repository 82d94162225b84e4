//! Scans one session: numbers its symbols, then looks for cycles, then slides the window.
use super::cycles::{pad, padding, Lags};
use super::entropy::{Bits, Weights};
use super::symbols::SymbolIds;
use super::threads::RowColumnsMut;
use super::window::WindowCounts;
use super::ScanOptions;

/// What was found in one session. Rows are positions in the input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SessionStats {
    /// The session's value in the input.
    pub session: u64,
    /// Its first row.
    pub first_row: u32,
    /// Number of its rows.
    pub calls: u32,
    /// Rows whose symbol was seen before in the session.
    pub repeats: u32,
    /// Most neighbouring rows (of the session) with one symbol.
    pub longest_run: u32,
    /// Most rows with one symbol inside any window.
    pub highest_count: u32,
    /// Rows that end `laps` laps or more of a period.
    pub cycles: u32,
    /// Row and period of the first of them.
    pub first_cycle: Option<(u32, u32)>,
    /// Distinct symbols.
    pub distinct: u32,
    /// Shannon entropy of the whole session, in bits.
    pub entropy: f64,
    /// Lowest entropy of a full window, in bits; `None` if the session is shorter than the window.
    pub min_entropy: Option<f64>,
}

/// Memory that one thread uses again for every session.
pub(super) struct Scratch {
    symbols: SymbolIds,
    padded: Vec<u32>,
    counts: Vec<u32>,
    lags: Lags,
    window: WindowCounts,
    weights: Weights,
}

impl Scratch {
    pub(super) fn new(hash_key: u64) -> Self {
        Self {
            symbols: SymbolIds::new(hash_key),
            padded: Vec::new(),
            counts: Vec::new(),
            lags: Lags::default(),
            window: WindowCounts::default(),
            weights: Weights::default(),
        }
    }

    /// `first_cycle` is still a position inside the session and `first_row` 0: the caller knows the rows.
    pub(super) fn scan(
        &mut self,
        session: u64,
        symbols: &[u64],
        options: &ScanOptions,
        rows: &mut RowColumnsMut<'_>,
    ) -> SessionStats {
        let calls = symbols.len() as u32;
        // `laps` laps of a longer period do not fit into the session
        let max_period = options.max_period.min(calls.checked_div(options.laps).unwrap_or(0));
        self.number(symbols, padding(max_period), rows);
        let distinct = self.symbols.len();
        self.weights.cover(self.counts.iter().copied().max().unwrap_or(0));
        let ids = self.padded.get(padding(max_period)..).unwrap_or_default();
        let cycles = match max_period {
            0 => Default::default(),
            _ => self.lags.scan(&self.padded, max_period, options.laps, rows),
        };
        let windowed = self.window.scan(ids, distinct, options.window, &self.weights, rows);
        SessionStats {
            session,
            first_row: 0,
            calls,
            repeats: calls.saturating_sub(distinct),
            longest_run: longest_run(ids),
            highest_count: windowed.highest_count,
            cycles: cycles.rows,
            first_cycle: cycles.first,
            distinct,
            entropy: Bits::over(calls).entropy(self.weights.sum(&self.counts)),
            min_entropy: windowed.heaviest.map(|weight| Bits::over(options.window).entropy(weight)),
        }
    }

    /// Fills `padded` with ids, `counts` with the whole session's counts, and the repeat column.
    fn number(&mut self, symbols: &[u64], padding: usize, rows: &mut RowColumnsMut<'_>) {
        self.symbols.clear(symbols.len());
        self.counts.clear();
        self.padded.clear();
        self.padded.resize(padding, pad());
        self.padded.extend(symbols.iter().map(|symbol| {
            let id = self.symbols.id(*symbol);
            match self.counts.get_mut(id as usize) {
                Some(count) => *count = count.wrapping_add(1),
                None => self.counts.push(1),
            }
            id
        }));
        let ids = self.padded.get(padding..).unwrap_or_default();
        let mut known = 0u32;
        for (id, repeat) in ids.iter().zip(rows.repeat.iter_mut()) {
            *repeat = *id != known;
            known = known.wrapping_add((*id == known).into());
        }
    }
}

fn longest_run(ids: &[u32]) -> u32 {
    ids.chunk_by(|a, b| a == b).map(|run| run.len() as u32).max().unwrap_or(0)
}
