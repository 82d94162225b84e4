//! Ladders that contradict themselves, windows that are too short, detectors that only ever note.
use super::Stage;
use crate::counted::counted;
use crate::model::codes;
use crate::model::detectors::{Detectors, Rungs, ToolDetectors};
use crate::model::fault::{Fault, Pointer};

/// Detectors that are evidence by default: that they only note is what they are for.
const EVIDENCE: &[&str] = &["consecutive", "frequency"];

pub(super) fn check(detectors: &Detectors, at: &Pointer, stage: Stage, faults: &mut Vec<Fault>) {
    let window = detectors.window.map(|window| (window.get(), at.key("window")));
    one_set(&detectors.general(), at, window.as_ref(), stage, faults);
    for (name, thresholds) in detectors.r#for.iter().flat_map(|named| named.iter()) {
        // what only notes for one tool may refuse by the thresholds above: only the general set is looked at for that
        let set_at = at.key("for").key(name);
        one_set(thresholds, &set_at, window.as_ref(), Stage::Layer, faults);
    }
}

/// Whether some detector notes, and none ever does more; what only notes by mistake has its own fault.
pub(super) fn only_evidence(detectors: &Detectors) -> bool {
    let general = detectors.general();
    let named = detectors.r#for.iter().flat_map(|named| named.iter()).map(|(_, set)| set);
    let (mut notes, mut more) = (false, false);
    for set in std::iter::once(&general).chain(named) {
        for (name, rungs) in set.with_rungs() {
            notes |= rungs.note_after.is_some() && EVIDENCE.contains(&name);
            more |= rungs.refuse_after.is_some() || rungs.exit_after.is_some();
            more |= rungs.note_after.is_some() && !EVIDENCE.contains(&name);
        }
        if let Some(diversity) = &set.diversity {
            notes |= diversity.note_below.is_some();
            more |= diversity.refuse_below.is_some();
        }
    }
    notes && !more
}

type Window = (u64, Pointer);

fn one_set(set: &ToolDetectors, at: &Pointer, window: Option<&Window>, stage: Stage, faults: &mut Vec<Fault>) {
    for (name, rungs) in set.with_rungs() {
        let place = at.key(name);
        match stage {
            Stage::Layer => ladder(name, rungs, &place, faults),
            Stage::Resolved => warn_only(name, rungs, &place, faults),
        }
        if name == "frequency" {
            let counts = [
                ("note_after", rungs.note_after),
                ("refuse_after", rungs.refuse_after),
                ("exit_after", rungs.exit_after),
            ];
            for (rung, count) in counts {
                short_window(count, &place.key(rung), window, faults);
            }
        }
    }
    let Some(diversity) = &set.diversity else { return };
    let place = at.key("diversity");
    short_window(diversity.min_calls.map(|calls| calls.get()), &place.key("min_calls"), window, faults);
    if let (Stage::Layer, Some(note), Some(refuse)) = (stage, diversity.note_below, diversity.refuse_below) {
        if refuse > note {
            let message = "`note_below` of `diversity` is never reached: it refuses at a larger share already";
            let fault = Fault::value(codes::UNREACHABLE_RUNG, place.key("note_below"), message);
            let fault = fault.related(place.key("refuse_below"), format!("refuses below {}", refuse.get()));
            faults.push(fault.hint(format!("write `note_below` at least {}", refuse.get())));
        }
    }
}

/// A rung stands above the one that ends the climb: nobody ever gets there.
fn ladder(name: &str, rungs: Rungs, at: &Pointer, faults: &mut Vec<Fault>) {
    let steps = [
        ("note_after", rungs.note_after, "notes"),
        ("refuse_after", rungs.refuse_after, "refuses"),
        ("exit_after", rungs.exit_after, "exits"),
    ];
    for (place, (rung, count, _)) in steps.iter().enumerate() {
        let Some(count) = count else { continue };
        let later = steps.iter().skip(place.saturating_add(1));
        let blocking = later.filter_map(|(other, limit, does)| Some((*other, (*limit)?, *does)));
        if let Some((other, limit, does)) = blocking.into_iter().find(|(_, limit, _)| limit < count) {
            let message = format!("`{rung}` of `{name}` is never reached: it {does} after {limit} already");
            let fault = Fault::value(codes::UNREACHABLE_RUNG, at.key(rung), message);
            let fault = fault.related(at.key(other), format!("{does} after {limit}"));
            faults.push(fault.hint(format!("write `{rung}` at most {limit}, or `{other}` at least {count}")));
        }
    }
}

fn warn_only(name: &str, rungs: Rungs, at: &Pointer, faults: &mut Vec<Fault>) {
    let only_notes = rungs.note_after.is_some() && rungs.refuse_after.is_none() && rungs.exit_after.is_none();
    if only_notes && !EVIDENCE.contains(&name) {
        let message = format!("`{name}` only ever notes: a model that ignores notes runs on");
        let fault = Fault::key(codes::WARN_ONLY, at.clone(), message).warning();
        faults.push(fault.hint("add `refuse_after`"));
    }
}

fn short_window(count: Option<u64>, at: &Pointer, window: Option<&Window>, faults: &mut Vec<Fault>) {
    if let (Some(count), Some((window, window_at))) = (count, window) {
        if count > *window {
            let message =
                format!("the window holds {}, so {count} of them are never reached", counted(window, "observation"));
            let fault = Fault::value(codes::SHORT_WINDOW, at.clone(), message);
            let fault = fault.related(window_at.clone(), format!("the window is {window}"));
            faults.push(fault.hint(format!("write at most {window}, or a `window` of at least {count}")));
        }
    }
}
