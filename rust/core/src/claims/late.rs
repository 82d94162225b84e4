//! Calls that are given up and go on: what one brings after all ends the doubt about its effect.
use std::sync::Arc;

use super::settle::effect_end;
use crate::bounds::{make_room, LATE_CALLS};
use crate::call::Call;
use crate::outcome::{judge, Outcome};
use crate::policy::Policy;
use crate::shared::{Claim, EffectEnd, LateEnd, Settlement};
use crate::task::{Out, Task};

/// A call whose effect is in doubt, and which still runs.
#[derive(Clone, Debug)]
pub(crate) struct Late {
    call: Arc<Call>,
    claim: Box<Claim>,
}

impl Task {
    /// A call that is out goes on when it is given up: under a name of the host's own, which no other call has, it will
    /// tell what it brings then. Nothing happens where no call of that id is out.
    pub fn follow(&mut self, call_id: &str, name: &str) {
        if let Some(out) = self.out.get_mut(call_id) {
            out.follows = Some(name.into());
        }
    }

    /// The agent whose call is told of under a name.
    #[must_use]
    pub fn late_agent(&self, name: &str) -> Option<&str> {
        let late = self.late.get(name)?;
        self.sessions.get(late.call.session).map(|session| session.agent.as_str())
    }

    /// Keeps what is needed once a call brings something after all whose effect is in doubt by now.
    pub(crate) fn keep_for_late(&mut self, out: &Out, settlement: Option<&Settlement>) {
        let (Some(name), Some(holding)) = (&out.follows, out.held.as_deref()) else { return };
        if settlement.is_some_and(|it| it.effect == Some(EffectEnd::Unknown)) {
            make_room(&mut self.late, name, LATE_CALLS);
            self.late.insert(Arc::clone(name), Late { call: Arc::clone(&out.call), claim: holding.claim.clone() });
        }
    }

    /// What a call brought that was given up: what has to be settled, where that ends a doubt. What the task made of it when it
    /// was given up stands.
    pub fn came_late(
        &mut self,
        policy: &Policy,
        name: &str,
        outcome: &Outcome,
        now: Option<f64>,
    ) -> Option<Settlement> {
        self.clock(now);
        let Late { call, claim } = self.late.remove(name)?;
        let effect = claim.effect?;
        let judged = judge(policy, &self.key, &call, outcome);
        let end = effect_end(&call, &judged, outcome, effect.effect.declared);
        if end == EffectEnd::Unknown {
            return None;
        }
        self.doubts.end(&effect.effect.key);
        let late = Some(Box::new(LateEnd { owner: claim.id, effect, end }));
        Some(Settlement { id: self.claim_id(), task: claim.task, late, ..Settlement::default() })
    }
}
