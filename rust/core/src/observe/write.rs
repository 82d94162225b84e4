//! What lands: writes end runs of other calls.
use crate::detect::{Observation, Write};
use crate::policy::Effect;
use crate::task::Task;

impl Task {
    /// Lands what may have been written. True if it ends the task-wide `no_gain`.
    pub(super) fn write(&mut self, seen: &Observation) -> bool {
        if !seen.succeeded() {
            return false;
        }
        let call = &*seen.call;
        let write = Write { call };
        let tagged = !call.tool.touches.is_empty();
        let landed = match call.tool.effect {
            Effect::Write => true,
            Effect::External | Effect::Ui => tagged,
            Effect::Read | Effect::Control | Effect::Unknown => false,
        };
        if landed {
            self.repeat_epoch = self.repeat_epoch.saturating_add(1);
            let mut listed = std::mem::take(&mut self.endable.by_landed);
            listed.retain(|index| {
                let Some(session) = self.sessions.get_mut(*index) else { return false };
                for detector in session.detectors.all_mut() {
                    detector.landed(&write);
                }
                session.attempts.retain(|_, attempts| !attempts.stake.ended_by_landed(&write));
                session.listed.0 = session.has_runs();
                session.listed.0
            });
            self.endable.by_landed = listed;
            return true;
        }
        if matches!(call.tool.effect, Effect::Unknown | Effect::Ui) && seen.first {
            let mut listed = std::mem::take(&mut self.endable.by_possible);
            listed.retain(|index| {
                let Some(session) = self.sessions.get_mut(*index) else { return false };
                for detector in session.detectors.all_mut() {
                    detector.possibly_written(&write);
                }
                session.attempts.retain(|_, attempts| !attempts.stake.ended_by_possible(&write));
                session.listed.1 = session.has_repeats();
                session.listed.1
            });
            self.endable.by_possible = listed;
            return true;
        }
        call.tool.effect == Effect::External
    }
}
