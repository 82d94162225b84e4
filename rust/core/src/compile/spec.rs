//! `GuardPolicy`: everything but detectors and tools.
use std::sync::Arc;

use callgate_cel::{Env, Object, Type};
use callgate_value::{Map, Value};

use super::detectors::Thresholds;
use super::scopes::{self, Given, Stand, Variable};
use super::{
    at, budgets, fallback, needs, parameters, shared, text_results, types, ArgumentTypes, Faults, Place, Tools,
};
use crate::expression::Expression;
use crate::model::cel::Cel;
use crate::model::policy::{self as written, OnError, OnStop, Permission, PolicySpec, ResetPart, RuleAction};
use crate::model::{codes, Fault, GuardPolicy};
use crate::policy::{Ladder, Mode, Phase, Policy, Resets, Rule, RuleEffect};
use crate::verdict::Action;

/// Names of tools and groups that a policy gives and no manifest has. Without any manifest nothing is known to be wrong.
pub(crate) fn check_names(spec: &PolicySpec, tools: &Tools, faults: &mut Faults) {
    if tools.is_empty() {
        return;
    }
    let (names, groups) = (tool_names(tools), group_names(tools));
    let budgets = spec.budgets.as_ref();
    let per_tool = budgets.and_then(|budgets| budgets.calls_per_tool.as_ref());
    let per_tool = per_tool.into_iter().flat_map(|limits| limits.iter()).map(|(name, _)| name);
    for name in per_tool.filter(|name| *name != "*" && !names.contains(name)) {
        let message = format!("`{name}` is no tool of the manifests in force");
        let fault = Fault::key(codes::UNDECLARED_NAME, at(&["spec", "budgets", "calls_per_tool", name]), message);
        faults.undeclared(fault, name, &names);
    }
    let per_group = budgets.and_then(|budgets| budgets.calls_per_group.as_ref());
    let per_group = per_group.into_iter().flat_map(|limits| limits.iter()).map(|(name, _)| name);
    for name in per_group.filter(|name| !groups.contains(name)) {
        let message = format!("`{name}` is no group of the manifests in force");
        let fault = Fault::key(codes::UNDECLARED_NAME, at(&["spec", "budgets", "calls_per_group", name]), message);
        if groups.is_empty() {
            faults.add(Place::Policy, fault.hint("no tool of them has `groups`").warning());
        } else {
            faults.undeclared(fault, name, &groups);
        }
    }
}

/// The names of all tools, in their order.
pub(super) fn tool_names(tools: &Tools) -> Vec<&str> {
    let mut names: Vec<&str> = tools.keys().map(|name| &**name).collect();
    names.sort_unstable();
    names
}

fn group_names(tools: &Tools) -> Vec<&str> {
    let mut names: Vec<&str> =
        tools.values().flat_map(|entry| entry.base.groups.iter().map(|group| &**group)).collect();
    names.sort_unstable();
    names.dedup();
    names
}

pub(crate) fn compile(
    document: &GuardPolicy,
    tools: Tools,
    arguments: &ArgumentTypes,
    thresholds: &Thresholds,
    digest: String,
    faults: &mut Faults,
) -> Policy {
    let spec = &document.spec;
    if !tools.is_empty() {
        let known: Vec<&str> = tool_names(&tools).into_iter().chain(group_names(&tools)).collect();
        thresholds.check_names(&known, faults);
    }
    let needs = needs::compile(spec, &tools, faults);
    let given = Given { arguments: of_all_tools(arguments), ..given(spec) };
    let (variables, variable_types) = variables(spec, &given, faults);
    let ground =
        fallback::Ground { tools: &tools, arguments, given: &given, variables: &variable_types, needs: &needs };
    let fallback = fallback::compile(spec, &ground, faults);
    check_invariants(document, &given, &variable_types, faults);
    let ladder = spec.ladder.as_ref();
    let count = |value: Option<crate::model::numbers::Count>| value.map(|count| count.get());
    let resets = spec.resets.as_ref();
    Policy {
        name: document.metadata.name.as_str().to_owned(),
        revision: document.metadata.revision.as_ref().map(|it| it.as_str().to_owned()).unwrap_or_default(),
        digest,
        mode: match spec.mode {
            None | Some(written::Mode::Enforce) => Mode::Enforce,
            Some(written::Mode::Warn) => Mode::Warn,
            Some(written::Mode::Audit) => Mode::Audit,
        },
        binding: None,
        bindings: Arc::default(),
        combined_of: Vec::new(),
        is_nobody: false,
        exceptions: Vec::new(),
        refuse_undeclared: spec.undeclared_tools == Some(Permission::Refuse),
        on_store_failure_allow: spec.on_failure.as_ref().and_then(|it| it.store) == Some(Permission::Allow),
        on_error_allow_reads: match &spec.on_error {
            None => false,
            Some(OnError::Always(permission)) => *permission == Permission::Allow,
            Some(OnError::ByEffect(by)) => by.reads == Some(Permission::Allow),
        },
        final_answer: spec.on_stop != Some(OnStop::End),
        window: thresholds.window,
        cycle: thresholds.general.cycle,
        stream_cycle: thresholds.general.cycle,
        transfer_cycle: thresholds.general.transfer_cycle,
        stream_transfer_cycle: thresholds.general.transfer_cycle,
        undeclared: Arc::new(thresholds.general.blind()),
        undeclared_special: thresholds.blind_by_name(|name| tools.contains_key(name)),
        budgets: budgets::compile(spec.budgets.as_ref(), spec.time.as_ref()),
        ladder: Ladder {
            reuse_reads: count(ladder.and_then(|it| it.reuse_reads)).unwrap_or(0),
            stop_after_refusals: count(ladder.and_then(|it| it.stop_after_refusals)),
            deterministic_stop_after: count(ladder.and_then(|it| it.deterministic_stop_after)),
        },
        on_user_turn: parts(resets.and_then(|it| it.user_turn.as_ref())),
        on_compaction: parts(resets.and_then(|it| it.compaction.as_ref())),
        rules: rules(spec, &tools, arguments, &given, &variable_types, faults),
        needs,
        fallback,
        params: parameters::values(spec, faults),
        constants: constants(spec),
        variables,
        tools,
        watch: None,
    }
}

fn parts(written: Option<&Vec<ResetPart>>) -> Resets {
    let mut resets = Resets::default();
    for part in written.into_iter().flatten() {
        match part {
            ResetPart::Repeats => resets.repeats = true,
            ResetPart::Errors => resets.errors = true,
            ResetPart::Results => resets.results = true,
            ResetPart::Gain => resets.gain = true,
            ResetPart::Incidents => resets.incidents = true,
        }
    }
    resets
}

/// What all expressions of the policy and its manifests can read.
pub(crate) fn given(spec: &PolicySpec) -> Given {
    let parameters = spec.parameters.iter().flat_map(|parameters| parameters.iter());
    let typed = parameters.map(|(name, schema)| (name, types::of_schema(&schema.0)));
    let params = typed.fold(Object::closed(), |object, (name, ty)| object.required(name, ty)).into();
    Given { params, constants: types::of_value(&constants(spec)), arguments: Arc::default() }
}

/// The types of arguments, in the order of their tools' names.
fn of_all_tools(arguments: &ArgumentTypes) -> Arc<[Type]> {
    let mut named: Vec<(&String, &Type)> = arguments.iter().collect();
    named.sort_unstable_by_key(|(name, _)| *name);
    named.into_iter().map(|(_, ty)| ty.clone()).collect()
}

/// Invariants change no decision; they are checked here because they read what decisions read.
fn check_invariants(document: &GuardPolicy, given: &Given, variables: &[Variable], faults: &mut Faults) {
    let invariants = document.verification.iter().flat_map(|verification| verification.invariants.iter().flatten());
    for (index, invariant) in invariants.enumerate() {
        let place = at(&["verification", "invariants"]).index(index);
        let mut env = scopes::env(Stand::Verdict, Type::Dyn, given, variables);
        if let Some(assume) = &invariant.assume {
            let assume = faults.expression(Place::Policy, &place.key("assume"), assume, &env, Some(Type::Bool));
            env.present(&assume.map(|assume| assume.tests().if_true).unwrap_or_default());
        }
        faults.expression(Place::Policy, &place.key("assert"), &invariant.assert, &env, Some(Type::Bool));
    }
}

pub(crate) fn constants(spec: &PolicySpec) -> Value {
    let entries = spec.constants.iter().flat_map(|constants| constants.iter());
    let entries = entries.map(|(name, value)| (name.into(), value.0.clone())).collect();
    Map::new(entries).map_or(Value::Null, Value::Map)
}

/// Variables by name, in their order.
type Variables = Vec<(Arc<str>, Expression)>;

/// The variables in their order; each may use those before it.
fn variables(spec: &PolicySpec, given: &Given, faults: &mut Faults) -> (Variables, Vec<Variable>) {
    let (mut compiled, mut types): (Variables, Vec<Variable>) = (Vec::new(), Vec::new());
    for (name, cel) in spec.variables.iter().flat_map(|variables| variables.iter()) {
        let env = scopes::env(Stand::Admit, Type::Dyn, given, &types);
        let place = at(&["spec", "variables", name]);
        // a variable that is wrong is known all the same: what uses it is not wrong for that
        let expression = faults.expression(Place::Policy, &place, cel, &env, None);
        types.push(Variable {
            name: name.to_owned(),
            ty: expression.as_ref().map_or(Type::Dyn, Expression::result_type),
            tests: expression.as_ref().map(Expression::tests).unwrap_or_default(),
        });
        compiled.extend(expression.map(|expression| (shared(name), expression)));
    }
    (compiled, types)
}

/// The observation code of a rule that has none of its own: `order-ceiling` is `ORDER_CEILING`.
fn code_of(id: &str) -> Arc<str> {
    let letter = |letter: char| if letter.is_alphanumeric() { letter.to_ascii_uppercase() } else { '_' };
    shared(&id.chars().map(letter).collect::<String>())
}

fn rules(
    spec: &PolicySpec,
    tools: &Tools,
    arguments: &ArgumentTypes,
    given: &Given,
    variables: &[Variable],
    faults: &mut Faults,
) -> Vec<Rule> {
    let mut rules = Vec::new();
    let names = tool_names(tools);
    for (index, rule) in spec.rules.iter().flatten().enumerate() {
        let place = at(&["spec", "rules"]).index(index);
        let phase = if rule.phase == Some(written::Phase::Observe) { Phase::Observe } else { Phase::Admit };
        let stand = if phase == Phase::Observe { Stand::Observe } else { Stand::Admit };
        for (position, name) in rule.tools.iter().flatten().enumerate() {
            if !tools.contains_key(name.as_str()) && !tools.is_empty() {
                let message = format!("`{}` is no tool of the manifests in force", name.as_str());
                let pointer = place.key("tools").index(position);
                let fault = Fault::value(codes::UNDECLARED_NAME, pointer, message);
                faults.undeclared(fault, name.as_str(), &names);
            }
        }
        let named = rule.tools.iter().flatten().map(|name| arguments.get(name.as_str()).cloned().unwrap_or(Type::Dyn));
        let named: Vec<Type> = named.collect();
        let args = if named.is_empty() { Type::Dyn } else { Type::union(named) };
        let mut env = scopes::env(stand, args, given, variables);
        let mut expression = |env: &Env, key: &str, cel: Option<&Cel>, expect: Type| {
            cel.and_then(|cel| faults.expression(Place::Policy, &place.key(key), cel, env, Some(expect)))
        };
        let when = expression(&env, "when", rule.when.as_ref(), Type::Bool);
        // the words are wanted only where the condition holds
        env.present(&when.as_ref().map(|when| when.tests().if_true).unwrap_or_default());
        let message = expression(&env, "message", rule.message.as_ref(), Type::String);
        let Some(when) = when else { continue };
        if phase == Phase::Observe {
            text_results::check_rule(&place.key("when"), &when, faults);
        }
        rules.push(Rule {
            id: shared(rule.id.as_str()),
            phase,
            tools: rule.tools.iter().flatten().map(|name| name.as_str().to_owned()).collect(),
            when,
            action: match rule.action {
                Some(RuleAction::Ask) => RuleEffect::Hold(Action::Ask),
                Some(RuleAction::Refuse) => RuleEffect::Hold(Action::Refuse),
                Some(RuleAction::Stop) => RuleEffect::Hold(Action::Stop),
                Some(RuleAction::Retry) => RuleEffect::Retry,
                Some(RuleAction::Exit) => RuleEffect::Exit,
                Some(RuleAction::Note) | None => RuleEffect::Note,
            },
            code: Some(rule.code.as_ref().map_or_else(|| code_of(rule.id.as_str()), |code| shared(code.as_str()))),
            message,
        });
    }
    rules
}
