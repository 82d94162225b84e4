//! Brings the rows of each session together, and per-row results back to the order of the input.
use super::symbols::SymbolIds;
use super::RowColumns;
use std::borrow::Cow;

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
pub(super) fn group<'a>(symbols: &'a [u64], sessions: &[u64], hash_key: u64) -> Grouped<'a> {
    let mut ids = SymbolIds::new(hash_key);
    let mut groups: Vec<Group> = Vec::new();
    // (session id, rows) of each stretch of equal neighbours
    let mut stretches: Vec<(u32, u32)> = Vec::new();
    let mut adjacent = true;
    for stretch in sessions.chunk_by(|a, b| a == b) {
        let Some(session) = stretch.first() else { continue };
        let rows = stretch.len() as u32;
        let id = ids.id(*session);
        match groups.get_mut(id as usize) {
            Some(group) => {
                group.rows = group.rows.saturating_add(rows);
                adjacent = false;
            }
            None => groups.push(Group { session: *session, rows }),
        }
        stretches.push((id, rows));
    }
    if adjacent {
        return Grouped { symbols: Cow::Borrowed(symbols), groups, order: None };
    }
    let order = order(&groups, &stretches, symbols.len());
    let gathered = order.iter().map(|row| symbols.get(*row as usize).copied().unwrap_or_default()).collect();
    Grouped { symbols: Cow::Owned(gathered), groups, order: Some(order) }
}

/// Input rows in grouped order: a counting sort by session, stretch by stretch.
fn order(groups: &[Group], stretches: &[(u32, u32)], rows: usize) -> Vec<u32> {
    let mut next: Vec<usize> = Vec::with_capacity(groups.len());
    let mut start = 0usize;
    for group in groups {
        next.push(start);
        start = start.saturating_add(group.rows as usize);
    }
    let mut order = vec![0u32; rows];
    let mut row = 0u32;
    for (id, rows) in stretches {
        let end = row.saturating_add(*rows);
        if let Some(next) = next.get_mut(*id as usize) {
            let to = next.saturating_add(*rows as usize);
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
