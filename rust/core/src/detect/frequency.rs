//! `frequency`: the same fingerprint too often within the window. Evidence, unless the author writes a rung.
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::tally::Tally;
use super::window::Window;
use super::{counted, Before, Dispatch, Observation, Remarks};
use crate::bounds::RARE_CALLS;
use crate::call::Call;
use crate::verdict::{Finding, IncidentKey};
use crate::Reason;

/// When a call was observed last, by exact identity; kept only where the policy writes a `cool_down`. The counts are the
/// window's.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Frequency {
    last: FxHashMap<u64, Tally>,
}

impl Frequency {
    /// What speaks against running the call.
    pub(crate) fn before(&self, before: &Before<'_>) -> Option<Finding> {
        let call = before.call;
        let rungs = before.thresholds.frequency.as_ref()?;
        rungs.refuse_after?;
        let count = before.window.count(call.exact.0);
        let mut tally = self.last.get(&call.exact.0).cloned().unwrap_or_default();
        tally.count = count;
        let refused = tally.refuses(rungs, before.now);
        refused.then(|| {
            let incident = IncidentKey::Call { session: call.session, call: call.loose };
            Finding::refuse(Reason::Frequency, counted(count, rungs.refuse_after)).within(incident)
        })
    }

    pub(crate) fn dispatched(
        &mut self,
        Dispatch { call, now, thresholds: judged_by, .. }: Dispatch<'_>,
        window: &Window,
    ) {
        let Some(rungs) = &judged_by.frequency else { return };
        if let Some(last) = self.last.get_mut(&call.exact.0) {
            last.count = window.count(call.exact.0);
            last.dispatched(rungs, now, call);
        }
    }

    pub(crate) fn returned(&mut self, call: &Call) {
        if let Some(last) = self.last.get_mut(&call.exact.0) {
            last.returned(call);
        }
    }

    /// The window holds the observation already.
    pub(crate) fn after(&mut self, seen: &Observation, window: &Window, remarks: &mut Remarks) {
        if seen.call.tool.detectors.frequency.is_some_and(|rungs| rungs.cool_down.is_some()) {
            if self.last.len() >= RARE_CALLS {
                self.last.clear();
            }
            self.last.entry(seen.call.exact.0).or_default().last = seen.at;
        }
        remarks.count(Reason::Frequency, seen, |by| by.frequency.as_ref(), window.count(seen.call.exact.0));
    }

    pub(crate) fn clear(&mut self) {
        self.last.clear();
    }
}
