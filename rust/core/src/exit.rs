//! How far a run got, and how a stopped one ends: finish, finish with gaps, or hand over to a person.
use callgate_value::Value;

use crate::counted::counted;
use crate::needs::Enough;
use crate::policy::Policy;
use crate::task::Task;
use crate::verdict::{ExitDecision, Status, Stop};

impl Task {
    /// How far the run got. None where nothing tells: the policy declares no needs, and the run was not stopped.
    #[must_use]
    pub fn status(&self, policy: &Policy) -> Option<Status> {
        match self.needs.enough(policy) {
            Some(Enough::All) => Some(Status::Complete),
            Some(Enough::Essential) => Some(Status::Partial),
            Some(Enough::Less) => Some(Status::Incomplete),
            // a stop is never a success by itself
            None => self.stop.is_some().then_some(Status::Incomplete),
        }
    }

    /// How the run ends if it is stopped now.
    pub(crate) fn exit_decision(&self, policy: &Policy) -> ExitDecision {
        match self.needs.enough(policy) {
            Some(Enough::All) => ExitDecision::Finish,
            Some(Enough::Essential) => policy.fallback.then.partial,
            Some(Enough::Less) | None => policy.fallback.then.insufficient,
        }
    }

    /// What came in after the stop still counts: the decision is made anew.
    pub(crate) fn decide_exit_anew(&mut self, policy: &Policy) {
        let exit = self.exit_decision(policy);
        if let Some(stop) = &mut self.stop {
            stop.exit = exit;
        }
    }

    /// The cells that are missing, as (record key, field); a thousand at most.
    #[must_use]
    pub fn missing(&self, policy: &Policy) -> Vec<(Value, String)> {
        self.needs.missing(policy)
    }

    /// The stop with a sentence for reports: what it means that the run ended here.
    pub(crate) fn note_of_stop(&self, policy: &Policy, stop: &Stop) -> String {
        let reason = crate::verdict::reason_name(stop.reason, stop.rule.as_deref());
        let (filled, cells) = self.needs.count(policy);
        let missing = cells.saturating_sub(filled);
        let of = format!("{missing} of {}", counted(cells, "cell"));
        let lacking = format!("{of} {} missing", if missing == 1 { "is" } else { "are" });
        match (self.needs.enough(policy), stop.exit) {
            (Some(Enough::All), _) => {
                format!("all that the task needs was found; what came after that was stopped (`{reason}`)")
            }
            (Some(Enough::Essential), ExitDecision::Escalate) => {
                format!("stopped (`{reason}`): the essential was found, {lacking}, and a person is to look at it")
            }
            (Some(Enough::Essential), _) => {
                format!("stopped (`{reason}`): the essential was found, {lacking}")
            }
            (Some(Enough::Less), _) => {
                format!("stopped (`{reason}`): essential fields are missing, {of} in all")
            }
            (None, _) => format!("stopped (`{reason}`): nothing says what the task needs, so it counts as incomplete"),
        }
    }
}
