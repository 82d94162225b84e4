//! `spec.detectors`: the thresholds of the policy, and of each tool after `for` has had its say.
use std::sync::Arc;

use callgate_value::{Map, Text, Value};
use rustc_hash::FxHashMap;

use super::{at, needs, Faults, Place};
use crate::model::detectors::{self as written, ToolDetectors};
use crate::model::numbers::Share;
use crate::model::policy::PolicySpec;
use crate::model::{codes, Fault, Model, Reader};
use crate::policy::{Cycle, Detectors, Diversity, ExactRepeat, NoGain, Oscillation, Rungs};

/// The windows' length where no layer writes one.
const WINDOW: u64 = 50;
/// `cycle`, where its keys are left out.
const MAX_PERIOD: u64 = 8;
const LAPS: u64 = 3;

/// The thresholds of a policy, ready to be asked for each tool.
pub(crate) struct Thresholds {
    /// `spec.detectors` as data, without `window` and `for`.
    base: Vec<(Text, Value)>,
    /// `spec.detectors.for` as data.
    special: Vec<(String, Value)>,
    pub(crate) general: Arc<Detectors>,
    pub(crate) window: usize,
    /// Whether the policy says what its tasks have to find out.
    needs: bool,
}

impl Thresholds {
    pub(crate) fn of(document: &Value, spec: &PolicySpec, faults: &mut Faults) -> Self {
        let block = document.get("spec").and_then(|spec| spec.get("detectors")).and_then(Value::as_map);
        let entries = |map: &Map| map.iter().map(|(key, value)| (key.clone(), value.clone())).collect::<Vec<_>>();
        let mut base = block.map(entries).unwrap_or_default();
        base.retain(|(key, _)| !matches!(key.as_str(), Some("window" | "for")));
        let special = block.and_then(|block| block.get("for")).and_then(Value::as_map);
        let special = special.map(entries).unwrap_or_default();
        let special = special.into_iter().map(|(name, value)| (name.to_lossy().into_owned(), value)).collect();
        let needs = needs::are_declared(spec);
        let general = compiled(&base, needs).unwrap_or_default();
        let towards = spec.detectors.as_ref().and_then(|it| it.no_gain.as_ref()).and_then(|it| it.towards);
        if towards == Some(written::Towards::Needs) && !needs {
            let place = at(&["spec", "detectors", "no_gain", "towards"]);
            let fault = Fault::value(
                codes::CONTRADICTING_KEYS,
                place,
                "`towards: needs` needs `needs`: what the task has to find out",
            );
            faults.add(Place::Policy, fault.hint("declare `needs`, or leave `towards` out"));
        }
        let window = spec.detectors.as_ref().and_then(|it| it.window).map_or(WINDOW, |window| window.get());
        let effect = spec.detectors.as_ref().and_then(|it| it.repeated_effect.as_ref());
        if effect.is_some_and(|effect| effect.cool_down.is_some()) {
            let pointer = at(&["spec", "detectors", "repeated_effect", "cool_down"]);
            faults.not_yet(Place::Policy, &pointer, "a `cool_down` of effects that have taken place");
        }
        Self { base, special, general: Arc::new(general), window: usize::try_from(window).unwrap_or(usize::MAX), needs }
    }

    /// The thresholds for a tool: its own over those of its groups, in their order, over the policy's.
    pub(crate) fn for_tool(&self, name: &str, groups: &[Arc<str>]) -> Arc<Detectors> {
        let mut merged: Option<Vec<(Text, Value)>> = None;
        let names = groups.iter().rev().map(|group| &**group).chain([name]);
        for name in names {
            for (_, over) in self.special.iter().filter(|(have, _)| have == name) {
                let under = merged.take().unwrap_or_else(|| self.base.clone());
                merged = Some(overlay(under, over));
            }
        }
        match merged.and_then(|merged| compiled(&merged, self.needs)) {
            Some(own) => Arc::new(own),
            None => Arc::clone(&self.general),
        }
    }

    /// The thresholds of tools that no manifest declares and `for` names.
    pub(crate) fn blind_by_name(&self, is_declared: impl Fn(&str) -> bool) -> FxHashMap<String, Arc<Detectors>> {
        let names = self.special.iter().map(|(name, _)| name).filter(|name| !is_declared(name));
        names.map(|name| (name.clone(), Arc::new(self.for_tool(name, &[]).blind()))).collect()
    }

    /// Names under `for` that are neither a tool nor a group.
    pub(crate) fn check_names(&self, known: &[&str], faults: &mut Faults) {
        for (name, _) in self.special.iter().filter(|(name, _)| !known.contains(&name.as_str())) {
            let message = format!("`{name}` is no tool or group of the manifests in force");
            let fault = Fault::key(codes::UNDECLARED_NAME, at(&["spec", "detectors", "for", name]), message);
            faults.undeclared(fault, name, known);
        }
    }
}

/// `over` laid upon `under`, key by key; null takes a key away.
fn overlay(mut under: Vec<(Text, Value)>, over: &Value) -> Vec<(Text, Value)> {
    let Some(over) = over.as_map() else { return under };
    for (key, value) in over.iter() {
        let place = under.iter_mut().find(|(have, _)| have == key);
        match (value, place) {
            (Value::Null, _) => under.retain(|(have, _)| have != key),
            (Value::Map(_), Some((_, have))) if have.as_map().is_some() => {
                let inner = have.as_map().map(|map| map.iter().map(|(k, v)| (k.clone(), v.clone())).collect());
                let laid = overlay(inner.unwrap_or_default(), value);
                *have = Map::new(laid).map_or(Value::Null, Value::Map);
            }
            (_, Some((_, have))) => *have = value.clone(),
            (_, None) => under.push((key.clone(), value.clone())),
        }
    }
    under
}

fn compiled(entries: &[(Text, Value)], needs: bool) -> Option<Detectors> {
    let map = Map::new(entries.to_vec()).ok()?;
    let mut reader = Reader::default();
    ToolDetectors::read(&Value::Map(map), &mut reader).map(|written| thresholds(&written, needs))
}

fn rungs(written: written::Rungs) -> Rungs {
    let written::Rungs { note_after, refuse_after, exit_after, cool_down } = written;
    // a refusal below an inherited note pulls the note down
    let note_after = match (note_after, refuse_after) {
        (Some(note), Some(refuse)) => Some(note.min(refuse)),
        (note, _) => note,
    };
    Rungs { note_after, refuse_after, exit_after, cool_down }
}

fn share(value: Option<Share>, default: f64) -> f64 {
    value.map_or(default, |share| share.0)
}

fn thresholds(written: &ToolDetectors, needs: bool) -> Detectors {
    macro_rules! plain {
        ($field:ident) => {
            written.$field.as_ref().map(|it| rungs(it.rungs()))
        };
    }
    let cycle = written.cycle.as_ref();
    let max_period = cycle.and_then(|it| it.max_period).map_or(MAX_PERIOD, |period| period.get());
    let max_period = usize::try_from(max_period).unwrap_or(usize::MAX);
    let seconds = |duration: crate::model::times::Duration| duration.seconds();
    Detectors {
        consecutive: plain!(consecutive),
        exact_repeat: written.exact_repeat.as_ref().map(|it| ExactRepeat {
            rungs: rungs(it.rungs()),
            sufficient_reads: it.sufficient_reads.as_ref().and_then(|it| it.refuse_after).map(|after| after.get()),
        }),
        frequency: plain!(frequency),
        cycle: cycle.map(|it| Cycle {
            max_period,
            laps: it.laps.map_or(LAPS, |laps| laps.get()),
            mismatches: it.mismatches.map_or(0, |most| usize::try_from(most.get()).unwrap_or(usize::MAX)),
            cool_down: it.cool_down.map(seconds),
        }),
        oscillation: written.oscillation.as_ref().map(|it| Oscillation {
            arguments_at_most: share(it.arguments_at_most, 0.34),
            known_records: share(it.known_records, 0.8),
            rungs: rungs(it.rungs()),
        }),
        same_error: plain!(same_error),
        transient_after: written.same_error.as_ref().and_then(|it| it.transient_after).map(|after| after.get()),
        same_result: plain!(same_result),
        no_gain: written.no_gain.as_ref().map(|it| {
            let rungs = rungs(it.rungs());
            // its exit looks at the whole task
            let towards_needs = it.towards.map_or(needs, |towards| towards == written::Towards::Needs) && needs;
            NoGain { rungs: Rungs { exit_after: None, ..rungs }, exit_after: rungs.exit_after, towards_needs }
        }),
        empty_streak: plain!(empty_streak),
        state_oscillation: plain!(state_oscillation),
        transfer_streak: plain!(transfer_streak),
        transfer_cycle: written.transfer_cycle.as_ref().map(|it| Cycle {
            max_period,
            laps: it.laps.map_or(LAPS, |laps| laps.get()),
            mismatches: 0,
            cool_down: it.cool_down.map(seconds),
        }),
        diversity: written.diversity.as_ref().map(|it| Diversity {
            min_calls: it.min_calls.map_or(1, |calls| usize::try_from(calls.get()).unwrap_or(usize::MAX)),
            note_below: it.note_below.map(|share| share.0),
            refuse_below: it.refuse_below.map(|share| share.0),
            entropy_note_below: it.entropy_note_below.map(|bits| bits.0),
        }),
        unknown_tool: plain!(unknown_tool),
        invalid_arguments: plain!(invalid_arguments),
        repeated_effect: plain!(repeated_effect),
        denied: plain!(denied),
    }
}
