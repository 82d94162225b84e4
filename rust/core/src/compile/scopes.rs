//! What expressions may name in each place of a policy, and of which type it is.
use callgate_cel::{Env, Object, Type};
use callgate_value::Value;

/// Where an expression stands: this decides which variables exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stand {
    /// In a manifest, about a call before it runs.
    Call,
    /// In a manifest, about its outcome.
    Outcome,
    /// In the policy, before a call runs.
    Admit,
    /// In the policy, after it ended.
    Observe,
}

/// Plain resources that `budget` tells of, each as `used`, `left` (infinite without a limit) and `share`.
pub(crate) const RESOURCES: &[&str] = &["steps", "tool_calls", "retries", "tokens", "cost"];

/// The names of one place.
pub(crate) fn env(stand: Stand, arguments: Type, constants: &Value, variables: &[(String, Type)]) -> Env {
    let mut env = Env::new();
    env.variable("args", arguments);
    env.variable("hints", Type::Dyn);
    env.variable("params", Type::Dyn);
    env.variable("constants", super::types::of_value(constants));
    if matches!(stand, Stand::Outcome | Stand::Observe) {
        env.variable("result", Type::Dyn);
        env.variable(
            "error",
            Object::closed()
                .required("type", Type::String)
                .required("status", Type::Number.nullable())
                .required("class", Type::String)
                .required("message", Type::String)
                .into(),
        );
    } else {
        env.later("result", "observe");
        env.later("error", "observe");
    }
    if stand == Stand::Observe {
        env.variable("grade", Type::String);
        env.variable("gaps", Type::list(Type::String));
        env.variable("gain", Type::Int);
        env.variable("records", Type::list(Type::Dyn));
    } else {
        for name in ["grade", "gaps", "gain", "records"] {
            env.later(name, "observe");
        }
    }
    if matches!(stand, Stand::Admit | Stand::Observe) {
        policy_names(&mut env, variables);
    }
    env
}

fn policy_names(env: &mut Env, variables: &[(String, Type)]) {
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
    env.variable("task.id", Type::String);
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
    for (name, ty) in variables {
        env.variable(&format!("variables.{name}"), ty.clone());
    }
    // the signature is ours and can be read
    let _ = env.function("task.calls", "(string) -> int");
}
