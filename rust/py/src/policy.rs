//! Compiling a policy from Python.
use std::sync::Arc;

use callgate_core::compile::{self, ManifestDocument, Place};
use callgate_core::policy::{Mode, Policy};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

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
