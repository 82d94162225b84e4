//! What lands: writes end runs of other calls.
use crate::call::Call;
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
        let landed = changes(call) && (call.tool.effect != Effect::External || !call.tool.touches.is_empty());
        let possible = !landed && seen.first && matches!(call.tool.effect, Effect::Unknown | Effect::Ui);
        if seen.first && (changes(call) || possible) {
            self.fruitless.clear();
        }
        let wrote = if changes(call) && self.fruitless.lands(call.loose) { Wrote::Again } else { Wrote::News };
        if (landed || possible) && wrote == Wrote::News {
            self.written = self.written.saturating_add(1);
            if let Some(session) = self.sessions.get_mut(call.session) {
                session.wrote = session.wrote.saturating_add(1);
            }
        }
        if let Some(session) = self.sessions.get_mut(call.session).filter(|_| landed && seen.first) {
            session.acted.wrote(call);
        }
        let write = Write { call, fruitless: wrote == Wrote::Again };
        if landed {
            self.repeat_epoch = self.repeat_epoch.saturating_add(1);
            self.attempts.retain(|_, attempts| !attempts.stake.ended_by_landed(&write));
            let mut listed = std::mem::take(&mut self.endable.by_landed);
            listed.retain(|index| {
                let Some(session) = self.sessions.get_mut(*index) else { return false };
                for detector in session.detectors.all_mut() {
                    detector.landed(&write);
                }
                session.listed.0 = session.has_runs();
                session.listed.0
            });
            self.endable.by_landed = listed;
            return wrote;
        }
        if possible {
            self.attempts.retain(|_, attempts| !attempts.stake.ended_by_possible(&write));
            let mut listed = std::mem::take(&mut self.endable.by_possible);
            listed.retain(|index| {
                let Some(session) = self.sessions.get_mut(*index) else { return false };
                for detector in session.detectors.all_mut() {
                    detector.possibly_written(&write);
                }
                session.listed.1 = session.has_repeats();
                session.listed.1
            });
            self.endable.by_possible = listed;
            return wrote;
        }
        if changes(call) {
            wrote
        } else {
            Wrote::Nothing
        }
    }
}

/// Whether a success of the call has certainly written or sent something.
pub(super) fn changes(call: &Call) -> bool {
    match call.tool.effect {
        Effect::Write | Effect::External => true,
        Effect::Ui => !call.tool.touches.is_empty(),
        Effect::Read | Effect::Control | Effect::Unknown => false,
    }
}
