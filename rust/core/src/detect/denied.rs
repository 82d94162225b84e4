//! `denied`: a call that a person or a rule said no to, issued again. A denial is state: only an approval ends it.
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::tally::Tally;
use super::{counted, Before, Detector, Dispatch, Observation, Remarks};
use crate::call::Call;
use crate::policy::{ErrorClass, Resets};
use crate::verdict::{Finding, IncidentKey};
use crate::Reason;

/// Denials on record, by loose identity, in the task.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Denied {
    calls: FxHashMap<u64, Tally>,
}

impl Detector for Denied {
    fn before(&self, before: &Before<'_>) -> Option<Finding> {
        let call = before.call;
        let rungs = before.thresholds.denied.as_ref()?;
        let tally = self.calls.get(&call.loose)?;
        tally.refuses(rungs, before.now).then(|| {
            let incident = IncidentKey::TaskCall { call: call.loose };
            Finding::refuse(Reason::Denied, counted(tally.count, rungs.refuse_after)).within(incident)
        })
    }

    fn dispatched(&mut self, Dispatch { call, now, thresholds: judged_by, .. }: Dispatch<'_>) {
        if let (Some(tally), Some(rungs)) = (self.calls.get_mut(&call.loose), &judged_by.denied) {
            tally.dispatched(rungs, now, call);
        }
    }

    fn returned(&mut self, call: &Call) {
        if let Some(tally) = self.calls.get_mut(&call.loose) {
            tally.returned(call);
        }
    }

    fn after(&mut self, seen: &Observation, remarks: &mut Remarks) {
        if seen.judged.class != Some(ErrorClass::Denied) {
            return;
        }
        let count = self.calls.get(&seen.call.loose).map_or(0, |tally| tally.count);
        remarks.count(Reason::Denied, seen, |by| by.denied.as_ref(), count);
    }

    fn reset(&mut self, _resets: Resets) {}
}

impl Denied {
    /// Puts a denial on record, at once.
    pub(crate) fn record(&mut self, call: &Call, now: f64) {
        self.calls.entry(call.loose).or_default().add(now);
    }

    /// An approval takes it off.
    pub(crate) fn lift(&mut self, call: &Call) {
        self.calls.remove(&call.loose);
    }
}
