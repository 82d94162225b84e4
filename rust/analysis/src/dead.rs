//! What is proved never to fire: errors, found without playing anything.
use callgate_cel::{Claim, Place, Root, Scalar};
use callgate_core::compile::{Located, ManifestDocument, Place as Document};
use callgate_core::model::{codes, Fault, Pointer, Segment};
use callgate_core::policy::{Effect, Phase, Policy, Rule, RuleEffect};
use callgate_core::Action;
use callgate_value::{Map, Value};

use crate::caller::{forms_differ, schema_of};
use crate::claims::Claims;
use crate::clash::clash;
use crate::detectors::{cannot_feed, rungs};
use crate::domain::{self, Domain};

pub(crate) fn at(steps: &[&str]) -> Pointer {
    Pointer(steps.iter().map(|step| Segment::Key((*step).to_owned())).collect())
}

/// The rules and limits of a compiled policy that can never fire, and rules that never decide anything.
///
/// `document` is the resolved policy and `manifests` are those in force, the same that the policy was compiled from.
#[must_use]
pub fn dead(policy: &Policy, document: &Value, manifests: &[ManifestDocument]) -> Vec<Located> {
    let mut found = Vec::new();
    for (index, rule) in policy.rules.iter().enumerate() {
        let place = at(&["spec", "rules"]).index(index);
        if let Some(why) = undeclared(policy, rule) {
            let message = format!("the rule `{}` never fires: {why}", rule.id);
            let fault = Fault::value(codes::NEVER_FIRES, place.key("tools"), message);
            let hint = "declare the tool in a manifest in force, or name another";
            found.push(Located { place: Document::Policy, fault: fault.hint(hint) });
        } else if let Some(why) = contradicts(policy, manifests, rule) {
            let message = format!("the rule `{}` never fires: {why}", rule.id);
            let fault = Fault::value(codes::NEVER_FIRES, place.key("when"), message);
            found.push(Located {
                place: Document::Policy,
                fault: fault.hint("mend its condition, or leave the rule out"),
            });
        } else if let Some(earlier) = shadow(policy, index) {
            let message =
                format!("the rule `{}` never decides: `{}` holds every call that it is about", rule.id, earlier);
            let mut fault = Fault::key(codes::SHADOWED_RULE, place.clone(), message).warning();
            if let Some(other) = policy.rules.iter().position(|rule| rule.id == earlier) {
                fault = fault.related(at(&["spec", "rules"]).index(other), "this one");
            }
            found.push(Located { place: Document::Policy, fault: fault.hint("make the earlier one narrower") });
        } else if !says_always(document, index) && never_false(policy, manifests, rule) {
            let message = format!("the rule `{}` matches every call: its condition is never false", rule.id);
            let fault = Fault::value(codes::ALWAYS_MATCHES, place.key("when"), message).warning();
            let hint = "mend its condition, or write `when: \"true\"` if every call is meant";
            found.push(Located { place: Document::Policy, fault: fault.hint(hint) });
        }
    }
    let faults = limits(policy, document).into_iter().chain(unfed(policy, document));
    found.extend(faults.map(|fault| Located { place: Document::Policy, fault }));
    found
}

/// All tools of a rule are unknown, and unknown tools never run nor are judged by their arguments alone.
fn undeclared(policy: &Policy, rule: &Rule) -> Option<String> {
    if !policy.refuse_undeclared || policy.tools.is_empty() || rule.tools.is_empty() {
        return None;
    }
    if rule.tools.iter().any(|name| policy.tools.contains_key(name)) {
        return None;
    }
    let names: Vec<String> = rule.tools.iter().map(|name| format!("`{name}`")).collect();
    let tool = if names.len() == 1 { "is a tool" } else { "are tools" };
    Some(format!("{} {tool} that no manifest in force declares, and such calls are refused", names.join(", ")))
}

/// The condition contradicts itself for every tool that the rule is about.
fn contradicts(policy: &Policy, manifests: &[ManifestDocument], rule: &Rule) -> Option<String> {
    let condition = Claims { policy, with_params: false }.of(&rule.when, true);
    let mut why = None;
    let names: Vec<Option<&String>> = match rule.tools.as_slice() {
        [] => vec![None],
        names => names.iter().map(Some).collect(),
    };
    for name in names {
        let schema = name.and_then(|name| schema_of(manifests, name));
        // a form may take other arguments than the tool itself
        let schema = schema.filter(|_| name.is_some_and(|name| !forms_differ(manifests, name)));
        why = Some(clash(&condition, &|place| known(place, name, schema, policy))?);
    }
    why
}

/// The author writes that every call is meant.
fn says_always(document: &Value, index: usize) -> bool {
    let rules = document.get("spec").and_then(|spec| spec.get("rules")).and_then(Value::as_list);
    let when = rules.and_then(|rules| rules.get(index)).and_then(|rule| rule.get("when"));
    matches!(when, Some(Value::Bool(true))) || when.and_then(Value::as_str).is_some_and(|text| text.trim() == "true")
}

/// The condition cannot be false, whatever a call of any of the rule's tools brings. That a rule names its only tool in
/// its condition once more is no mistake: what a call's own tool is counts as unknown here.
fn never_false(policy: &Policy, manifests: &[ManifestDocument], rule: &Rule) -> bool {
    let denied = Claims { policy, with_params: false }.of(&rule.when, false);
    let names: Vec<Option<&String>> = match rule.tools.as_slice() {
        [] => vec![None],
        names => names.iter().map(Some).collect(),
    };
    names.into_iter().all(|name| {
        let schema = name.and_then(|name| schema_of(manifests, name));
        let schema = schema.filter(|_| name.is_some_and(|name| !forms_differ(manifests, name)));
        clash(&denied, &|place| domain::of(place, schema)).is_some()
    })
}

fn known(place: &Place, tool: Option<&String>, schema: Option<&Value>, policy: &Policy) -> Domain {
    let (Root::Variable(name), Some(tool)) = (&place.root, tool) else { return domain::of(place, schema) };
    let listed = |values: Vec<Scalar>| Domain { listed: Some(values), ..Domain::default() };
    if !place.steps.is_empty() || !place.through.is_empty() {
        return domain::of(place, schema);
    }
    match (&**name, policy.tools.get(tool)) {
        ("call.tool" | "tool.name", _) => listed(vec![Scalar::String(tool.as_str().into())]),
        ("tool.effect", Some(entry)) => {
            let forms = entry.forms.iter().map(|(_, form)| form.effect);
            let effects = forms.chain([entry.base.effect, entry.undecided.effect]);
            listed(effects.map(|effect| Scalar::String(word(effect).into())).collect())
        }
        _ => domain::of(place, schema),
    }
}

fn word(effect: Effect) -> &'static str {
    match effect {
        Effect::Read => "read",
        Effect::Write => "write",
        Effect::External => "external",
        Effect::Ui => "ui",
        Effect::Control => "control",
        Effect::Unknown => "unknown",
    }
}

/// An earlier rule that always holds the calls of this one, at least as strongly.
fn shadow(policy: &Policy, index: usize) -> Option<std::sync::Arc<str>> {
    let rule = policy.rules.get(index)?;
    let strength = |rule: &Rule| match rule.action {
        RuleEffect::Hold(action) => Some(action),
        _ => None,
    };
    let mine = strength(rule)?;
    let covers = |earlier: &&Rule| {
        let wider = earlier.tools.is_empty()
            || (!rule.tools.is_empty() && rule.tools.iter().all(|name| earlier.tools.contains(name)));
        let always = matches!(Claims { policy, with_params: false }.of(&earlier.when, false), Claim::Truth(false));
        earlier.phase == Phase::Admit
            && wider
            && always
            && strength(earlier).is_some_and(|action| action >= mine && action >= Action::Refuse)
    };
    let earlier = policy.rules.iter().take(index).find(covers)?;
    (rule.phase == Phase::Admit).then(|| std::sync::Arc::clone(&earlier.id))
}

/// Rungs that are written for certain tools, none of which can ever feed the detector.
fn unfed(policy: &Policy, document: &Value) -> Vec<Fault> {
    let special = document.get("spec").and_then(|spec| spec.get("detectors")).and_then(|block| block.get("for"));
    let mut found = Vec::new();
    for (name, thresholds) in special.and_then(Value::as_map).into_iter().flat_map(Map::iter) {
        let (Some(name), Some(thresholds)) = (name.as_str(), thresholds.as_map()) else { continue };
        let entries = policy.tools.values();
        let forms =
            entries.flat_map(|entry| entry.forms.iter().map(|(_, form)| form).chain([&entry.base, &entry.undecided]));
        let meant: Vec<_> =
            forms.filter(|tool| *tool.name == *name || tool.groups.iter().any(|group| **group == *name)).collect();
        if meant.is_empty() {
            continue;
        }
        for rung in rungs(thresholds) {
            let whys: Option<Vec<&str>> = meant.iter().map(|tool| cannot_feed(&rung.detector, tool)).collect();
            let Some(why) = whys.and_then(|whys| whys.first().copied()) else { continue };
            let message = format!("`{}` of `{}` is never reached by `{name}`: {why}", rung.key, rung.detector);
            let pointer = at(&["spec", "detectors", "for", name, &rung.detector, &rung.key]);
            let fault = Fault::value(codes::NEVER_FIRES, pointer, message);
            found.push(fault.hint("leave it out, or say in the manifest what the tool does"));
        }
    }
    found
}

/// Limits of one tool or group that the limit of all calls never lets anybody reach.
fn limits(policy: &Policy, document: &Value) -> Vec<Fault> {
    let budgets = &policy.budgets;
    let mut found = Vec::new();
    let spec = document.get("spec").and_then(|spec| spec.get("budgets"));
    let Some(most) = budgets.tool_calls else { return found };
    for (key, limits) in [("calls_per_tool", &budgets.calls_per_tool), ("calls_per_group", &budgets.calls_per_group)] {
        let written = spec.and_then(|budgets| budgets.get(key)).and_then(Value::as_map);
        for (name, _) in written.into_iter().flat_map(Map::iter) {
            let Some(name) = name.as_str() else { continue };
            // `*` is a net for whatever a layer above allows
            let Some(limit) = limits.get(name).filter(|limit| **limit > most && name != "*") else { continue };
            let calls = if *limit == 1.0 { "call" } else { "calls" };
            let message = format!("`{key}.{name}` is never reached: {limit} {calls}, of {most} in all");
            let fault = Fault::value(codes::NEVER_FIRES, at(&["spec", "budgets", key, name]), message);
            let fault = fault.related(at(&["spec", "budgets", "tool_calls"]), format!("{most} in all"));
            found.push(fault.hint(format!("write at most {most}, or allow more `tool_calls`")));
        }
    }
    if let Some(limit) = budgets.retries.filter(|limit| *limit >= most && *limit > 0.0) {
        let message = format!("`retries` is never reached: {limit} of them need more calls than the {most} in all");
        let fault = Fault::value(codes::NEVER_FIRES, at(&["spec", "budgets", "retries"]), message);
        let fault = fault.related(at(&["spec", "budgets", "tool_calls"]), format!("{most} in all"));
        found.push(fault.hint("write fewer, or allow more `tool_calls`"));
    }
    found
}
