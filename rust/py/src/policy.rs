//! Compiling a policy from Python.
use std::sync::Arc;

use callgate_core::compile::{self, ManifestDocument, Place};
use callgate_core::policy::{Effect, Mode, Policy};
use callgate_core::{identify_alone, Request};
use callgate_value::SymbolKey;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::lift::lift_arguments;
use crate::model::{lift_document, Fault};

/// Adds what this module has to the Python module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<CompiledPolicy>()?;
    module.add_function(wrap_pyfunction!(compile_policy, module)?)
}

/// A compiled policy: immutable, shared between tasks and threads.
#[pyclass(frozen, module = "callgate._core")]
pub struct CompiledPolicy {
    pub(crate) policy: Arc<Policy>,
}

#[pymethods]
impl CompiledPolicy {
    /// The policy's name.
    #[getter]
    fn name(&self) -> &str {
        &self.policy.name
    }

    /// The author's revision.
    #[getter]
    fn revision(&self) -> &str {
        &self.policy.revision
    }

    /// SHA-256 of the canonical resolved policy and its manifests, 64 hex digits.
    #[getter]
    fn digest(&self) -> &str {
        &self.policy.digest
    }

    /// `enforce`, `warn` or `audit`.
    #[getter]
    fn mode(&self) -> &'static str {
        match self.policy.mode {
            Mode::Enforce => "enforce",
            Mode::Warn => "warn",
            Mode::Audit => "audit",
        }
    }

    /// The limits of the plain budgets, None where there is none.
    #[getter]
    fn limits(&self) -> Vec<(&'static str, Option<f64>)> {
        let budgets = &self.policy.budgets;
        vec![
            ("steps", budgets.steps),
            ("tool_calls", budgets.tool_calls),
            ("retries", budgets.retries),
            ("tokens", budgets.tokens),
            ("cost", budgets.cost),
        ]
    }

    /// Whether the model gets one more turn without tools after a stop.
    #[getter]
    fn final_answer(&self) -> bool {
        self.policy.final_answer
    }

    /// The names of the declared tools, sorted.
    #[getter]
    fn tools(&self) -> Vec<String> {
        let mut names: Vec<String> = self.policy.tools.keys().cloned().collect();
        names.sort();
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
        let request =
            Request { tool: tool.into(), arguments: Arc::new(lifted), call_id: None, hints: None, fault: None };
        // the policy's digest as key: the same texts for one policy everywhere, others for any other
        let mut key = [0; 16];
        key.iter_mut().zip(self.policy.digest.bytes()).for_each(|(to, from)| *to = from);
        let call = identify_alone(&self.policy, &SymbolKey::new(key), &request);
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

    fn __repr__(&self) -> String {
        format!("CompiledPolicy({} {})", self.policy.name, self.policy.digest.get(..12).unwrap_or(""))
    }
}

/// Compiles a resolved policy against manifests.
///
/// Args:
///     policy: the whole GuardPolicy document as plain data, with what it extends merged into `spec`.
///     manifests: the ToolManifest documents in force, each with its name.
///
/// Returns:
///     The compiled policy, or None if a fault is an error; and the faults, each with the document that it is in: -1 for
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
    let (policy, faults) = py.detach(|| compile::compile(&document, &lifted));
    let mut found = Vec::with_capacity(faults.len());
    for located in faults {
        let place = match located.place {
            Place::Policy => -1,
            Place::Manifest(position) => i64::try_from(position).map_err(|_| PyTypeError::new_err("too many"))?,
        };
        found.push((place, Fault::new(py, located.fault)?));
    }
    Ok((policy.map(|policy| CompiledPolicy { policy: Arc::new(policy) }), found))
}
