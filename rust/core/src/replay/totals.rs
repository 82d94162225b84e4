//! What a replay counts.
use std::collections::BTreeMap;

use super::row::Row;
use crate::verdict::{reason_name, Action};

/// Counts over a replay.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Sessions that were seen.
    pub sessions: u64,
    /// Recorded calls.
    pub calls: u64,
    /// Events.
    pub events: u64,
    /// Calls that would not have run.
    pub saved: u64,
    /// Sessions with a note.
    pub noted_sessions: u64,
    /// Sessions with a refusal, a reuse (coalesced calls aside), an ask or a stop.
    pub touched_sessions: u64,
    /// Sessions that were stopped.
    pub stopped_sessions: u64,
    /// Action (`note`, `reuse`, `ask`, `refuse`, `stop`) and decisive reason → how often.
    pub by_reason: BTreeMap<(&'static str, String), u64>,
    /// Exception and reason → how often it was lifted, notes included.
    pub lifted: BTreeMap<(String, String), u64>,
}

impl Totals {
    fn add(&mut self, kind: &'static str, reason: String) {
        let count = self.by_reason.entry((kind, reason)).or_default();
        *count = count.saturating_add(1);
    }

    /// Counts a row; whether it was more than a note or a coalesced call.
    pub(super) fn count(&mut self, row: &Row) -> bool {
        for note in &row.notes {
            self.add("note", reason_name(note.reason, note.rule.as_deref()));
        }
        let action = row.verdict.would.unwrap_or(row.verdict.action);
        if let Some(stop) = row.stop.as_ref().filter(|_| action != Action::Stop) {
            self.add("stop", reason_name(stop.reason, stop.rule.as_deref()));
        }
        if action == Action::Allow {
            return row.stop.is_some();
        }
        let reason = row.verdict.decisive().map_or_else(String::new, crate::Finding::name);
        let coalesced = reason == "duplicate_in_batch";
        self.add(action.name(), reason);
        if row.assessment.is_none() {
            self.saved = self.saved.saturating_add(1);
        }
        row.stop.is_some() || !coalesced
    }
}
