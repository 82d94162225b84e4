//! Runs that tell two policies apart: made up from what differs, and judged by both until one decision comes out otherwise.
use std::sync::Arc;

use callgate_core::compile::ManifestDocument;
use callgate_core::guard::Guard;
use callgate_core::model::Segment;
use callgate_core::policy::Policy;
use callgate_core::Outcome;
use callgate_value::{to_json, Map, Value};

use crate::caller::{callers, plain, schema_of, stand_ins, Caller};
use crate::claims::{cases, Claims};
use crate::detectors::{Does, Rung};
use crate::mutation::{compiled, edited, judged, Edit, Part, Run};
use crate::sequence;
use crate::situation::Situation;
use crate::wish::{wishes, Wanted};
use callgate_cel::Claim;

/// Runs that are tried.
const MOST_RUNS: usize = 100;
/// Calls of a run.
const LONGEST: u64 = 26;
/// Combinations of values for one case of a condition.
const COMBINATIONS: usize = 24;
/// Patterns of calls, by the detector that each is for.
const PATTERNS: [&str; 13] = [
    "exact_repeat",
    "consecutive",
    "cycle",
    "same_result",
    "empty_streak",
    "same_error",
    "state_oscillation",
    "transfer_streak",
    "transfer_cycle",
    "frequency",
    "unknown_tool",
    "invalid_arguments",
    "denied",
];
/// What of a decision a test can expect.
const TOLD: [&str; 6] = ["action", "reasons", "notes", "grade", "gaps", "next"];

/// A run that tells two policies apart at its last call.
#[derive(Clone, Debug)]
pub struct Apart {
    /// The records, each as a step of a test is written.
    pub steps: Vec<Value>,
    /// What the policy itself decides of the last one.
    pub row: Value,
    /// What the mutant decides of it.
    pub other: Value,
    /// Whether the tools are stand-ins, because no manifest is in force.
    pub is_stood_in: bool,
}

/// Looks for a run that a policy judges otherwise after some edits. `moment` is a time, in seconds, at which something may
/// be over for one of them and not for the other.
#[must_use]
pub fn tell_apart(part: &Part, edits: &[Edit], moment: Option<f64>) -> Option<Apart> {
    let (mut part, mut other) = (part.clone(), edited(part, 0, edits));
    let no_tools = part.manifests.is_empty();
    if no_tools {
        let stand_ins = stand_ins()?;
        part.manifests.push(stand_ins.clone());
        other.manifests.push(stand_ins);
    }
    let (manifests, others) = (part.manifests.clone(), other.manifests.clone());
    let (one, two) = (compiled(&[part])?, compiled(&[other])?);
    let (policy, mutant) = (one.policies().next()?, two.policies().next()?);
    let mut search = Search { guards: (&one, &two), left: MOST_RUNS };
    let found = of_rules(&mut search, policy, mutant, &manifests)
        .or_else(|| of_patterns(&mut search, policy, &manifests, edits, moment))
        .or_else(|| of_patterns(&mut search, mutant, &others, edits, moment));
    found.map(|(steps, row, other)| Apart { steps, row, other, is_stood_in: no_tools })
}

struct Search<'g> {
    guards: (&'g Arc<Guard>, &'g Arc<Guard>),
    left: usize,
}

type Found = (Vec<Value>, Value, Value);

impl Search<'_> {
    /// The steps up to the first decision that differs.
    fn differ(&mut self, steps: &[Value]) -> Option<Found> {
        self.left = self.left.checked_sub(1)?;
        let lines: Vec<String> = steps.iter().enumerate().map(|(at, step)| line(step, at)).collect();
        let run = Run { lines: lines.join("\n").into_bytes(), about: callgate_core::About::default() };
        let (one, two) = (judged(self.guards.0, &run), judged(self.guards.1, &run));
        let at = one.rows.iter().zip(&two.rows).position(|(one, two)| told(one) != told(two))?;
        let (row, other) = (one.rows.get(at)?.clone(), two.rows.get(at)?.clone());
        let seq = row.get("seq").and_then(Value::as_f64)?;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a position
        let upto = steps.get(..seq as usize)?;
        Some((upto.to_vec(), row, other))
    }
}

fn told(row: &Value) -> Vec<String> {
    let mut told: Vec<String> = TOLD.iter().map(|key| row.get(key).map_or_else(String::new, to_json)).collect();
    // words of notes are no expectation
    if let Some(notes) = row.get("notes").and_then(Value::as_list) {
        let reasons: Vec<String> =
            notes.iter().map(|note| note.get("reason").map_or_else(String::new, to_json)).collect();
        told.push(reasons.join(","));
        if let Some(place) = told.get_mut(2) {
            place.clear();
        }
    }
    told
}

fn line(step: &Value, at: usize) -> String {
    let mut fields: Vec<_> =
        step.as_map().into_iter().flat_map(Map::iter).map(|(k, v)| (k.clone(), v.clone())).collect();
    fields.push(("session".into(), Value::from("run")));
    fields.push(("seq".into(), Value::Int(i64::try_from(at.saturating_add(1)).unwrap_or(i64::MAX))));
    if !fields.iter().any(|(name, _)| name.as_str() == Some("arguments")) {
        fields.push(("arguments".into(), Value::Map(Map::default())));
    }
    Map::new(fields).map_or_else(|_| String::new(), |fields| to_json(&Value::Map(fields)))
}

fn step(tool: &str, arguments: &Value, outcome: &Outcome, time: f64) -> Value {
    let mut fields = vec![("tool".into(), Value::from(tool)), ("arguments".into(), arguments.clone())];
    if let Some(result) = &outcome.result {
        fields.push(("result".into(), (**result).clone()));
    }
    if let Some(error) = &outcome.error {
        let mut told = Vec::new();
        if let Some(kind) = &error.kind {
            told.push(("type".into(), Value::from(&**kind)));
        }
        if let Some(status) = error.status {
            told.push(("status".into(), Value::Int(status)));
        }
        if let Some(message) = &error.message {
            told.push(("message".into(), Value::from(&**message)));
        }
        fields.push(("error".into(), Map::new(told).map_or(Value::Null, Value::Map)));
    }
    if time > 0.0 {
        fields.push(("time".into(), Value::Float(time)));
    }
    Map::new(fields).map_or(Value::Null, Value::Map)
}

/// Calls on which a rule comes out otherwise.
fn of_rules(
    search: &mut Search<'_>,
    policy: &Policy,
    mutant: &Policy,
    manifests: &[ManifestDocument],
) -> Option<Found> {
    for rule in &policy.rules {
        let other = mutant.rules.iter().find(|other| other.id == rule.id);
        let same = other.is_some_and(|it| it.when.written() == rule.when.written() && it.action == rule.action);
        if same && variables(policy) == variables(mutant) {
            continue;
        }
        let (mine, theirs) = (Claims { policy, with_params: true }, Claims { policy: mutant, with_params: true });
        let moved =
            other.filter(|it| it.when.written() != rule.when.written() || variables(policy) != variables(mutant));
        let wanted: Vec<Claim> = match moved {
            None => vec![mine.of(&rule.when, true)],
            Some(other) => [true, false]
                .map(|truth| Claim::All(vec![mine.of(&rule.when, truth), theirs.of(&other.when, !truth)]))
                .into(),
        };
        for caller in callers(policy, manifests) {
            let is_about = rule.tools.is_empty() || rule.tools.iter().any(|name| **name == *caller.tool.name);
            if !is_about {
                continue;
            }
            for claim in &wanted {
                let whole = Claim::All(vec![claim.clone(), caller.claim.clone()]);
                if let Some(found) = of_claim(search, policy, manifests, &caller, &whole) {
                    return Some(found);
                }
            }
        }
    }
    None
}

fn variables(policy: &Policy) -> Vec<&str> {
    policy.variables.iter().map(|(_, expression)| expression.written()).collect()
}

fn of_claim(
    search: &mut Search<'_>,
    policy: &Policy,
    manifests: &[ManifestDocument],
    caller: &Caller,
    whole: &Claim,
) -> Option<Found> {
    for way in cases(whole).unwrap_or_default().into_iter().take(COMBINATIONS) {
        let wanted = wishes(&way, caller.schema.as_ref());
        let most = wanted.iter().map(|wish| match &wish.wanted {
            Wanted::Values(values) => values.len(),
            Wanted::Absent => 1,
        });
        for number in 0..most.max().unwrap_or(1).min(COMBINATIONS) {
            let choice: Vec<usize> = wanted
                .iter()
                .map(|wish| match &wish.wanted {
                    Wanted::Values(values) => number.min(values.len().saturating_sub(1)),
                    Wanted::Absent => 0,
                })
                .collect();
            let situation = Situation::plain(&caller.tool.name, plain(caller.schema.as_ref()));
            let situation = situation.with(policy, &caller.tool, &wanted, &choice);
            if let Some(found) = steps_of(&situation, manifests).and_then(|steps| search.differ(&steps)) {
                return Some(found);
            }
        }
    }
    None
}

/// A situation as the steps of a test; none where a test has no form for it.
fn steps_of(situation: &Situation, manifests: &[ManifestDocument]) -> Option<Vec<Value>> {
    let has_context = situation.context.as_map().is_some_and(|context| context.iter().next().is_some());
    if situation.is_impossible || situation.depth > 0 || has_context || situation.agent != "root" {
        return None;
    }
    let outcome = situation.outcome();
    let mut steps = Vec::new();
    for (name, count) in &situation.before {
        let name = if name.is_empty() { &*situation.tool } else { name };
        let arguments = plain(schema_of(manifests, name));
        for _ in 0..(*count).min(LONGEST) {
            steps.push(step(name, &arguments, &outcome, 0.0));
        }
    }
    if situation.again {
        steps.push(step(&situation.tool, &situation.arguments, &outcome, 0.0));
    }
    let last = if situation.now > 1.0 { situation.now } else { 0.0 };
    steps.push(step(&situation.tool, &situation.arguments, &outcome, last));
    Some(steps)
}

/// The calls that each detector is for, by each tool.
fn of_patterns(
    search: &mut Search<'_>,
    policy: &Policy,
    manifests: &[ManifestDocument],
    edits: &[Edit],
    moment: Option<f64>,
) -> Option<Found> {
    // the calls that a detector is for come first where it is the one that was changed
    let is_meant = |name: &str| {
        let steps = edits.iter().flat_map(|edit| &edit.pointer.0);
        steps.into_iter().any(|step| matches!(step, Segment::Key(key) if key == name))
    };
    let mut patterns = PATTERNS;
    patterns.sort_by_key(|name| !is_meant(name));
    for pattern in patterns {
        let rung = Rung { detector: pattern.to_owned(), key: String::new(), does: Does::Refuses, count: 1 };
        for caller in callers(policy, manifests) {
            let Some(arguments) = caller.arguments.first() else { continue };
            let moves = (0..LONGEST).map(|number| sequence::next(policy, &caller, arguments, &rung, number));
            let moves: Vec<_> = moves.collect();
            let call = |it: &sequence::Move, time| step(&caller.tool.name, &it.arguments, &it.outcome, time);
            let at_once: Vec<Value> = moves.iter().map(|it| call(it, 0.0)).collect();
            let found = match moment {
                None => search.differ(&at_once),
                // as often as is noticed, and once more when it may be over
                Some(moment) => [1, 3, 6, 10].into_iter().find_map(|count| {
                    let mut steps: Vec<Value> = at_once.iter().take(count).cloned().collect();
                    steps.extend(moves.first().map(|it| call(it, moment)));
                    search.differ(&steps)
                }),
            };
            if found.is_some() {
                return found;
            }
        }
    }
    None
}
