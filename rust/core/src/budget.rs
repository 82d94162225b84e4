//! Budgets: one pool for the whole task, taken before a call runs, given back if it never ran.
use callgate_value::Value;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::bounds::UNDECLARED;
use crate::policy::{Budgets, Limit, Policy, Tool};
use crate::verdict::{Evidence, Finding};
use crate::Reason;

/// What was used of the plain resources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// Model steps.
    pub steps: f64,
    /// Tool calls.
    pub tool_calls: f64,
    /// Retries.
    pub retries: f64,
    /// Tokens.
    pub tokens: f64,
    /// Money.
    pub cost: f64,
}

/// What was used in the task, with the calls by tool and group, and the notes that were given.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Pool {
    pub(crate) spent: Spent,
    by_tool: FxHashMap<String, f64>,
    by_group: FxHashMap<String, f64>,
    /// By resource: how many of the shares were noted.
    noted: FxHashMap<String, usize>,
}

/// One agent's part.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Share {
    pub(crate) spent: Spent,
    /// Limits of its own, for a child that owns a part, by the policy that says so.
    pub(crate) own: FxHashMap<String, OwnLimits>,
}

/// What a child may use at most.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct OwnLimits {
    pub(crate) steps: Limit,
    pub(crate) tool_calls: Limit,
    pub(crate) retries: Limit,
    pub(crate) tokens: Limit,
    pub(crate) cost: Limit,
}

/// The times that budgets look at, in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Elapsed {
    pub(crate) task: f64,
    pub(crate) workflow: f64,
    pub(crate) step: f64,
}

/// What a call would take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Need {
    /// The round's step is not taken yet.
    pub(crate) step: bool,
    /// It is a further attempt after a failure.
    pub(crate) retry: bool,
}

fn evidence(used: f64, limit: f64) -> Evidence {
    vec![("used", number(used)), ("limit", number(limit))]
}

#[allow(clippy::cast_possible_truncation)]
pub(crate) fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9e15 {
        Value::Int(value as i64)
    } else {
        Value::Float(value)
    }
}

fn tightest(pool: Limit, own: Limit, spent: f64, own_spent: f64) -> Option<(f64, f64)> {
    let sides = [pool.map(|limit| (spent, limit)), own.map(|limit| (own_spent, limit))];
    sides.into_iter().flatten().min_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0)))
}

impl Pool {
    /// What speaks against taking what the call needs.
    pub(crate) fn check(
        &self,
        policy: &Policy,
        share: &Share,
        tool: &Tool,
        need: Need,
        elapsed: Elapsed,
        findings: &mut Vec<Finding>,
    ) {
        let budgets = &policy.budgets;
        let own = share.own.get(policy.key());
        let (spent, mine) = (&self.spent, &share.spent);
        let mut whole = |reason, limits: Option<(f64, f64)>, wanted: f64| {
            if let Some((used, limit)) = limits.filter(|(used, limit)| *used + wanted > *limit) {
                findings.push(Finding::refuse(reason, evidence(used, limit)));
            }
        };
        let own_limit = |pick: fn(&OwnLimits) -> Limit| own.and_then(pick);
        if need.step {
            let limits = tightest(budgets.steps, own_limit(|own| own.steps), spent.steps, mine.steps);
            whole(Reason::BudgetSteps, limits, 1.0);
        }
        let calls = tightest(budgets.tool_calls, own_limit(|own| own.tool_calls), spent.tool_calls, mine.tool_calls);
        whole(Reason::BudgetToolCalls, calls, 1.0);
        if need.retry {
            let limits = tightest(budgets.retries, own_limit(|own| own.retries), spent.retries, mine.retries);
            whole(Reason::BudgetRetries, limits, 1.0);
        }
        // tokens and money are reported afterwards: refused once nothing is left
        let mut used_up = |reason, limits: Option<(f64, f64)>| {
            if let Some((used, limit)) = limits.filter(|(used, limit)| used >= limit) {
                findings.push(Finding::refuse(reason, evidence(used, limit)));
            }
        };
        used_up(Reason::BudgetTokens, tightest(budgets.tokens, own_limit(|own| own.tokens), spent.tokens, mine.tokens));
        used_up(Reason::BudgetCost, tightest(budgets.cost, own_limit(|own| own.cost), spent.cost, mine.cost));
        let times = [
            (elapsed.task, budgets.task_time),
            (elapsed.workflow, budgets.workflow_time),
            (elapsed.step, budgets.step_time),
        ];
        let over = times.into_iter().filter_map(|(used, limit)| limit.map(|limit| (used, limit)));
        used_up(Reason::BudgetTime, over.filter(|(used, limit)| used >= limit).min_by(|a, b| a.1.total_cmp(&b.1)));
        self.check_named(budgets, tool, calls, findings);
    }

    fn check_named(&self, budgets: &Budgets, tool: &Tool, calls: Option<(f64, f64)>, findings: &mut Vec<Finding>) {
        #[allow(clippy::cast_precision_loss)]
        let reserve = budgets.reserve as f64;
        if let Some((used, limit)) = calls {
            let free = limit - used;
            if reserve > 0.0 && free < reserve + 1.0 && !budgets.may_finish(tool) {
                let mut evidence = evidence(used, limit);
                evidence.push(("reserved", number(reserve)));
                findings.push(Finding::refuse(Reason::BudgetReserved, evidence));
            }
        }
        if let Some(limit) = tool_limit(budgets, &tool.name) {
            let used = self.by_tool.get(&*tool.name).copied().unwrap_or(0.0);
            if used + 1.0 > limit {
                findings.push(Finding::refuse(Reason::BudgetCallsPerTool, evidence(used, limit)));
            }
        }
        for group in &tool.groups {
            let Some(limit) = budgets.calls_per_group.get(&**group).copied() else { continue };
            let used = self.by_group.get(&**group).copied().unwrap_or(0.0);
            if used + 1.0 > limit {
                let mut evidence = evidence(used, limit);
                evidence.push(("group", Value::from(&**group)));
                findings.push(Finding::refuse(Reason::BudgetCallsPerGroup, evidence));
                break;
            }
        }
    }

    /// What was used of a plain resource, and its limit.
    pub(crate) fn figure(&self, budgets: &Budgets, resource: &str) -> Option<(f64, Limit)> {
        match resource {
            "steps" => Some((self.spent.steps, budgets.steps)),
            "tool_calls" => Some((self.spent.tool_calls, budgets.tool_calls)),
            "retries" => Some((self.spent.retries, budgets.retries)),
            "tokens" => Some((self.spent.tokens, budgets.tokens)),
            "cost" => Some((self.spent.cost, budgets.cost)),
            _ => None,
        }
    }

    /// Calls of a tool that were admitted and not given back.
    #[allow(clippy::cast_possible_truncation)]
    pub(crate) fn calls_of(&self, tool: &str) -> i64 {
        self.by_tool.get(tool).map_or(0, |calls| *calls as i64)
    }

    /// Takes over how a counter stands that is shared with others.
    pub(crate) fn learn(&mut self, counter: &str, count: f64) {
        let spent = &mut self.spent;
        let plain = match counter {
            "steps" => &mut spent.steps,
            "tool_calls" => &mut spent.tool_calls,
            "retries" => &mut spent.retries,
            "tokens" => &mut spent.tokens,
            "cost" => &mut spent.cost,
            _ => {
                if let Some(tool) = counter.strip_prefix("tool:") {
                    self.by_tool.insert(tool.to_owned(), count);
                } else if let Some(group) = counter.strip_prefix("group:") {
                    self.by_group.insert(group.to_owned(), count);
                }
                return;
            }
        };
        *plain = count;
    }

    /// Takes the round's step.
    pub(crate) fn take_step(&mut self, share: &mut Share) {
        self.spent.steps += 1.0;
        share.spent.steps += 1.0;
    }

    /// Takes a call, `by` 1, or gives it back, `by` −1.
    pub(crate) fn take_call(&mut self, share: &mut Share, tool: &Tool, retry: bool, by: f64) {
        self.spent.tool_calls += by;
        share.spent.tool_calls += by;
        if retry {
            self.spent.retries += by;
            share.spent.retries += by;
        }
        if tool.declared || self.by_tool.len() < UNDECLARED || self.by_tool.contains_key(&*tool.name) {
            add(&mut self.by_tool, &tool.name, by);
        }
        for group in &tool.groups {
            add(&mut self.by_group, group, by);
        }
    }

    /// Takes what the host reported.
    pub(crate) fn take_usage(&mut self, share: &mut Share, tokens: f64, cost: f64) {
        // nothing is ever given back by a negative or absurd report
        let sane = |amount: f64| if amount.is_finite() && amount > 0.0 { amount } else { 0.0 };
        for spent in [&mut self.spent, &mut share.spent] {
            spent.tokens = (spent.tokens + sane(tokens)).min(f64::MAX);
            spent.cost = (spent.cost + sane(cost)).min(f64::MAX);
        }
    }

    /// Resources that crossed a share since they were last looked at: (reason, used, limit).
    pub(crate) fn crossed(&mut self, policy: &Policy, tool: &Tool, elapsed: Elapsed) -> Vec<(Reason, f64, f64)> {
        let budgets = &policy.budgets;
        if budgets.notes_at.is_empty() {
            return Vec::new();
        }
        // each policy notes its own limits
        let named = |name: String| match policy.key() {
            "" => name,
            binding => format!("{binding}/{name}"),
        };
        let spent = self.spent;
        let mut crossed = Vec::new();
        let plain = [
            ("steps", Reason::BudgetSteps, spent.steps, budgets.steps),
            ("tool_calls", Reason::BudgetToolCalls, spent.tool_calls, budgets.tool_calls),
            ("retries", Reason::BudgetRetries, spent.retries, budgets.retries),
            ("tokens", Reason::BudgetTokens, spent.tokens, budgets.tokens),
            ("cost", Reason::BudgetCost, spent.cost, budgets.cost),
            ("task", Reason::BudgetTime, elapsed.task, budgets.task_time),
            ("workflow", Reason::BudgetTime, elapsed.workflow, budgets.workflow_time),
        ];
        for (name, reason, used, limit) in plain {
            self.cross(budgets, || named(name.to_owned()), reason, used, limit, &mut crossed);
        }
        if let Some(limit) = tool_limit(budgets, &tool.name) {
            let used = self.by_tool.get(&*tool.name).copied().unwrap_or(0.0);
            let name = || named(format!("tool:{}", tool.name));
            self.cross(budgets, name, Reason::BudgetCallsPerTool, used, Some(limit), &mut crossed);
        }
        for group in &tool.groups {
            let Some(limit) = budgets.calls_per_group.get(&**group).copied() else { continue };
            let used = self.by_group.get(&**group).copied().unwrap_or(0.0);
            let name = || named(format!("group:{group}"));
            self.cross(budgets, name, Reason::BudgetCallsPerGroup, used, Some(limit), &mut crossed);
        }
        crossed
    }

    fn cross(
        &mut self,
        budgets: &Budgets,
        name: impl Fn() -> String,
        reason: Reason,
        used: f64,
        limit: Limit,
        crossed: &mut Vec<(Reason, f64, f64)>,
    ) {
        let Some(limit) = limit.filter(|_| used > 0.0) else { return };
        // a count is noted at whole units; seconds and money at the share itself
        let whole = !matches!(reason, Reason::BudgetTime | Reason::BudgetCost);
        let at = |share: &f64| if whole { (share * limit).floor().max(1.0) } else { share * limit };
        let reached = budgets.notes_at.iter().filter(|share| used >= at(share)).count();
        if reached == 0 {
            return;
        }
        let noted = self.noted.entry(name()).or_default();
        if *noted >= reached {
            return;
        }
        *noted = reached;
        crossed.push((reason, used, limit));
    }

    /// What is left of a plain resource for a child that owns `share` of it.
    pub(crate) fn own_limits(&self, budgets: &Budgets, share: f64) -> OwnLimits {
        let part = |limit: Limit, used: f64| limit.map(|limit| ((limit - used).max(0.0) * share).floor());
        OwnLimits {
            steps: part(budgets.steps, self.spent.steps),
            tool_calls: part(budgets.tool_calls, self.spent.tool_calls),
            retries: part(budgets.retries, self.spent.retries),
            tokens: part(budgets.tokens, self.spent.tokens),
            cost: budgets.cost.map(|limit| (limit - self.spent.cost).max(0.0) * share),
        }
    }
}

/// Adds to a count; its name is copied only where it is new.
fn add(counts: &mut FxHashMap<String, f64>, name: &str, by: f64) {
    match counts.get_mut(name) {
        Some(count) => *count += by,
        None => {
            counts.insert(name.to_owned(), by);
        }
    }
}

pub(crate) fn tool_limit(budgets: &Budgets, tool: &str) -> Option<f64> {
    budgets.calls_per_tool.get(tool).or_else(|| budgets.calls_per_tool.get("*")).copied()
}
