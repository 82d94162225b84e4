//! `invalid_arguments`: a call that its tool cannot take, repeated.
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::tally::Tally;
use super::{counted, Before, Detector, Dispatch, Observation, Remarks};
use crate::bounds::RARE_CALLS;
use crate::call::Call;
use crate::policy::{ErrorClass, Resets};
use crate::verdict::{Finding, IncidentKey};
use crate::Reason;

/// Counts by loose identity since its last success.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct InvalidArguments {
    calls: FxHashMap<u64, Tally>,
}

impl Detector for InvalidArguments {
    fn before(&self, before: &Before<'_>) -> Option<Finding> {
        let call = before.call;
        let rungs = before.thresholds.invalid_arguments.as_ref()?;
        let tally = self.calls.get(&call.loose)?;
        tally.refuses(rungs, before.now).then(|| {
            let incident = IncidentKey::Call { session: call.session, call: call.loose };
            Finding::refuse(Reason::InvalidArguments, counted(tally.count, rungs.refuse_after)).within(incident)
        })
    }

    fn dispatched(&mut self, Dispatch { call, now, thresholds: judged_by, .. }: Dispatch<'_>) {
        if let (Some(tally), Some(rungs)) = (self.calls.get_mut(&call.loose), &judged_by.invalid_arguments) {
            tally.dispatched(rungs, now, call);
        }
    }

    fn returned(&mut self, call: &Call) {
        if let Some(tally) = self.calls.get_mut(&call.loose) {
            tally.returned(call);
        }
    }

    /// Fed with outcomes of class format that are no unknown tool, and with successes.
    fn after(&mut self, seen: &Observation, remarks: &mut Remarks) {
        if seen.succeeded() {
            self.calls.remove(&seen.call.loose);
            return;
        }
        if seen.judged.class != Some(ErrorClass::Format) || &*seen.judged.kind == "unknown_tool" {
            return;
        }
        if self.calls.len() >= RARE_CALLS && !self.calls.contains_key(&seen.call.loose) {
            self.calls.clear();
        }
        let tally = self.calls.entry(seen.call.loose).or_default();
        tally.add(seen.at);
        remarks.count(Reason::InvalidArguments, seen, |by| by.invalid_arguments.as_ref(), tally.count);
    }

    fn reset(&mut self, resets: Resets) {
        if resets.errors {
            self.calls.clear();
        }
    }
}
