//! `admit`: may these calls run? A batch is judged as a whole, before any of its calls starts.
use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::{Funds, Given};
use crate::call::{Call, Request};
use crate::claims::{may_finish, After, Answer, Attempts, Claims, Prepared, PreparedCall};
use crate::identify::identify;
use crate::policy::{Mode, Policy};
use crate::reply;
use crate::shared::{Claim, Settlement};
use crate::task::Task;
use crate::verdict::{Action, Finding, Verdict};
use crate::Reason;

impl Task {
    /// Judges a batch: the calls that the model made in one turn, before any of them starts. Verdicts come in the order
    /// of the requests, one each. Outside an explicit round the batch is a round of its own. What the calls have to hold is
    /// taken from the task's own shared state.
    pub fn admit(&mut self, policy: &Policy, agent: &str, requests: &[Request], now: Option<f64>) -> Vec<Verdict> {
        self.with_own(|task, own| task.admit_with(own, policy, agent, requests, now))
    }

    /// The same, where what the calls have to hold is taken from `claims`.
    pub fn admit_with(
        &mut self,
        claims: &mut dyn Claims,
        policy: &Policy,
        agent: &str,
        requests: &[Request],
        now: Option<f64>,
    ) -> Vec<Verdict> {
        let mut prepared = self.prepare(policy, agent, requests, now);
        let at = self.claim_time();
        loop {
            prepared.answer_with(|claim| claims.commit(claim, at));
            let idle = self.revise(policy, &mut prepared);
            if idle.is_empty() {
                break;
            }
            for (id, task) in &idle {
                claims.release(id, task, at);
            }
        }
        let (verdicts, after) = self.admit_prepared(policy, prepared);
        after.tell(claims, at);
        verdicts
    }

    /// The first half of it: identifies the calls and says what each has to hold.
    pub fn prepare(&mut self, policy: &Policy, agent: &str, requests: &[Request], now: Option<f64>) -> Prepared {
        let now = self.clock(now);
        let session = self.session(policy, agent);
        let again = !requests.is_empty() && requests.iter().all(|request| request.again);
        let open = self.sessions.get(session).and_then(|it| it.round.as_ref()).map(|round| round.explicit);
        // further attempts belong to the turn of the model that their calls were made in, if that is still open
        let own = !(open == Some(true) || again && open.is_some());
        if own {
            self.close_round(policy, session);
            self.open_round(session, false, now);
        }
        let step_before = again.then(|| self.replace_step(session, (true, false)));
        let agent_symbol = self.sessions.get(session).map_or(0, |session| session.agent_symbol);
        let numbers = self.next_number..;
        self.next_number = self.next_number.saturating_add(requests.len() as u64);
        let ids = self.call_ids(requests);
        let step = if requests.is_empty() { None } else { self.step_claim(policy, session).map(|claim| (claim, None)) };
        let mut firsts = FxHashSet::default();
        let mut calls = Vec::with_capacity(requests.len());
        for ((request, number), (id, is_bad)) in requests.iter().zip(numbers).zip(ids) {
            let call = Arc::new(identify(policy, &self.key, request, session, (agent_symbol, number)));
            let held = self.claim(policy, &call, (is_bad, again), &mut firsts);
            calls.push(PreparedCall { call, id, is_bad, held });
        }
        let attempts = step_before.map(|before| Attempts { step: Some(before).filter(|_| !own) });
        Prepared { session, calls, step, attempts, approval: None, latest: 0 }
    }

    /// The second half: judges the calls, once their claims are answered, and says what is to be told of that.
    pub fn admit_prepared(&mut self, policy: &Policy, prepared: Prepared) -> (Vec<Verdict>, After) {
        if self.sharing.all {
            self.learn_counts(&prepared);
        }
        let mut after = After::default();
        let Prepared { session, calls, step, attempts, approval, .. } = prepared;
        let taken = |task: &Self| {
            task.sessions.get(session).and_then(|it| it.round.as_ref()).is_some_and(|round| round.step_taken)
        };
        let had_step = taken(self);
        let verdicts = match approval {
            Some(approval) => {
                let approved = calls.into_iter().next();
                approved.map(|call| self.admit_approved(policy, call, approval, &mut after)).into_iter().collect()
            }
            None => self.admit_calls(policy, session, (calls, attempts.is_some()), &mut after),
        };
        if let Some(step) = attempts.and_then(|attempts| attempts.step) {
            self.replace_step(session, step);
        }
        if let Some((claim, Some(Answer::Granted(grant)))) = step {
            let holds = grant.taken || claim.forced;
            if holds && !had_step && taken(self) {
                let Claim { id, task, .. } = claim;
                after.settlements.push(Settlement { id, task, ..Settlement::default() });
            } else if holds {
                after.releases.push((claim.id, claim.task));
            }
        }
        self.close_if_settled(policy, session);
        (verdicts, after)
    }

    fn admit_calls(
        &mut self,
        policy: &Policy,
        session: usize,
        (calls, again): (Vec<PreparedCall>, bool),
        after: &mut After,
    ) -> Vec<Verdict> {
        let forced = if calls.len() > 1 { self.over_budget(policy, session, (&calls, again)) } else { Vec::new() };
        let mut verdicts = Vec::with_capacity(calls.len());
        for PreparedCall { call, id, is_bad, held } in calls {
            let (exact, before) = (call.exact.0, if again { self.forget_attempt(&call) } else { None });
            let given = Given { forced: &forced, held: Some(&held), ..Given::default() };
            let decision = self.decide_now(policy, &call, (&id, is_bad), given);
            let verdict = self.commit(policy, (call, id), decision, held, after);
            if let Some(before) = before.filter(|_| verdict.action != Action::Allow) {
                self.restore_first(session, exact, before);
            }
            verdicts.push(verdict);
        }
        let mut earlier = std::mem::take(&mut self.remarks);
        if policy.mode == Mode::Audit {
            earlier.clear();
        }
        if let Some(first) = verdicts.first_mut() {
            first.notes.splice(0..0, earlier.into_iter().map(reply::note));
        }
        verdicts
    }

    /// Each call's id, and whether it cannot be used.
    fn call_ids(&mut self, requests: &[Request]) -> Vec<(Arc<str>, bool)> {
        let mut ids: Vec<(Arc<str>, bool)> = Vec::with_capacity(requests.len());
        let given: FxHashSet<&Arc<str>> = requests.iter().filter_map(|request| request.call_id.as_ref()).collect();
        let mut earlier: FxHashSet<Arc<str>> = FxHashSet::default();
        for request in requests {
            let entry = if let Some(id) = &request.call_id {
                let is_taken = |id: &Arc<str>| self.out.contains_key(id) || self.asked.contains_key(id);
                let is_bad = is_taken(id) || earlier.contains(id);
                (Arc::clone(id), is_bad)
            } else {
                loop {
                    self.next_call = self.next_call.saturating_add(1);
                    let id: Arc<str> = format!("call-{}", self.next_call).into();
                    if !given.contains(&id) && !self.out.contains_key(&id) && !self.asked.contains_key(&id) {
                        break (id, false);
                    }
                }
            };
            earlier.insert(Arc::clone(&entry.0));
            ids.push(entry);
        }
        ids
    }

    /// `all_or_nothing`: for each policy that applies the budget finding of the first call of the batch that does not fit,
    /// if one does not.
    fn over_budget(
        &self,
        policy: &Policy,
        session: usize,
        (calls, again): (&[PreparedCall], bool),
    ) -> Vec<Option<Finding>> {
        let mut forced: Vec<Option<Finding>> = policy.each().map(|_| None).collect();
        if !policy.each().any(is_whole) || self.surely_fits(policy, session, calls) {
            return forced;
        }
        // which of them run shows only in turn: a rule counts the calls before it, a cool-down lets one through
        let mut trial = self.clone();
        let mut after = After::default();
        let mut firsts: FxHashSet<u64> = FxHashSet::default();
        for PreparedCall { call, id, is_bad, held } in calls {
            let before = if again { trial.forget_attempt(call) } else { None };
            let given = Given { held: Some(held), ..Given::default() };
            // a call with a bad id sinks no batch, nor does one that a stop keeps from running
            let sinks = !is_bad && (trial.stop.is_none() || may_finish(policy, call)) && firsts.insert(call.exact.0);
            if let Some(share) = trial.sessions.get(session).map(|it| &it.share).filter(|_| sinks) {
                let funds = Funds { pool: &trial.pool, share };
                for (policy, forced) in whole_and_open(policy, &mut forced) {
                    *forced = trial.short_budget(policy, call, funds, given);
                }
            }
            let decision = trial.decide_now(policy, call, (id, *is_bad), given);
            let (call, id) = (Arc::clone(call), Arc::clone(id));
            let exact = call.exact.0;
            let verdict = trial.commit(policy, (call, id), decision, held.clone(), &mut after);
            if let Some(before) = before.filter(|_| verdict.action != Action::Allow) {
                trial.restore_first(session, exact, before);
            }
        }
        forced
    }

    /// Whether the batch fits the budgets even if all of it runs.
    fn surely_fits(&self, policy: &Policy, session: usize, calls: &[PreparedCall]) -> bool {
        let Some(share) = self.sessions.get(session).map(|session| &session.share) else { return true };
        let (mut pool, mut share) = (self.pool.clone(), share.clone());
        calls.iter().filter(|it| !it.is_bad).all(|PreparedCall { call, held, .. }| {
            let given = Given { held: Some(held), ..Given::default() };
            let funds = Funds { pool: &pool, share: &share };
            let fits = policy.each().filter(|policy| is_whole(policy));
            let fits = fits.into_iter().all(|policy| self.short_budget(policy, call, funds, given).is_none());
            pool.take_call(&mut share, &call.tool, self.is_retry(call.loose), 1.0);
            fits
        })
    }

    /// The first budget that refuses a call under one policy.
    fn short_budget(&self, policy: &Policy, call: &Call, funds: Funds<'_>, given: Given<'_>) -> Option<Finding> {
        let findings = self.decide_under(policy, call, ("", false), funds, (None, given)).findings;
        findings.into_iter().find(|finding| is_budget(finding.reason))
    }
}

/// Whether a batch is admitted as a whole under the policy, or not at all.
fn is_whole(policy: &Policy) -> bool {
    policy.budgets.all_or_nothing && policy.mode == Mode::Enforce
}

/// The policies under which a batch is whole, and nothing has refused it yet.
fn whole_and_open<'p>(
    policy: &'p Policy,
    forced: &'p mut [Option<Finding>],
) -> impl Iterator<Item = (&'p Policy, &'p mut Option<Finding>)> {
    policy.each().zip(forced).filter(|(policy, forced)| is_whole(policy) && forced.is_none())
}

fn is_budget(reason: Reason) -> bool {
    reason >= Reason::BudgetSteps && reason <= Reason::BudgetTime
}
