//! The words: what a model reads instead of a result, and beside one. Short: what happened, why repeating will not help,
//! what to do instead.
use std::fmt::Write as _;
use std::sync::Arc;

use callgate_value::{to_json, Map, Value};

use crate::call::Call;
use crate::counted::{counted, times};
use crate::detect::Remark;
use crate::fields::map;
use crate::verdict::{Action, Evidence, Finding, Note, Verdict};
use crate::Reason;

/// Missing cells that a model is told of.
const MOST_CELLS: usize = 20;

fn fact<'a>(evidence: &'a Evidence, name: &str) -> Option<&'a Value> {
    evidence.iter().find(|(have, _)| *have == name).map(|(_, value)| value)
}

fn shown(evidence: &Evidence, name: &str) -> String {
    match fact(evidence, name) {
        Some(Value::Str(text)) => text.to_lossy().into_owned(),
        Some(value) => to_json(value),
        None => "?".to_owned(),
    }
}

/// What happened.
fn happened(reason: Reason, tool: &str, evidence: &Evidence) -> String {
    let count = || shown(evidence, "count");
    let often = || times(count());
    let is_one = matches!(fact(evidence, "count"), Some(Value::Int(1)));
    let used = || format!("{} of {} used", shown(evidence, "used"), shown(evidence, "limit"));
    match reason {
        Reason::Stopped => {
            format!("this task was stopped earlier ({}); no further tool calls run", shown(evidence, "stopped_by"))
        }
        Reason::BadCallId => "this call id is in use by another call".to_owned(),
        Reason::Unbound => {
            let tenant = match fact(evidence, "tenant") {
                Some(Value::Str(tenant)) => format!(" of the tenant `{}`", tenant.to_lossy()),
                _ => " of no tenant".to_owned(),
            };
            format!("no policy applies to the agent `{}`{tenant}, so none of its calls runs", shown(evidence, "agent"))
        }
        Reason::UnknownTool => match fact(evidence, "nearest") {
            Some(near) => format!("there is no tool `{tool}`; the nearest is `{}`", near.as_str().unwrap_or("?")),
            None => format!("there is no tool `{tool}`"),
        },
        Reason::InvalidArguments => format!("`{tool}` cannot take these arguments; they have failed {}", often()),
        Reason::Denied => format!("this call of `{tool}` was denied"),
        Reason::BudgetSteps => format!("the step budget is used up ({})", used()),
        Reason::BudgetToolCalls => format!("the budget of tool calls is used up ({})", used()),
        Reason::BudgetReserved => "the tool calls that are left are reserved for other tools".to_owned(),
        Reason::BudgetCallsPerTool => format!("the calls of `{tool}` are used up ({})", used()),
        Reason::BudgetCallsPerGroup => {
            format!("the calls of the group `{}` are used up ({})", shown(evidence, "group"), used())
        }
        Reason::BudgetRetries => format!("the retry budget is used up ({})", used()),
        Reason::BudgetTokens => format!("the token budget is used up ({})", used()),
        Reason::BudgetCost => format!("the cost budget is used up ({})", used()),
        Reason::BudgetTime => {
            format!("the time is used up ({} s of {} s)", shown(evidence, "used"), shown(evidence, "limit"))
        }
        Reason::BudgetDepth => "no further agents may be started below this one".to_owned(),
        Reason::StoreFailure => "what this task has done and may still use cannot be looked up now".to_owned(),
        Reason::BreakerOpen if fact(evidence, "probing").is_some() => {
            format!("{} has failed, and others are finding out whether it is back", broken(evidence))
        }
        Reason::BreakerOpen => format!("{} has failed again and again and is left alone now", broken(evidence)),
        Reason::DuplicateEffect => format!("`{tool}` was already done with these arguments"),
        Reason::EffectInFlight => format!("the same `{tool}` is on its way already"),
        Reason::IdempotencyConflict => {
            format!("an earlier `{tool}` has the same key and other arguments, so this is no repeat of it")
        }
        Reason::AmbiguousEffect => format!("an earlier `{tool}` ended without telling whether it took effect"),
        Reason::DuplicateInBatch => "the same call stands earlier in this turn; its answer serves both".to_owned(),
        Reason::HopLimit if fact(evidence, "closed").is_some() => {
            format!("`{tool}` is no way that the policy offers now")
        }
        Reason::HopLimit => {
            let most = counted(shown(evidence, "max_hops"), "hop");
            format!("the ways out are used up ({} of {most})", shown(evidence, "hops"))
        }
        Reason::NoReturn => format!("`{tool}` was left for another tool, and nothing that was missing has come since"),
        Reason::ExactRepeat if is_one => format!("this exact call of `{tool}` has returned its result already"),
        Reason::ExactRepeat => format!("this exact call of `{tool}` has returned the same result {}", often()),
        Reason::Consecutive if is_one => format!("this exact call of `{tool}` was the last one made"),
        Reason::Consecutive => format!("this exact call of `{tool}` was made {} in a row", often()),
        Reason::Frequency => format!("this exact call of `{tool}` came {} lately", often()),
        Reason::Cycle => match (fact(evidence, "period"), shown(evidence, "laps")) {
            (Some(Value::Int(1)), laps) => format!("the last {laps} calls are the same call with the same result"),
            (_, laps) => {
                let laps = counted(laps, "lap");
                format!("the last calls go round: {laps} of the same {} calls", shown(evidence, "period"))
            }
        },
        Reason::Oscillation => {
            format!("`{tool}` was called with slightly different arguments {} and returned what is known", often())
        }
        Reason::SameError => format!("`{tool}` has failed in the same way {}", often()),
        Reason::SameResult if is_one => format!("`{tool}` has returned the same result for 1 call"),
        Reason::SameResult => format!("`{tool}` has returned the same result for {} different calls", count()),
        Reason::NoGain if is_one => "the last call brought nothing new".to_owned(),
        Reason::NoGain => format!("{} calls in a row brought nothing new", count()),
        Reason::EmptyStreak if is_one => format!("`{tool}` has returned nothing the last time"),
        Reason::EmptyStreak => format!("`{tool}` has returned nothing {} in a row", often()),
        Reason::StateOscillation => format!("what `{tool}` changes has returned to an earlier state {}", often()),
        Reason::TransferStreak if is_one => "control was handed on, and no work has been done since".to_owned(),
        Reason::TransferStreak => format!("control was handed on {} without work in between", often()),
        Reason::TransferCycle => "control goes round between the same agents".to_owned(),
        Reason::StaleWait => match fact(evidence, "min_interval") {
            Some(pause) => format!("`{tool}` may be polled every {} s", to_json(pause)),
            None => format!("`{tool}` has given the same answer {}", often()),
        },
        Reason::LowDiversity => {
            let percent = fact(evidence, "distinct_share").and_then(Value::as_f64).unwrap_or(0.0) * 100.0;
            format!("only {percent:.0} % of the last calls differ")
        }
        Reason::Rule => format!("a rule of the policy applies to `{tool}`"),
        Reason::PolicyError => match fact(evidence, "error") {
            Some(error) => format!("an expression of the policy failed: {}", error.as_str().unwrap_or("?")),
            None => "an expression of the policy failed".to_owned(),
        },
    }
}

/// Who is left alone.
fn broken(evidence: &Evidence) -> String {
    let name = shown(evidence, "breaker");
    match name.split_once(':') {
        Some(("server", server)) => format!("the server `{server}`"),
        Some((_, tool)) => format!("`{tool}`"),
        None => name,
    }
}

/// What to do instead.
fn advice(reason: Reason) -> &'static str {
    match reason {
        Reason::Stopped | Reason::BudgetSteps | Reason::BudgetToolCalls | Reason::BudgetTokens | Reason::BudgetCost => {
            "Answer with what you have, and say what is missing."
        }
        Reason::BudgetTime | Reason::BudgetReserved => "Answer with what you have, and say what is missing.",
        Reason::BudgetCallsPerTool | Reason::BudgetCallsPerGroup => "Use another tool, or answer with what you have.",
        Reason::BudgetRetries => "Do not try this again; take another way.",
        Reason::BudgetDepth => "Do the work yourself.",
        Reason::BadCallId => "Give every call an id of its own.",
        Reason::Unbound => "No other call will run either. Say that the guard is not set up for this task.",
        Reason::UnknownTool => "Use one of the tools that you were given.",
        Reason::InvalidArguments => "Read the tool's parameters and change the arguments.",
        Reason::Denied => "Do not ask for it again; take another way, or ask the person what they want.",
        Reason::StoreFailure => "Nothing is wrong with the call. Say that it could not be made, and go on without it.",
        Reason::BreakerOpen => "Do something else meanwhile, or take another way.",
        Reason::DuplicateEffect => "It has happened; carry on.",
        Reason::EffectInFlight => "Wait for its result; do not send it again.",
        Reason::IdempotencyConflict => "Check what was done under that key before you do anything else.",
        Reason::AmbiguousEffect => "Find out whether it took effect before doing it again.",
        Reason::DuplicateInBatch => "One call is enough.",
        Reason::HopLimit => "Use what you know, and say what is missing.",
        Reason::NoReturn => "Stay with the other tool, or answer with what you have.",
        Reason::ExactRepeat | Reason::Consecutive | Reason::Frequency | Reason::LowDiversity => {
            "Calling it again will not tell you more. Use the result, change something first, or take another way."
        }
        Reason::Cycle => "Going round again will not change anything. Use what you know, or take another way.",
        Reason::Oscillation | Reason::NoGain => {
            "Rewording will not bring more. Use what you know, or take another source."
        }
        Reason::SameError => "Other arguments do not help. Deal with the cause, or take another way.",
        Reason::SameResult => "Other arguments give the same. Use the result, or take another way.",
        Reason::EmptyStreak => "There is nothing to be found here. Take another source, or say that it was not found.",
        Reason::StateOscillation => "You are undoing your own changes. Decide on one state and check it.",
        Reason::TransferStreak | Reason::TransferCycle => "Do the work, or answer with what you have.",
        Reason::StaleWait => "Do something else meanwhile, or report that it does not move.",
        Reason::Rule | Reason::PolicyError => "Take another way.",
    }
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let mut sentence: String = letters.next().map(|first| first.to_uppercase().collect()).unwrap_or_default();
    sentence.push_str(letters.as_str());
    if !sentence.ends_with(['.', '!', '?', '…', '。', '！', '？']) {
        sentence.push('.');
    }
    sentence
}

/// A note of the author's rule is the author's words alone: the call runs, so there is no other way to point to.
fn noted(reason: Reason, tool: &str, evidence: &Evidence, own: Option<&str>) -> String {
    match (reason, own) {
        (Reason::Rule, Some(own)) => sentence(own),
        (Reason::Rule, None) => sentence(&happened(reason, tool, evidence)),
        _ => worded(reason, tool, evidence, own),
    }
}

fn worded(reason: Reason, tool: &str, evidence: &Evidence, own: Option<&str>) -> String {
    let mut text = own.map_or_else(|| sentence(&happened(reason, tool, evidence)), sentence);
    let _ = write!(text, " {}", advice(reason));
    text
}

/// The sentence of a finding, without advice.
#[must_use]
pub fn explain(finding: &Finding, tool: &str) -> String {
    finding.message.clone().unwrap_or_else(|| happened(finding.reason, tool, &finding.evidence))
}

/// What the model reads instead of a result: a JSON object `{success, code, retryable, data, message}`. None where the
/// call runs.
#[must_use]
pub fn reply(verdict: &Verdict) -> Option<String> {
    if verdict.action == Action::Allow {
        return None;
    }
    let finding = verdict.decisive()?;
    let reasons = verdict.findings.iter().map(|finding| Value::from(finding.name().as_str())).collect();
    let code = finding.code.as_deref().unwrap_or_else(|| finding.reason.code());
    let mut data: Vec<(callgate_value::Text, Value)> = vec![("reasons".into(), Value::List(reasons))];
    data.extend(finding.evidence.iter().map(|(name, value)| ((*name).into(), value.clone())));
    if let Some(seconds) = finding.retry_after {
        data.push(("retry_after".into(), Value::Float(seconds)));
    }
    if let Some(first) = &verdict.reuse_of {
        data.push(("same_as".into(), Value::from(&**first)));
    }
    if let Some((result, age)) = &verdict.reused {
        data.push(("result".into(), (**result).clone()));
        data.push(("age_seconds".into(), Value::Float(*age)));
    }
    if let Some(verify) = &verdict.verify {
        data.push(("verify".into(), verify.to_value()));
    }
    if !verdict.instead.is_empty() {
        let calls = verdict
            .instead
            .iter()
            .map(|offer| map(vec![("tool", Value::from(&*offer.tool)), ("arguments", (*offer.arguments).clone())]));
        data.push(("instead".into(), Value::List(calls.collect())));
    }
    if let Some(stop) = verdict.stop.as_ref().filter(|_| verdict.action == Action::Stop) {
        data.push(("exit".into(), Value::from(stop.exit.name())));
        let cells = verdict.missing.iter().take(MOST_CELLS);
        let cells = cells.map(|(key, field)| Value::List(vec![key.clone(), Value::from(field.as_str())]));
        data.push(("missing".into(), Value::List(cells.collect())));
    }
    let words = if verdict.action == Action::Ask { noted } else { worded };
    let mut message = words(finding.reason, &verdict.tool, &finding.evidence, finding.message.as_deref());
    match verdict.action {
        Action::Stop => message.push_str(" The task ends here."),
        Action::Refuse if !verdict.instead.is_empty() => {
            let names = verdict.instead.iter().map(|offer| format!("`{}`", offer.tool)).collect::<Vec<_>>();
            let _ = write!(message, " What is missing may be had from {}.", names.join(", "));
        }
        Action::Reuse if verdict.reused.is_some() => message.push_str(" This is the earlier result."),
        Action::Ask => {
            if let Some(verify) = &verdict.verify {
                let _ = write!(message, " `{}` can tell what became of it.", verify.tool);
            }
            message.push_str(" A person has to decide.");
        }
        _ => {}
    }
    let fields = vec![
        ("success".into(), Value::Bool(verdict.action == Action::Reuse)),
        ("code".into(), Value::from(code)),
        ("retryable".into(), Value::Bool(finding.retry_after.is_some())),
        ("data".into(), Map::new(data).map_or(Value::Null, Value::Map)),
        ("message".into(), Value::from(message.as_str())),
    ];
    Map::new(fields).ok().map(|map| to_json(&Value::Map(map)))
}

pub(crate) fn note(remark: Remark) -> Note {
    let (rule, words) = remark.rule.map_or((None, None), |(id, words)| (Some(id), words));
    let message = noted(remark.reason, &remark.tool, &remark.evidence, words.as_deref());
    Note { reason: remark.reason, rule, call_id: remark.call_id, message, evidence: remark.evidence }
}

pub(crate) fn note_of_finding(finding: &Finding, call: &Call, call_id: &Arc<str>) -> Note {
    let message = noted(finding.reason, &call.tool.name, &finding.evidence, finding.message.as_deref());
    Note {
        reason: finding.reason,
        rule: finding.rule.clone(),
        call_id: Arc::clone(call_id),
        message,
        evidence: finding.evidence.clone(),
    }
}

pub(crate) fn note_of_error(error: &str, call_id: &Arc<str>) -> Note {
    let evidence = vec![("error", Value::from(error))];
    let message = worded(Reason::PolicyError, "", &evidence, None);
    Note { reason: Reason::PolicyError, rule: None, call_id: Arc::clone(call_id), message, evidence }
}

pub(crate) fn note_of_share(reason: Reason, used: f64, limit: f64, call_id: &Arc<str>) -> Note {
    let name = reason.name().trim_start_matches("budget_").replace('_', " ");
    let percent = if limit > 0.0 { (used / limit * 100.0).floor() } else { 100.0 };
    let message =
        format!("{percent} % of the {name} budget is used ({used} of {limit}). Bring the task to an end in time.");
    let evidence = vec![("used", Value::Float(used)), ("limit", Value::Float(limit))];
    Note { reason, rule: None, call_id: Arc::clone(call_id), message, evidence }
}

#[cfg(test)]
mod tests {
    use callgate_value::Value;

    use super::happened;
    use crate::Reason;

    /// What is said of one and of three, where a text counts.
    #[test]
    fn one_is_said_otherwise_than_several() {
        let told = |reason, name, number| happened(reason, "look", &vec![(name, Value::Int(number))]);
        let cases = [
            (
                Reason::ExactRepeat,
                "count",
                "this exact call of `look` has returned its result already",
                "this exact call of `look` has returned the same result 3 times",
            ),
            (
                Reason::Consecutive,
                "count",
                "this exact call of `look` was the last one made",
                "this exact call of `look` was made 3 times in a row",
            ),
            (
                Reason::Frequency,
                "count",
                "this exact call of `look` came once lately",
                "this exact call of `look` came 3 times lately",
            ),
            (
                Reason::InvalidArguments,
                "count",
                "`look` cannot take these arguments; they have failed once",
                "`look` cannot take these arguments; they have failed 3 times",
            ),
            (
                Reason::Oscillation,
                "count",
                "`look` was called with slightly different arguments once and returned what is known",
                "`look` was called with slightly different arguments 3 times and returned what is known",
            ),
            (
                Reason::SameError,
                "count",
                "`look` has failed in the same way once",
                "`look` has failed in the same way 3 times",
            ),
            (
                Reason::SameResult,
                "count",
                "`look` has returned the same result for 1 call",
                "`look` has returned the same result for 3 different calls",
            ),
            (Reason::NoGain, "count", "the last call brought nothing new", "3 calls in a row brought nothing new"),
            (
                Reason::EmptyStreak,
                "count",
                "`look` has returned nothing the last time",
                "`look` has returned nothing 3 times in a row",
            ),
            (
                Reason::StateOscillation,
                "count",
                "what `look` changes has returned to an earlier state once",
                "what `look` changes has returned to an earlier state 3 times",
            ),
            (
                Reason::TransferStreak,
                "count",
                "control was handed on, and no work has been done since",
                "control was handed on 3 times without work in between",
            ),
            (
                Reason::StaleWait,
                "count",
                "`look` has given the same answer once",
                "`look` has given the same answer 3 times",
            ),
            (
                Reason::HopLimit,
                "max_hops",
                "the ways out are used up (? of 1 hop)",
                "the ways out are used up (? of 3 hops)",
            ),
        ];
        for (reason, name, one, three) in cases {
            assert_eq!([told(reason, name, 1), told(reason, name, 3)], [one, three]);
        }
    }
}
