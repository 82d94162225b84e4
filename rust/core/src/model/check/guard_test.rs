//! What a policy test says that cannot be meant.
use super::{manifest, policy, Stage};
use crate::model::codes;
use crate::model::fault::{Fault, Pointer};
use crate::model::guard_test::{ManifestRef, PolicyRef, RunExpectation, Step, StepEvent, TestSpec};

pub(super) fn check(spec: &TestSpec, at: &Pointer, clean: bool, faults: &mut Vec<Fault>) {
    if let Some(PolicyRef::Inline(inline)) = &spec.policy {
        policy::check(inline, &at.key("policy"), Stage::Layer, clean, faults);
    }
    for (index, reference) in spec.manifests.iter().flatten().enumerate() {
        if let ManifestRef::Inline(inline) = reference {
            manifest::check(inline, &at.key("manifests").index(index), faults);
        }
    }
    match (&spec.trace, &spec.steps) {
        (Some(_), Some(_)) => {
            let message = "`trace` and `steps` exclude each other: the run is one or the other";
            let fault = Fault::key(codes::CONTRADICTING_KEYS, at.key("steps"), message);
            faults.push(fault.related(at.key("trace"), "the run as a file").hint("take one of them out"));
        }
        (None, None) if clean => {
            let fault = Fault::key(codes::MISSING_KEY, at.clone(), "`spec` lacks the run: the key `trace` or `steps`");
            faults.push(fault.hint("add `trace:` with a file, or `steps:`"));
        }
        _ => {}
    }
    for (index, step) in spec.steps.iter().flatten().enumerate() {
        check_step(step, &at.key("steps").index(index), clean, faults);
    }
    if let Some(expect) = &spec.expect {
        spans(expect, &at.key("expect"), faults);
    }
}

fn check_step(step: &Step, at: &Pointer, clean: bool, faults: &mut Vec<Fault>) {
    match (&step.tool, step.event) {
        (Some(_), Some(_)) => {
            let fault =
                Fault::key(codes::CONTRADICTING_KEYS, at.key("event"), "a step is a call or an event, not both");
            faults.push(fault.related(at.key("tool"), "the call").hint("write two steps"));
        }
        (None, None) if clean => {
            let fault = Fault::key(codes::MISSING_KEY, at.clone(), "the step lacks the key `tool` or `event`");
            faults.push(fault.hint("add `tool:` for a call"));
        }
        (None, Some(StepEvent::Approved | StepEvent::Denied)) if clean && step.call_id.is_none() => {
            let fault =
                Fault::key(codes::MISSING_KEY, at.clone(), "the step lacks the key `call_id`: which call it is about");
            faults.push(fault.hint("add `call_id:`"));
        }
        _ => {}
    }
}

fn spans(expect: &RunExpectation, at: &Pointer, faults: &mut Vec<Fault>) {
    let spans = [
        ("first_note", &expect.first_note),
        ("first_intervention", &expect.first_intervention),
        ("stop", &expect.stop),
    ];
    for (key, span) in spans {
        let bounds = span.as_ref().and_then(|span| span.from.zip(span.by));
        if let Some((from, by)) = bounds.filter(|(from, by)| from > by) {
            let message = format!("`from` is {}, after `by`, which is {}", from.get(), by.get());
            let fault = Fault::value(codes::CONTRADICTING_KEYS, at.key(key).key("from"), message);
            faults.push(fault.related(at.key(key).key("by"), "the end"));
        }
    }
}
