//! What a policy's rules, needs and blocks say that cannot be meant.
use super::{budgets, detectors, locked, Stage};
use crate::model::codes;
use crate::model::fallback::{ExitAction, Need};
use crate::model::fault::{Fault, Pointer};
use crate::model::policy::{Mode, Phase, PolicySpec, Rule, RuleAction};
use crate::model::texts::Name;

/// Fields of a need.
const MOST_FIELDS: usize = 64;

pub(super) fn check(spec: &PolicySpec, at: &Pointer, stage: Stage, clean: bool, faults: &mut Vec<Fault>) {
    locked::check(spec.locked.as_deref().unwrap_or_default(), &at.key("locked"), faults);
    budgets::check(spec.budgets.as_ref(), spec.time.as_ref(), at, stage, clean, faults);
    if let Some(thresholds) = &spec.detectors {
        detectors::check(thresholds, &at.key("detectors"), stage, faults);
        if stage == Stage::Resolved && detectors::only_evidence(thresholds) && !some_rule_holds(spec) {
            let message = "nothing here ever refuses: a model that ignores notes runs on until a budget ends";
            let fault = Fault::key(codes::NOTHING_REFUSES, at.key("detectors"), message).warning();
            faults.push(fault.hint("add `refuse_after` to a detector, `exact_repeat` above all"));
        }
    }
    let whole = stage == Stage::Resolved || spec.extends.as_ref().is_none_or(Vec::is_empty);
    let rules = spec.rules.as_deref().unwrap_or_default();
    unique_ids(rules.iter().map(|rule| &rule.id), &at.key("rules"), "rule", faults);
    for (index, rule) in rules.iter().enumerate() {
        let place = at.key("rules").index(index);
        rule_phase(rule, &place, whole, faults);
        if stage == Stage::Resolved && clean {
            rule_is_whole(rule, &place, faults);
        }
    }
    let needs = spec.needs.as_deref().unwrap_or_default();
    unique_ids(needs.iter().map(|need| &need.id), &at.key("needs"), "need", faults);
    for (index, need) in needs.iter().enumerate() {
        need_fields(need, &at.key("needs").index(index), faults);
    }
    let then = spec.fallback.as_ref().and_then(|fallback| fallback.then.as_ref());
    for (key, action) in
        [("partial", then.and_then(|it| it.partial)), ("insufficient", then.and_then(|it| it.insufficient))]
    {
        if action == Some(ExitAction::Finish) {
            let place = at.key("fallback").key("then").key(key);
            let message = "a run that lacks something cannot end as if it had found all";
            let fault = Fault::value(codes::CLAIMED_FINISH, place, message);
            faults.push(fault.hint("write `finish_with_gaps`, which says what is missing, or `escalate`"));
        }
    }
}

/// Whether a rule does more than note, or the policy is there to note alone.
fn some_rule_holds(spec: &PolicySpec) -> bool {
    let notes_alone = spec.mode.is_some_and(|mode| mode != Mode::Enforce);
    let actions = spec.rules.iter().flatten().filter_map(|rule| rule.action);
    notes_alone || actions.into_iter().any(|action| action != RuleAction::Note)
}

/// Two entries of one list with the same id.
pub(super) fn unique_ids<'i>(ids: impl Iterator<Item = &'i Name>, at: &Pointer, noun: &str, faults: &mut Vec<Fault>) {
    let mut seen: Vec<&Name> = Vec::new();
    for (index, id) in ids.enumerate() {
        if let Some(first) = seen.iter().position(|have| *have == id) {
            let message = format!("another {noun} has the id `{}` already", id.as_str());
            let fault = Fault::value(codes::DUPLICATE_ID, at.index(index).key("id"), message);
            faults.push(fault.related(at.index(first).key("id"), "the first one"));
        }
        seen.push(id);
    }
}

fn rule_phase(rule: &Rule, at: &Pointer, whole: bool, faults: &mut Vec<Fault>) {
    let Some(action) = rule.action else { return };
    // a phase that a layer does not write may be inherited
    let Some(phase) = rule.phase.or(whole.then_some(Phase::Admit)) else { return };
    let allowed: &[RuleAction] = match phase {
        Phase::Admit => &[RuleAction::Note, RuleAction::Ask, RuleAction::Refuse, RuleAction::Stop],
        Phase::Observe => &[RuleAction::Note, RuleAction::Retry, RuleAction::Exit],
    };
    if !allowed.contains(&action) {
        let words: Vec<String> = allowed.iter().map(|action| format!("`{}`", action.as_str())).collect();
        let message = format!("a rule of phase `{}` cannot `{}`", phase.as_str(), action.as_str());
        let fault = Fault::value(codes::ACTION_OF_OTHER_PHASE, at.key("action"), message);
        let fault = if rule.phase.is_some() { fault.related(at.key("phase"), "its phase") } else { fault };
        faults.push(fault.hint(format!("in this phase: {}", words.join(", "))));
    }
}

fn rule_is_whole(rule: &Rule, at: &Pointer, faults: &mut Vec<Fault>) {
    for (key, written) in [("when", rule.when.is_some()), ("action", rule.action.is_some())] {
        if !written {
            let message = format!("the rule `{}` lacks the key `{key}`", rule.id.as_str());
            let fault = Fault::key(codes::MISSING_KEY, at.clone(), message);
            faults.push(
                fault.hint("no layer writes it: add it here, or check the id of the rule that this was to change"),
            );
        }
    }
}

fn need_fields(need: &Need, at: &Pointer, faults: &mut Vec<Fault>) {
    let fields = &need.fields;
    if fields.is_empty() {
        let message = format!("the need `{}` has no `fields`, and so asks for nothing", need.id.as_str());
        faults.push(Fault::value(codes::SENSELESS_VALUE, at.key("fields"), message));
        return;
    }
    if fields.len() > MOST_FIELDS {
        let message = format!("{} fields are more than the {MOST_FIELDS} that a need can have", fields.len());
        faults.push(Fault::value(codes::OUT_OF_RANGE, at.key("fields"), message));
    }
    let many = need.min_records.is_some_and(|records| records.get() > 1);
    if many && need.key.as_ref().is_none_or(Vec::is_empty) {
        let message = "`min_records` above 1 needs `key`: by what records are told apart";
        let fault = Fault::value(codes::CONTRADICTING_KEYS, at.key("min_records"), message);
        faults.push(fault.hint("add `key`, as in key: [supplier]"));
    }
    for (list, names) in [("key", &need.key), ("essential", &need.essential)] {
        for (index, name) in names.iter().flatten().enumerate() {
            if !fields.contains(name) {
                let message = format!("`{}` is none of the fields of the need `{}`", name.as_str(), need.id.as_str());
                let fault = Fault::value(codes::UNDECLARED_FIELD, at.key(list).index(index), message);
                let fault = fault.related(at.key("fields"), "its fields");
                faults.push(fault.hint(format!("add it to `fields`, or take it out of `{list}`")));
            }
        }
    }
}
