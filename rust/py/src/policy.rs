//! Compiling a policy from Python.
use std::collections::BTreeMap;
use std::sync::Arc;

use callgate_core::compile::{self, ManifestDocument, Place};
use callgate_core::guard::{Bound as BoundTo, Guard};
use callgate_core::model::times::Moment;
use callgate_core::policy::{Binding, Budgets, Effect, Match, Mode, Policy};
use callgate_core::{identify_alone, About, Request};
use callgate_value::SymbolKey;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::lift::lift_arguments;
use crate::model::{lift_document, Fault};

/// Adds what this module has to the Python module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<CompiledPolicy>()?;
    module.add_function(wrap_pyfunction!(bind_policies, module)?)?;
    module.add_function(wrap_pyfunction!(canonical_expression, module)?)?;
    module.add_function(wrap_pyfunction!(condition_relations, module)?)?;
    module.add_function(wrap_pyfunction!(moment, module)?)?;
    module.add_function(wrap_pyfunction!(compile_policy, module)?)
}

/// A compiled policy, or several with their bindings: immutable, shared between tasks and threads.
#[pyclass(frozen, module = "callgate._core")]
pub struct CompiledPolicy {
    pub(crate) guard: Arc<Guard>,
}

impl CompiledPolicy {
    fn first(&self) -> Option<&Policy> {
        self.guard.policies().next()
    }
}

/// (binding, policy, mode, rollout)
type Bindings = Vec<(String, String, &'static str, bool)>;

/// (binding, compiled policy, agents, tenants, labels, rollout)
type BoundPolicy<'py> =
    (String, PyRef<'py, CompiledPolicy>, Option<Vec<String>>, Option<Vec<String>>, BTreeMap<String, String>, bool);

#[pymethods]
impl CompiledPolicy {
    /// The policy's name; of several, all names joined by ` + `.
    #[getter]
    fn name(&self) -> String {
        let mut names: Vec<&str> = Vec::new();
        for policy in self.guard.policies() {
            if !names.contains(&policy.name.as_str()) {
                names.push(&policy.name);
            }
        }
        names.join(" + ")
    }

    /// The author's revision; of policies of several names none.
    #[getter]
    fn revision(&self) -> &str {
        let first = self.first();
        let alike = |policy: &Policy| first.is_some_and(|first| first.name == policy.name);
        first.filter(|_| self.guard.policies().all(alike)).map_or("", |policy| &policy.revision)
    }

    /// SHA-256 of the canonical resolved policy and its manifests, of the exceptions and bindings too where there are
    /// some: 64 hex digits.
    #[getter]
    fn digest(&self) -> &str {
        self.guard.digest()
    }

    /// `enforce`, `warn` or `audit`; of several policies the strictest.
    #[getter]
    fn mode(&self) -> &'static str {
        let modes: Vec<Mode> = self.guard.policies().map(|policy| policy.mode).collect();
        let strictest = [Mode::Enforce, Mode::Warn, Mode::Audit].into_iter().find(|mode| modes.contains(mode));
        strictest.unwrap_or(Mode::Enforce).name()
    }

    /// The limits of the plain budgets that hold for an agent of a task, None where there is none.
    #[pyo3(signature = (*, agent = "root", tenant = None, labels = None))]
    fn limits_of(
        &self,
        agent: &str,
        tenant: Option<String>,
        labels: Option<BTreeMap<String, String>>,
    ) -> Vec<(&'static str, Option<f64>)> {
        let about = About { tenant, labels: labels.unwrap_or_default(), ..About::default() };
        let policy = self.guard.policy(agent, &about);
        let tightest = |limit: fn(&Budgets) -> Option<f64>| {
            policy.each().filter_map(|policy| limit(&policy.budgets)).reduce(f64::min)
        };
        vec![
            ("steps", tightest(|it| it.steps)),
            ("tool_calls", tightest(|it| it.tool_calls)),
            ("retries", tightest(|it| it.retries)),
            ("tokens", tightest(|it| it.tokens)),
            ("cost", tightest(|it| it.cost)),
        ]
    }

    /// The same for the first agent of a task without tenant and labels.
    #[getter]
    fn limits(&self) -> Vec<(&'static str, Option<f64>)> {
        self.limits_of("root", None, None)
    }

    /// Whether the model gets one more turn without tools after a stop.
    #[getter]
    fn final_answer(&self) -> bool {
        self.guard.policies().all(|policy| policy.final_answer)
    }

    /// The names of the declared tools, sorted.
    #[getter]
    fn tools(&self) -> Vec<String> {
        let mut names: Vec<String> = self.guard.policies().flat_map(|policy| policy.tools.keys().cloned()).collect();
        names.sort();
        names.dedup();
        names
    }

    /// What makes a call the same as another one under this policy, and what the policy knows of it.
    ///
    /// Args:
    ///     tool: the tool's name.
    ///     arguments: the call's arguments, JSON-like.
    ///
    /// Returns:
    ///     A text that calls share if and only if they are the same by the tool's loose identity (comparable under this
    ///     policy alone); the effect of the form that it has; whether that form waits for something.
    ///
    /// Raises:
    ///     ArgumentError: the arguments are not JSON-like; `path` says where.
    #[pyo3(signature = (tool, arguments))]
    fn identify(&self, tool: &str, arguments: &Bound<'_, PyAny>) -> PyResult<(String, &'static str, bool)> {
        let py = arguments.py();
        let lifted = lift_arguments(arguments).map_err(|fault| fault.into_error(py, "arguments"))?;
        let request = Request {
            tool: tool.into(),
            arguments: Arc::new(lifted),
            call_id: None,
            hints: None,
            fault: None,
            again: false,
        };
        // the policy's digest as key: the same texts for one policy everywhere, others for any other
        let mut key = [0; 16];
        key.iter_mut().zip(self.guard.digest().bytes()).for_each(|(to, from)| *to = from);
        let call = identify_alone(self.guard.whole(), &SymbolKey::new(key), &request);
        let effect = match call.tool.effect {
            Effect::Read => "read",
            Effect::Write => "write",
            Effect::External => "external",
            Effect::Ui => "ui",
            Effect::Control => "control",
            Effect::Unknown => "unknown",
        };
        Ok((format!("{:016x}", call.loose_symbol().0), effect, call.tool.waiting.is_some()))
    }

    /// The bindings, each (name, policy, mode, rollout), by name; none where one policy applies to everyone.
    #[getter]
    fn bindings(&self) -> Bindings {
        let bindings = self.guard.policies().filter_map(|policy| policy.binding.as_ref());
        bindings.map(|it| (it.name.to_string(), it.policy.to_string(), it.mode.name(), it.rollout)).collect()
    }

    /// The exceptions, each with the policy that it is about and when it ends, in seconds since 1970.
    #[getter]
    fn exceptions(&self) -> Vec<(String, String, f64)> {
        let mut found: Vec<(String, String, f64)> = Vec::new();
        for policy in self.guard.policies() {
            for exception in &policy.exceptions {
                if !found.iter().any(|(name, ..)| **name == *exception.name) {
                    found.push((exception.name.to_string(), policy.name.clone(), exception.expires));
                }
            }
        }
        found
    }

    /// The same policy with what exceptions lift of it.
    ///
    /// Args:
    ///     exceptions: whole GuardException documents that `validate` finds no fault in.
    ///
    /// Raises:
    ///     ValueError: one of them has a fault, or this is not one policy for everyone.
    #[pyo3(signature = (exceptions))]
    fn with_exceptions(&self, exceptions: Vec<Bound<'_, PyAny>>) -> PyResult<Self> {
        let policy = self.first().filter(|_| self.guard.is_alone());
        let policy = policy.ok_or_else(|| PyValueError::new_err("the policies are bound already"))?;
        let documents = exceptions.iter().map(lift_document).collect::<PyResult<Vec<_>>>()?;
        let compiled = documents.iter().map(|document| {
            compile::exception(document).map_err(|faults| {
                let told = faults.first().map_or_else(String::new, |fault| fault.message.clone());
                PyValueError::new_err(told)
            })
        });
        let compiled = compiled.collect::<PyResult<Vec<_>>>()?;
        let policy = policy.clone().with_exceptions(&documents, compiled);
        Ok(Self { guard: Arc::new(Guard::alone(policy)) })
    }

    fn __repr__(&self) -> String {
        format!("CompiledPolicy({} {})", self.name(), self.guard.digest().get(..12).unwrap_or(""))
    }
}

/// Compiles a resolved policy against manifests.
///
/// Args:
///     policy: the whole GuardPolicy document as plain data, with what it extends merged into `spec`.
///     manifests: the ToolManifest documents in force, each with its name.
///
/// Returns:
///     The compiled policy, or None if a fault keeps it from being compiled (what is only dead, CG501, does not: whose
///     it is, is the caller's to say); and the faults, each with the document that it is in: -1 for
///     the policy, else the position of the manifest.
///
/// Raises:
///     TypeError: a document holds something that YAML has no form for.
#[pyfunction]
#[pyo3(signature = (policy, manifests))]
#[allow(clippy::type_complexity)]
fn compile_policy(
    py: Python<'_>,
    policy: &Bound<'_, PyAny>,
    manifests: Vec<(String, Bound<'_, PyAny>)>,
) -> PyResult<(Option<CompiledPolicy>, Vec<(i64, Fault)>)> {
    let document = lift_document(policy)?;
    let mut lifted = Vec::with_capacity(manifests.len());
    for (name, document) in &manifests {
        lifted.push(ManifestDocument { name: name.clone(), document: lift_document(document)? });
    }
    let (policy, faults) = py.detach(|| {
        let (policy, mut faults) = compile::compile(&document, &lifted);
        if let Some(policy) = &policy {
            faults.extend(callgate_analysis::dead(policy, &document, &lifted));
        }
        (policy, faults)
    });
    let mut found = Vec::with_capacity(faults.len());
    for located in faults {
        let place = match located.place {
            Place::Policy => -1,
            Place::Manifest(position) => i64::try_from(position).map_err(|_| PyTypeError::new_err("too many"))?,
        };
        found.push((place, Fault::new(py, located.fault)?));
    }
    Ok((policy.map(|policy| CompiledPolicy { guard: Arc::new(Guard::alone(policy)) }), found))
}

/// Seconds since 1970-01-01T00:00:00Z of a day (its end) or a moment in UTC, as documents write them.
///
/// Raises:
///     ValueError: the text is neither.
///
/// Example:
///     >>> from callgate import _core
///     >>> _core.moment("1970-01-02T00:00:01Z")
///     86401.0
#[pyfunction]
#[pyo3(signature = (text))]
fn moment(text: &str) -> PyResult<f64> {
    let seconds = Moment(text.to_owned()).unix_seconds();
    #[allow(clippy::cast_precision_loss)]
    let seconds = seconds.map(|seconds| seconds as f64);
    seconds.ok_or_else(|| PyValueError::new_err(format!("`{text}` is neither a date nor a time in UTC")))
}

/// How the conditions of the rules that two policies have in common stand to each other.
///
/// Args:
///     old: the policy before.
///     new: the policy after.
///     manifests: the ToolManifest documents that are the same for both, each with its name: their schemas are believed.
///     with_params: whether parameters have the values that the policies give them; else they may be anything.
///
/// Returns:
///     For each rule of both its id, and `equal`, `wider` (the new condition fires wherever the old one did), `narrower`, or
///     `unknown` where neither is proved.
///
/// Raises:
///     TypeError: a document holds something that YAML has no form for.
///     ValueError: a policy is bound: compare those that were bound.
#[pyfunction]
#[pyo3(signature = (old, new, manifests, *, with_params = false))]
fn condition_relations(
    py: Python<'_>,
    old: &CompiledPolicy,
    new: &CompiledPolicy,
    manifests: Vec<(String, Bound<'_, PyAny>)>,
    with_params: bool,
) -> PyResult<Vec<(String, &'static str)>> {
    let mut lifted = Vec::with_capacity(manifests.len());
    for (name, document) in &manifests {
        lifted.push(ManifestDocument { name: name.clone(), document: lift_document(document)? });
    }
    let alone = |policy: &CompiledPolicy| policy.first().filter(|_| policy.guard.is_alone()).cloned();
    let bound = || PyValueError::new_err("the policies are bound: compare those that were bound");
    let (old, new) = (alone(old).ok_or_else(bound)?, alone(new).ok_or_else(bound)?);
    let found = py.detach(|| callgate_analysis::relations(&old, &new, &lifted, with_params));
    Ok(found.into_iter().map(|(rule, relation)| (rule, relation.name())).collect())
}

/// One text for every way of writing an expression: equal for two that differ in blanks, quotes, superfluous parentheses, or
/// the order of the operands of `&&` and `||`.
///
/// Returns:
///     The text; None where the expression has mistakes.
///
/// Example:
///     >>> from callgate import _core
///     >>> _core.canonical_expression("(b) || args.x=='y'")
///     '(args.x == "y") || b'
#[pyfunction]
#[pyo3(signature = (source))]
fn canonical_expression(source: &str) -> Option<String> {
    callgate_core::expression::canonical(source)
}

/// Policies with those whom each applies to, as one.
///
/// Args:
///     policies: for each binding its name, the policy compiled with the binding's mode and parameters, the agents and
///         tenants that it names (None: all), its labels, and whether it is a rollout.
///
/// Raises:
///     ValueError: one of them is bound already.
#[pyfunction]
#[pyo3(signature = (policies))]
fn bind_policies(policies: Vec<BoundPolicy<'_>>) -> PyResult<CompiledPolicy> {
    let mut bound = Vec::with_capacity(policies.len());
    for (name, compiled, agents, tenants, labels, rollout) in policies {
        let policy = compiled.first().filter(|_| compiled.guard.is_alone());
        let mut policy = policy.ok_or_else(|| PyValueError::new_err("the policies are bound already"))?.clone();
        let (name, of): (Arc<str>, Arc<str>) = (name.into(), policy.name.as_str().into());
        policy.binding = Some(Binding { name, policy: of, mode: policy.mode, rollout });
        bound.push(BoundTo { policy, matching: Match { agents, tenants, labels } });
    }
    Ok(CompiledPolicy { guard: Arc::new(Guard::of(bound)) })
}
