//! Incidents: how often the calls that a finding names were refused, and when that is over.
use serde::{Deserialize, Serialize};

use crate::bounds::INCIDENTS;
use crate::call::Call;
use crate::detect::state_oscillation;
use crate::verdict::{IncidentKey, RuleKey};

/// Calls in a row outside an incident that bring gain and so close it.
const CLOSING_GAINS: u32 = 3;

impl IncidentKey {
    /// Whether the call is one of those that the finding names.
    pub(crate) fn names(&self, call: &Call) -> bool {
        match self {
            Self::Call { session, call: loose } => *session == call.session && *loose == call.loose,
            Self::Members { session: Some(session), members } => {
                *session == call.session && members.binary_search(&call.loose).is_ok()
            }
            Self::Members { session: None, members } => members.binary_search(&call.member()).is_ok(),
            Self::Tool { session, tool } => *session == call.session && *tool == call.tool_symbol,
            Self::Reads { session, tool, target } => {
                *session == call.session && *tool == call.tool_symbol && call.is_read() && *target == call.target
            }
            Self::State { target } => call.tool.result.state.is_some() && *target == state_oscillation::place(call),
            Self::Transfers => call.tool.transfer,
            Self::Rule(_) => false,
            Self::TaskCall { call: loose } => *loose == call.loose,
        }
    }

    /// The incident of a cycle; one of a single call is that call's.
    pub(crate) fn of_cycle(session: Option<usize>, members: Vec<u64>) -> Self {
        match (session, members.as_slice()) {
            (Some(session), [call]) => Self::Call { session, call: *call },
            _ => Self::Members { session, members },
        }
    }
}

/// What brought a new result, as far as an incident asks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Novelty {
    /// Unlike the last known result of the call.
    pub(crate) call: bool,
    /// Unlike the last known result of the tool.
    pub(crate) tool: bool,
    /// Unlike the last known result of the tool's reads, of the same target.
    pub(crate) reads: bool,
    /// A state that the target was not in before.
    pub(crate) state: bool,
}

/// Refusals and reuses of one set of calls.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Incident {
    pub(crate) key: IncidentKey,
    pub(crate) refusals: u64,
    pub(crate) reuses: u64,
    outside: u32,
}

/// The open incidents of a task.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Incidents {
    open: Vec<Incident>,
}

impl Incidents {
    pub(crate) fn get(&self, key: &IncidentKey) -> Option<&Incident> {
        self.open.iter().find(|incident| incident.key == *key)
    }

    /// Refusals and reuses counted so far.
    pub(crate) fn counted(&self, key: &IncidentKey) -> u64 {
        self.get(key).map_or(0, |incident| incident.refusals.saturating_add(incident.reuses))
    }

    /// A denial under a rule: the first one opens an incident, every later one counts in it.
    pub(crate) fn denied(&mut self, rule: &RuleKey) {
        let key = IncidentKey::Rule(rule.clone());
        if self.get(&key).is_some() {
            self.count(&key, false);
        } else {
            self.open(&key);
        }
    }

    fn open(&mut self, key: &IncidentKey) {
        if self.open.len() >= INCIDENTS {
            self.open.remove(0);
        }
        self.open.push(Incident { key: key.clone(), refusals: 0, reuses: 0, outside: 0 });
    }

    /// Counts a refusal or reuse.
    pub(crate) fn count(&mut self, key: &IncidentKey, reused: bool) {
        if self.get(key).is_none() {
            // a rule's is opened by a denial alone
            if matches!(key, IncidentKey::Rule(_)) {
                return;
            }
            self.open(key);
        }
        if let Some(incident) = self.open.iter_mut().find(|incident| incident.key == *key) {
            let counter = if reused { &mut incident.reuses } else { &mut incident.refusals };
            *counter = counter.saturating_add(1);
            incident.outside = 0;
        }
    }

    /// A fed call: it may close incidents, from inside by something new, from outside by gain.
    pub(crate) fn observe(&mut self, call: &Call, new: Novelty, gained: bool) {
        self.open.retain_mut(|incident| {
            if incident.key.names(call) {
                incident.outside = 0;
                return !match &incident.key {
                    IncidentKey::Tool { .. } => new.tool,
                    IncidentKey::Reads { .. } => new.reads,
                    IncidentKey::State { .. } => new.state,
                    IncidentKey::Transfers | IncidentKey::Rule(_) => false,
                    IncidentKey::Call { .. } | IncidentKey::Members { .. } | IncidentKey::TaskCall { .. } => new.call,
                };
            }
            incident.outside = if gained { incident.outside.saturating_add(1) } else { 0 };
            incident.outside < CLOSING_GAINS
        });
    }

    /// An approval closes what the call was denied for.
    pub(crate) fn close(&mut self, key: &IncidentKey) {
        self.open.retain(|incident| incident.key != *key);
    }

    pub(crate) fn clear(&mut self) {
        self.open.clear();
    }
}
