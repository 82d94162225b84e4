//! What expressions may name in each place of a policy, and of which type it is.
use std::sync::Arc;

use callgate_cel::{Env, Object, Scalar, Tests, Type};

/// Where an expression stands: this decides which variables exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stand {
    /// In a manifest, about a call before it runs.
    Call,
    /// In a manifest, about its outcome.
    Outcome,
    /// In a manifest, whether its outcome is a failure; the host may say that it is one, or not.
    Failed,
    /// In the policy, before a call runs.
    Admit,
    /// In the policy, after it ended.
    Observe,
    /// In a manifest, about a call that changes something: what its key is made of, how to find out what became of it.
    Effect,
    /// In a manifest, about the outcome of the call that finds this out; `args` are those of the call in doubt.
    Verification,
    /// On an edge of `fallback`: what came of the call that did not deliver, and how its provider is.
    Edge,
    /// The same between providers of a model.
    Provider,
    /// In an invariant: a call with the verdict on it.
    Verdict,
}

impl Stand {
    /// Whether there is an outcome to look at.
    fn has_outcome(self) -> bool {
        matches!(self, Self::Outcome | Self::Failed | Self::Observe | Self::Verification | Self::Edge)
    }
}

/// Plain resources that `budget` tells of, each as `used`, `left` (infinite without a limit) and `share`.
pub(crate) const RESOURCES: &[&str] = &["steps", "tool_calls", "retries", "tokens", "cost"];

/// What a policy gives to all of its expressions.
pub(crate) struct Given {
    /// The type of `params`.
    pub(crate) params: Type,
    /// The type of `constants`.
    pub(crate) constants: Type,
    /// The types of the arguments of all tools: what `args` may turn out to be where no tool is named.
    pub(crate) arguments: Arc<[Type]>,
}

/// A variable of the policy, as far as it is known before it is computed.
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) ty: Type,
    /// The fields that it tests for: where it is true, they need no test of their own.
    pub(crate) tests: Tests,
}

/// The names of one place.
pub(crate) fn env(stand: Stand, arguments: Type, given: &Given, variables: &[Variable]) -> Env {
    let mut env = Env::new();
    for word in ["arguments", "parameters", "input", "kwargs"] {
        env.mistaken(word, "args");
    }
    for word in ["output", "response", "outcome"] {
        env.mistaken(word, "result");
    }
    // a provider is asked no call of a tool
    if stand != Stand::Provider {
        if arguments == Type::Dyn {
            env.may_be("args", Arc::clone(&given.arguments));
        }
        env.variable("args", arguments);
        env.variable("hints", Type::Dyn);
    }
    env.variable("params", given.params.clone());
    env.variable("constants", given.constants.clone());
    if stand.has_outcome() {
        env.variable("result", Type::Dyn);
        let error: Type = Object::closed()
            .required("type", Type::String)
            .required("status", Type::Number.nullable())
            .required("class", Type::String)
            .required("message", Type::String)
            .into();
        env.variable("error", if stand == Stand::Failed { error.nullable() } else { error });
    } else if stand != Stand::Provider {
        env.later("result", "observe");
        env.later("error", "observe");
    }
    if matches!(stand, Stand::Observe | Stand::Edge) {
        env.variable("grade", Type::String);
        env.variable("gaps", Type::list(Type::String));
        env.variable("gain", Type::Int);
        env.variable("records", Type::list(Type::Dyn));
    } else if stand != Stand::Provider {
        for name in ["grade", "gaps", "gain", "records"] {
            env.later(name, "observe");
        }
    }
    match stand {
        Stand::Call | Stand::Outcome | Stand::Failed => {}
        // nothing that differs from one attempt to the next: a key that does is no key
        Stand::Effect | Stand::Verification => task_names(&mut env),
        Stand::Admit | Stand::Observe => policy_names(&mut env, variables),
        Stand::Provider => {
            task_names(&mut env);
            env.variable("now", Type::Double);
            env.variable("provider.breaker", words(&["closed", "half_open", "open"]));
        }
        Stand::Edge => {
            policy_names(&mut env, variables);
            env.variable("provider.breaker", words(&["closed", "half_open", "open"]));
        }
        Stand::Verdict => {
            policy_names(&mut env, variables);
            env.variable("verdict.action", words(&["allow", "reuse", "ask", "refuse", "stop"]));
            env.variable("verdict.reasons", Type::list(Type::String));
        }
    }
    env
}

/// A text that is one of these.
fn words(words: &[&str]) -> Type {
    Type::String.one_of(words.iter().map(|word| Scalar::String((*word).into())).collect())
}

/// What stays the same over all attempts of a call.
fn task_names(env: &mut Env) {
    env.variable("task.id", Type::String);
    env.variable("task.confirmation", Type::Int);
    env.variable("task.context", Type::Dyn);
}

fn policy_names(env: &mut Env, variables: &[Variable]) {
    env.variable("call.tool", Type::String);
    env.variable("call.id", Type::String);
    env.variable("call.fingerprint", Type::String);
    env.variable("call.round", Type::Int);
    env.variable("call.agent", Type::String);
    env.variable("tool.name", Type::String);
    env.variable("tool.effect", Type::String);
    env.variable("tool.declared", Type::Bool);
    env.variable("tool.idempotent", Type::Bool);
    env.variable("tool.groups", Type::list(Type::String));
    task_names(env);
    env.variable("task.elapsed", Type::Double);
    env.variable("session.elapsed", Type::Double);
    env.variable("session.agent", Type::String);
    env.variable("session.depth", Type::Int);
    env.variable("now", Type::Double);
    for resource in RESOURCES {
        for figure in ["used", "left", "share"] {
            env.variable(&format!("budget.{resource}.{figure}"), Type::Double);
        }
    }
    for variable in variables {
        let name = format!("variables.{}", variable.name);
        env.tested(&name, variable.tests.clone());
        env.variable(&name, variable.ty.clone());
    }
    // the signature is ours and can be read
    let _ = env.function("task.calls", "(string) -> int");
}
