//! `consecutive`: the same call again and again, with results that nobody tells us.
use serde::{Deserialize, Serialize};

use super::tally::Tally;
use super::{counted, Before, Detector, Dispatch, Observation, Remarks};
use crate::call::Call;
use crate::policy::Resets;
use crate::verdict::{Finding, IncidentKey};
use crate::Reason;

/// The run of one loose identity.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Consecutive {
    call: u64,
    tally: Tally,
}

impl Detector for Consecutive {
    fn before(&self, before: &Before<'_>) -> Option<Finding> {
        let call = before.call;
        let rungs = before.thresholds.consecutive.as_ref()?;
        let refused = self.call == call.loose && self.tally.refuses(rungs, before.now);
        refused.then(|| {
            let incident = IncidentKey::Call { session: call.session, call: call.loose };
            Finding::refuse(Reason::Consecutive, counted(self.tally.count, rungs.refuse_after)).within(incident)
        })
    }

    fn dispatched(&mut self, Dispatch { call, now, thresholds: judged_by, .. }: Dispatch<'_>) {
        if let (true, Some(rungs)) = (self.call == call.loose, &judged_by.consecutive) {
            self.tally.dispatched(rungs, now, call);
        }
    }

    fn returned(&mut self, call: &Call) {
        if self.call == call.loose {
            self.tally.returned(call);
        }
    }

    fn after(&mut self, seen: &Observation, remarks: &mut Remarks) {
        if seen.judged.result.is_some() {
            *self = Self::default();
            return;
        }
        if self.tally.count > 0 && self.call == seen.call.loose {
            self.tally.add(seen.at);
        } else {
            self.call = seen.call.loose;
            self.tally.restart(1, seen.at);
        }
        remarks.count(Reason::Consecutive, seen, |by| by.consecutive.as_ref(), self.tally.count);
    }

    fn waited(&mut self) {
        *self = Self::default();
    }

    fn reset(&mut self, resets: Resets) {
        if resets.repeats {
            *self = Self::default();
        }
    }
}
