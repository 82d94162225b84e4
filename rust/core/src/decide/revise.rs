//! What calls of a batch hold that will not run is given back before their siblings are judged: else a call that is refused
//! could take the last of a budget, the probe of a breaker or a key away from one that would have run.
use rustc_hash::FxHashSet;

use super::{Funds, Given};
use crate::claims::{Answer, Prepared, PreparedCall};
use crate::policy::Policy;
use crate::task::Task;
use crate::verdict::Action;

impl Task {
    /// Looks whether a call of the batch got too little while an earlier one holds something and will not run. If so the
    /// latter gives it back, and the former asks anew: release what this names, have `Prepared::claims` answered, and call
    /// it again. Nothing is changed where it names nothing.
    pub fn revise(&mut self, policy: &Policy, prepared: &mut Prepared) -> Vec<(String, String)> {
        if prepared.calls.len() < 2 || prepared.approval.is_some() || !prepared.calls.iter().any(lacks) {
            return Vec::new();
        }
        if self.sharing.all {
            self.learn_counts(prepared);
        }
        let idle = self.idle(policy, prepared);
        let Some(first) = idle.first().copied() else { return Vec::new() };
        let last_lacking = prepared.calls.iter().rposition(lacks);
        if last_lacking.is_none_or(|last| last < first) {
            return Vec::new();
        }
        let mut released = Vec::with_capacity(idle.len());
        for (at, it) in prepared.calls.iter_mut().enumerate().skip(first) {
            if idle.contains(&at) {
                let (Some(claim), Some(Answer::Granted(grant))) = (&it.held.claim, &mut it.held.answer) else {
                    continue;
                };
                grant.taken = false;
                released.push((claim.id.clone(), claim.task.clone()));
            } else if lacks(it) {
                let waits = self.confirmed.waits_for(&it.call);
                it.held = self.claim_alone(policy, &it.call, (waits.is_some(), waits));
            }
        }
        released
    }

    /// The calls that hold something and will not run, by their places, judged one after the other as they would be.
    fn idle(&self, policy: &Policy, prepared: &Prepared) -> Vec<usize> {
        let Some(share) = self.sessions.get(prepared.session).map(|session| &session.share) else { return Vec::new() };
        let (mut pool, mut share) = (self.pool.clone(), share.clone());
        let mut firsts: FxHashSet<u64> = FxHashSet::default();
        let mut idle = Vec::new();
        for (at, PreparedCall { call, id, is_bad, held }) in prepared.calls.iter().enumerate() {
            if *is_bad || !firsts.insert(call.exact.0) {
                continue;
            }
            let funds = Funds { pool: &pool, share: &share };
            let given = Given { held: Some(held), ..Given::default() };
            let decision = self.decide(policy, call, (id, false), funds, given);
            if decision.action == Action::Allow {
                pool.take_call(&mut share, &call.tool, decision.retry, 1.0);
            } else if held.grant().is_some_and(|grant| grant.taken) && !held.claim.as_ref().is_some_and(|it| it.forced)
            {
                idle.push(at);
            }
        }
        idle
    }
}

/// It asked for something and did not get it all, for want of what others hold: only then may asking anew help.
fn lacks(it: &PreparedCall) -> bool {
    it.held.grant().is_some_and(|grant| {
        let held_by_others = !grant.short.is_empty() || !grant.open.is_empty() || grant.effect.is_some();
        !grant.taken && held_by_others && !it.is_bad
    })
}
