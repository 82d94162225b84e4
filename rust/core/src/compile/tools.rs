//! `ToolManifest`: each tool, and each form of it, as decisions read it.
use std::sync::Arc;

use callgate_cel::{Env, Type};
use callgate_value::Value;
use regex::Regex;

use super::detectors::Thresholds;
use super::scopes::{self, Given, Stand};
use super::{effects, keys, shared, text_results, types, unreported, ArgumentTypes, Faults, Place, Tools};
use crate::expression::Expression;
use crate::model::cel::Cel;
use crate::model::manifest as written;
use crate::model::texts::Name;
use crate::model::{codes, Fault, Pointer};
use crate::policy::{
    Coverage, Effect, ErrorClass, ErrorRule, Identity, Jitter, ResultContract, Retry, Tool, ToolEntry, Trim, Waiting,
};
use crate::reading::Reading;
use crate::schema::ArgumentSchema;

/// `max_stale`, where it is left out.
const MAX_STALE: f64 = 600.0;
/// `cache.ttl`, where it is left out.
const CACHE_TTL: f64 = 300.0;

/// Compiles the tools of a manifest into `tools`.
pub(crate) fn compile(
    position: usize,
    spec: &written::ManifestSpec,
    thresholds: &Thresholds,
    given: &Given,
    tools: &mut Tools,
    faults: &mut Faults,
) {
    let place = Place::Manifest(position);
    let server = spec.server.as_ref().map(|server| shared(server.as_str()));
    for (name, tool) in spec.tools.iter().flat_map(|tools| tools.iter()) {
        if tool.extends.is_some() {
            continue; // an alias: it comes to what another is compiled to
        }
        let at = super::at(&["spec", "tools", name]);
        unique(place, name, tools, faults);
        let arguments = argument_type(tool);
        let call = scopes::env(Stand::Call, arguments.clone(), given, &[]);
        let outcome = scopes::env(Stand::Outcome, arguments.clone(), given, &[]);
        let failed = scopes::env(Stand::Failed, arguments.clone(), given, &[]);
        let effect = scopes::env(Stand::Effect, arguments.clone(), given, &[]);
        let verification = scopes::env(Stand::Verification, arguments.clone(), given, &[]);
        let envs = [&call, &outcome, &failed, &effect, &verification];
        let ground = Ground::new(place, envs, thresholds, server.clone());
        let base = Arc::new(one(&ground, &at, name, tool, faults));
        text_results::check_tool(place, &at, &base, faults);
        if let Some(effect) = &base.idempotency {
            keys::check_tool(place, &at, tool, &effect.key, faults);
        }
        let undecided = Arc::new(Tool { effect: Effect::Unknown, ..(*base).clone() });
        let mut forms = Vec::new();
        for (index, form) in tool.forms.iter().flatten().enumerate() {
            let at = at.key("forms").index(index);
            let when = form
                .when
                .as_ref()
                .and_then(|when| faults.expression(place, &at.key("when"), when, &call, Some(Type::Bool)));
            let as_form = Arc::new(one(&ground, &at, name, &tool.in_form(form), faults));
            // what a form inherits was looked at where it is written
            if form.result.is_some() {
                text_results::check_tool(place, &at, &as_form, faults);
            }
            forms.push((when, as_form));
        }
        tools.insert(name.to_owned(), ToolEntry { base, undecided, forms });
    }
}

/// Gives each alias of a manifest what the tool that it comes to was compiled to, under its own name.
pub(crate) fn compile_aliases(
    position: usize,
    spec: &written::ManifestSpec,
    thresholds: &Thresholds,
    tools: &mut Tools,
    arguments: &mut ArgumentTypes,
    faults: &mut Faults,
) {
    for (name, tool) in spec.tools.iter().flat_map(|tools| tools.iter()) {
        let Some(root) = &tool.extends else { continue };
        unique(Place::Manifest(position), name, tools, faults);
        let Some(entry) = tools.get(root.as_str()) else { continue };
        let renamed = |tool: &Arc<Tool>| {
            let detectors = thresholds.for_tool(name, &tool.groups);
            Arc::new(Tool { name: shared(name), detectors, ..(**tool).clone() })
        };
        let forms = entry.forms.iter().map(|(when, form)| (when.clone(), renamed(form))).collect();
        let entry = ToolEntry { base: renamed(&entry.base), undecided: renamed(&entry.undecided), forms };
        tools.insert(name.to_owned(), entry);
        if let Some(ty) = arguments.get(root.as_str()).cloned() {
            arguments.insert(name.to_owned(), ty);
        }
    }
}

fn unique(place: Place, name: &str, tools: &Tools, faults: &mut Faults) {
    if tools.contains_key(name) {
        let message = format!("the tool `{name}` is declared by another manifest in force too");
        faults.add(place, Fault::key(codes::DUPLICATE_ID, super::at(&["spec", "tools", name]), message));
    }
}

/// Tags of the world as numbers: FNV-1a of the name, 32 bits (Fowler, Noll, Vo). The same in every manifest and policy, so
/// that a snapshot stays true; should two of a policy's few tags ever collide, a write ends a run too many.
fn tags(names: Option<&Vec<Name>>) -> Box<[u32]> {
    let number = |name: &str| {
        name.bytes().fold(0x811C_9DC5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
    };
    names.into_iter().flatten().map(|name| number(name.as_str())).collect()
}

fn names(list: Option<&Vec<Name>>) -> Vec<String> {
    list.into_iter().flatten().map(|name| name.as_str().to_owned()).collect()
}

/// The types of the arguments of a manifest's tools.
pub(crate) fn argument_types(spec: &written::ManifestSpec) -> Vec<(String, Type)> {
    let tools = spec.tools.iter().flat_map(|tools| tools.iter());
    tools.map(|(name, tool)| (name.to_owned(), argument_type(tool))).collect()
}

fn argument_type(tool: &written::Tool) -> Type {
    tool.parameters.as_ref().map_or(Type::Dyn, |schema| types::of_schema(&schema.0))
}

/// What the parts of a tool are compiled against.
pub(super) struct Ground<'g> {
    pub(super) place: Place,
    call: &'g Env,
    outcome: &'g Env,
    failed: &'g Env,
    /// What a key is made of.
    pub(super) effect: &'g Env,
    /// What the outcome of a verifying call is read by.
    pub(super) verification: &'g Env,
    thresholds: &'g Thresholds,
    pub(super) server: Option<Arc<str>>,
}

impl<'g> Ground<'g> {
    fn new(
        place: Place,
        [call, outcome, failed, effect, verification]: [&'g Env; 5],
        thresholds: &'g Thresholds,
        server: Option<Arc<str>>,
    ) -> Self {
        Self { place, call, outcome, failed, effect, verification, thresholds, server }
    }
}

fn one(ground: &Ground<'_>, at: &Pointer, name: &str, tool: &written::Tool, faults: &mut Faults) -> Tool {
    let (place, thresholds) = (ground.place, ground.thresholds);
    let effect = effect(tool.effect.unwrap_or(written::Effect::Unknown));
    let groups: Vec<Arc<str>> = tool.groups.iter().flatten().map(|group| shared(group.as_str())).collect();
    let parameters = tool.parameters.as_ref().and_then(|schema| match ArgumentSchema::compile(&schema.0) {
        Ok(schema) => Some(Arc::new(schema)),
        Err(why) => {
            let fault = Fault::value(codes::BAD_SCHEMA, at.key("parameters"), format!("no JSON Schema: {why}"));
            faults.add(place, fault);
            None
        }
    });
    let result = result(ground, &at.key("result"), tool.result.as_ref(), faults);
    let coverage = tool.coverage.as_ref().and_then(|it| coverage(ground, &at.key("coverage"), it, faults));
    let errors = errors(ground, &at.key("errors"), tool.errors.as_ref(), faults);
    Tool {
        name: shared(name),
        declared: true,
        effect,
        idempotent: tool.idempotent.unwrap_or(effect == Effect::Read),
        detectors: thresholds.for_tool(name, &groups),
        groups,
        reads: tags(tool.reads.as_ref()),
        touches: tags(tool.touches.as_ref()),
        parameters,
        identity: tool.identity.as_ref().map(|it| identity(ground, at, it, faults)).unwrap_or_default(),
        has_fields: has_fields(&result, coverage.as_ref(), &errors),
        result,
        waiting: tool.waiting.as_ref().and_then(waiting),
        coverage,
        transfer: tool.transfer.unwrap_or(false),
        errors,
        retry: tool.retry.as_ref().map(retry),
        server: ground.server.clone(),
        breaker: tool.breaker.as_ref().map(|it| Arc::new(effects::breaker(ground, name, it))),
        idempotency: effects::idempotency(ground, at, tool, faults).map(Arc::new),
        verify: effects::verify(ground, at, tool, faults).map(Arc::new),
        timeout: tool.timeout.map(|timeout| timeout.seconds()),
        cache_ttl: tool.cache.as_ref().and_then(|cache| cache.ttl).map_or(CACHE_TTL, |ttl| ttl.seconds()),
    }
}

/// Whether anything that is declared reads fields of the result, or leaves some of them out.
fn has_fields(result: &ResultContract, coverage: Option<&Coverage>, errors: &[ErrorRule]) -> bool {
    let next = coverage.and_then(|coverage| match coverage {
        Coverage::Cursor { next, .. } => Some(next),
        Coverage::Range { .. } => None,
    });
    let of_result = [&result.failed_when, &result.empty_when, &result.version, &result.state].into_iter().flatten();
    let of_errors = errors.iter().filter_map(|rule| rule.when.as_ref());
    let mut expressions = of_result.chain(next).chain(of_errors);
    result.records.is_some()
        || !result.ignore.is_empty()
        || expressions.any(|expression| expression.reading() == Some(Reading::Json))
}

fn effect(written: written::Effect) -> Effect {
    match written {
        written::Effect::Read => Effect::Read,
        written::Effect::Write => Effect::Write,
        written::Effect::External => Effect::External,
        written::Effect::Ui => Effect::Ui,
        written::Effect::Control => Effect::Control,
        written::Effect::Unknown => Effect::Unknown,
    }
}

fn class(written: written::ErrorClass) -> ErrorClass {
    match written {
        written::ErrorClass::Transient => ErrorClass::Transient,
        written::ErrorClass::Permanent => ErrorClass::Permanent,
        written::ErrorClass::Ambiguous => ErrorClass::Ambiguous,
        written::ErrorClass::Format => ErrorClass::Format,
        written::ErrorClass::Denied => ErrorClass::Denied,
    }
}

fn identity(ground: &Ground<'_>, at: &Pointer, it: &written::Identity, faults: &mut Faults) -> Identity {
    let at = at.key("identity");
    Identity {
        ignore: names(it.ignore.as_ref()),
        trim: match &it.trim {
            None | Some(written::Trim::All(false)) => Trim::None,
            Some(written::Trim::All(true)) => Trim::All,
            Some(written::Trim::Arguments(list)) => Trim::Names(names(Some(list))),
        },
        casefold: names(it.casefold.as_ref()),
        paths: names(it.paths.as_ref()),
        unordered: names(it.unordered.as_ref()),
        defaults: it
            .defaults
            .iter()
            .flat_map(|defaults| defaults.iter())
            .map(|(name, value)| (name.to_owned(), value.0.clone()))
            .collect::<Vec<(String, Value)>>(),
        target: names(it.target.as_ref()),
        group: it
            .group
            .as_ref()
            .and_then(|group| faults.expression(ground.place, &at.key("group"), group, ground.call, None)),
    }
}

fn result(
    ground: &Ground<'_>,
    at: &Pointer,
    written: Option<&written::ResultContract>,
    faults: &mut Faults,
) -> ResultContract {
    let Some(it) = written else { return ResultContract { min_records: 1, ..ResultContract::default() } };
    let mut expression = |key: &str, cel: Option<&Cel>, expect: Option<Type>| -> Option<Expression> {
        let env = if key == "failed_when" { ground.failed } else { ground.outcome };
        let found = cel.and_then(|cel| faults.expression(ground.place, &at.key(key), cel, env, expect))?;
        unreported::check(ground.place, at, key, &found, faults);
        Some(found)
    };
    ResultContract {
        failed_when: expression("failed_when", it.failed_when.as_ref(), Some(Type::Bool)),
        empty_when: expression("empty_when", it.empty_when.as_ref(), Some(Type::Bool)),
        records: expression("records", it.records.as_ref(), Some(Type::list(Type::Dyn))),
        key: names(it.key.as_ref()),
        required_fields: names(it.required_fields.as_ref()),
        wanted_fields: names(it.wanted_fields.as_ref()),
        min_records: it.min_records.map_or(1, |records| records.get()),
        ignore: names(it.ignore.as_ref()),
        // the reader has refused patterns that do not compile
        ignore_text: it.ignore_text.iter().flatten().filter_map(|pattern| Regex::new(pattern.as_str()).ok()).collect(),
        version: expression("version", it.version.as_ref(), None),
        state: expression("state", it.state.as_ref(), None),
    }
}

fn waiting(written: &written::Waiting) -> Option<Waiting> {
    match written {
        written::Waiting::Flag(false) => None,
        written::Waiting::Flag(true) => {
            Some(Waiting { max_unchanged: None, max_stale: Some(MAX_STALE), min_interval: None })
        }
        written::Waiting::Poll(poll) => Some(Waiting {
            max_unchanged: poll.max_unchanged.as_ref().and_then(|limit| limit.value()).map(|count| count.get()),
            max_stale: match &poll.max_stale {
                None => Some(MAX_STALE),
                Some(limit) => limit.value().map(|duration| duration.seconds()),
            },
            min_interval: poll.min_interval.map(|duration| duration.seconds()),
        }),
    }
}

fn coverage(ground: &Ground<'_>, at: &Pointer, it: &written::Coverage, faults: &mut Faults) -> Option<Coverage> {
    let mut expression = |key: &str, cel: Option<&Cel>| {
        let env = if key == "next" { ground.outcome } else { ground.call };
        cel.and_then(|cel| faults.expression(ground.place, &at.key(key), cel, env, None))
    };
    if let (Some(cursor), Some(next)) = (&it.cursor, &it.next) {
        let (cursor, next) = (expression("cursor", Some(cursor)), expression("next", Some(next)));
        return Some(Coverage::Cursor { cursor: cursor?, next: next? });
    }
    Some(Coverage::Range {
        target: expression("target", it.target.as_ref()),
        offset: expression("offset", it.offset.as_ref()),
        length: expression("length", it.length.as_ref()),
    })
}

fn errors(
    ground: &Ground<'_>,
    at: &Pointer,
    written: Option<&Vec<written::ErrorRule>>,
    faults: &mut Faults,
) -> Vec<ErrorRule> {
    let mut rules = Vec::new();
    for (index, rule) in written.into_iter().flatten().enumerate() {
        let when = match &rule.when {
            None => None,
            Some(when) => match faults.expression(
                ground.place,
                &at.index(index).key("when"),
                when,
                ground.outcome,
                Some(Type::Bool),
            ) {
                None => continue,
                some => some,
            },
        };
        let kind = rule.r#type.as_ref().map(|kind| shared(kind.as_str()));
        rules.push(ErrorRule { when, class: class(rule.class), kind });
    }
    rules
}

fn jitter(written: written::Jitter) -> Jitter {
    match written {
        written::Jitter::None => Jitter::None,
        written::Jitter::Full => Jitter::Full,
        written::Jitter::Equal => Jitter::Equal,
        written::Jitter::Decorrelated => Jitter::Decorrelated,
        written::Jitter::Proportional => Jitter::Proportional,
    }
}

fn retry(written: &written::Retry) -> Retry {
    let backoff = written.backoff.as_ref();
    let seconds = |value: Option<crate::model::times::Duration>, default| value.map_or(default, |it| it.seconds());
    Retry {
        classes: match &written.classes {
            Some(classes) => classes.iter().map(|it| class(*it)).collect(),
            None => vec![ErrorClass::Transient],
        },
        max: written.max.map_or(3, |max| max.get()),
        initial: seconds(backoff.and_then(|it| it.initial), 1.0),
        factor: backoff.and_then(|it| it.factor).map_or(2.0, |factor| factor.0),
        longest: seconds(backoff.and_then(|it| it.max), 60.0),
        jitter: backoff.and_then(|it| it.jitter).map_or(Jitter::Full, jitter),
    }
}
