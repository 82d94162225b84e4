//! `spec.budgets` and `spec.time`, with the preset underneath.
use crate::model::budgets::{self as written, BatchAdmission, Children, TimeLimits};
use crate::model::limit::{Cost, Limit};
use crate::model::numbers::Count;
use crate::model::times::Duration;
use crate::policy::Budgets;

/// A count as a number; counts are small enough to be exact.
#[allow(clippy::cast_precision_loss)]
fn number(count: u64) -> f64 {
    count as f64
}

fn count(limit: Option<&Limit<Count>>, preset: Option<f64>) -> Option<f64> {
    match limit {
        Some(limit) => limit.value().map(|count| number(count.get())),
        None => preset,
    }
}

fn seconds(limit: Option<&Limit<Duration>>, preset: Option<f64>) -> Option<f64> {
    match limit {
        Some(limit) => limit.value().map(Duration::seconds),
        None => preset,
    }
}

pub(crate) fn compile(budgets: Option<&written::Budgets>, time: Option<&TimeLimits>) -> Budgets {
    let none = written::Budgets::default();
    let budgets = budgets.unwrap_or(&none);
    let preset = budgets.preset.map(written::Preset::values);
    let named = |limits: Option<&crate::model::Named<Limit<Count>>>| {
        let limits = limits.into_iter().flat_map(|limits| limits.iter());
        limits.filter_map(|(name, limit)| Some((name.to_owned(), number(limit.value()?.get())))).collect()
    };
    let (cost, currency) = match &budgets.cost {
        Some(Cost::At { limit, currency }) => (Some(limit.0), Some(currency.as_str().to_owned())),
        Some(Cost::Unlimited(_)) | None => (None, None),
    };
    let mut notes_at: Vec<f64> = budgets.notes_at.iter().flatten().map(|share| share.0).collect();
    notes_at.sort_by(f64::total_cmp);
    let reserve = budgets.reserve.as_ref();
    Budgets {
        steps: count(budgets.steps.as_ref(), preset.map(|(steps, ..)| number(steps))),
        tool_calls: count(budgets.tool_calls.as_ref(), None),
        calls_per_tool: named(budgets.calls_per_tool.as_ref()),
        calls_per_group: named(budgets.calls_per_group.as_ref()),
        retries: count(budgets.retries.as_ref(), None),
        tokens: count(budgets.tokens.as_ref(), preset.map(|(_, tokens, _)| number(tokens))),
        cost,
        currency,
        depth: budgets.depth.as_ref().and_then(|depth| depth.value()).map(|depth| depth.get()),
        notes_at,
        reserve: reserve.and_then(|it| it.tool_calls).map_or(0, |calls| calls.get()),
        reserve_for: reserve
            .and_then(|it| it.r#for.as_ref())
            .into_iter()
            .flatten()
            .map(|name| name.as_str().to_owned())
            .collect(),
        all_or_nothing: budgets.batch == Some(BatchAdmission::AllOrNothing),
        child_share: match &budgets.children {
            Some(Children::Part(part)) => Some(part.own.0),
            Some(Children::Shared(_)) | None => None,
        },
        task_time: seconds(time.and_then(|it| it.task.as_ref()), preset.map(|(_, _, seconds)| seconds)),
        workflow_time: seconds(time.and_then(|it| it.workflow.as_ref()), None),
        step_time: seconds(time.and_then(|it| it.step.as_ref()), None),
        server_time: seconds(time.and_then(|it| it.server.as_ref()), None),
        tool_time: seconds(time.and_then(|it| it.tool.as_ref()), None),
    }
}
