//! Sufficiency of the task, cell by cell: which records are known, which of their fields, and where each value is from.
//!
//! A need is a table of records by fields. Of all records that are known the best `min_records` count, those with the most
//! filled cells; so another record beyond these fills nothing, and the count of filled cells never goes down. Values are
//! kept by the order in which calls were asked for, not by the order in which they came back.
mod pick;
mod table;
mod view;

pub(crate) use pick::{carries, picks, Pick};
pub(crate) use table::{Mark, Needs, Origin};

/// How much of what the task needs is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Enough {
    /// Essential fields are missing.
    Less,
    /// The essential fields are there, others are missing.
    Essential,
    /// Every cell is filled.
    All,
}
