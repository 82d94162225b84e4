//! Expressions of a policy: plain field paths, which need no evaluator, and CEL for everything else.
use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

use callgate_cel::{Activation, Env, ErrorKind, EvalError, Fuel, Limits, Program, Span, Tests, Type, Val};
pub use callgate_cel::{Claim, Prospect};
use callgate_value::Value;

use crate::reading::Reading;
use crate::watch::{Log, Witness};

/// A checked and compiled expression.
#[derive(Clone, Debug)]
pub struct Expression {
    source: Arc<str>,
    /// As it was checked: what analyses read. A plain field path is followed without it.
    checked: Arc<Program>,
    way: Way,
    /// In which form it reads a result; none where it reads none.
    reading: Option<Reading>,
    /// Is told what it comes to, where somebody watches.
    witness: Option<Arc<Witness>>,
}

#[derive(Clone, Debug)]
enum Way {
    /// A variable that is data, and the fields to follow from it.
    Path { root: Arc<str>, fields: Box<[String]> },
    /// Anything else.
    Program(Arc<Program>),
}

/// Why an expression gave no value.
#[derive(Clone, Debug, PartialEq)]
pub enum EvaluationError {
    /// There is no such variable now.
    NoVariable(String),
    /// There is no such field; the sentence that says so.
    NoField(String),
    /// The value is of another type than is wanted here.
    WrongType(&'static str),
    /// The evaluation failed, or hit a bound: then the kind is a limit's.
    Failed(ErrorKind, String),
}

impl EvaluationError {
    /// Its kind as logs and evidence name it, `no_such_field`; a bound that was hit has a kind of its own, `out_of_fuel`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.error_kind().as_str()
    }

    fn error_kind(&self) -> ErrorKind {
        match self {
            Self::NoVariable(_) => ErrorKind::NoSuchVariable,
            Self::NoField(_) => ErrorKind::NoSuchField,
            Self::WrongType(_) => ErrorKind::WrongResult,
            Self::Failed(kind, _) => *kind,
        }
    }
}

impl std::fmt::Display for EvaluationError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoVariable(name) => write!(f, "`{name}` has no value here"),
            Self::WrongType(wanted) => write!(f, "the value is no {wanted}"),
            Self::NoField(why) | Self::Failed(_, why) => f.write_str(why),
        }
    }
}

impl From<EvalError> for EvaluationError {
    fn from(error: EvalError) -> Self {
        match error.kind {
            ErrorKind::NoSuchField => Self::NoField(error.message),
            kind => Self::Failed(kind, error.message),
        }
    }
}

/// Where an expression finds its variables.
pub trait Scope {
    /// A variable that is data: `args`, `result`, `error`, `hints`, `params`, `constants`.
    fn data(&self, name: &str) -> Option<&Value>;

    /// The result, for an expression that reads it in this form.
    fn result(&self, reading: Reading) -> Option<&Value> {
        let _ = reading;
        self.data("result")
    }

    /// Any variable, those with a dot in their name (`call.tool`) too.
    fn value(&self, name: &str) -> Option<Val<'_>> {
        self.data(name).map(Val::from)
    }

    /// The same, for variables that the host computes and that may fail.
    ///
    /// # Errors
    /// What the computation came to.
    fn computed(&self, name: &str) -> Result<Option<Val<'_>>, EvaluationError> {
        Ok(self.value(name))
    }

    /// A function of the host, such as `task.calls`.
    ///
    /// # Errors
    /// What went wrong, in words.
    fn call(&self, name: &str, arguments: &[Val<'_>]) -> Result<Val<'_>, String> {
        let _ = arguments;
        Err(format!("the host has no function `{name}`"))
    }

    /// Steps that all expressions of this decision together may still burn, where they share an allowance.
    fn allowance(&self) -> Option<&Cell<u64>> {
        None
    }
}

/// Steps of all expressions of one decision together.
pub(crate) const STEPS_OF_A_DECISION: u64 = 1_000_000;

/// Variables that a field path may start from: those that every scope has as data.
const DATA: &[&str] = &["args", "result", "error", "hints", "params", "constants"];

/// A scope, and in which form the result is read.
struct Scoped<'s>(&'s dyn Scope, Option<Reading>);

impl Activation for Scoped<'_> {
    fn variable(&self, _: usize, name: &str) -> Result<Option<Val<'_>>, Box<EvalError>> {
        if let Some(reading) = self.1.filter(|_| name == "result") {
            return Ok(self.0.result(reading).map(Val::from));
        }
        self.0.computed(name).map_err(|error| {
            let message = format!("`{name}` failed: {error}");
            // a bound keeps its kind, so that no `||` absorbs it
            Box::new(EvalError { kind: error.error_kind(), span: Span::default(), message })
        })
    }

    fn call(&self, _: usize, name: &str, arguments: &[Val<'_>]) -> Result<Val<'_>, String> {
        self.0.call(name, arguments)
    }
}

impl Expression {
    /// Checks and compiles an expression.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn compile(source: &str, env: &Env, expect: Option<Type>) -> Result<Self, Vec<callgate_cel::Diagnostic>> {
        let program = Program::compile(source, env, expect, &Limits::default())?;
        let checked = Arc::new(program);
        let way = field_path(source).unwrap_or_else(|| Way::Program(Arc::clone(&checked)));
        let reading = Reading::of(&checked);
        Ok(Self { source: source.into(), checked, way, reading, witness: None })
    }

    /// The same, watched; with a log that tells every evaluation of it under a number.
    #[must_use]
    pub fn watched(&self, log: Option<(usize, Arc<Log>)>) -> Self {
        Self { witness: Some(Arc::new(Witness::of(&self.checked, log))), ..self.clone() }
    }

    /// The same, watched by whoever watches another one of the same text.
    #[must_use]
    pub fn watched_as(&self, other: &Self) -> Self {
        Self { witness: other.witness.clone(), ..self.clone() }
    }

    /// In which form it reads a result; none where it reads none.
    #[must_use]
    pub(crate) fn reading(&self) -> Option<Reading> {
        self.reading
    }

    /// Whether it may come to true and to false.
    #[must_use]
    pub fn is_condition(&self) -> bool {
        self.checked.is_condition()
    }

    /// Who watches it.
    #[must_use]
    pub fn witness(&self) -> Option<&Arc<Witness>> {
        self.witness.as_ref()
    }

    /// The text as the author wrote it, without blanks around it.
    #[must_use]
    pub fn source(&self) -> &str {
        self.source.trim()
    }

    /// The text as the author wrote it: what places of mistakes count from.
    #[must_use]
    pub fn written(&self) -> &str {
        &self.source
    }

    /// What has to be so for it to be true, or false: see [`Program::claim`].
    #[must_use]
    pub fn claim(&self, truth: bool) -> Claim {
        self.checked.claim(truth)
    }

    /// Whether it fails only where a test of its claim fails: see [`Program::fails_by_its_tests`].
    #[must_use]
    pub fn fails_by_its_tests(&self) -> bool {
        self.checked.fails_by_its_tests()
    }

    /// The literals in it.
    #[must_use]
    pub fn literals(&self) -> Vec<callgate_cel::Scalar> {
        self.checked.literals()
    }

    /// The value that it reads, if it does nothing else.
    #[must_use]
    pub fn place(&self) -> Option<callgate_cel::Place> {
        self.checked.place()
    }

    /// What it can come to, given the types of some variables: see [`Program::prospect`].
    #[must_use]
    pub fn prospect(&self, known: &dyn Fn(&str) -> Option<Type>) -> Prospect {
        self.checked.prospect(known)
    }

    /// The type of its value, as far as it is known.
    #[must_use]
    pub fn result_type(&self) -> Type {
        match &self.way {
            Way::Path { .. } => Type::Dyn,
            Way::Program(program) => program.result_type().clone(),
        }
    }

    /// Which fields are known to be there once it is true, or false.
    #[must_use]
    pub fn tests(&self) -> Tests {
        self.checked.tests().clone()
    }

    /// The fields of `variable` that it reads, each once.
    #[must_use]
    pub fn fields_of(&self, variable: &str) -> Vec<&str> {
        let of = self.checked.references().iter().filter(|reference| *reference.variable == *variable);
        let mut fields: Vec<&str> = of.filter_map(|reference| reference.field.as_deref()).collect();
        fields.sort_unstable();
        fields.dedup();
        fields
    }

    /// The first field of `variable` that it reads, if it reads one.
    #[must_use]
    pub fn reads_field_of(&self, variable: &str) -> Option<&str> {
        let mut of = self.checked.references().iter().filter(|reference| *reference.variable == *variable);
        of.find_map(|reference| reference.field.as_deref())
    }

    /// Where a field of a variable is read as it is, with nothing further done to it: in code points of the text.
    #[must_use]
    pub fn reads_bare(&self, variable: &str, field: &str) -> Option<(usize, usize)> {
        let reads = self.checked.references().iter().filter(|it| *it.variable == *variable);
        reads.filter(|it| it.field.as_deref() == Some(field)).find_map(|reference| {
            let before = self.source.get(..reference.span.start as usize)?;
            let behind = self.source.get(reference.span.end as usize..)?;
            let rest = behind.trim_start().strip_prefix('.')?.trim_start().strip_prefix(field)?;
            let read = self.source.len().saturating_sub(before.len()).saturating_sub(rest.len());
            let text = self.source.get(before.len()..before.len().saturating_add(read))?;
            let start = before.chars().count();
            let more = rest.trim_start().starts_with(['.', '[']);
            (!more).then(|| (start, start.saturating_add(text.chars().count())))
        })
    }

    /// Its value; borrowed where it is a part of the data.
    ///
    /// # Errors
    /// [`EvaluationError`], where a variable or a field is missing, the evaluation fails, or a bound is hit.
    pub fn evaluate<'s>(&self, scope: &'s dyn Scope) -> Result<Cow<'s, Value>, EvaluationError> {
        let value = match &self.way {
            Way::Path { root, fields } => self.follow(scope, root, fields).map(Cow::Borrowed),
            Way::Program(program) => fuelled(scope, |fuel| match &self.witness {
                None => program.evaluate(&Scoped(scope, self.reading), fuel)?.to_value(fuel),
                Some(witness) => {
                    watch(witness, program, &Scoped(scope, self.reading), fuel, |value, fuel| value.to_value(fuel))?
                }
            })
            .map(Cow::Owned),
        };
        if let (Some(witness), Ok(Some(truth))) = (&self.witness, value.as_ref().map(|value| value.as_bool())) {
            witness.whole(truth);
        }
        value
    }

    fn follow<'s>(&self, scope: &'s dyn Scope, root: &str, fields: &[String]) -> Result<&'s Value, EvaluationError> {
        let start = match self.reading {
            Some(reading) => scope.result(reading),
            None => scope.data(root),
        };
        let mut value = start.ok_or_else(|| EvaluationError::NoVariable(root.to_owned()))?;
        for field in fields {
            let map = value.as_map().ok_or(EvaluationError::WrongType("map"))?;
            value = map
                .get(field)
                .ok_or_else(|| EvaluationError::NoField(format!("there is no field `{}`", self.source())))?;
        }
        Ok(value)
    }

    /// Its value as a condition.
    ///
    /// # Errors
    /// [`EvaluationError`], where it has none or is no boolean.
    pub fn test(&self, scope: &dyn Scope) -> Result<bool, EvaluationError> {
        let answer = match &self.way {
            Way::Path { root, fields } => self.follow(scope, root, fields)?.as_bool(),
            Way::Program(program) => fuelled(scope, |fuel| match &self.witness {
                None => Ok(program.evaluate(&Scoped(scope, self.reading), fuel)?.as_bool()),
                Some(witness) => {
                    watch(witness, program, &Scoped(scope, self.reading), fuel, |value, _| value.as_bool())
                }
            })?,
        };
        if let (Some(witness), Some(truth)) = (&self.witness, answer) {
            witness.whole(truth);
        }
        answer.ok_or(EvaluationError::WrongType("boolean"))
    }

    /// Its value, or nothing where the field or variable is absent or null, or it fails: for optional keys.
    #[must_use]
    pub fn optional<'s>(&self, scope: &'s dyn Scope) -> Option<Cow<'s, Value>> {
        self.evaluate(scope).ok().filter(|value| !matches!(**value, Value::Null))
    }
}

/// Evaluates while somebody watches.
#[cold]
fn watch<T>(
    witness: &Witness,
    program: &Program,
    scoped: &Scoped<'_>,
    fuel: &mut Fuel,
    then: impl FnOnce(&Val<'_>, &mut Fuel) -> T,
) -> Result<T, EvalError> {
    let id = scoped.0.value("call.id");
    let value = witness.watch(id.as_ref().and_then(Val::as_str), |observer| program.observe(scoped, fuel, observer))?;
    Ok(then(&value, fuel))
}

/// Evaluates with the fuel of one expression, and no more than what is left of the decision's.
fn fuelled<T>(
    scope: &dyn Scope,
    evaluate: impl FnOnce(&mut Fuel) -> Result<T, EvalError>,
) -> Result<T, EvaluationError> {
    let limits = Limits::default();
    let Some(left) = scope.allowance() else { return Ok(evaluate(&mut Fuel::new(&limits))?) };
    let mut fuel = Fuel::at_most(&limits, left.get());
    let answer = evaluate(&mut fuel);
    // a variable of the policy that was computed meanwhile has taken its own steps from what was left
    left.set(left.get().saturating_sub(fuel.steps_used()));
    Ok(answer?)
}

/// One text for every way of writing an expression; none where it has mistakes.
#[must_use]
pub fn canonical(source: &str) -> Option<String> {
    callgate_cel::canonical(source).ok()
}

/// Evaluates an expression by itself: its variables are the entries of `bindings`, each of any type. For tests that
/// compare this engine with others.
///
/// # Errors
/// `(kind, message)` of the first mistake, or of the error that it came to.
pub fn evaluate_alone(source: &str, bindings: &callgate_value::Map) -> Result<Value, (&'static str, String)> {
    let limits = Limits::default();
    let mut env = Env::new();
    let mut values = Vec::new();
    for (name, value) in bindings.iter() {
        if let Some(name) = name.as_str() {
            env.variable(name, Type::Dyn);
            values.push(Val::from(value));
        }
    }
    let program =
        Program::compile(source, &env, None, &limits).map_err(|mistakes| match mistakes.into_iter().next() {
            Some(mistake) => (mistake.code.as_str(), mistake.message),
            None => ("cel-syntax", String::new()),
        })?;
    let mut fuel = Fuel::new(&limits);
    let value = program.evaluate(&values, &mut fuel).and_then(|value| value.to_value(&mut fuel));
    value.map_err(|error| (error.kind.as_str(), error.message))
}

/// The way along a plain field path such as `args.cursor`.
fn field_path(source: &str) -> Option<Way> {
    let mut segments = source.trim().split('.');
    let is_name = |text: &str| {
        let mut letters = text.chars();
        letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
            && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    };
    let root = segments.next().filter(|root| DATA.contains(root))?;
    let fields = segments.map(|field| is_name(field).then(|| field.to_owned())).collect::<Option<Box<[String]>>>()?;
    Some(Way::Path { root: root.into(), fields })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_paths_into_data_are_field_paths() {
        for plain in ["result", "args.cursor", "result.a.b_1", " args.x "] {
            assert!(field_path(plain).is_some(), "{plain}");
        }
        for other in ["size(x)", "a == b", "args..b", "1.2", "", "args.", "true", "args[0]", "args.b()", "call.tool"] {
            assert!(field_path(other).is_none(), "{other}");
        }
    }
}
