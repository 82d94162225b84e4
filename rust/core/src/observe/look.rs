//! Fresh looks: reads that are worth making although they may bring nothing new to the task.
use crate::detect::no_gain::Look;
use crate::detect::same_result::place;
use crate::detect::{FreshLook, Observation};
use crate::task::Task;
use crate::verdict::Grade;

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

    /// Whether it asks for the next thing after its agent acted upon what the tool said of the last one.
    pub(super) fn follows_what_was_acted_upon(&mut self, seen: &Observation) -> bool {
        let Some(session) = self.sessions.get_mut(seen.call.session).filter(|_| seen.is_known_read()) else {
            return false;
        };
        session.acted.read(&seen.call, seen.first && seen.gain.count == 0)
    }

    /// Whether it is its agent's first look at one more of the targets that the tool declares: that each of them stands as
    /// others do is an answer.
    pub(super) fn looks_at_new_target(&mut self, seen: &Observation) -> bool {
        let Some(session) = self.sessions.get(seen.call.session) else { return false };
        let found = matches!(seen.judged.grade, Grade::Sufficient | Grade::Partial);
        let first = found && seen.is_known_read() && seen.call.target.is_some();
        first && !session.last_of_reads.contains_key(&place(&seen.call)) && !self.fruitless.looks_at_target()
    }
}
