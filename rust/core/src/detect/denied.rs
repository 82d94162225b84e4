//! `denied`: a call that a person or a rule said no to, issued again. A denial is state: only an approval ends it.
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::tally::Tally;
use super::{counted, Before, Detector, Dispatch, Observation, Remarks};
use crate::call::Call;
use crate::policy::{ErrorClass, Resets};
use crate::verdict::{Finding, IncidentKey, RuleKey};
use crate::Reason;

/// Denials on record, by loose identity, in the task.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Denied {
    calls: FxHashMap<u64, Record>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Record {
    tally: Tally,
    /// The rules under which it was denied.
    rules: Vec<RuleKey>,
}

impl Detector for Denied {
    fn before(&self, before: &Before<'_>) -> Option<Finding> {
        let call = before.call;
        let rungs = before.thresholds.denied.as_ref()?;
        let Record { tally, rules } = self.calls.get(&call.loose)?;
        tally.refuses(rungs, before.now).then(|| {
            let incident = IncidentKey::TaskCall { call: call.loose };
            let finding = Finding::refuse(Reason::Denied, counted(tally.count, rungs.refuse_after)).within(incident);
            rules.iter().fold(finding, |finding, rule| finding.within(IncidentKey::Rule(rule.clone())))
        })
    }

    fn dispatched(&mut self, Dispatch { call, now, thresholds: judged_by, .. }: Dispatch<'_>) {
        if let (Some(record), Some(rungs)) = (self.calls.get_mut(&call.loose), &judged_by.denied) {
            record.tally.dispatched(rungs, now, call);
        }
    }

    fn returned(&mut self, call: &Call) {
        if let Some(record) = self.calls.get_mut(&call.loose) {
            record.tally.returned(call);
        }
    }

    fn after(&mut self, seen: &Observation, remarks: &mut Remarks) {
        if seen.judged.class != Some(ErrorClass::Denied) {
            return;
        }
        let count = self.calls.get(&seen.call.loose).map_or(0, |record| record.tally.count);
        remarks.count(Reason::Denied, seen, |by| by.denied.as_ref(), count);
    }

    fn reset(&mut self, _resets: Resets) {}
}

impl Denied {
    /// Puts a denial on record, at once, under the rules that asked. Gives how many there are of the call.
    pub(crate) fn record(&mut self, call: &Call, rules: Vec<RuleKey>, now: f64) -> u64 {
        let record = self.calls.entry(call.loose).or_default();
        record.tally.add(now);
        let fresh: Vec<RuleKey> = rules.into_iter().filter(|rule| !record.rules.contains(rule)).collect();
        record.rules.extend(fresh);
        record.tally.count
    }

    /// An approval takes it off.
    pub(crate) fn lift(&mut self, call: &Call) {
        self.calls.remove(&call.loose);
    }
}
