//! Brings the rows of each session together, and per-row results back to the order of the input.
use super::symbols::SymbolIds;
use super::{RowColumns, MAX_ROWS};
use std::borrow::Cow;

/// Neighbouring rows of one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    session: u64,
    rows: u32,
}

/// A column of sessions, held as its stretches: a few bytes where sessions are adjacent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionColumn {
    pub(super) stretches: Vec<Stretch>,
    rows: usize,
}

impl SessionColumn {
    /// Appends a part of the column; `session` reads a value of it.
    pub fn extend<T>(&mut self, part: &[T], session: impl Fn(&T) -> u64) {
        for stretch in part.chunk_by(|a, b| session(a) == session(b)) {
            let Some(value) = stretch.first().map(&session) else { continue };
            self.rows = self.rows.saturating_add(stretch.len());
            // a longer column is refused before anything reads this
            let rows = stretch.len().min(MAX_ROWS) as u32;
            match self.stretches.last_mut() {
                Some(last) if last.session == value => last.rows = last.rows.saturating_add(rows),
                _ => self.stretches.push(Stretch { session: value, rows }),
            }
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }
}

impl From<&[u64]> for SessionColumn {
    fn from(sessions: &[u64]) -> Self {
        let mut column = Self::default();
        column.extend(sessions, |session| *session);
        column
    }
}

/// One session inside [`Grouped::symbols`].
#[derive(Clone, Copy)]
pub(super) struct Group {
    pub(super) session: u64,
    pub(super) rows: u32,
}

/// Symbols with every session's rows adjacent, sessions in order of first appearance.
pub(super) struct Grouped<'a> {
    pub(super) symbols: Cow<'a, [u64]>,
    pub(super) groups: Vec<Group>,
    /// Input row of each entry of `symbols`; `None` where the input was grouped already.
    order: Option<Vec<u32>>,
}

/// Groups `symbols` by session. Where sessions are adjacent in the input already, nothing is copied.
pub(super) fn group<'a>(symbols: &'a [u64], stretches: &[Stretch], hash_key: u64) -> Grouped<'a> {
    let mut ids = SymbolIds::new(hash_key);
    ids.clear(stretches.len());
    let mut groups: Vec<Group> = Vec::new();
    for stretch in stretches {
        match groups.get_mut(ids.id(stretch.session) as usize) {
            Some(group) => group.rows = group.rows.saturating_add(stretch.rows),
            None => groups.push(Group { session: stretch.session, rows: stretch.rows }),
        }
    }
    if groups.len() == stretches.len() {
        return Grouped { symbols: Cow::Borrowed(symbols), groups, order: None };
    }
    let order = order(&groups, stretches, &mut ids, symbols.len());
    let gathered = order.iter().map(|row| symbols.get(*row as usize).copied().unwrap_or_default()).collect();
    Grouped { symbols: Cow::Owned(gathered), groups, order: Some(order) }
}

/// Input rows in grouped order: a counting sort by session, stretch by stretch.
fn order(groups: &[Group], stretches: &[Stretch], ids: &mut SymbolIds, rows: usize) -> Vec<u32> {
    let mut next: Vec<usize> = Vec::with_capacity(groups.len());
    let mut start = 0usize;
    for group in groups {
        next.push(start);
        start = start.saturating_add(group.rows as usize);
    }
    let mut order = vec![0u32; rows];
    let mut row = 0u32;
    for stretch in stretches {
        let end = row.saturating_add(stretch.rows);
        if let Some(next) = next.get_mut(ids.id(stretch.session) as usize) {
            let to = next.saturating_add(stretch.rows as usize);
            for (cell, row) in order.get_mut(*next..to).unwrap_or_default().iter_mut().zip(row..end) {
                *cell = row;
            }
            *next = to;
        }
        row = end;
    }
    order
}

impl Grouped<'_> {
    /// The input row of the entry `at` of the grouped symbols.
    pub(super) fn input_row(&self, at: u32) -> u32 {
        match &self.order {
            Some(order) => order.get(at as usize).copied().unwrap_or_default(),
            None => at,
        }
    }

    /// Per-row columns, given in grouped order, in the order of the input.
    pub(super) fn in_input_order(&self, rows: RowColumns) -> RowColumns {
        let Some(order) = &self.order else { return rows };
        RowColumns {
            repeat: scatter(order, &rows.repeat),
            period: scatter(order, &rows.period),
            distinct: scatter(order, &rows.distinct),
            entropy: scatter(order, &rows.entropy),
        }
    }
}

fn scatter<T: Copy + Default>(order: &[u32], grouped: &[T]) -> Vec<T> {
    let mut out = vec![T::default(); grouped.len()];
    for (row, value) in order.iter().zip(grouped) {
        if let Some(cell) = out.get_mut(*row as usize) {
            *cell = *value;
        }
    }
    out
}
