//! `repeated_effect`: what the ledger says of a call's effect, as findings: reasons `duplicate_effect`, `effect_in_flight`,
//! `idempotency_conflict` and `ambiguous_effect`. What happened once stands in the ledger; here it is only counted how often
//! an effect without a key of its own has happened, for rungs above the first.
use callgate_value::Value;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::{counted, Before, Observation, Remarks};
use crate::call::Call;
use crate::claims::Held;
use crate::policy::Effect;
use crate::shared::EffectAnswer;
use crate::verdict::{Action, Finding, IncidentKey};
use crate::Reason;

/// The code of an answer with what an earlier call under the same key brought.
pub(crate) const ALREADY_CREATED: &str = "ALREADY_CREATED";

/// Successes of external calls by exact identity, brought up to date at once. Never forgotten: a forgotten effect could
/// happen twice.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Effects {
    done: FxHashMap<u64, u64>,
}

impl Effects {
    /// What speaks against running the call.
    pub(crate) fn findings(&self, before: &Before<'_>, held: &Held, findings: &mut Vec<Finding>) {
        let answer = held.grant().and_then(|grant| grant.effect.as_ref());
        findings.extend(self.duplicate(before, held, answer));
        let Some(answer) = answer else { return };
        let incident = IncidentKey::TaskCall { call: before.call.loose };
        let since = |since: &f64| vec![("since", Value::Float(*since))];
        findings.extend(match answer {
            EffectAnswer::New | EffectAnswer::Completed { .. } => None,
            // a wait like another: many may ask at once, and none of them is lost
            EffectAnswer::InFlight { since: at } => Some(Finding::refuse(Reason::EffectInFlight, since(at))),
            EffectAnswer::Conflict { since: at } => {
                Some(Finding::refuse(Reason::IdempotencyConflict, since(at)).within(incident))
            }
            EffectAnswer::Unknown { since: at, key, checked, .. } => {
                let mut evidence = since(at);
                evidence.push(("key", Value::from(key.as_str())));
                evidence.push(("checked", Value::Int(i64::try_from(*checked).unwrap_or(i64::MAX))));
                let mut finding = Finding::refuse(Reason::AmbiguousEffect, evidence);
                finding.action = Action::Ask;
                Some(finding)
            }
        });
    }

    /// It has happened: under its declared key, or as often as a rung allows.
    fn duplicate(&self, before: &Before<'_>, held: &Held, answer: Option<&EffectAnswer>) -> Option<Finding> {
        let call = before.call;
        let incident = IncidentKey::TaskCall { call: call.loose };
        let completed = match answer {
            Some(EffectAnswer::Completed { at, .. }) => Some(*at),
            _ => None,
        };
        if held.key.is_some() {
            let mut finding = Finding::refuse(Reason::DuplicateEffect, vec![("at", Value::Float(completed?))]);
            finding.code = Some(ALREADY_CREATED.into());
            return Some(finding.within(incident));
        }
        let rungs = before.thresholds.repeated_effect?;
        let once = call.tool.effect == Effect::External && !call.tool.idempotent;
        let count = self.done.get(&call.exact.0).copied().unwrap_or(0).max(u64::from(completed.is_some()));
        (once && rungs.reached(count))
            .then(|| Finding::refuse(Reason::DuplicateEffect, counted(count, rungs.refuse_after)).within(incident))
    }

    /// A success that came to its turn: a note, where a rung says so.
    pub(crate) fn after(&self, seen: &Observation, remarks: &mut Remarks) {
        if let Some(count) = self.done.get(&seen.call.exact.0).filter(|_| seen.succeeded()) {
            remarks.count(Reason::DuplicateEffect, seen, |by| by.repeated_effect.as_ref(), *count);
        }
    }

    /// An outcome, at once.
    pub(crate) fn ended(&mut self, call: &Call, failed: bool) {
        let counts = call.tool.effect == Effect::External && !call.tool.idempotent && call.tool.idempotency.is_none();
        if counts && !failed {
            let count = self.done.entry(call.exact.0).or_default();
            *count = count.saturating_add(1);
        }
    }
}
