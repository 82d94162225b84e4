//! What a replay counts.
use std::collections::BTreeMap;

use super::row::Row;
use crate::trace::{CallRecord, TraceEvent};
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

/// Tokens and money that a record tells of, and whether the task had been stopped by then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Used {
    pub(crate) tokens: f64,
    pub(crate) cost: f64,
    pub(crate) after_stop: bool,
}

impl Used {
    /// What an event tells of: tokens, and money.
    pub(super) fn of(event: &TraceEvent) -> Option<(f64, f64)> {
        match event {
            TraceEvent::Usage { tokens, cost } => Some((*tokens, *cost)),
            _ => None,
        }
    }

    /// What a call tells of.
    pub(super) fn of_call(call: &CallRecord) -> Option<(f64, f64)> {
        call.outcome.tokens.map(|tokens| (tokens, 0.0))
    }
}
