//! `frequency`: the same fingerprint too often within the window. Evidence, unless the author writes a rung.
use super::window::Window;
use super::{counted, Before, Observation, Remarks};
use crate::verdict::{Finding, IncidentKey};
use crate::Reason;

/// What speaks against running the call.
pub(crate) fn before(before: &Before<'_>) -> Option<Finding> {
    let call = before.call;
    let rungs = call.tool.detectors.frequency.as_ref()?;
    rungs.refuse_after?;
    let count = before.window.count(call.exact.0);
    rungs.reached(count).then(|| {
        let incident = IncidentKey::Call { session: call.session, call: call.loose };
        Finding::refuse(Reason::Frequency, counted(count, rungs.refuse_after)).within(incident)
    })
}

/// The window holds the observation already.
pub(crate) fn after(seen: &Observation, window: &Window, remarks: &mut Remarks) {
    let Some(rungs) = &seen.call.tool.detectors.frequency else { return };
    let count = window.count(seen.call.exact.0);
    remarks.count(Reason::Frequency, seen, rungs, count);
}
