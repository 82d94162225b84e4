//! Whether a budget is reached: the same policy with a smaller number, played until it refuses.
//!
//! Counts go up one by one, so that a limit of 200,000 is reached where one of 8 is; what makes a limit unreachable is
//! another limit, and that is found without playing.
use std::sync::Arc;

use callgate_cel::Step;
use callgate_core::policy::{Budgets, Detectors, Effect, Mode, Policy};
use callgate_core::{Action, Event, Outcome, Reason, Reported, Request, Task};
use callgate_value::{Map, Value};
use rustc_hash::FxHashMap;

use crate::caller::{with_detectors, Caller};
use crate::trial::request;
use crate::wish::put;

/// Limits are played with at most this.
const SMALL: f64 = 8.0;

/// A budget as it is written: its block, its key, and the tool or group that it is for.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    pub(crate) key: &'static str,
    pub(crate) name: Option<String>,
}

/// What is refused once it is used up.
pub(crate) fn reason(budget: &Budget) -> Reason {
    match budget.key {
        "steps" => Reason::BudgetSteps,
        "tool_calls" => Reason::BudgetToolCalls,
        "calls_per_tool" => Reason::BudgetCallsPerTool,
        "calls_per_group" => Reason::BudgetCallsPerGroup,
        "retries" => Reason::BudgetRetries,
        "tokens" => Reason::BudgetTokens,
        "cost" => Reason::BudgetCost,
        "depth" => Reason::BudgetDepth,
        "reserve" => Reason::BudgetReserved,
        _ => Reason::BudgetTime,
    }
}

/// The budgets that are written in these blocks and limit something, each with the name of its block.
pub(crate) fn written(policy: &Policy, budgets: Option<&Map>, time: Option<&Map>) -> Vec<(&'static str, Budget)> {
    let mut found = Vec::new();
    let mut add = |block: &'static str, key: &'static str, name: Option<&str>| {
        found.push((block, Budget { key, name: name.map(str::to_owned) }));
    };
    let limits = &policy.budgets;
    let has = |map: Option<&Map>, key: &str| map.is_some_and(|map| map.get(key).is_some());
    let plain = [
        ("steps", limits.steps.is_some()),
        ("tool_calls", limits.tool_calls.is_some()),
        ("retries", limits.retries.is_some()),
        ("tokens", limits.tokens.is_some()),
        ("cost", limits.cost.is_some()),
        ("depth", limits.depth.is_some()),
        ("reserve", limits.reserve > 0 && limits.tool_calls.is_some()),
    ];
    for (key, limited) in plain {
        if limited && has(budgets, key) {
            add("budgets", key, None);
        }
    }
    for (key, named) in [("calls_per_tool", &limits.calls_per_tool), ("calls_per_group", &limits.calls_per_group)] {
        let written = budgets.and_then(|budgets| budgets.get(key));
        let mut names: Vec<&String> =
            named.keys().filter(|name| written.is_some_and(|it| it.get(name).is_some())).collect();
        names.sort();
        for name in names {
            add("budgets", key, Some(name));
        }
    }
    for (key, limit) in [("task", limits.task_time), ("workflow", limits.workflow_time), ("step", limits.step_time)] {
        if limit.is_some() && has(time, key) {
            add("time", key, None);
        }
    }
    found
}

/// The limit alone, small enough to be played.
fn small(limit: Option<f64>) -> Option<f64> {
    limit.map(|limit| limit.min(SMALL))
}

fn alone(budget: &Budget, all: &Budgets) -> Budgets {
    let mut one = Budgets::default();
    let of = |limits: &FxHashMap<String, f64>, name: &Option<String>| {
        limits
            .iter()
            .filter(|(known, _)| Some(*known) == name.as_ref())
            .map(|(name, limit)| (name.clone(), limit.min(SMALL)))
            .collect()
    };
    match budget.key {
        "steps" => one.steps = small(all.steps),
        "tool_calls" => one.tool_calls = small(all.tool_calls),
        "calls_per_tool" => one.calls_per_tool = of(&all.calls_per_tool, &budget.name),
        "calls_per_group" => one.calls_per_group = of(&all.calls_per_group, &budget.name),
        "retries" => one.retries = small(all.retries),
        "tokens" => one.tokens = all.tokens,
        "cost" => one.cost = all.cost,
        "depth" => one.depth = all.depth.map(|depth| depth.min(8)),
        "reserve" => {
            // as many calls as the reserve and a few more
            one.reserve = all.reserve.min(8);
            one.reserve_for.clone_from(&all.reserve_for);
            #[allow(clippy::cast_precision_loss)] // at most 8
            let kept = one.reserve as f64;
            one.tool_calls = all.tool_calls.map(|limit| limit.min(kept + 2.0));
        }
        "task" => one.task_time = all.task_time,
        "workflow" => one.workflow_time = all.workflow_time,
        "step" => one.step_time = all.step_time,
        _ => {}
    }
    one
}

/// Whether some tool uses the budget up.
pub(crate) fn fires(policy: &Policy, callers: &[Caller], budget: &Budget) -> bool {
    let bare = Arc::new(Detectors::default());
    let small =
        Policy { budgets: alone(budget, &policy.budgets), rules: Vec::new(), mode: Mode::Enforce, ..policy.clone() };
    let small = with_detectors(&small, &|_| Arc::clone(&bare));
    if budget.key == "depth" {
        return deepens(&small);
    }
    let about = |caller: &&Caller| match (budget.key, &budget.name) {
        ("calls_per_tool", Some(name)) if name != "*" => *caller.tool.name == **name,
        ("calls_per_group", Some(name)) => caller.tool.groups.iter().any(|group| **group == **name),
        ("reserve", _) => !small.budgets.reserve_for.iter().any(|name| **name == *caller.tool.name),
        _ => true,
    };
    callers
        .iter()
        .filter(about)
        .any(|caller| caller.arguments.iter().take(3).any(|arguments| uses_up(&small, caller, arguments, budget)))
}

fn deepens(policy: &Policy) -> bool {
    let mut task = Task::new(policy, "task", [7; 16], 0.0);
    let mut parent = "root".to_owned();
    for level in 0..10 {
        let child = format!("agent {level}");
        match task.spawn(policy, &parent, &child, Some(0.0)) {
            Ok(()) => parent = child,
            Err(finding) => return finding.reason == Reason::BudgetDepth,
        }
    }
    false
}

fn uses_up(policy: &Policy, caller: &Caller, arguments: &Value, budget: &Budget) -> bool {
    let wanted = reason(budget);
    let mut task = Task::new(policy, "task", [7; 16], 0.0);
    let limits = &policy.budgets;
    let time = limits.task_time.or(limits.workflow_time).or(limits.step_time);
    let failing = budget.key == "retries";
    if limits.tokens.is_some() || limits.cost.is_some() {
        let usage = Event::Usage { tokens: limits.tokens.unwrap_or(0.0), cost: limits.cost.unwrap_or(0.0) };
        task.event(policy, "root", usage, Some(0.0));
    }
    let mut now = 0.0;
    for number in 0..12_u64 {
        if let Some(time) = time.filter(|_| number == 1) {
            now += time;
        }
        if budget.key == "step" && number == 0 {
            task.begin_round(policy, "root", Some(0.0));
        }
        let mut arguments = arguments.clone();
        if budget.key == "step" {
            // the same call in one round would be answered with the first one's answer
            let number = i64::try_from(number).unwrap_or(i64::MAX);
            put(&mut arguments, &[Step::Field("n".into())], Value::Int(number));
        }
        let call: Request = request(&caller.tool.name, arguments, None, None);
        for verdict in task.admit(policy, "root", &[call], Some(now)) {
            if verdict.findings.iter().any(|finding| finding.reason == wanted) {
                return true;
            }
            if verdict.action != Action::Allow {
                continue;
            }
            // an effect of which nobody knows whether it happened asks a person instead
            let kind = if caller.tool.effect == Effect::Read { "network" } else { "fault" };
            let error = failing.then(|| Reported { kind: Some(kind.into()), ..Reported::default() });
            let result = (!failing).then(|| Arc::new(Value::from(format!("r{number}").as_str())));
            let outcome = Outcome { result, is_error: failing, error, ..Outcome::default() };
            // what comes back is of no account here
            let _ = task.observe(policy, &verdict.call_id, &outcome, Some(now));
        }
    }
    false
}
