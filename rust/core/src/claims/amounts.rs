//! What a call takes of budgets that are shared.
use std::collections::BTreeMap;

use crate::policy::{Budgets, Limit, Mode, Policy, Tool};
use crate::shared::Amount;
use crate::task::Task;

/// The tightest limit of the policies that hold.
fn tightest(policy: &Policy, limit: impl Fn(&Budgets) -> Limit) -> Limit {
    let holding = policy.each().filter(|policy| policy.mode == Mode::Enforce);
    holding.filter_map(|policy| limit(&policy.budgets)).reduce(f64::min)
}

/// The step of a round.
pub(super) fn step(policy: &Policy) -> Vec<Amount> {
    vec![Amount { counter: "steps".to_owned(), amount: 1.0, limit: tightest(policy, |budgets| budgets.steps) }]
}

/// A call.
pub(super) fn call(policy: &Policy, tool: &Tool, retry: bool) -> Vec<Amount> {
    let mut amounts = Vec::new();
    let mut take = |counter: &str, amount: f64, limit: Limit| {
        amounts.push(Amount { counter: counter.to_owned(), amount, limit });
    };
    #[allow(clippy::cast_precision_loss)]
    let calls = |budgets: &Budgets| {
        budgets.tool_calls.map(|limit| if budgets.may_finish(tool) { limit } else { limit - budgets.reserve as f64 })
    };
    take("tool_calls", 1.0, tightest(policy, calls));
    if retry {
        take("retries", 1.0, tightest(policy, |budgets| budgets.retries));
    }
    // of what is reported afterwards there is enough until it is used up
    take("tokens", 0.0, tightest(policy, |budgets| budgets.tokens));
    take("cost", 0.0, tightest(policy, |budgets| budgets.cost));
    let own = |budgets: &Budgets| crate::budget::tool_limit(budgets, &tool.name);
    take(&format!("tool:{}", tool.name), 1.0, tightest(policy, own));
    for group in &tool.groups {
        let limit = tightest(policy, |budgets| budgets.calls_per_group.get(&**group).copied());
        take(&format!("group:{group}"), 1.0, limit);
    }
    amounts
}

/// What the host reported.
pub(super) fn usage(tokens: f64, cost: f64) -> Vec<Amount> {
    let sane = |(_, amount): &(&str, f64)| amount.is_finite() && *amount > 0.0;
    let amount = |(counter, amount): (&str, f64)| Amount { counter: counter.to_owned(), amount, limit: None };
    [("tokens", tokens), ("cost", cost)].into_iter().filter(sane).map(amount).collect()
}

impl Task {
    /// Takes over how the shared counters stand, without what this batch has just taken of them: that is taken anew, call
    /// by call.
    pub(super) fn learn(&mut self, counts: &BTreeMap<String, f64>, taken: &[Amount]) {
        for (counter, count) in counts {
            let own: f64 = taken.iter().filter(|it| it.counter == *counter).map(|it| it.amount).sum();
            self.pool.learn(counter, (count - own).max(0.0));
        }
    }
}
