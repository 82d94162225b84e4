//! How a call ends what it held: its effect, what it says of its breaker, usage, doubts that it ends.
use callgate_value::to_json;

use super::prepare::denials;
use super::{amounts, Claims, Holding, Scope};
use crate::call::Call;
use crate::outcome::{Judged, Outcome};
use crate::policy::{ErrorClass, Policy};
use crate::shared::{BreakerEnd, EffectEnd, Resolution, Settlement};
use crate::task::{Out, Task};

/// Bytes of a result, as JSON, that the ledger keeps for calls that are the same.
const LONGEST_RESULT: usize = 65_536;

impl Task {
    /// What the shared state has to be told of an outcome; nothing where the call held nothing and nothing is found out.
    pub(crate) fn settlement(
        &mut self,
        judged: &Judged,
        outcome: &Outcome,
        out: &Out,
        resolve: Vec<Resolution>,
        policy: &Policy,
    ) -> Option<Settlement> {
        let tokens = if self.sharing.all { outcome.tokens.unwrap_or(0.0) } else { 0.0 };
        let is_denied = self.sharing.all && judged.class == Some(ErrorClass::Denied);
        let deny: Vec<String> =
            if is_denied { denials(policy, &out.call).into_iter().take(1).collect() } else { Vec::new() };
        let Some(Holding { claim, .. }) = out.held.as_deref() else {
            if resolve.is_empty() && deny.is_empty() && tokens <= 0.0 {
                return None;
            }
            let (id, task) = (self.claim_id(), self.scope().to_owned());
            let amounts = amounts::usage(tokens, 0.0);
            return Some(Settlement { id, task, amounts, resolve, deny, ..Settlement::default() });
        };
        let declared = claim.effect.as_ref().is_some_and(|it| it.effect.declared);
        let effect = claim.effect.as_ref().map(|_| effect_end(&out.call, judged, outcome, declared));
        let answered = breaker_end(judged);
        Some(Settlement {
            id: claim.id.clone(),
            task: claim.task.clone(),
            amounts: amounts::usage(tokens, 0.0),
            effect,
            breakers: claim.breakers.iter().map(|breaker| (breaker.name.clone(), answered)).collect(),
            resolve,
            deny,
            ..Settlement::default()
        })
    }

    /// A person's no, for those who share the task's denials.
    pub(crate) fn denial_settlement(&mut self, policy: &Policy, call: &Call, scope: Scope) -> Option<Settlement> {
        let at = match scope {
            Scope::Call => 0,
            Scope::Target => 1,
            Scope::Tool => 2,
        };
        let deny = self.sharing.all.then(|| denials(policy, call).into_iter().skip(at).take(1).collect())?;
        let (id, task) = (self.claim_id(), self.scope().to_owned());
        Some(Settlement { id, task, deny, ..Settlement::default() })
    }

    /// A person's yes, likewise: it ends every denial of the call.
    pub(crate) fn lift_settlement(&mut self, policy: &Policy, call: &Call) -> Option<Settlement> {
        let lift = self.sharing.all.then(|| denials(policy, call).into())?;
        let (id, task) = (self.claim_id(), self.scope().to_owned());
        Some(Settlement { id, task, lift, ..Settlement::default() })
    }

    /// What an event adds to shared counters.
    pub fn usage_settlement(&mut self, tokens: f64, cost: f64) -> Option<Settlement> {
        let amounts = if self.sharing.all { amounts::usage(tokens, cost) } else { Vec::new() };
        if amounts.is_empty() {
            return None;
        }
        let (id, task) = (self.claim_id(), self.scope().to_owned());
        Some(Settlement { id, task, amounts, ..Settlement::default() })
    }

    /// A person, or something outside the task, has found out what became of an effect.
    #[must_use]
    pub fn found_out(&mut self, key: &str, landed: bool, by: &str) -> Settlement {
        self.doubts.end(key);
        let resolution = Resolution { key: key.to_owned(), landed: Some(landed), result: None, by: by.to_owned() };
        let (id, task) = (self.claim_id(), self.scope().to_owned());
        Settlement { id, task, resolve: vec![resolution], ..Settlement::default() }
    }

    /// The same in the task's own ledger.
    pub fn find_out(&mut self, key: &str, landed: bool, by: &str) {
        let settlement = self.found_out(key, landed, by);
        let now = self.claim_time();
        self.shared.settle(&settlement, now);
    }

    /// Does something with the task's own shared state.
    pub fn with_own<T>(&mut self, act: impl FnOnce(&mut Self, &mut dyn Claims) -> T) -> T {
        let mut own = std::mem::take(&mut self.shared);
        let answer = act(self, &mut own);
        self.shared = own;
        answer
    }
}

pub(super) fn effect_end(call: &Call, judged: &Judged, outcome: &Outcome, declared: bool) -> EffectEnd {
    if !judged.failed {
        return EffectEnd::Completed { result: declared.then(|| kept(outcome)).flatten() };
    }
    match judged.class {
        Some(ErrorClass::Ambiguous) if call.tool.has_effects() => EffectEnd::Unknown,
        _ if judged.in_doubt => EffectEnd::Unknown,
        _ => EffectEnd::Free,
    }
}

/// The result as the ledger keeps it.
pub(super) fn kept(outcome: &Outcome) -> Option<String> {
    outcome.result.as_deref().map(to_json).filter(|text| text.len() <= LONGEST_RESULT)
}

/// Only what may pass by itself is a sign of a server that is down; a business error is the tool's own.
fn breaker_end(judged: &Judged) -> BreakerEnd {
    match (judged.failed, judged.class) {
        (false, _) => BreakerEnd::Success,
        (true, Some(ErrorClass::Transient)) => BreakerEnd::Failure,
        (true, _) => BreakerEnd::Neither,
    }
}
