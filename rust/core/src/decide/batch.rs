//! `admit`: may these calls run? A batch is judged as a whole, before any of its calls starts.
use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::{Funds, Given};
use crate::call::{Call, Request};
use crate::identify::identify;
use crate::policy::{Mode, Policy};
use crate::reply;
use crate::task::Task;
use crate::verdict::{Action, Finding, Verdict};
use crate::Reason;

impl Task {
    /// Judges a batch: the calls that the model made in one turn, before any of them starts. Verdicts come in the order
    /// of the requests, one each. Outside an explicit round the batch is a round of its own.
    pub fn admit(&mut self, policy: &Policy, agent: &str, requests: &[Request], now: Option<f64>) -> Vec<Verdict> {
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
        let step = again.then(|| self.replace_step(session, (true, false)));
        let agent_symbol = self.sessions.get(session).map_or(0, |session| session.agent_symbol);
        let calls: Vec<Arc<Call>> = requests
            .iter()
            .zip(self.next_number..)
            .map(|(request, number)| Arc::new(identify(policy, &self.key, request, session, (agent_symbol, number))))
            .collect();
        self.next_number = self.next_number.saturating_add(calls.len() as u64);
        let ids = self.call_ids(requests);
        let forced = if calls.len() > 1 { self.over_budget(policy, session, &calls, &ids) } else { Vec::new() };
        let mut verdicts = Vec::with_capacity(calls.len());
        for (call, (id, is_bad)) in calls.into_iter().zip(ids) {
            let (exact, before) = (call.exact.0, if again { self.forget_attempt(&call) } else { None });
            let decision = self.decide_now(policy, &call, (&id, is_bad), Given { forced: &forced, ..Given::default() });
            let verdict = self.commit(policy, call, id, decision);
            if let Some(before) = before.filter(|_| verdict.action != Action::Allow) {
                self.restore_first(session, exact, before);
            }
            verdicts.push(verdict);
        }
        if let Some(step) = step.filter(|_| !own) {
            self.replace_step(session, step);
        }
        let mut earlier = std::mem::take(&mut self.remarks);
        if policy.mode == Mode::Audit {
            earlier.clear();
        }
        if let Some(first) = verdicts.first_mut() {
            first.notes.splice(0..0, earlier.into_iter().map(reply::note));
        }
        self.close_if_settled(policy, session);
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
        calls: &[Arc<Call>],
        ids: &[(Arc<str>, bool)],
    ) -> Vec<Option<Finding>> {
        let is_whole = |policy: &Policy| policy.budgets.all_or_nothing && policy.mode == Mode::Enforce;
        let mut forced: Vec<Option<Finding>> = policy.each().map(|_| None).collect();
        let Some(share) = self.sessions.get(session).map(|session| &session.share) else { return forced };
        if !policy.each().any(is_whole) {
            return forced;
        }
        let (mut pool, mut share) = (self.pool.clone(), share.clone());
        let mut firsts: FxHashSet<u64> = FxHashSet::default();
        for (call, (_, is_bad)) in calls.iter().zip(ids) {
            // a call with a bad id sinks no batch
            if *is_bad || !firsts.insert(call.exact.0) {
                continue;
            }
            let funds = Funds { pool: &pool, share: &share };
            for (policy, forced) in
                policy.each().zip(&mut forced).filter(|(policy, forced)| is_whole(policy) && forced.is_none())
            {
                let findings = self.decide_under(policy, call, ("", false), funds, (None, &[])).findings;
                *forced = findings.into_iter().find(|finding| is_budget(finding.reason));
            }
            let decision = self.decide(policy, call, ("", false), funds, Given::default());
            if decision.action == Action::Allow {
                pool.take_call(&mut share, &call.tool, decision.retry, 1.0);
            }
        }
        forced
    }
}

fn is_budget(reason: Reason) -> bool {
    reason >= Reason::BudgetSteps && reason <= Reason::BudgetTime
}
