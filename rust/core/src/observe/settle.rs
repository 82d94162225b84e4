//! Rounds close: their members are fed in request order, then refusals are counted, then the task may end.
use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::{Closed, Fed};
use crate::call::Call;
use crate::detect::{Observation, Remark, Under};
use crate::fallback::{Offer, Skipped};
use crate::fields::map;
use crate::policy::{Mode, Policy};
use crate::reply;
use crate::round::{Fate, Member};
use crate::task::{Out, Task};
use crate::verdict::{Lifted, Stop};

impl Task {
    /// Puts an observation into its round, and closes the round if that was the last; or feeds it alone if it is late.
    pub(super) fn file(&mut self, policy: &Policy, out: &Out, seen: Observation) -> Closed {
        let session = seen.call.session;
        let round = self.sessions.get_mut(session).and_then(|it| it.round.as_mut());
        let round = round.filter(|round| round.number == out.round);
        if let Some(round) = round {
            let settle_now = !round.explicit;
            let id = Arc::clone(&seen.call_id);
            round.came_back(&id, Fate::Observed(Box::new(seen)));
            return if settle_now && round.is_settled() { self.feed_round(policy, session) } else { Closed::default() };
        }
        let member = Member {
            call_id: Arc::clone(&seen.call_id),
            number: seen.call.number,
            fate: Fate::Observed(Box::new(seen)),
            incidents: Vec::new(),
            reused: false,
        };
        self.feed_members(policy, vec![member])
    }

    pub(crate) fn close_if_settled(&mut self, policy: &Policy, session: usize) {
        let round = self.sessions.get(session).and_then(|it| it.round.as_ref());
        if round.is_some_and(|round| !round.explicit && round.is_settled()) {
            self.close_round(policy, session);
        }
    }

    /// Closes the session's round, if there is one; its remarks wait for the next answer.
    pub(crate) fn close_round(&mut self, policy: &Policy, session: usize) {
        let mut closed = self.feed_round(policy, session);
        self.remarks.append(&mut closed.remarks.notes);
        self.offers.append(&mut closed.offers);
        self.skipped.append(&mut closed.skipped);
    }

    fn feed_round(&mut self, policy: &Policy, session: usize) -> Closed {
        let Some(of) = self.sessions.get_mut(session) else { return Closed::default() };
        // another agent's round is closed under the policies that apply to that agent
        let own = of.policy.clone();
        match of.round.take() {
            Some(round) => self.feed_members(own.as_deref().unwrap_or(policy), round.members),
            None => Closed::default(),
        }
    }

    fn feed_members(&mut self, policy: &Policy, members: Vec<Member>) -> Closed {
        let mut closed = Closed::default();
        let mut earlier: Option<FxHashSet<Fed>> = (members.len() > 1).then(FxHashSet::default);
        let mut refused = Vec::new();
        for member in members {
            if !member.incidents.is_empty() {
                refused.push((member.number, member.incidents, member.reused));
            }
            if let Fate::Observed(seen) = member.fate {
                closed.remarks.under = self.under(policy, &seen.call);
                self.feed(policy, *seen, &mut earlier, &mut closed);
                self.end_if_due(policy, &mut closed);
            }
        }
        for (exception, reason) in std::mem::take(&mut closed.remarks.lifted) {
            self.tally(&[Lifted { exception, reason }]);
        }
        let gainful: FxHashSet<u64> = closed.gains.iter().filter(|it| it.gain.count > 0).map(|it| it.number).collect();
        for (number, incidents, reused) in refused {
            let elsewhere = gainful.len() > usize::from(gainful.contains(&number));
            if !elsewhere {
                for incident in &incidents {
                    self.incidents.count(incident, reused);
                }
            }
        }
        closed
    }

    /// The policies that a call's outcome is fed under; none where there is but one, and nothing is lifted.
    fn under(&self, policy: &Policy, call: &Call) -> Vec<Under> {
        if policy.is_combined() || !policy.exceptions.is_empty() {
            let agent = self.sessions.get(call.session).map_or("", |session| session.agent.as_str());
            let under = policy.each().map(|policy| Under {
                mode: policy.mode,
                thresholds: if policy.binding.is_some() {
                    policy.thresholds(&call.tool)
                } else {
                    Arc::clone(&call.tool.detectors)
                },
                cycle: policy.cycle,
                transfer_cycle: policy.transfer_cycle,
                lifts: policy.lifts(&call.tool.name, agent, &self.about, self.moment()),
            });
            under.collect()
        } else {
            Vec::new()
        }
    }

    /// An `exit_after` that was reached ends the task, at this observation.
    fn end_if_due(&mut self, policy: &Policy, closed: &mut Closed) {
        let Some(end) = closed.remarks.exit.take().filter(|_| self.stop.is_none()) else { return };
        if policy.mode == Mode::Enforce {
            let call_id = end.call_id.to_string();
            let rule = end.rule.as_ref().map(|(id, _)| id.to_string());
            let (exit, evidence) = (self.exit_decision(policy), map(end.evidence.clone()));
            let stop = Stop { reason: end.reason, rule, call_id, at: self.now, exit, evidence };
            closed.offers.clear();
            self.stop = Some(stop.clone());
            closed.stop = Some(stop);
        }
        let told = |note: &Remark| note.reason == end.reason && note.call_id == end.call_id && note.rule == end.rule;
        let mut of_call = closed.remarks.notes.iter().rev().take_while(|note| note.call_id == end.call_id);
        if !of_call.any(told) {
            closed.remarks.notes.push(end);
        }
    }

    /// Proposals that no answer has carried yet.
    pub fn drain_ways(&mut self) -> (Vec<Offer>, Vec<Skipped>) {
        (std::mem::take(&mut self.offers), std::mem::take(&mut self.skipped))
    }

    /// Remarks that no answer has carried yet; none in mode `audit`.
    pub fn drain_remarks(&mut self, policy: &Policy) -> Vec<crate::Note> {
        let mut remarks: Vec<Remark> = std::mem::take(&mut self.remarks);
        if policy.mode == Mode::Audit {
            remarks.clear();
        }
        remarks.into_iter().map(reply::note).collect()
    }
}
