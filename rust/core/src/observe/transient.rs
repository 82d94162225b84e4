//! What may pass by itself is left to whoever retries, as long as there is hope that it passes.
use crate::bounds::{make_room, FAILING_TOOLS};
use crate::detect::Observation;
use crate::policy::ErrorClass;
use crate::task::Task;

impl Task {
    /// Counts the transient failures of a tool in a row, as one agent sees them, a batch as one. Whether this one is still
    /// left to the retry policy: it is until `transient_after` of them.
    pub(super) fn may_pass(&mut self, seen: &Observation) -> bool {
        let Some(session) = self.sessions.get_mut(seen.call.session) else { return false };
        let tool = seen.call.tool_symbol;
        if seen.judged.class != Some(ErrorClass::Transient) {
            session.transient.remove(&tool);
            return false;
        }
        make_room(&mut session.transient, &tool, FAILING_TOOLS);
        let count = session.transient.entry(tool).or_default();
        *count = count.saturating_add(1);
        seen.call.tool.detectors.transient_after.is_none_or(|after| *count <= after)
    }
}
