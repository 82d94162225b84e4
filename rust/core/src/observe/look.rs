//! Fresh looks: reads that are worth making although they may bring nothing new to the task.
use crate::detect::no_gain::Look;
use crate::detect::{FreshLook, Observation};
use crate::task::Task;

impl Task {
    /// Whether a read looks anew at what may have changed, or is its agent's first look at what another agent has seen.
    pub(super) fn look(&mut self, seen: &Observation) -> Option<FreshLook> {
        let (session, loose) = (seen.call.session, seen.call.loose);
        if !seen.call.is_read() {
            return None;
        }
        let look = self.sessions.get_mut(session).map(|of| of.detectors.no_gain.look(&seen.call));
        match look {
            Some(Look::Anew(why)) => Some(why),
            Some(Look::First) if !seen.first && seen.succeeded() => {
                let mut others = self.sessions.iter().enumerate().filter(|(index, _)| *index != session);
                let shared = others.any(|(_, other)| other.detectors.no_gain.has_looked(loose));
                (shared && !self.fruitless.looks(loose)).then_some(FreshLook::Wanted)
            }
            _ => None,
        }
    }
}
