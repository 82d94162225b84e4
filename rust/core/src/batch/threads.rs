//! Shares the sessions out among threads. A part's result has its fixed place, so the outcome is the same for any
//! number of threads.
use super::groups::{Group, Grouped};
use super::session::{Scratch, SessionStats};
use super::{RowColumns, ScanOptions};
use std::sync::{Mutex, PoisonError};

/// Rows below which a part is not worth handing over.
const LEAST_ROWS: usize = 16_384;
/// Parts per thread, so that one that ends early finds more to do.
const PARTS: usize = 8;

/// The per-row columns of one session or part, to be filled. All empty if rows are not wanted.
#[derive(Default)]
pub(super) struct RowColumnsMut<'a> {
    pub(super) repeat: &'a mut [bool],
    pub(super) period: &'a mut [u32],
    pub(super) distinct: &'a mut [u32],
    pub(super) entropy: &'a mut [f64],
}

impl<'a> RowColumnsMut<'a> {
    fn of(columns: &'a mut RowColumns) -> Self {
        Self {
            repeat: &mut columns.repeat,
            period: &mut columns.period,
            distinct: &mut columns.distinct,
            entropy: &mut columns.entropy,
        }
    }

    /// Splits off the first `rows` rows.
    fn take(&mut self, rows: usize) -> Self {
        Self {
            repeat: take_mut(&mut self.repeat, rows),
            period: take_mut(&mut self.period, rows),
            distinct: take_mut(&mut self.distinct, rows),
            entropy: take_mut(&mut self.entropy, rows),
        }
    }
}

fn take_mut<'a, T>(slice: &mut &'a mut [T], rows: usize) -> &'a mut [T] {
    slice.split_off_mut(..rows.min(slice.len())).unwrap_or_default()
}

/// Neighbouring sessions that one thread scans in one go.
struct Part<'a> {
    start: u32,
    symbols: &'a [u64],
    groups: &'a [Group],
    rows: RowColumnsMut<'a>,
    found: Vec<SessionStats>,
}

/// Scans all groups; results in their order, row columns in grouped order.
pub(super) fn run(grouped: &Grouped<'_>, options: &ScanOptions) -> (Vec<SessionStats>, RowColumns) {
    let length = if options.rows { grouped.symbols.len() } else { 0 };
    let mut columns = RowColumns {
        repeat: vec![false; length],
        period: vec![0; length],
        distinct: vec![0; length],
        entropy: vec![0.0; length],
    };
    let mut parts = split(grouped, options, RowColumnsMut::of(&mut columns));
    let helpers = options.threads.get().min(parts.len()).saturating_sub(1);
    // the largest first, so that one huge session does not begin last
    let mut queue: Vec<&mut Part<'_>> = parts.iter_mut().collect();
    queue.sort_by_key(|part| part.symbols.len());
    let queue = Mutex::new(queue);
    let work = || {
        let mut scratch = Scratch::new(options.hash_key);
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some(part) = next else { break };
            part.scan(grouped, options, &mut scratch);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..helpers {
            // a thread that the system does not grant is no fault: this one does its share
            if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    let mut stats = Vec::with_capacity(grouped.groups.len());
    for part in &mut parts {
        stats.append(&mut part.found);
    }
    drop(parts);
    (stats, columns)
}

fn split<'a>(grouped: &'a Grouped<'_>, options: &ScanOptions, mut rows: RowColumnsMut<'a>) -> Vec<Part<'a>> {
    let wanted = options.threads.get().saturating_mul(PARTS);
    let least = grouped.symbols.len().checked_div(wanted).unwrap_or(0).max(LEAST_ROWS);
    let mut parts = Vec::new();
    let (mut symbols, mut groups) = (&*grouped.symbols, &*grouped.groups);
    let mut start = 0u32;
    while !groups.is_empty() {
        let (mut count, mut length) = (0usize, 0usize);
        for group in groups {
            count = count.saturating_add(1);
            length = length.saturating_add(group.rows as usize);
            if length >= least {
                break;
            }
        }
        let (part_groups, other_groups) = groups.split_at_checked(count).unwrap_or((groups, &[]));
        let (part_symbols, other_symbols) = symbols.split_at_checked(length).unwrap_or((symbols, &[]));
        let rows = rows.take(length);
        parts.push(Part { start, symbols: part_symbols, groups: part_groups, rows, found: Vec::new() });
        (symbols, groups) = (other_symbols, other_groups);
        start = start.saturating_add(length as u32);
    }
    parts
}

impl Part<'_> {
    fn scan(&mut self, grouped: &Grouped<'_>, options: &ScanOptions, scratch: &mut Scratch) {
        self.found.reserve_exact(self.groups.len());
        let mut symbols = self.symbols;
        let mut start = self.start;
        for group in self.groups {
            let (own, other) = symbols.split_at_checked(group.rows as usize).unwrap_or((symbols, &[]));
            let mut rows = self.rows.take(own.len());
            let mut stats = scratch.scan(group.session, own, options, &mut rows);
            stats.first_row = grouped.input_row(start);
            stats.first_cycle = stats.first_cycle.map(|(at, p)| (grouped.input_row(start.saturating_add(at)), p));
            self.found.push(stats);
            symbols = other;
            start = start.saturating_add(group.rows);
        }
    }
}
