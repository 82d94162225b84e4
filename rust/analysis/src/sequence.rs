//! The calls that a detector is for: the same one again and again, varied ones, turns between two, with what each brings.
use std::sync::Arc;

use callgate_cel::{Claim, Step};
use callgate_core::policy::Policy;
use callgate_core::{Outcome, Reported};
use callgate_value::{Map, Value};

use crate::caller::Caller;
use crate::claims::{cases, Claims};
use crate::detectors::Rung;
use crate::situation::{record, records_at, result_steps};
use crate::wish::{put, wishes, Wanted};

/// What the `number`th call of a sequence is given and brings.
pub(crate) struct Move {
    pub(crate) arguments: Value,
    pub(crate) outcome: Outcome,
}

/// The next call of the sequence that the detector is for.
pub(crate) fn next(policy: &Policy, caller: &Caller, base: &Value, rung: &Rung, number: u64) -> Move {
    let failed = |kind: &str| {
        let error = Reported { kind: Some(kind.into()), status: None, message: Some("it failed".into()) };
        Outcome { error: Some(error), is_error: true, ..Outcome::default() }
    };
    let brings = |result: Value| Outcome { result: Some(Arc::new(result)), ..Outcome::default() };
    let plain = |seed: u64| brings(full(policy, caller, seed, 0));
    let (same, varied) = (|| base.clone(), || vary(caller, base, number));
    let turn = number & 1;
    match &*rung.detector {
        "consecutive" => Move { arguments: same(), outcome: Outcome::default() },
        "frequency" | "diversity" => Move { arguments: same(), outcome: plain(number) },
        "cycle" => Move { arguments: vary(caller, base, turn), outcome: plain(turn) },
        "transfer_cycle" => Move { arguments: vary(caller, base, turn), outcome: plain(0) },
        "oscillation" | "same_result" | "no_gain" | "transfer_streak" => {
            Move { arguments: varied(), outcome: plain(0) }
        }
        "empty_streak" => Move { arguments: varied(), outcome: brings(empty(policy, caller)) },
        "state_oscillation" => {
            Move { arguments: vary(caller, base, turn), outcome: brings(full(policy, caller, number, turn)) }
        }
        "same_error" => Move { arguments: varied(), outcome: failed("fault") },
        "unknown_tool" => Move { arguments: same(), outcome: failed("unknown_tool") },
        "invalid_arguments" => Move { arguments: same(), outcome: failed("invalid_arguments") },
        "denied" => Move { arguments: same(), outcome: failed("denied") },
        _ => Move { arguments: same(), outcome: plain(0) },
    }
}

/// The arguments with one field changed: another call of the same tool, on the same target where there is one.
fn vary(caller: &Caller, base: &Value, number: u64) -> Value {
    let mut varied = base.clone();
    if number == 0 {
        return varied;
    }
    let identity = &caller.tool.identity;
    let properties = caller.schema.as_ref().and_then(|schema| schema.get("properties")).and_then(Value::as_map);
    let free = |name: &str| !identity.ignore.iter().chain(&identity.target).any(|taken| taken == name);
    let open = |name: &str| {
        let schema = properties.and_then(|properties| properties.get(name));
        schema.is_none_or(|schema| schema.get("enum").is_none() && schema.get("const").is_none())
    };
    let known = properties.into_iter().flat_map(Map::iter).chain(base.as_map().into_iter().flat_map(Map::iter));
    let mut names: Vec<String> = known.filter_map(|(name, _)| name.as_str().map(str::to_owned)).collect();
    names.retain(|name| open(name));
    // the target comes last: calls on another one may be counted apart
    names.sort_by_key(|name| !free(name));
    if names.first().is_none_or(|name| !free(name)) && is_open(caller.schema.as_ref()) {
        names.insert(0, "n".to_owned());
    }
    let Some(name) = names.into_iter().next() else { return varied };
    let kind = properties.and_then(|it| it.get(&name)).and_then(|it| it.get("type")).and_then(Value::as_str);
    let step = i64::try_from(number).unwrap_or(i64::MAX);
    let changed = match (base.get(&name), kind) {
        (Some(Value::Int(value)), _) => Value::Int(value.saturating_add(step)),
        (Some(Value::Str(text)), _) => Value::from(format!("{} {number}", text.to_lossy()).as_str()),
        (_, Some("integer" | "number")) => Value::Int(step),
        (_, Some("boolean")) => Value::Bool(number & 1 == 1),
        (_, Some("array")) => Value::List(vec![Value::from(format!("item {number}").as_str())]),
        _ => Value::from(format!("word {number}").as_str()),
    };
    put(&mut varied, &[Step::Field(name.into())], changed);
    varied
}

fn is_open(schema: Option<&Value>) -> bool {
    let closed = |schema: &Value| matches!(schema.get("additionalProperties"), Some(Value::Bool(false)));
    !schema.is_some_and(closed)
}

/// A successful result with something in it; equal seeds make equal ones.
fn full(policy: &Policy, caller: &Caller, seed: u64, state: u64) -> Value {
    let contract = &caller.tool.result;
    let mut result = promised(policy, caller, false);
    match records_at(&caller.tool) {
        Some(at) => {
            let least = usize::try_from(contract.min_records.clamp(1, 64)).unwrap_or(1);
            let one = |offset: usize| {
                let number = seed.saturating_mul(100).saturating_add(offset as u64);
                let keys: Vec<String> = contract.key.iter().chain(&contract.required_fields).cloned().collect();
                record(&keys, &contract.wanted_fields, number)
            };
            put(&mut result, &at, Value::List((0..least).map(one).collect()));
        }
        None => {
            let text = Value::from(format!("r{seed}").as_str());
            match &result {
                Value::Null | Value::Map(_) => put(&mut result, &[Step::Field("value".into())], text),
                _ => {}
            }
        }
    }
    for (expression, number, letter) in [(&contract.version, seed, 'v'), (&contract.state, state, 's')] {
        if let Some(steps) = expression.as_ref().and_then(result_steps) {
            put(&mut result, &steps, Value::from(format!("{letter}{number}").as_str()));
        }
    }
    result
}

/// A successful result without anything in it.
fn empty(policy: &Policy, caller: &Caller) -> Value {
    let mut result = promised(policy, caller, true);
    if let Some(at) = records_at(&caller.tool) {
        put(&mut result, &at, Value::List(Vec::new()));
    }
    result
}

/// A result that is no failure, and empty or not, as far as the manifest's conditions tell.
fn promised(policy: &Policy, caller: &Caller, is_empty: bool) -> Value {
    let contract = &caller.tool.result;
    let claims = Claims { policy, with_params: true };
    let mut whole = Vec::new();
    whole.extend(contract.failed_when.as_ref().map(|when| claims.of(when, false)));
    whole.extend(contract.empty_when.as_ref().map(|when| claims.of(when, is_empty)));
    let whole = Claim::All(whole);
    let mut result = Value::Map(Map::default());
    let ways = cases(&whole).unwrap_or_default();
    for wish in ways.first().map(|way| wishes(way, None)).unwrap_or_default() {
        if !matches!(&wish.place.root, callgate_cel::Root::Variable(name) if **name == *"result") {
            continue;
        }
        if let Wanted::Values(values) = wish.wanted {
            // a map is what the rest of the contract reads, so that it is taken for the whole where it may be
            let fits = |value: &&Value| !wish.place.steps.is_empty() || value.as_map().is_some();
            if let Some(value) = values.iter().find(fits) {
                put(&mut result, &wish.place.steps, value.clone());
            }
        }
    }
    result
}
