//! The variables of the author's rules, each computed when it is asked for, variables of the policy once a decision.
use std::cell::{Cell, OnceCell};

use callgate_cel::Val;
use callgate_value::Value;

use crate::budget::{Elapsed, Pool};
use crate::call::Call;
use crate::detect::Observation;
use crate::expression::{EvaluationError, Scope, STEPS_OF_A_DECISION};
use crate::fallback::BreakerState;
use crate::policy::{Effect, Policy};
use crate::reading::{Readable, Reading};
use crate::task::Task;

/// What a rule can see of a decision, or of an observation.
pub(crate) struct RuleScope<'a> {
    task: &'a Task,
    /// What is spent: the task's budgets, or a trial copy of them.
    pool: &'a Pool,
    policy: &'a Policy,
    call: &'a Call,
    call_id: &'a str,
    elapsed: Elapsed,
    fingerprint: OnceCell<String>,
    variables: Vec<OnceCell<Result<Value, EvaluationError>>>,
    groups: Value,
    allowance: Cell<u64>,
    seen: Option<Seen<'a>>,
}

/// What an edge between providers can see: how the one is that failed, and what every expression of the policy sees.
pub(crate) struct ProviderScope<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) task: &'a Task,
    pub(crate) breaker: BreakerState,
}

impl Scope for ProviderScope<'_> {
    fn data(&self, name: &str) -> Option<&Value> {
        match name {
            "params" => Some(&self.policy.params),
            "constants" => Some(&self.policy.constants),
            _ => None,
        }
    }

    fn value(&self, name: &str) -> Option<Val<'_>> {
        match name {
            "provider.breaker" => Some(Val::from(self.breaker.name())),
            "task.id" => Some(Val::from(self.task.id.as_str())),
            "task.context" => Some(Val::from(&self.task.about.context)),
            "now" => Some(Val::from(self.task.now)),
            _ => self.data(name).map(Val::from),
        }
    }
}

/// What only an observation has.
struct Seen<'a> {
    observation: &'a Observation,
    result: Readable<'a>,
    gaps: Value,
    records: OnceCell<Option<Value>>,
}

impl<'a> RuleScope<'a> {
    pub(crate) fn of_admission(
        (task, pool): (&'a Task, &'a Pool),
        policy: &'a Policy,
        call: &'a Call,
        call_id: &'a str,
        elapsed: Elapsed,
    ) -> Self {
        let variables = policy.variables.iter().map(|_| OnceCell::new()).collect();
        let groups = Value::List(call.tool.groups.iter().map(|group| Value::from(&**group)).collect());
        let fingerprint = OnceCell::new();
        let allowance = Cell::new(STEPS_OF_A_DECISION);
        Self { task, pool, policy, call, call_id, elapsed, fingerprint, variables, groups, allowance, seen: None }
    }

    pub(crate) fn of_observation(task: &'a Task, policy: &'a Policy, seen: &'a Observation) -> Self {
        let elapsed = task.elapsed(seen.call.session);
        let mut scope = Self::of_admission((task, &task.pool), policy, &seen.call, &seen.call_id, elapsed);
        let gaps = seen.judged.gaps.iter().map(|(_, field)| Value::from(field.as_str())).collect();
        let result = seen.outcome.as_ref().and_then(|outcome| outcome.result.as_deref());
        let result = Readable::new(result, seen.call.tool.has_fields);
        scope.seen = Some(Seen { observation: seen, result, gaps: Value::List(gaps), records: OnceCell::new() });
        scope
    }

    fn policy_variable(&self, name: &str) -> Result<Option<Val<'_>>, EvaluationError> {
        let at = self.policy.variables.iter().position(|(known, _)| **known == *name);
        let entry = at.and_then(|at| Some((self.policy.variables.get(at)?, self.variables.get(at)?)));
        let Some(((_, expression), computed)) = entry else { return Ok(None) };
        let compute = || expression.evaluate(self).map(std::borrow::Cow::into_owned);
        computed.get_or_init(compute).as_ref().map(|value| Some(Val::from(value))).map_err(Clone::clone)
    }

    fn budget(&self, name: &str) -> Option<Val<'_>> {
        let (resource, figure) = name.split_once('.')?;
        let (used, limit) = self.pool.figure(&self.policy.budgets, resource)?;
        let limit = limit.unwrap_or(f64::INFINITY);
        Some(Val::from(match figure {
            "used" => used,
            "left" => (limit - used).max(0.0),
            _ if limit > 0.0 => used / limit,
            _ => 1.0,
        }))
    }

    fn of_outcome<'s>(&'s self, seen: &'s Seen<'_>, name: &str) -> Option<Val<'s>> {
        match name {
            "grade" => Some(Val::from(seen.observation.judged.grade.name())),
            "gaps" => Some(Val::from(&seen.gaps)),
            "gain" => Some(Val::from(i64::from(seen.observation.gain.count))),
            "records" => {
                let contract = &self.call.tool.result;
                let compute = || contract.records.as_ref()?.evaluate(self).ok().map(std::borrow::Cow::into_owned);
                seen.records.get_or_init(compute).as_ref().map(Val::from)
            }
            _ => None,
        }
    }
}

fn effect_name(effect: Effect) -> &'static str {
    match effect {
        Effect::Read => "read",
        Effect::Write => "write",
        Effect::External => "external",
        Effect::Ui => "ui",
        Effect::Control => "control",
        Effect::Unknown => "unknown",
    }
}

fn whole(count: u64) -> Val<'static> {
    Val::from(i64::try_from(count).unwrap_or(i64::MAX))
}

impl Scope for RuleScope<'_> {
    fn allowance(&self) -> Option<&Cell<u64>> {
        Some(&self.allowance)
    }

    fn data(&self, name: &str) -> Option<&Value> {
        match name {
            "args" => Some(&self.call.arguments),
            "hints" => self.call.hints.as_deref(),
            "params" => Some(&self.policy.params),
            "constants" => Some(&self.policy.constants),
            "result" => self.seen.as_ref()?.result.whole(),
            "error" => self.seen.as_ref()?.observation.judged.error.as_ref(),
            _ => None,
        }
    }

    fn result(&self, reading: Reading) -> Option<&Value> {
        self.seen.as_ref()?.result.read(reading)
    }

    fn computed(&self, name: &str) -> Result<Option<Val<'_>>, EvaluationError> {
        match name.strip_prefix("variables.") {
            Some(variable) => self.policy_variable(variable),
            None => Ok(self.value(name)),
        }
    }

    fn value(&self, name: &str) -> Option<Val<'_>> {
        if let Some(data) = self.data(name) {
            return Some(Val::from(data));
        }
        let session = self.task.sessions.get(self.call.session);
        match name {
            "call.tool" | "tool.name" => Some(Val::from(&*self.call.tool.name)),
            "call.id" => Some(Val::from(self.call_id)),
            "call.agent" | "session.agent" => session.map(|session| Val::from(session.agent.as_str())),
            "call.round" => Some(whole(session?.round.as_ref().map_or(0, |round| round.number))),
            "call.fingerprint" => {
                let compute = || {
                    let digest = callgate_value::fingerprint(&self.call.tool.name, &self.call.arguments);
                    digest.map_or_else(|_| String::new(), |digest| digest.to_hex())
                };
                Some(Val::from(self.fingerprint.get_or_init(compute).as_str()))
            }
            "tool.effect" => Some(Val::from(effect_name(self.call.tool.effect))),
            "tool.declared" => Some(Val::from(self.call.tool.declared)),
            "tool.idempotent" => Some(Val::from(self.call.tool.idempotent)),
            "tool.groups" => Some(Val::from(&self.groups)),
            "task.id" => Some(Val::from(self.task.id.as_str())),
            "task.confirmation" => Some(whole(self.task.confirmed.version(self.call))),
            "task.context" => Some(Val::from(&self.task.about.context)),
            "task.elapsed" => Some(Val::from(self.elapsed.workflow)),
            "session.elapsed" => Some(Val::from(self.elapsed.task)),
            "session.depth" => session.map(|session| whole(session.depth)),
            "now" => Some(Val::from(self.task.now)),
            "provider.breaker" => Some(Val::from(self.task.providers.last_state(self.task.now).name())),
            _ => match name.split_once('.') {
                Some(("variables", variable)) => self.policy_variable(variable).ok().flatten(),
                Some(("budget", figure)) => self.budget(figure),
                _ => self.of_outcome(self.seen.as_ref()?, name),
            },
        }
    }

    fn call(&self, name: &str, arguments: &[Val<'_>]) -> Result<Val<'_>, String> {
        match (name, arguments) {
            ("task.calls", [tool]) => {
                let tool = tool.as_str().ok_or("`task.calls` takes the name of a tool")?;
                Ok(Val::from(self.pool.calls_of(tool)))
            }
            _ => Err(format!("the host has no function `{name}`")),
        }
    }
}
