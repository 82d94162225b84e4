//! What each call of a batch has to hold, worked out before anything is decided.
use std::sync::Arc;

use callgate_cel::Val;
use callgate_value::{canonical_json, to_json, Digest, Value};
use rustc_hash::FxHashSet;

use super::{amounts, Answer, Held, Verification};
use crate::call::Call;
use crate::decide::Approval;
use crate::expression::Scope;
use crate::fields::map;
use crate::identify::{loose_digest, target_digest};
use crate::policy::{Effect, Idempotency, Mode, Policy, Verify};
use crate::shared::{Amount, BreakerClaim, Claim, EffectClaim, EffectKey, Grant};
use crate::task::Task;

/// Seconds for which a call may be out before its owner counts as dead, where nothing says how long it may take.
const LEASE: f64 = 600.0;
/// Seconds on top of its time-out.
const GRACE: f64 = 30.0;
/// Seconds for which a completed effect without a key of its own is remembered in a store.
const RETAIN: f64 = 86_400.0;

/// A batch on its way: what is judged once its claims are answered. Nothing else may be asked of the task in between.
#[derive(Debug)]
pub struct Prepared {
    pub(crate) session: usize,
    pub(crate) calls: Vec<PreparedCall>,
    /// The step of the round, where budgets are shared.
    pub(crate) step: Option<(Claim, Option<Answer>)>,
    /// Its calls are further attempts of calls that failed.
    pub(crate) attempts: Option<Attempts>,
    /// A person has said yes to the one call of it.
    pub(crate) approval: Option<Approval>,
    /// Which of its calls was answered last.
    pub(crate) latest: usize,
}

/// Further attempts: they take no step of their own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempts {
    /// What the round that they joined says of its step.
    pub(crate) step: Option<(bool, bool)>,
}

/// A call on its way.
#[derive(Debug)]
pub(crate) struct PreparedCall {
    pub(crate) call: Arc<Call>,
    pub(crate) id: Arc<str>,
    /// The id cannot be used.
    pub(crate) is_bad: bool,
    pub(crate) held: Held,
}

impl Prepared {
    /// The claims that have to be answered, in this order.
    pub fn claims(&self) -> impl Iterator<Item = &Claim> {
        let step = self.step.iter().filter(|(_, answer)| answer.is_none()).map(|(claim, _)| claim);
        let open = self.calls.iter().filter(|it| it.held.answer.is_none());
        step.chain(open.filter_map(|it| it.held.claim.as_deref()))
    }

    /// Puts the answers to them in, in the same order.
    pub fn answer(&mut self, answers: impl IntoIterator<Item = Answer>) {
        let mut answers = answers.into_iter();
        self.answer_each(|_| answers.next());
    }

    /// Has each claim answered.
    pub(crate) fn answer_with(&mut self, mut answer: impl FnMut(&Claim) -> Grant) {
        self.answer_each(|claim| Some(Answer::Granted(answer(claim))));
    }

    fn answer_each(&mut self, mut answer: impl FnMut(&Claim) -> Option<Answer>) {
        if let Some((claim, answered)) = self.step.as_mut().filter(|(_, answered)| answered.is_none()) {
            *answered = answer(claim);
        }
        for (at, held) in self.calls.iter_mut().map(|it| &mut it.held).enumerate() {
            if let (Some(claim), None) = (&held.claim, &held.answer) {
                held.answer = answer(claim);
                self.latest = at;
            }
        }
    }
}

/// The variables of a key and of a verifying call's arguments.
pub(super) struct EffectScope<'a> {
    pub(super) task: &'a Task,
    pub(super) policy: &'a Policy,
    pub(super) arguments: &'a Value,
    pub(super) hints: Option<&'a Value>,
    pub(super) confirmation: u64,
}

impl Scope for EffectScope<'_> {
    fn data(&self, name: &str) -> Option<&Value> {
        match name {
            "args" => Some(self.arguments),
            "hints" => self.hints,
            "params" => Some(&self.policy.params),
            "constants" => Some(&self.policy.constants),
            _ => None,
        }
    }

    fn value(&self, name: &str) -> Option<Val<'_>> {
        match name {
            "task.id" => Some(Val::from(self.task.id.as_str())),
            "task.confirmation" => Some(Val::from(i64::try_from(self.confirmation).unwrap_or(i64::MAX))),
            "task.context" => Some(Val::from(&self.task.about.context)),
            _ => self.data(name).map(Val::from),
        }
    }
}

impl Task {
    /// Whose counters and effects claims are about.
    #[must_use]
    pub fn scope(&self) -> &str {
        self.sharing.scope.as_deref().unwrap_or(&self.id)
    }

    /// The time that claims and settlements carry.
    #[must_use]
    pub fn claim_time(&self) -> f64 {
        self.moment().unwrap_or(self.now)
    }

    /// An id that no other claim or settlement of this task, or of another of the same id, has.
    pub(crate) fn claim_id(&mut self) -> String {
        self.next_claim = self.next_claim.saturating_add(1);
        let lineage = self.short_lineage.get_or_init(|| self.lineage().get(..24).unwrap_or_default().into());
        format!("{lineage}/{}/{}", self.generation, self.next_claim)
    }

    /// What a call of a batch has to hold. `firsts` are the calls of the batch that came before it; `again` is a further
    /// attempt of a call that failed.
    pub(crate) fn claim(
        &mut self,
        policy: &Policy,
        call: &Call,
        (is_bad, again): (bool, bool),
        firsts: &mut FxHashSet<u64>,
    ) -> Held {
        if is_bad || !self.shares(call) {
            return Held::default();
        }
        let round = self.sessions.get(call.session).and_then(|session| session.round.as_ref());
        let earlier = round.and_then(|round| Some((round, round.firsts.get(&call.exact.0)?)));
        // a further attempt is answered with no earlier one that is back
        let answers = earlier.is_some_and(|(round, first)| !again || round.is_out(first));
        let is_first = firsts.insert(call.exact.0) && !answers;
        // its equal's answer serves it too, where anything is enforced
        if !is_first && !self.is_over(policy, call) && policy.each().any(|policy| policy.mode == Mode::Enforce) {
            return Held::default();
        }
        let waits = self.confirmed.waits_for(call);
        self.claim_alone(policy, call, (waits.is_some(), waits))
    }

    /// Whether a call has to hold anything.
    fn shares(&self, call: &Call) -> bool {
        call.tool.has_effects() || call.tool.breaker.is_some() || self.sharing.all
    }

    /// What a call has to hold by itself. `again`: a person said yes to it in spite of a doubt, and when, if not just now.
    pub(crate) fn claim_alone(&mut self, policy: &Policy, call: &Call, again: (bool, Option<f64>)) -> Held {
        if !self.shares(call) || call.fault.is_some() || policy.is_nobody {
            return Held::default();
        }
        let forced = !policy.each().any(|policy| policy.mode == Mode::Enforce);
        let mut held = Held::default();
        let id = self.claim_id();
        let effect = if call.tool.has_effects() { self.effect(policy, call, &id, again, &mut held) } else { None };
        let retry = self.is_retry(call.loose);
        let amounts = if self.sharing.all { amounts::call(policy, &call.tool, retry) } else { Vec::new() };
        let breakers = call.tool.breaker.iter().map(|breaker| BreakerClaim {
            name: breaker.name.to_string(),
            failures: breaker.failures,
            open_for: breaker.open_for,
            probes: breaker.probes,
        });
        let claim = Claim {
            id,
            task: self.scope().to_owned(),
            amounts,
            effect,
            breakers: breakers.collect(),
            denials: if self.sharing.all { denials(policy, call).into() } else { Vec::new() },
            lease: crate::decide::timeout(policy, call).map_or(LEASE, |timeout| timeout + GRACE),
            forced,
        };
        held.claim = Some(Box::new(claim));
        held
    }

    /// Whether the task was stopped, and the tool is none of those that may still finish it.
    fn is_over(&self, policy: &Policy, call: &Call) -> bool {
        self.stop.is_some() && !may_finish(policy, call)
    }

    /// The step of the session's round, where budgets are shared and it is not taken yet.
    pub(crate) fn step_claim(&mut self, policy: &Policy, session: usize) -> Option<Claim> {
        let round = self.sessions.get(session).and_then(|session| session.round.as_ref());
        if !self.sharing.all || round.is_some_and(|round| round.step_taken) || self.stop.is_some() {
            return None;
        }
        let forced = !policy.each().any(|policy| policy.mode == Mode::Enforce);
        let (id, task) = (self.claim_id(), self.scope().to_owned());
        Some(Claim { id, task, amounts: amounts::step(policy), lease: LEASE, forced, ..Claim::default() })
    }

    /// Takes over how the shared counters stand, as the answers tell.
    pub(crate) fn learn_counts(&mut self, prepared: &Prepared) {
        let mut taken: Vec<Amount> = Vec::new();
        let mut last = None;
        for (at, it) in prepared.calls.iter().enumerate() {
            let (Some(claim), Some(grant)) = (&it.held.claim, it.held.grant()) else { continue };
            if grant.taken || claim.forced {
                taken.extend(claim.amounts.iter().cloned());
            }
            if last.is_none() || at <= prepared.latest {
                last = Some(grant);
            }
        }
        if let Some(grant) = last {
            let mut counts = grant.counts.clone();
            counts.remove("steps");
            self.learn(&counts, &taken);
        }
        if let Some((claim, Some(Answer::Granted(grant)))) = &prepared.step {
            let steps = grant.counts.get("steps").map(|count| ("steps".to_owned(), *count));
            let taken: &[Amount] = if grant.taken || claim.forced { &claim.amounts } else { &[] };
            self.learn(&steps.into_iter().collect(), taken);
        }
    }

    fn effect(
        &self,
        policy: &Policy,
        call: &Call,
        id: &str,
        (again, again_at): (bool, Option<f64>),
        held: &mut Held,
    ) -> Option<EffectClaim> {
        let tool = &*call.tool;
        let scope = EffectScope {
            task: self,
            policy,
            arguments: &call.arguments,
            hints: call.hints.as_deref(),
            confirmation: self.confirmed.version(call),
        };
        let keyed = tool.idempotency.as_ref().map(|idempotency| (idempotency, key(idempotency, &scope)));
        let verify = tool.verify.as_ref().and_then(|verify| verification(verify, &scope));
        let told = verify.as_ref().map(|verify| {
            let of = map(vec![("tool", Value::from(&*tool.name)), ("arguments", (*call.arguments).clone())]);
            let (tool, arguments) = (Value::from(&*verify.tool), (*verify.arguments).clone());
            to_json(&map(vec![("tool", tool), ("arguments", arguments), ("call", of)]))
        });
        held.verification = verify.map(Arc::new);
        // what may be sent again under its key may also be sent again after a crash
        let resend = tool.may_be_resent();
        let target = target_digest(call);
        let name = tool.name.to_string();
        match keyed {
            Some((idempotency, Ok(key))) => {
                held.key = Some(key.as_str().into());
                let call = loose_digest(policy, call);
                let effect = EffectKey { key, declared: true, once: true, tool: name, target, call, verify: told };
                return Some(EffectClaim { effect, retain: Some(idempotency.retain), again, again_at, resend });
            }
            Some((_, Err(why))) => {
                // where nothing is enforced the call runs all the same, and may be lost
                held.key_error = Some(why);
                if policy.each().any(|policy| policy.mode == Mode::Enforce) {
                    return None;
                }
            }
            None => {}
        }
        let once = tool.effect == Effect::External && !tool.idempotent && refuses_the_second(policy, call);
        let fingerprint = once.then(|| callgate_value::fingerprint(&tool.name, &call.arguments).ok()).flatten();
        let (key, call) = match fingerprint {
            Some(fingerprint) => {
                let call = fingerprint.to_hex();
                (Digest::of(format!("{}\n{call}", self.scope()).as_bytes()).to_hex(), call)
            }
            None => (id.to_owned(), String::new()),
        };
        let effect = EffectKey { key, declared: false, once, tool: name, target, call, verify: told };
        let retain = self.sharing.all.then_some(RETAIN);
        Some(EffectClaim { effect, retain, again, again_at, resend: false })
    }
}

/// Whether the call's tool is one of those that may still finish a task that was stopped.
pub(crate) fn may_finish(policy: &Policy, call: &Call) -> bool {
    policy.each().any(|policy| policy.budgets.may_finish(&call.tool))
}

/// Whether the policies that hold refuse an effect that has happened once.
fn refuses_the_second(policy: &Policy, call: &Call) -> bool {
    let refuses = |policy: &Policy| {
        let rungs = match policy.binding {
            None => call.tool.detectors.repeated_effect,
            Some(_) => policy.thresholds(&call.tool).repeated_effect,
        };
        rungs.is_some_and(|rungs| rungs.reached(1))
    };
    let enforced = policy.each().any(|policy| policy.mode == Mode::Enforce);
    policy.each().filter(|policy| !enforced || policy.mode == Mode::Enforce).any(refuses)
}

/// The declared key, in hex: SHA-256 of the canonical JSON of what it is made of.
fn key(idempotency: &Idempotency, scope: &EffectScope<'_>) -> Result<String, String> {
    let source = idempotency.key.source();
    let value = idempotency.key.evaluate(scope).map_err(|error| format!("`{source}`: {error}"))?;
    if matches!(*value, Value::Null) {
        return Err(format!("`{source}`: the key is null"));
    }
    let text = canonical_json(&value).map_err(|_| format!("`{source}`: the key has no JSON form"))?;
    Ok(Digest::of(text.as_bytes()).to_hex())
}

/// The verifying call; none where its arguments cannot be computed.
fn verification(verify: &Verify, scope: &EffectScope<'_>) -> Option<Verification> {
    let mut arguments = Vec::with_capacity(verify.arguments.len());
    for (name, argument) in &verify.arguments {
        arguments.push((&**name, argument.evaluate(scope).ok()?.into_owned()));
    }
    Some(Verification { tool: Arc::clone(&verify.tool), arguments: Arc::new(map(arguments)), after: verify.after })
}

/// The names under which denials of a call may be on record, nearest first: the call, its target, its tool.
pub(crate) fn denials(policy: &Policy, call: &Call) -> [String; 3] {
    let (own, tool) = (loose_digest(policy, call), &call.tool.name);
    let target = target_digest(call).unwrap_or_else(|| own.clone());
    [format!("call:{own}"), format!("target:{tool}:{target}"), format!("tool:{tool}")]
}
