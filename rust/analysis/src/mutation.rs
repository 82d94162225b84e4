//! Mutation: policies with one small mistake each, judged over the runs of the policy's tests, on a few threads.
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use callgate_core::compile::{compile, exception, ManifestDocument};
use callgate_core::guard::{Bound, Guard};
use callgate_core::model::{Pointer, Segment};
use callgate_core::policy::{Binding, Match, Policy};
use callgate_core::replay::Replay;
use callgate_core::trace::Record;
use callgate_core::About;
use callgate_value::{to_json, Map, Value};

/// Tasks that are open at once.
const OPEN: usize = 65_536;

/// The run of a test: lines of a trace, and whom it is done for.
#[derive(Clone, Debug)]
pub struct Run {
    /// Whole lines.
    pub lines: Vec<u8>,
    /// Whom it is done for.
    pub about: About,
}

/// Whom a policy applies to.
#[derive(Clone, Debug)]
pub struct Scope {
    /// The binding's name.
    pub binding: String,
    /// Whom it names.
    pub matching: Match,
    /// Whether it is a rollout.
    pub rollout: bool,
}

/// A policy that tests are judged by.
#[derive(Clone, Debug)]
pub struct Part {
    /// The resolved policy, with a binding's mode and parameters.
    pub document: Value,
    /// The manifests in force.
    pub manifests: Vec<ManifestDocument>,
    /// GuardException documents.
    pub exceptions: Vec<Value>,
    /// Whom it applies to; none: everyone.
    pub scope: Option<Scope>,
}

/// Tests that are judged by one policy, or by several that are bound.
#[derive(Clone, Debug)]
pub struct Suite {
    /// The policies.
    pub parts: Vec<Part>,
    /// The runs.
    pub runs: Vec<Run>,
}

/// A change of one value.
#[derive(Clone, Debug)]
pub struct Edit {
    /// The policy of the suite.
    pub part: usize,
    /// The manifest at this position; none: the policy.
    pub manifest: Option<usize>,
    /// Where.
    pub pointer: Pointer,
    /// What stands there instead; none: nothing.
    pub value: Option<Value>,
}

/// What a policy makes of a run.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The decisions, as values.
    pub rows: Vec<Value>,
    /// How the tasks ended.
    pub endings: Vec<Value>,
}

impl Judged {
    fn text(&self) -> String {
        let told: Vec<String> = self.rows.iter().chain(&self.endings).map(to_json).collect();
        told.join("\n")
    }
}

/// What came of a mutant.
#[derive(Clone, Debug)]
pub enum Fate {
    /// It does not compile, or is what it was.
    Void,
    /// It was judged: for each suite in which it shows its policy, and the runs that come out otherwise.
    Judged(Vec<Differing>),
}

/// The runs of a suite that a mutant judges otherwise.
#[derive(Clone, Debug)]
pub struct Differing {
    /// The suite.
    pub suite: usize,
    /// The mutated policy.
    pub guard: Arc<Guard>,
    /// Position and outcome of the runs that differ.
    pub runs: Vec<(usize, Judged)>,
}

/// Judges every mutant over the runs of the suites that it changes, until so many come out otherwise as are `enough`.
/// `mutants` are edits by suite; at most two threads are used.
#[must_use]
pub fn try_out(suites: &[Suite], mutants: &[BTreeMap<usize, Vec<Edit>>], enough: usize, threads: usize) -> Vec<Fate> {
    let known: Vec<Option<Vec<String>>> = suites
        .iter()
        .map(|suite| {
            let guard = compiled(&suite.parts)?;
            Some(suite.runs.iter().map(|run| judged(&guard, run).text()).collect())
        })
        .collect();
    let next = AtomicUsize::new(0);
    let fates: Mutex<Vec<Option<Fate>>> = Mutex::new(vec![None; mutants.len()]);
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, 2) {
            scope.spawn(|| loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(mutant) = mutants.get(at) else { return };
                let fate = one(suites, &known, mutant, enough);
                let mut fates = fates.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(place) = fates.get_mut(at) {
                    *place = Some(fate);
                }
            });
        }
    });
    let fates = fates.into_inner().unwrap_or_else(PoisonError::into_inner);
    fates.into_iter().map(|fate| fate.unwrap_or(Fate::Void)).collect()
}

fn one(suites: &[Suite], known: &[Option<Vec<String>>], mutant: &BTreeMap<usize, Vec<Edit>>, enough: usize) -> Fate {
    let mut found = Vec::new();
    let mut left = enough;
    for (at, edits) in mutant {
        let (Some(suite), Some(Some(known))) = (suites.get(*at), known.get(*at)) else { continue };
        let parts: Vec<Part> = suite.parts.iter().enumerate().map(|(at, part)| edited(part, at, edits)).collect();
        if suite.parts.iter().zip(&parts).all(|(part, mutant)| is_same(part, mutant)) {
            continue;
        }
        let Some(guard) = compiled(&parts) else { return Fate::Void };
        let runs = suite.runs.iter().zip(known).enumerate().filter_map(|(position, (run, known))| {
            let now = judged(&guard, run);
            (now.text() != *known).then_some((position, now))
        });
        let runs: Vec<_> = runs.take(left).collect();
        if runs.is_empty() && is_alike(suite, &guard) {
            continue;
        }
        left = left.saturating_sub(runs.len());
        found.push(Differing { suite: *at, guard, runs });
    }
    if found.is_empty() && !mutant.is_empty() {
        return Fate::Void;
    }
    Fate::Judged(found)
}

/// Whether a mutant compiles to what the policy compiles to: a note above a refusal, say, comes with the refusal all the same.
fn is_alike(suite: &Suite, mutant: &Arc<Guard>) -> bool {
    let told = |guard: &Guard| {
        let policies = guard.policies().map(|policy| Policy { digest: String::new(), ..policy.clone() });
        policies.map(|policy| format!("{policy:?}")).collect::<Vec<_>>()
    };
    compiled(&suite.parts).is_some_and(|guard| told(&guard) == told(mutant))
}

fn is_same(part: &Part, mutant: &Part) -> bool {
    let equal = |one: &Value, other: &Value| to_json(one) == to_json(other);
    let mut manifests = part.manifests.iter().zip(&mutant.manifests);
    equal(&part.document, &mutant.document) && manifests.all(|(one, other)| equal(&one.document, &other.document))
}

/// The policies as they judge together; none if one of them does not compile.
pub(crate) fn compiled(parts: &[Part]) -> Option<Arc<Guard>> {
    if let [part @ Part { scope: None, .. }] = parts {
        return Some(Arc::new(Guard::alone(policy(part)?)));
    }
    let bound = parts.iter().map(|part| {
        let (mut policy, scope) = (policy(part)?, part.scope.clone()?);
        let (name, of): (Arc<str>, Arc<str>) = (scope.binding.into(), policy.name.as_str().into());
        policy.binding = Some(Binding { name, policy: of, mode: policy.mode, rollout: scope.rollout });
        Some(Bound { policy, matching: scope.matching })
    });
    Some(Arc::new(Guard::of(bound.collect::<Option<Vec<_>>>()?)))
}

fn policy(part: &Part) -> Option<Policy> {
    let policy: Policy = compile(&part.document, &part.manifests).0?;
    let lifted: Vec<_> = part.exceptions.iter().filter_map(|document| exception(document).ok()).collect();
    Some(if lifted.is_empty() { policy } else { policy.with_exceptions(&part.exceptions, lifted) })
}

pub(crate) fn judged(guard: &Arc<Guard>, run: &Run) -> Judged {
    let mut replay = Replay::new(Arc::clone(guard), run.about.clone(), OPEN, true);
    for line in run.lines.split(|byte| *byte == b'\n').filter(|line| !line.iter().all(u8::is_ascii_whitespace)) {
        // a line that cannot be judged is skipped, as it was before
        let _ = Record::from_line(line).and_then(|record| replay.feed(record));
    }
    replay.finish();
    let rows = replay.take_rows().iter().map(callgate_core::replay::Row::to_value).collect();
    Judged { rows, endings: replay.take_endings() }
}

/// A policy, which is the one at this position of its suite, after some edits.
pub(crate) fn edited(part: &Part, at: usize, edits: &[Edit]) -> Part {
    let mut mutant = part.clone();
    for edit in edits.iter().filter(|edit| edit.part == at) {
        let place = match edit.manifest {
            None => Some(&mut mutant.document),
            Some(position) => mutant.manifests.get_mut(position).map(|manifest| &mut manifest.document),
        };
        if let Some(place) = place {
            *place = put(place, &edit.pointer.0, edit.value.as_ref());
        }
    }
    mutant
}

/// A value with another one at some steps below it, or none there.
fn put(whole: &Value, steps: &[Segment], value: Option<&Value>) -> Value {
    let Some((step, rest)) = steps.split_first() else { return value.cloned().unwrap_or(Value::Null) };
    let removes = rest.is_empty() && value.is_none();
    match (whole, step) {
        (Value::Map(map), Segment::Key(key)) => {
            let mut entries = Vec::new();
            for (name, inner) in map.iter() {
                if name.as_str() != Some(key) {
                    entries.push((name.clone(), inner.clone()));
                } else if !removes {
                    entries.push((name.clone(), put(inner, rest, value)));
                }
            }
            Map::new(entries).map_or_else(|_| whole.clone(), Value::Map)
        }
        (Value::List(items), Segment::Index(position)) => {
            let kept = items.iter().enumerate().filter(|(at, _)| !(removes && at == position));
            let changed = kept.map(|(at, item)| if at == *position { put(item, rest, value) } else { item.clone() });
            Value::List(changed.collect())
        }
        _ => whole.clone(),
    }
}
