//! The other half of `ask`: a person says yes or no.
use std::sync::Arc;

use super::Given;
use crate::call::Call;
use crate::policy::Policy;
use crate::reply;
use crate::task::{Asked, Task};
use crate::verdict::{Action, Finding, IncidentKey, Note, Verdict};
use crate::Reason;

impl Task {
    /// A person says yes to a call that was asked about: it is judged once more, without what asked. What asks only since
    /// then was not told, so it is asked about anew.
    ///
    /// # Errors
    /// The id, if no call of that id was asked about.
    pub fn approve(&mut self, policy: &Policy, call_id: &str, now: Option<f64>) -> Result<Verdict, String> {
        self.clock(now);
        let Some((id, Asked { call, rules, mut told })) = self.asked.remove_entry(call_id) else {
            return Err(call_id.to_owned());
        };
        self.confirmation = self.confirmation.saturating_add(1);
        self.denied.lift(&call);
        for rule in rules {
            self.incidents.close(&IncidentKey::Rule(rule));
        }
        let session = call.session;
        self.forget_before_wait(session);
        let implicit = self.sessions.get(session).is_some_and(|session| session.round.is_none());
        if implicit {
            self.open_round(session, false, self.now);
        }
        // the step was taken when the model made the call, whatever round it enters now
        let step = self.replace_step(session, (true, false));
        let mut displaced = None;
        if let Some(round) = self.sessions.get_mut(session).and_then(|session| session.round.as_mut()) {
            round.withdraw(&id);
            // it coalesces with an equal call of its round that was dispatched, and only with such
            let equal = round.firsts.get(&call.exact.0).is_some_and(|first| round.ran(first));
            if !equal {
                displaced = round.firsts.remove(&call.exact.0);
            }
        }
        let mut decision = self.decide_now(policy, &call, (&id, false), Given { told: &told, ..Given::default() });
        decision.again = true;
        let (exact, loose) = (call.exact.0, call.loose);
        let verdict = self.commit(policy, call, id, decision);
        if !implicit {
            self.replace_step(session, step);
        }
        if let Some(first) = displaced.filter(|_| verdict.action != Action::Allow) {
            self.restore_first(session, exact, first);
        }
        if verdict.action == Action::Allow {
            self.incidents.close(&IncidentKey::TaskCall { call: loose });
        }
        if let Some(out) = self.out.get_mut(&verdict.call_id) {
            out.approved = true;
        }
        if let Some(asked) = self.asked.get_mut(&verdict.call_id) {
            asked.told.append(&mut told);
        }
        self.close_if_settled(policy, session);
        Ok(verdict)
    }

    /// The open round forgets the attempt before, so that a further one is not answered with it; one that is still out
    /// stays. Gives the attempt.
    pub(super) fn forget_attempt(&mut self, call: &Call) -> Option<Arc<str>> {
        let round = self.sessions.get_mut(call.session).and_then(|session| session.round.as_mut())?;
        let before = round.firsts.get(&call.exact.0)?;
        if round.is_out(before) {
            return None;
        }
        round.firsts.remove(&call.exact.0)
    }

    /// What the open round answers equal calls with is again what it was.
    pub(super) fn restore_first(&mut self, session: usize, exact: u64, first: Arc<str>) {
        if let Some(round) = self.sessions.get_mut(session).and_then(|session| session.round.as_mut()) {
            round.firsts.insert(exact, first);
        }
    }

    /// Puts `(taken, over)` in place of what the open round says of its step; gives what it said.
    pub(super) fn replace_step(&mut self, session: usize, (taken, over): (bool, bool)) -> (bool, bool) {
        let round = self.sessions.get_mut(session).and_then(|session| session.round.as_mut());
        round.map_or((false, false), |round| {
            (std::mem::replace(&mut round.step_taken, taken), std::mem::replace(&mut round.step_over, over))
        })
    }

    /// A person says no. The call goes on record: issued again, it is refused without asking. A rule that asked counts it:
    /// its first denial opens an incident, later ones lead to a stop.
    ///
    /// # Errors
    /// The id, if no call of that id was asked about.
    pub fn deny(&mut self, call_id: &str, now: Option<f64>) -> Result<Vec<Note>, String> {
        let now = self.clock(now);
        let Some((id, Asked { call, rules, .. })) = self.asked.remove_entry(call_id) else {
            return Err(call_id.to_owned());
        };
        for rule in &rules {
            self.incidents.denied(rule);
        }
        self.journal.denied();
        let count = self.denied.record(&call, rules, now);
        let noted = call.tool.detectors.denied.is_some_and(|rungs| rungs.notes(count));
        let finding = Finding::refuse(Reason::Denied, Vec::new());
        Ok(noted.then(|| reply::note_of_finding(&finding, &call, &id)).into_iter().collect())
    }
}
