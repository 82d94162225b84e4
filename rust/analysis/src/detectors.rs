//! Whether the rungs of detectors are reached: for each, a sequence of calls that the detector is for.
//!
//! A detector is tried by itself, without budgets, rules and the other detectors: whether something else ends a run earlier
//! is a matter of the run. What is shown is that the tools in force can feed it, and that its count gets there.
use std::sync::Arc;

use callgate_core::policy::{Budgets, Detectors, Effect, ExactRepeat, Mode, Policy, Rungs, Tool};
use callgate_core::{Action, Reason, Task};
use callgate_value::{Map, Value};

use crate::caller::{with_detectors, Caller};
use crate::sequence;
use crate::trial::{request, Trial};

/// Engine calls for one rung.
const CALLS: usize = 4_000;
/// Seconds that are waited after a refusal: more than any cool-down.
const LONG: f64 = 1e9;
/// Calls of a sequence at most.
const LONGEST: u64 = 1_500;

/// What a rung does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Does {
    Notes,
    Refuses,
    Exits,
}

/// A rung: its detector and key, as they are written.
#[derive(Clone, Debug)]
pub(crate) struct Rung {
    pub(crate) detector: String,
    pub(crate) key: String,
    pub(crate) does: Does,
    /// How often something has to be seen.
    pub(crate) count: u64,
}

/// The rungs of a block of thresholds.
pub(crate) fn rungs(block: &Map) -> Vec<Rung> {
    let mut found = Vec::new();
    for (name, thresholds) in block.iter() {
        let (Some(name), Some(keys)) = (name.as_str(), thresholds.as_map()) else { continue };
        let number = |key: &str| keys.get(key).and_then(Value::as_f64).filter(|value| *value >= 0.0);
        let mut add = |key: &str, does: Does, count: Option<f64>| {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // not negative, and bounded
            let counted = count.map(|count| count.min(1e9) as u64);
            found.extend(counted.map(|count| Rung { detector: name.to_owned(), key: key.to_owned(), does, count }));
        };
        match name {
            "cycle" | "transfer_cycle" => {
                add("laps", Does::Notes, number("laps").map(|laps| laps * 2.0));
                add("laps", Does::Refuses, number("laps").map(|laps| laps * 2.0));
            }
            "diversity" => {
                let least = number("min_calls").unwrap_or(1.0);
                let calls = |key: &str| {
                    number(key).filter(|share| *share > 0.0).map(|share| (1.0 / share).ceil().max(least) + 1.0)
                };
                add("note_below", Does::Notes, calls("note_below"));
                add("refuse_below", Does::Refuses, calls("refuse_below"));
                add("entropy_note_below", Does::Notes, number("entropy_note_below").map(|_| least + 1.0));
            }
            _ => {
                add("note_after", Does::Notes, number("note_after"));
                add("refuse_after", Does::Refuses, number("refuse_after"));
                add("exit_after", Does::Exits, number("exit_after"));
            }
        }
        if let Some(after) = keys.get("sufficient_reads").and_then(|it| it.get("refuse_after")).and_then(Value::as_f64)
        {
            add("sufficient_reads", Does::Refuses, Some(after));
        }
    }
    found
}

/// Whether one of the tools reaches the rung.
pub(crate) fn fires(policy: &Policy, callers: &[Caller], rung: &Rung) -> bool {
    let Some(reason) = reason(&rung.detector) else { return true };
    let alone = Policy { mode: Mode::Enforce, budgets: Budgets::default(), rules: Vec::new(), ..policy.clone() };
    let alone = with_detectors(&alone, &|tool| Arc::new(only(&rung.detector, &tool.detectors)));
    let mut trial = Trial::new(&alone, CALLS);
    callers.iter().filter(|caller| cannot_feed(&rung.detector, &caller.tool).is_none()).any(|caller| {
        let tried = caller.arguments.iter().take(3);
        tried.into_iter().any(|arguments| climb(&mut trial, &alone, caller, arguments, rung, reason))
    })
}

/// Why the tool can never feed the detector, if it cannot.
pub(crate) fn cannot_feed(detector: &str, tool: &Tool) -> Option<&'static str> {
    let reads = tool.effect == Effect::Read;
    let waits = tool.waiting.is_some();
    let (able, why) = match detector {
        "oscillation" | "same_result" => (reads, "only reads feed it"),
        "no_gain" => (true, ""),
        "empty_streak" => {
            let told = tool.result.records.is_some() || tool.result.empty_when.is_some();
            (reads && told, "only reads feed it that say when they are empty, with `records` or `empty_when`")
        }
        "state_oscillation" => (tool.result.state.is_some(), "only tools with `result.state` feed it"),
        "transfer_streak" | "transfer_cycle" => (tool.transfer, "only tools with `transfer: true` feed it"),
        "repeated_effect" => (
            tool.effect == Effect::External && !tool.idempotent,
            "only external effects that are not idempotent feed it",
        ),
        _ => (true, ""),
    };
    let unfed = waits && !matches!(detector, "unknown_tool" | "invalid_arguments" | "denied");
    if unfed {
        return Some("a call that waits feeds none but the limits of its `waiting`");
    }
    (!able).then_some(why)
}

pub(crate) fn reason(detector: &str) -> Option<Reason> {
    Some(match detector {
        "consecutive" => Reason::Consecutive,
        "exact_repeat" => Reason::ExactRepeat,
        "frequency" => Reason::Frequency,
        "cycle" => Reason::Cycle,
        "oscillation" => Reason::Oscillation,
        "same_error" => Reason::SameError,
        "same_result" => Reason::SameResult,
        "no_gain" => Reason::NoGain,
        "empty_streak" => Reason::EmptyStreak,
        "state_oscillation" => Reason::StateOscillation,
        "transfer_streak" => Reason::TransferStreak,
        "transfer_cycle" => Reason::TransferCycle,
        "diversity" => Reason::LowDiversity,
        "unknown_tool" => Reason::UnknownTool,
        "invalid_arguments" => Reason::InvalidArguments,
        "repeated_effect" => Reason::DuplicateEffect,
        "denied" => Reason::Denied,
        _ => return None,
    })
}

/// These thresholds of one detector, and of no other.
fn only(detector: &str, all: &Detectors) -> Detectors {
    let mut one = Detectors::default();
    match detector {
        "consecutive" => one.consecutive = all.consecutive,
        "exact_repeat" => one.exact_repeat = all.exact_repeat,
        "frequency" => one.frequency = all.frequency,
        "cycle" => one.cycle = all.cycle,
        "oscillation" => one.oscillation = all.oscillation,
        "same_error" => one.same_error = all.same_error,
        "same_result" => one.same_result = all.same_result,
        "no_gain" => one.no_gain = all.no_gain,
        "empty_streak" => one.empty_streak = all.empty_streak,
        "state_oscillation" => one.state_oscillation = all.state_oscillation,
        "transfer_streak" => one.transfer_streak = all.transfer_streak,
        "transfer_cycle" => one.transfer_cycle = all.transfer_cycle,
        "diversity" => one.diversity = all.diversity,
        "unknown_tool" => one.unknown_tool = all.unknown_tool,
        "invalid_arguments" => one.invalid_arguments = all.invalid_arguments,
        "repeated_effect" => one.repeated_effect = all.repeated_effect,
        "denied" => one.denied = all.denied,
        _ => {}
    }
    one
}

fn climb(
    trial: &mut Trial<'_>,
    policy: &Policy,
    caller: &Caller,
    arguments: &Value,
    rung: &Rung,
    reason: Reason,
) -> bool {
    let mut task = Task::new(policy, "task", [7; 16], 0.0);
    let calls = rung.count.saturating_add(8).min(LONGEST);
    let mut waited = 0.0;
    for number in 0..calls {
        if !trial.take(2) {
            return false;
        }
        let step = sequence::next(policy, caller, arguments, rung, number);
        #[allow(clippy::cast_precision_loss)] // a few thousand
        let now = number as f64 * 1e-6 + waited;
        let call = request(&caller.tool.name, step.arguments, None, None);
        for verdict in task.admit(policy, "root", &[call], Some(now)) {
            let refused = verdict.findings.iter().any(|it| it.reason == reason && it.action >= Action::Reuse);
            let noted = verdict.notes.iter().any(|note| note.reason == reason);
            if (rung.does == Does::Refuses && refused) || (rung.does == Does::Notes && noted) {
                return true;
            }
            if verdict.action != Action::Allow {
                // what is refused goes on once it has cooled down, if it ever does
                waited += LONG;
                continue;
            }
            let Ok(told) = task.observe(policy, &verdict.call_id, &step.outcome, Some(now)) else { continue };
            let noted = told.notes.iter().any(|note| note.reason == reason);
            let ended = told.stop.is_some_and(|stop| stop.reason == reason);
            if (rung.does == Does::Notes && noted) || (rung.does == Does::Exits && ended) {
                return true;
            }
        }
    }
    false
}

/// Thresholds that a tool has for a rung, if it has any.
pub(crate) fn has(detectors: &Detectors, rung: &Rung) -> bool {
    let of = |rungs: Option<Rungs>| {
        rungs.is_some_and(|it| match rung.does {
            Does::Notes => it.note_after.is_some(),
            Does::Refuses => it.refuse_after.is_some(),
            Does::Exits => it.exit_after.is_some(),
        })
    };
    match &*rung.detector {
        "consecutive" => of(detectors.consecutive),
        "exact_repeat" => match detectors.exact_repeat {
            Some(ExactRepeat { sufficient_reads, .. }) if rung.key == "sufficient_reads" => sufficient_reads.is_some(),
            other => of(other.map(|it| it.rungs)),
        },
        "frequency" => of(detectors.frequency),
        "oscillation" => of(detectors.oscillation.map(|it| it.rungs)),
        "same_error" => of(detectors.same_error),
        "same_result" => of(detectors.same_result),
        "no_gain" if rung.does == Does::Exits => detectors.no_gain.is_some_and(|it| it.exit_after.is_some()),
        "no_gain" => of(detectors.no_gain.map(|it| it.rungs)),
        "empty_streak" => of(detectors.empty_streak),
        "state_oscillation" => of(detectors.state_oscillation),
        "transfer_streak" => of(detectors.transfer_streak),
        "unknown_tool" => of(detectors.unknown_tool),
        "invalid_arguments" => of(detectors.invalid_arguments),
        "repeated_effect" => of(detectors.repeated_effect),
        "denied" => of(detectors.denied),
        _ => true,
    }
}
