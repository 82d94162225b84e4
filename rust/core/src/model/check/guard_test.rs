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
        // fixtures alone are no run, and are there for the other tests of the file
        (None, None) if clean && (spec.fixtures.is_none() || spec.expect.is_some()) => {
            let fault = Fault::key(codes::MISSING_KEY, at.clone(), "`spec` lacks the run: the key `trace` or `steps`");
            faults.push(fault.hint("add `trace:` with a file, or `steps:`"));
        }
        _ => {}
    }
    for (name, steps) in spec.fixtures.iter().flat_map(|fixtures| fixtures.iter()) {
        for (index, step) in steps.iter().enumerate() {
            check_step(step, &at.key("fixtures").key(name).index(index), clean, faults);
        }
    }
    for (index, step) in spec.steps.iter().flatten().enumerate() {
        check_step(step, &at.key("steps").index(index), clean, faults);
    }
    if let Some(expect) = &spec.expect {
        spans(expect, &at.key("expect"), faults);
    }
}

fn check_step(step: &Step, at: &Pointer, clean: bool, faults: &mut Vec<Fault>) {
    if step.r#use.is_some() {
        if let Some(key) = beside_use(step) {
            let message = format!("`{key}` says nothing beside `use`: the steps of the fixture say it themselves");
            let fault = Fault::key(codes::CONTRADICTING_KEYS, at.key(key), message);
            faults.push(
                fault.related(at.key("use"), "the fixture").hint("write it into the fixture, or a step of its own"),
            );
        }
        return;
    }
    if step.time.is_some() && step.wait.is_some() {
        let message = "`time` and `wait` exclude each other: the step ends at a time, or begins after a wait";
        let fault = Fault::key(codes::CONTRADICTING_KEYS, at.key("wait"), message);
        faults.push(fault.related(at.key("time"), "when it ends").hint("take one of them out"));
    }
    match (&step.tool, step.event) {
        (Some(_), Some(_)) => {
            let fault =
                Fault::key(codes::CONTRADICTING_KEYS, at.key("event"), "a step is a call or an event, not both");
            faults.push(fault.related(at.key("tool"), "the call").hint("write two steps"));
        }
        (None, None) if clean => {
            let fault = Fault::key(codes::MISSING_KEY, at.clone(), "the step lacks the key `tool`, `event` or `use`");
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

/// A key of a step that stands for those of a fixture, and that only steps of their own can have.
fn beside_use(step: &Step) -> Option<&'static str> {
    // every key is named, so that a new one is thought of here
    let Step {
        r#use: _,
        times: _,
        tool,
        arguments,
        result,
        error,
        is_error,
        result_digest,
        result_truncated,
        round,
        time,
        wait,
        duration,
        session,
        task,
        agent,
        tokens,
        cost,
        call_id,
        hints,
        event,
        by,
        expect,
    } = step;
    let keys = [
        ("tool", tool.is_some()),
        ("arguments", arguments.is_some()),
        ("result", result.0.is_some()),
        ("error", error.is_some()),
        ("is_error", is_error.is_some()),
        ("result_digest", result_digest.is_some()),
        ("result_truncated", result_truncated.is_some()),
        ("round", round.is_some()),
        ("time", time.is_some()),
        ("wait", wait.is_some()),
        ("duration", duration.is_some()),
        ("session", session.is_some()),
        ("task", task.is_some()),
        ("agent", agent.is_some()),
        ("tokens", tokens.is_some()),
        ("cost", cost.is_some()),
        ("call_id", call_id.is_some()),
        ("hints", hints.is_some()),
        ("event", event.is_some()),
        ("by", by.is_some()),
        ("expect", expect.is_some()),
    ];
    keys.into_iter().find_map(|(key, there)| there.then_some(key))
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
