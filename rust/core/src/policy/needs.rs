//! What a task has to find out: the compiled `needs`.
use std::sync::Arc;

use super::{Policy, Tool};

/// Records that the task has to find, each with some fields: `min_records` × `fields` cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// Its stable name.
    pub id: Arc<str>,
    /// The tools whose records count; none: every tool that declares where its records stand.
    pub from: Option<Vec<Arc<str>>>,
    /// How many records are needed.
    pub min_records: u64,
    /// The fields that identify a record; empty: there is one record, and everything belongs to it.
    pub key: Vec<String>,
    /// Whether a cell keeps the last value that it got, and not the first.
    pub keeps_last: bool,
    /// The fields of each record; at most 64.
    pub fields: Vec<String>,
    /// Those of them without which a record is worth nothing, a bit each.
    pub essential: u64,
}

impl Need {
    /// How many cells it has.
    #[must_use]
    pub fn cells(&self) -> u64 {
        self.min_records.saturating_mul(u64::try_from(self.fields.len()).unwrap_or(u64::MAX))
    }

    /// Whether the tool's results fill its cells.
    #[must_use]
    pub fn takes(&self, tool: &Tool) -> bool {
        match &self.from {
            Some(names) => names.contains(&tool.name),
            None => tool.result.records.is_some(),
        }
    }
}

impl Policy {
    /// Whether a result of this tool can fill a cell.
    pub(crate) fn feeds_needs(&self, tool: &Tool) -> bool {
        self.needs.iter().any(|need| need.takes(tool))
    }
}
