//! `idempotency`, `verify` and `breaker`.
use callgate_cel::Type;

use super::tools::Ground;
use super::{shared, Faults};
use crate::model::manifest::{self as written, BreakerScope};
use crate::model::Pointer;
use crate::policy::{Breaker, Idempotency, PassAs, Verify};

/// `retain`, where it is left out.
const RETAIN: f64 = 86_400.0;
/// `verify.attempts`, where it is left out.
const ATTEMPTS: u64 = 3;
/// `breaker.failures`, where it is left out.
const FAILURES: u64 = 5;
/// `breaker.open_for`, where it is left out.
const OPEN_FOR: f64 = 30.0;
/// `breaker.probes`, where it is left out.
const PROBES: u64 = 1;

pub(super) fn idempotency(
    ground: &Ground<'_>,
    at: &Pointer,
    tool: &written::Tool,
    faults: &mut Faults,
) -> Option<Idempotency> {
    let it = tool.idempotency.as_ref()?;
    let key = faults.expression(ground.place, &at.key("idempotency").key("key"), &it.key, ground.effect, None)?;
    let properties = tool.parameters.as_ref().and_then(|schema| schema.0.get("properties"));
    let pass_as = it.pass_as.as_ref().map(|name| PassAs {
        name: shared(name.as_str()),
        in_schema: properties.is_some_and(|properties| properties.get(name.as_str()).is_some()),
    });
    Some(Idempotency { key, pass_as, retain: it.retain.map_or(RETAIN, |retain| retain.seconds()) })
}

pub(super) fn verify(ground: &Ground<'_>, at: &Pointer, tool: &written::Tool, faults: &mut Faults) -> Option<Verify> {
    let it = tool.verify.as_ref()?;
    let at = at.key("verify");
    let mut arguments = Vec::new();
    for (name, argument) in it.arguments.iter().flat_map(|arguments| arguments.iter()) {
        let place = at.key("arguments").key(name);
        let expression = faults.expression(ground.place, &place, argument, ground.effect, None);
        arguments.extend(expression.map(|expression| (shared(name), expression)));
    }
    let mut condition = |key: &str, cel: Option<&crate::model::cel::Cel>| {
        cel.and_then(|cel| faults.expression(ground.place, &at.key(key), cel, ground.verification, Some(Type::Bool)))
    };
    Some(Verify {
        tool: shared(it.tool.as_str()),
        arguments,
        landed_when: condition("landed_when", it.landed_when.as_ref()),
        absent_when: condition("absent_when", it.absent_when.as_ref()),
        after: it.after.map_or(0.0, |after| after.seconds()),
        attempts: it.attempts.map_or(ATTEMPTS, |attempts| attempts.get()),
    })
}

/// The breaker of a tool, under the name by which all who share it know it.
pub(super) fn breaker(ground: &Ground<'_>, tool: &str, it: &written::Breaker) -> Breaker {
    let name = match (it.scope, &ground.server) {
        (Some(BreakerScope::Server), Some(server)) => format!("server:{server}"),
        _ => format!("tool:{tool}"),
    };
    Breaker {
        name: name.into(),
        failures: it.failures.map_or(FAILURES, |failures| failures.get()),
        open_for: it.open_for.map_or(OPEN_FOR, |open_for| open_for.seconds()),
        probes: it.probes.map_or(PROBES, |probes| probes.get()),
    }
}
