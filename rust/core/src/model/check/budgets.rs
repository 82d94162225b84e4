//! Budgets that are not set, unlimited for no reason, reserved beyond what there is, or retried beyond their cap.
use super::Stage;
use crate::counted::{counted, times};
use crate::model::budgets::{Budgets, Layers, Reserve, RetryCause, TimeLimits};
use crate::model::codes;
use crate::model::fault::{Fault, Pointer};
use crate::model::limit::Limit;

pub(super) fn check(
    budgets: Option<&Budgets>,
    time: Option<&TimeLimits>,
    spec: &Pointer,
    stage: Stage,
    clean: bool,
    faults: &mut Vec<Fault>,
) {
    let preset = budgets.is_some_and(|budgets| budgets.preset.is_some());
    let missing = stage == Stage::Resolved && clean && !preset;
    let (budgets_at, time_at) = (spec.key("budgets"), spec.key("time"));
    required(
        budgets.and_then(|budgets| budgets.steps.as_ref()),
        &budgets_at,
        "steps",
        budgets.is_some(),
        missing,
        faults,
    );
    required(
        budgets.and_then(|budgets| budgets.tokens.as_ref()),
        &budgets_at,
        "tokens",
        budgets.is_some(),
        missing,
        faults,
    );
    required(time.and_then(|time| time.task.as_ref()), &time_at, "task", time.is_some(), missing, faults);
    let Some(budgets) = budgets else { return };
    if let Some(kept) = &budgets.reserve {
        reserve(kept, budgets, &budgets_at, stage == Stage::Resolved && clean, faults);
    }
    if let Some(layers) = &budgets.layers {
        retry_layers(layers, &budgets_at.key("layers"), faults);
    }
}

/// A budget that every policy has to take a stand on.
fn required<T>(
    limit: Option<&Limit<T>>,
    block: &Pointer,
    key: &str,
    written: bool,
    missing: bool,
    faults: &mut Vec<Fault>,
) {
    let name = format!("{}.{key}", block.block().unwrap_or_default());
    match limit {
        Some(Limit::Unlimited(reason)) if reason.as_ref().is_none_or(|reason| reason.trim().is_empty()) => {
            let message = format!("`{name}` is unlimited without a reason");
            let fault = Fault::value(codes::UNLIMITED_WITHOUT_REASON, block.key(key), message);
            faults.push(fault.hint(format!("write {key}: {{limit: unlimited, reason: why that is right}}")));
        }
        None if missing => {
            let at = if written { block.clone() } else { Pointer(block.0.iter().take(1).cloned().collect()) };
            let fault = Fault::key(codes::BUDGET_NOT_SET, at, format!("`{name}` is not set"));
            faults.push(fault.hint(format!(
                "set it, choose a `budgets.preset`, or write {key}: {{limit: unlimited, reason: why that is right}}"
            )));
        }
        _ => {}
    }
}

fn reserve(reserve: &Reserve, budgets: &Budgets, at: &Pointer, whole: bool, faults: &mut Vec<Fault>) {
    let place = at.key("reserve");
    let kept = reserve.tool_calls.map_or(0, |calls| calls.get());
    let limit = budgets.tool_calls.as_ref().and_then(Limit::value).map(|calls| calls.get());
    if let Some(limit) = limit.filter(|limit| kept > *limit) {
        let message = format!("the reserve of {} is larger than the budget of {limit}", counted(kept, "tool call"));
        let fault = Fault::value(codes::RESERVE_TOO_LARGE, place.key("tool_calls"), message);
        faults.push(fault.related(at.key("tool_calls"), format!("the budget is {limit}")));
    }
    let nobody = match &reserve.r#for {
        Some(tools) => tools.is_empty(),
        None => whole,
    };
    if nobody {
        let at = if reserve.r#for.is_some() { place.key("for") } else { place };
        let message = "the reserve is for no tool, so nobody may ever spend it";
        faults.push(Fault::value(codes::RESERVE_FOR_NOBODY, at, message).hint("name the tools in `for`"));
    }
}

fn retry_layers(layers: &Layers, at: &Pointer, faults: &mut Vec<Fault>) {
    let all = [("http", &layers.http), ("tool", &layers.tool), ("agent", &layers.agent)];
    let written: Vec<_> = all.into_iter().filter_map(|(name, layer)| Some((name, layer.as_ref()?))).collect();

    // a layer that never retries leaves the number of attempts as it is
    let counts =
        written.iter().filter_map(|(name, layer)| Some((*name, layer.retries?.get()))).filter(|(_, count)| *count > 0);
    let counts: Vec<(&str, u64)> = counts.collect();
    let product = counts.iter().fold(1_u64, |product, (_, count)| product.saturating_mul(*count));
    if let Some(cap) = layers.at_most.map(|cap| cap.get()).filter(|cap| product > *cap) {
        let sum: Vec<String> = counts.iter().map(|(name, count)| format!("{count} ({name})")).collect();
        let message = format!("the layers multiply to {} = {product} retries, more than {cap}", sum.join(" × "));
        let mut fault = Fault::value(codes::RETRY_PRODUCT, at.key("at_most"), message).hint("let fewer layers retry");
        for (name, count) in &counts {
            fault = fault.related(at.key(name).key("retries"), format!("{name} retries {}", times(count)));
        }
        faults.push(fault);
    }

    let mut owners: Vec<(RetryCause, &str, Pointer)> = Vec::new();
    for (name, layer) in written {
        for (index, cause) in layer.r#for.iter().flatten().enumerate() {
            let place = at.key(name).key("for").index(index);
            match owners.iter().find(|(owned, owner, _)| owned == cause && *owner != name) {
                Some((_, owner, owned_at)) => {
                    let message = format!("`{}` is retried by `{name}` and by `{owner}`", cause.as_str());
                    let fault = Fault::value(codes::RETRY_OVERLAP, place, message).warning();
                    let fault = fault.related(owned_at.clone(), format!("`{owner}` retries it too"));
                    faults.push(fault.hint("let one layer own it"));
                }
                None => owners.push((*cause, name, place)),
            }
        }
    }
}
