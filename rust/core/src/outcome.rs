//! What came back from a call, and what it is by the tool's manifest: failed or not, class, grade, identity.
use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

use callgate_value::{mask_failure, mask_success, mask_words, to_json, Loosening, Map, Mask, Symbol, SymbolKey, Value};

use crate::call::{Asked, Call};
use crate::expression::{EvaluationError, Expression, Scope};
use crate::gain::{self, Covered, Offer};
use crate::identify::CallScope;
use crate::needs::{carries, picks, Pick};
use crate::policy::{Coverage, Effect, ErrorClass, Policy, Tool};
use crate::reading::{Readable, Reading};
use crate::verdict::Grade;

/// A failure as the host reports it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reported {
    /// Its type, such as `timeout`.
    pub kind: Option<Arc<str>>,
    /// Its HTTP-like status.
    pub status: Option<i64>,
    /// Its text.
    pub message: Option<Arc<str>>,
}

/// What came back from a call.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The result, if it is known; null is a result.
    pub result: Option<Arc<Value>>,
    /// The host's digest of the whole result, where `result` was cut.
    pub digest: Option<Arc<str>>,
    /// The failure, if there is one.
    pub error: Option<Reported>,
    /// The host's flag. An error means failed as well.
    pub is_error: bool,
    /// Tokens that the result takes.
    pub tokens: Option<f64>,
    /// How old it is, in seconds, where a cache of the host's answered.
    pub cached: Option<f64>,
    /// What the result says of itself, where it has a form that does.
    pub said: Option<Said>,
}

/// What a result in a known form says of itself.
#[derive(Clone, Debug, Default)]
pub struct Said {
    /// Its code.
    pub code: Option<Arc<str>>,
    /// Its sentence.
    pub message: Option<Arc<str>>,
    /// Whether the same call may help.
    pub retryable: Option<bool>,
    /// It is a success with nothing in it.
    pub is_empty: bool,
    /// What it carries.
    pub data: Option<Arc<Value>>,
}

/// An outcome, judged by the manifest alone.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    pub(crate) failed: bool,
    pub(crate) class: Option<ErrorClass>,
    /// For failures of effects: it may have happened, also where the same call does no harm a second time.
    pub(crate) in_doubt: bool,
    pub(crate) kind: Arc<str>,
    /// Result identity; none if unknown.
    pub(crate) result: Option<u64>,
    /// It is what the manifest calls its version.
    pub(crate) by_version: bool,
    /// For failures: symbol of type and status alone.
    pub(crate) failure: Option<u64>,
    /// For failures: what `same_error` counts by.
    pub(crate) error_key: Option<u64>,
    pub(crate) grade: Grade,
    pub(crate) gaps: Vec<(Value, String)>,
    pub(crate) state: Option<u64>,
    pub(crate) offer: Offer,
    /// The variable `error`, for failures.
    pub(crate) error: Option<Value>,
    /// An expression of the manifest failed on it: its worth is not known.
    pub(crate) expression_error: Option<String>,
    /// What it says about the needs of the task.
    pub(crate) picks: Vec<Pick>,
}

struct ResultScope<'a> {
    call: CallScope<'a>,
    result: &'a Readable<'a>,
    error: &'a Value,
}

impl Scope for ResultScope<'_> {
    fn data(&self, name: &str) -> Option<&Value> {
        match name {
            "result" => self.result.whole(),
            "error" => Some(self.error),
            _ => self.call.data(name),
        }
    }

    fn result(&self, reading: Reading) -> Option<&Value> {
        self.result.read(reading)
    }
}

/// The class of a failure that the author did not class.
pub(crate) fn default_class(kind: &str, status: Option<i64>, effect: Effect) -> ErrorClass {
    let uncertain = if effect == Effect::Read { ErrorClass::Transient } else { ErrorClass::Ambiguous };
    match kind {
        "timeout" | "cancelled" | "connection_lost" => uncertain,
        "network" | "throttled" => ErrorClass::Transient,
        "unknown_tool" | "invalid_arguments" => ErrorClass::Format,
        "denied" => ErrorClass::Denied,
        "http" => match status {
            Some(408 | 425 | 429 | 500 | 502 | 503 | 504) => ErrorClass::Transient,
            _ => ErrorClass::Permanent,
        },
        _ => ErrorClass::Permanent,
    }
}

/// Judges what came back from `call`.
pub(crate) fn judge(policy: &Policy, key: &SymbolKey, call: &Call, outcome: &Outcome) -> Judged {
    let tool = &*call.tool;
    let contract = &tool.result;
    let readable = Readable::new(outcome.result.as_deref(), tool.has_fields);
    let result = readable.read(Reading::Either);
    let host_failed = outcome.is_error || outcome.error.is_some();
    let reported = outcome.error.clone().unwrap_or_default();
    let no_error = Value::Null;
    let call_scope = || CallScope { policy, arguments: &call.arguments, hints: call.hints.as_deref() };
    let mut trouble: Option<String> = None;
    let failed = match (&contract.failed_when, result) {
        (Some(when), Some(_)) => {
            let told = host_failed.then(|| as_reported(tool, &reported, readable.whole()).1);
            let error = told.as_ref().unwrap_or(&no_error);
            let scope = ResultScope { call: call_scope(), result: &readable, error };
            or_trouble(when.test(&scope), when, &mut trouble).unwrap_or(host_failed)
        }
        _ => host_failed,
    };
    if failed {
        return failure(key, call, (&reported, outcome, &readable), call_scope(), trouble);
    }
    let scope = ResultScope { call: call_scope(), result: &readable, error: &no_error };
    let masked = Cell::new(false);
    let mask = masking(|text| {
        let stripped = strip(tool, text, mask_success);
        masked.set(masked.get() || matches!(stripped, Cow::Owned(_)));
        stripped
    });
    // whether its symbol was made of all of it, and nothing had to be masked
    let mut is_plain = false;
    let mut by_version = false;
    let result_symbol = result.and_then(|result| {
        let version = contract
            .version
            .as_ref()
            .and_then(|version| or_trouble(present(version.evaluate(&scope)), version, &mut trouble).flatten());
        let symbol = identity(key, (tool, &mask), result, version.as_deref(), outcome.digest.as_deref());
        by_version = version.is_some();
        is_plain = version.is_none() && outcome.digest.is_none() && symbol.is_some() && !masked.get();
        symbol
    });
    let result_symbol = result_symbol.or_else(|| {
        let digest = outcome.digest.as_deref()?;
        Some(key.join(&[key.bytes(b"digest"), key.bytes(digest.as_bytes())]).0)
    });
    let mut state = None;
    if let (Some(expression), true) = (&contract.state, result.is_some()) {
        state = or_trouble(present(expression.evaluate(&scope)), expression, &mut trouble)
            .flatten()
            .and_then(|value| key.value(&value, Loosening::default()).ok())
            .map(|symbol| symbol.0);
    }
    let records = records(tool, &scope, result, &mut trouble);
    let records = records.as_deref().and_then(Value::as_list);
    let empty = match (&contract.empty_when, result) {
        (Some(when), Some(_)) => or_trouble(when.test(&scope), when, &mut trouble).unwrap_or(false),
        _ => records.is_some_and(<[Value]>::is_empty) || outcome.said.as_ref().is_some_and(|said| said.is_empty),
    };
    let grade = match result {
        None => Grade::Ungraded,
        Some(_) if empty => Grade::Empty,
        Some(_) => grade(tool, records),
    };
    let mask: Option<Mask<'_>> = if is_plain && contract.ignore.is_empty() { None } else { Some(&mask) };
    let offer = result.map_or_else(Offer::default, |result| {
        let (items, has_many) = match (records, &outcome.digest, result_symbol) {
            (None, Some(_), Some(symbol)) => (vec![symbol], false),
            (None, None, Some(symbol)) => match gain::leaf_items(key, result, &contract.ignore, mask) {
                (none, _) if none.is_empty() => (vec![symbol], false),
                found => found,
            },
            (None, _, None) => (Vec::new(), false),
            (Some(records), _, _) => (gain::record_items(key, records, &contract.key, mask), true),
        };
        Offer { items, is_one_record: !has_many, covered: covered(key, call, &scope, &mut trouble) }
    });
    let picks = match result {
        Some(_) if trouble.is_none() && !policy.needs.is_empty() => {
            picks(policy, tool, readable.read(Reading::Json), records)
        }
        _ => Vec::new(),
    };
    Judged {
        failed: false,
        error: None,
        class: None,
        in_doubt: false,
        kind: "".into(),
        result: result_symbol,
        by_version,
        failure: None,
        error_key: None,
        grade: if trouble.is_some() { Grade::Ungraded } else { grade },
        gaps: gaps(tool, records),
        state,
        offer,
        expression_error: trouble,
        picks,
    }
}

fn or_trouble<T>(
    answer: Result<T, EvaluationError>,
    expression: &Expression,
    trouble: &mut Option<String>,
) -> Option<T> {
    answer.map_err(|error| trouble.get_or_insert_with(|| format!("`{}`: {error}", expression.source()))).ok()
}

/// Null or absent is no value; it is no error that a result leaves an optional field out.
type Found<'s> = Cow<'s, Value>;

fn present(answer: Result<Found<'_>, EvaluationError>) -> Result<Option<Found<'_>>, EvaluationError> {
    match answer {
        Ok(value) if matches!(*value, Value::Null) => Ok(None),
        Err(EvaluationError::NoField(_)) => Ok(None),
        Ok(value) => Ok(Some(value)),
        Err(error) => Err(error),
    }
}

/// What the table of the language makes of a failure.
struct Table {
    kind: Arc<str>,
    class: ErrorClass,
    /// It may have happened.
    in_doubt: bool,
}

/// A failure as it was reported, before the manifest's `errors` are asked; and as the variable `error`.
fn as_reported(tool: &Tool, reported: &Reported, result: Option<&Value>) -> (Table, Value) {
    let status = reported.status;
    let kind: Arc<str> =
        reported.kind.clone().unwrap_or_else(|| if status.is_some() { "http".into() } else { "tool_error".into() });
    let mut class = default_class(&kind, status, tool.effect);
    let in_doubt = class == ErrorClass::Ambiguous;
    // under its key it does no harm a second time
    if in_doubt && tool.may_be_resent() {
        class = ErrorClass::Transient;
    }
    let error = error_value(&kind, status, class, reported.message.as_deref(), result);
    (Table { kind, class, in_doubt }, error)
}

fn failure(
    key: &SymbolKey,
    call: &Call,
    (reported, outcome, readable): (&Reported, &Outcome, &Readable<'_>),
    scope: CallScope<'_>,
    mut trouble: Option<String>,
) -> Judged {
    let tool = &*call.tool;
    let (whole, result) = (readable.whole(), readable.read(Reading::Either));
    let status = reported.status;
    let (Table { mut kind, mut class, in_doubt }, error) = as_reported(tool, reported, whole);
    let scope = ResultScope { call: scope, result: readable, error: &error };
    let by_table = class;
    // a name that the author gives tells errors apart for `same_error`; what failed alike is as it was reported
    let status_symbol = key.bytes(&status.unwrap_or(i64::MIN).to_le_bytes());
    let failed_as = |kind: &str| key.join(&[key.bytes(b"failure"), key.bytes(kind.as_bytes()), status_symbol]);
    let failure = failed_as(&kind);
    // a tool that says itself that the same call may help is believed, unless the author says otherwise
    if class == ErrorClass::Permanent && outcome.said.as_ref().is_some_and(|said| said.retryable == Some(true)) {
        class = ErrorClass::Transient;
    }
    for rule in &tool.errors {
        let matches = match &rule.when {
            None => Some(true),
            Some(when) => or_trouble(when.test(&scope), when, &mut trouble),
        };
        match matches {
            Some(true) => {
                class = rule.class;
                if let Some(named) = &rule.kind {
                    kind = Arc::clone(named);
                }
                break;
            }
            Some(false) => {}
            None => break,
        }
    }
    if by_table == ErrorClass::Ambiguous && matches!(tool.effect, Effect::Write | Effect::External) {
        class = ErrorClass::Ambiguous;
    }
    let text = failure_text(key, tool, reported, result);
    let specific = !matches!(&*kind, "tool_error" | "exit_nonzero" | "http" | "invalid_arguments");
    let tool_symbol = Symbol(call.tool_symbol);
    let error_key = if specific {
        Some(key.join(&[tool_symbol, key.bytes(b"type"), key.bytes(kind.as_bytes())]))
    } else {
        let words = own_words(&call.arguments);
        masked_by_words(key, tool, reported, result, &words)
            .map(|text| key.join(&[tool_symbol, failed_as(&kind), text]))
    };
    let error = error_value(&kind, status, class, reported.message.as_deref(), whole);
    Judged {
        failed: true,
        error: Some(error),
        class: Some(class),
        in_doubt,
        kind,
        result: text.map(|text| key.join(&[failure, text]).0),
        by_version: false,
        failure: Some(failure.0),
        error_key: error_key.map(|symbol| symbol.0),
        grade: if trouble.is_some() { Grade::Ungraded } else { Grade::Failed },
        gaps: Vec::new(),
        state: None,
        offer: Offer::default(),
        expression_error: trouble,
        picks: Vec::new(),
    }
}

/// The variable `error`.
fn error_value(
    kind: &str,
    status: Option<i64>,
    class: ErrorClass,
    message: Option<&str>,
    result: Option<&Value>,
) -> Value {
    let message = match (message, result) {
        (Some(message), _) => Value::from(message),
        (None, Some(Value::Str(text))) => Value::Str(text.clone()),
        (None, Some(other)) => Value::from(to_json(other).as_str()),
        (None, None) => Value::from(""),
    };
    let fields = vec![
        ("type".into(), Value::from(kind)),
        ("status".into(), status.map_or(Value::Null, Value::Int)),
        ("class".into(), Value::from(class.name())),
        ("message".into(), message),
    ];
    Map::new(fields).map_or(Value::Null, Value::Map)
}

fn strip<'a>(tool: &Tool, text: &'a str, mask: fn(&str) -> Cow<'_, str>) -> Cow<'a, str> {
    let mut text = Cow::Borrowed(text);
    for pattern in &tool.result.ignore_text {
        if let Cow::Owned(changed) = pattern.replace_all(&text, "") {
            text = Cow::Owned(changed);
        }
    }
    match mask(&text) {
        Cow::Owned(masked) => Cow::Owned(masked),
        Cow::Borrowed(_) => text,
    }
}

/// The symbol of a failure's text: the error's message, else the result; masked. A failure that says nothing has the
/// symbol of an empty text; an opaque one has none.
fn failure_text(key: &SymbolKey, tool: &Tool, reported: &Reported, result: Option<&Value>) -> Option<Symbol> {
    masked_by_words(key, tool, reported, result, &[])
}

fn masked_by_words(
    key: &SymbolKey,
    tool: &Tool,
    reported: &Reported,
    result: Option<&Value>,
    words: &[&str],
) -> Option<Symbol> {
    let mask = masking(|text| {
        // the call's own words go first, while the text still says them as the call did
        match mask_words(text, words) {
            Cow::Borrowed(text) => strip(tool, text, mask_failure),
            Cow::Owned(text) => Cow::Owned(strip(tool, &text, mask_failure).into_owned()),
        }
    });
    let ignore: Vec<&str> = tool.result.ignore.iter().map(String::as_str).collect();
    let loosening = Loosening { ignore: &ignore, mask: Some(&mask) };
    match (&reported.message, result) {
        (Some(message), _) => key.value(&Value::from(&**message), loosening).ok(),
        (None, Some(result)) => key.value(result, loosening).ok(),
        (None, None) => Some(key.bytes(b"")),
    }
}

/// Lets a closure borrow what it answers from what it is asked.
fn masking<F: for<'t> Fn(&'t str) -> Cow<'t, str>>(mask: F) -> F {
    mask
}

fn own_words(arguments: &Value) -> Vec<&str> {
    let Value::Map(map) = arguments else { return Vec::new() };
    let strings = map.iter().filter_map(|(_, value)| value.as_str());
    strings.filter(|text| text.chars().count() >= 3).collect()
}

fn identity(
    key: &SymbolKey,
    (tool, mask): (&Tool, Mask<'_>),
    result: &Value,
    version: Option<&Value>,
    digest: Option<&str>,
) -> Option<u64> {
    if let Some(version) = version {
        let version = key.value(version, Loosening::default()).ok()?;
        return Some(key.join(&[key.bytes(b"version"), version]).0);
    }
    if let Some(digest) = digest {
        return Some(key.join(&[key.bytes(b"digest"), key.bytes(digest.as_bytes())]).0);
    }
    let ignore: Vec<&str> = tool.result.ignore.iter().map(String::as_str).collect();
    key.value(result, Loosening { ignore: &ignore, mask: Some(mask) }).ok().map(|symbol| symbol.0)
}

fn records<'a>(
    tool: &Tool,
    scope: &'a ResultScope<'_>,
    result: Option<&Value>,
    trouble: &mut Option<String>,
) -> Option<Found<'a>> {
    let expression = tool.result.records.as_ref()?;
    result?;
    let value = or_trouble(expression.evaluate(scope), expression, trouble)?;
    let list = value.as_list().is_some().then_some(value).ok_or(EvaluationError::WrongType("list"));
    or_trouble(list, expression, trouble)
}

fn grade(tool: &Tool, records: Option<&[Value]>) -> Grade {
    let Some(records) = records else { return Grade::Sufficient };
    let complete =
        records.iter().filter(|record| tool.result.required_fields.iter().all(|field| carries(record, field)));
    if u64::try_from(complete.count()).unwrap_or(u64::MAX) >= tool.result.min_records {
        Grade::Sufficient
    } else {
        Grade::Partial
    }
}

fn gaps(tool: &Tool, records: Option<&[Value]>) -> Vec<(Value, String)> {
    let missing = |record| tool.result.wanted_fields.iter().filter(move |field| !carries(record, field));
    records
        .unwrap_or_default()
        .iter()
        .flat_map(|record| missing(record).map(|field| (gain::record_key(record, &tool.result.key), field.clone())))
        .collect()
}

fn covered(key: &SymbolKey, call: &Call, scope: &ResultScope<'_>, trouble: &mut Option<String>) -> Option<Covered> {
    match (&call.tool.coverage, &call.asked) {
        (Some(Coverage::Range { .. }), Some(Asked::Range { target, list, from, to })) => {
            Some(Covered::Range { target: *target, list: *list, from: *from, to: *to })
        }
        (Some(Coverage::Cursor { next, .. }), Some(Asked::Cursor { list, page: asked })) => {
            let next = or_trouble(present(next.evaluate(scope)), next, trouble)?;
            let page = |of: u64| next.as_ref().and_then(|page| gain::page(key, of, page));
            Some(Covered::Page { asked: *asked, next: page(*list), of_tool: page(call.tool_symbol) })
        }
        _ => None,
    }
}
