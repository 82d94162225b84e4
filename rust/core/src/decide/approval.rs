//! The other half of `ask`: a person says yes or no.
use std::sync::Arc;

use callgate_value::Value;

use super::Given;
use crate::call::Call;
use crate::claims::{After, Claims, Held, Prepared, PreparedCall};
use crate::decisions::{No, Yes};
use crate::policy::Policy;
use crate::reply;
use crate::shared::Settlement;
use crate::task::{Asked, Task};
use crate::verdict::{Action, AskedBy, Finding, IncidentKey, Note, Verdict};
use crate::Reason;

impl Task {
    /// A person says yes to a call that was asked about: it is judged once more, without what asked. What asks only since
    /// then was not told, so it is asked about anew.
    ///
    /// # Errors
    /// The id, if no call of that id was asked about.
    pub fn approve(&mut self, policy: &Policy, call_id: &str, now: Option<f64>) -> Result<Verdict, String> {
        self.with_own(|task, own| task.approve_with(own, policy, call_id, &Yes::default(), now))
    }

    /// The same, where what the call has to hold is taken from `claims`, and the yes goes as far as it says.
    ///
    /// # Errors
    /// The id, if no call of that id was asked about.
    pub fn approve_with(
        &mut self,
        claims: &mut dyn Claims,
        policy: &Policy,
        call_id: &str,
        yes: &Yes,
        now: Option<f64>,
    ) -> Result<Verdict, String> {
        let mut prepared = self.prepare_approval(policy, call_id, yes, now)?;
        let at = self.claim_time();
        prepared.answer_with(|claim| claims.commit(claim, at));
        let (verdicts, after) = self.admit_prepared(policy, prepared);
        after.tell(claims, at);
        verdicts.into_iter().next().ok_or_else(|| call_id.to_owned())
    }

    /// The first half of it: takes the yes, and says what the call has to hold.
    ///
    /// # Errors
    /// The id, if no call of that id was asked about.
    pub fn prepare_approval(
        &mut self,
        policy: &Policy,
        call_id: &str,
        yes: &Yes,
        now: Option<f64>,
    ) -> Result<Prepared, String> {
        let now = self.clock(now);
        let Some((id, Asked { call, rules, told, confirmation })) = self.asked.remove_entry(call_id) else {
            return Err(call_id.to_owned());
        };
        self.decisions.approved(&call, &id, yes, now);
        self.confirmed.add(&call, (&told, confirmation), yes.grants);
        self.denied.lift(&call);
        for rule in rules {
            self.incidents.close(&IncidentKey::Rule(rule));
        }
        let session = call.session;
        self.catch_up(session);
        let again = told.iter().any(|(reason, _)| *reason == Reason::AmbiguousEffect);
        let round = self.sessions.get(session).and_then(|session| session.round.as_ref());
        // it coalesces with an equal call of its round that was dispatched, and only with such
        let coalesces = round.is_some_and(|it| it.firsts.get(&call.exact.0).is_some_and(|first| it.ran(first)));
        let mut held = if coalesces { Held::default() } else { self.claim_alone(policy, &call, (again, None)) };
        if let Some(claim) = &mut held.claim {
            // this is what ends them
            claim.denials.clear();
        }
        let lift = self.lift_settlement(policy, &call);
        let approval = Approval { told, lift };
        let calls = vec![PreparedCall { call, id, is_bad: false, held }];
        Ok(Prepared { session, calls, step: None, attempts: None, approval: Some(approval), latest: 0 })
    }

    /// The second half.
    pub(super) fn admit_approved(
        &mut self,
        policy: &Policy,
        PreparedCall { call, id, held, .. }: PreparedCall,
        Approval { mut told, lift }: Approval,
        after: &mut After,
    ) -> Verdict {
        after.settlements.extend(lift);
        let session = call.session;
        let implicit = self.sessions.get(session).is_some_and(|session| session.round.is_none());
        if implicit {
            self.open_round(session, false, self.now);
        }
        // the step was taken when the model made the call, whatever round it enters now
        let step = self.replace_step(session, (true, false));
        let mut displaced = None;
        if let Some(round) = self.sessions.get_mut(session).and_then(|session| session.round.as_mut()) {
            round.withdraw(&id);
            let equal = round.firsts.get(&call.exact.0).is_some_and(|first| round.ran(first));
            if !equal {
                displaced = round.firsts.remove(&call.exact.0);
            }
        }
        let given = Given { told: &told, held: Some(&held), ..Given::default() };
        let mut decision = self.decide_now(policy, &call, (&id, false), given);
        decision.again = true;
        if decision.action != Action::Allow && held.failure().is_some() {
            self.confirmed.wait(&call, &told, self.claim_time());
        }
        let (exact, loose) = (call.exact.0, call.loose);
        let verdict = self.commit(policy, (call, id), decision, held, after);
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
        verdict
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
        self.deny_apart(&Policy::nobody(""), call_id, &No::default(), now).map(|(notes, _)| notes)
    }

    /// The same, as far as the no says. Beside the notes comes what those who share the task's denials are to be told.
    ///
    /// # Errors
    /// The id, if no call of that id was asked about.
    pub fn deny_apart(
        &mut self,
        policy: &Policy,
        call_id: &str,
        no: &No,
        now: Option<f64>,
    ) -> Result<(Vec<Note>, Option<Settlement>), String> {
        let now = self.clock(now);
        let Some((id, Asked { call, rules, .. })) = self.asked.remove_entry(call_id) else {
            return Err(call_id.to_owned());
        };
        for rule in &rules {
            self.incidents.denied(rule);
        }
        self.journal.denied();
        self.confirmed.use_up(&call);
        self.decisions.denied(&call, &id, no, now);
        let count = self.denied.record(&call, rules, no, now);
        let noted = call.tool.detectors.denied.is_some_and(|rungs| rungs.notes(count));
        let mut finding = Finding::refuse(Reason::Denied, Vec::new());
        finding.evidence.extend(no.why.as_deref().map(|why| ("why", Value::from(why))));
        let notes = noted.then(|| reply::note_of_finding(&finding, &call, &id)).into_iter().collect();
        Ok((notes, self.denial_settlement(policy, &call, no.scope)))
    }
}

/// A person has said yes.
#[derive(Debug)]
pub(crate) struct Approval {
    /// What they were told.
    told: Vec<AskedBy>,
    /// Denials that this ends, where they are shared.
    lift: Option<Settlement>,
}
