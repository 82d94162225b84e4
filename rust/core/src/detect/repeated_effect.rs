//! `repeated_effect` and effects of which nobody knows whether they happened: reasons `duplicate_effect` and
//! `ambiguous_effect`.
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::{counted, Before, Observation, Remarks};
use crate::call::Call;
use crate::policy::{Effect, ErrorClass};
use crate::verdict::{Action, Finding, IncidentKey};
use crate::Reason;

/// Effects of the task, brought up to date at once. Never forgotten: a forgotten effect could happen twice.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Effects {
    /// Successes of external calls by exact identity.
    done: FxHashMap<u64, u64>,
    /// Ambiguous outcomes by tool, each with its target.
    unknown: FxHashMap<u64, Vec<Option<u64>>>,
}

impl Effects {
    /// What speaks against running the call.
    pub(crate) fn findings(&self, before: &Before<'_>) -> [Option<Finding>; 2] {
        let call = before.call;
        let duplicate = before.thresholds.repeated_effect.and_then(|rungs| {
            let once = call.tool.effect == Effect::External && !call.tool.idempotent;
            let count = self.done.get(&call.exact.0).copied().filter(|count| once && rungs.reached(*count))?;
            let incident = IncidentKey::TaskCall { call: call.loose };
            Some(Finding::refuse(Reason::DuplicateEffect, counted(count, rungs.refuse_after)).within(incident))
        });
        let open = matches!(call.tool.effect, Effect::External | Effect::Write)
            && self
                .unknown
                .get(&call.tool_symbol)
                .is_some_and(|targets| targets.iter().any(|it| meets(*it, call.target)));
        let ambiguous = open.then(|| {
            let mut finding = Finding::refuse(Reason::AmbiguousEffect, Vec::new());
            finding.action = Action::Ask;
            finding
        });
        [duplicate, ambiguous]
    }

    /// A success that came to its turn: a note, where a rung says so.
    pub(crate) fn after(&self, seen: &Observation, remarks: &mut Remarks) {
        if let Some(count) = self.done.get(&seen.call.exact.0).filter(|_| seen.succeeded()) {
            remarks.count(Reason::DuplicateEffect, seen, |by| by.repeated_effect.as_ref(), *count);
        }
    }

    /// The call was out when the task was saved: its outcome will never be told.
    pub(crate) fn lost(&mut self, call: &Call) {
        self.ended(call, true, Some(ErrorClass::Ambiguous), false);
    }

    /// An outcome, at once.
    pub(crate) fn ended(&mut self, call: &Call, failed: bool, class: Option<ErrorClass>, approved: bool) {
        if !matches!(call.tool.effect, Effect::External | Effect::Write) {
            return;
        }
        if failed {
            if class == Some(ErrorClass::Ambiguous) {
                self.unknown.entry(call.tool_symbol).or_default().push(call.target);
            }
            return;
        }
        if call.tool.effect == Effect::External && !call.tool.idempotent {
            let count = self.done.entry(call.exact.0).or_default();
            *count = count.saturating_add(1);
        }
        if approved {
            if let Some(targets) = self.unknown.get_mut(&call.tool_symbol) {
                targets.retain(|it| !meets(*it, call.target));
            }
        }
    }
}

/// Without a target on either side, any call of the tool is meant.
fn meets(one: Option<u64>, other: Option<u64>) -> bool {
    one.is_none() || other.is_none() || one == other
}
