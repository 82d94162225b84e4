//! What lands: writes end runs of other calls.
use crate::detect::{Observation, Write};
use crate::policy::Effect;
use crate::task::Task;

/// What an outcome changed in the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrote {
    /// Nothing.
    Nothing,
    /// What was written before, again and again, while nothing came of it.
    Again,
    /// Something, or possibly so.
    News,
}

impl Task {
    /// Lands what may have been written.
    pub(super) fn write(&mut self, seen: &Observation) -> Wrote {
        if !seen.succeeded() {
            return Wrote::Nothing;
        }
        let call = &*seen.call;
        let tagged = !call.tool.touches.is_empty();
        let landed = match call.tool.effect {
            Effect::Write => true,
            Effect::External | Effect::Ui => tagged,
            Effect::Read | Effect::Control | Effect::Unknown => false,
        };
        let changes = landed || call.tool.effect == Effect::External;
        let wrote = if changes && self.fruitless.lands(call.loose) { Wrote::Again } else { Wrote::News };
        let write = Write { call, fruitless: wrote == Wrote::Again };
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
            return wrote;
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
            return wrote;
        }
        if changes {
            wrote
        } else {
            Wrote::Nothing
        }
    }
}
