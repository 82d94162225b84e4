//! The self-test of a policy, for Python.
use callgate_analysis::Probe as Probed;
use callgate_core::compile::ManifestDocument;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::model::{lift_document, pointer};

/// Adds what this module has to the Python module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Probe>()?;
    module.add_function(wrap_pyfunction!(self_test, module)?)
}

/// A rule, a rung or a budget, and whether a generated run fired it.
#[pyclass(frozen, module = "callgate._core", get_all)]
pub struct Probe {
    pointer: Py<PyTuple>,
    title: String,
    reason: String,
    kind: &'static str,
    fires: bool,
    why: Option<String>,
}

#[pymethods]
impl Probe {
    fn __repr__(&self) -> String {
        format!("Probe({} fires={})", self.title, self.fires)
    }
}

impl Probe {
    fn new(py: Python<'_>, probed: Probed) -> PyResult<Self> {
        Ok(Self {
            pointer: pointer(py, &probed.pointer)?.unbind(),
            title: probed.title,
            reason: probed.reason,
            kind: probed.kind.name(),
            fires: probed.fires,
            why: probed.why,
        })
    }
}

/// Tries to fire every rule, rung and budget that a resolved policy writes, with generated runs.
///
/// Args:
///     policy: the whole GuardPolicy document as plain data, with what it extends merged into `spec`.
///     own: the document as it is written, without what it extends: only what it writes itself is tried.
///     manifests: the ToolManifest documents in force, each with its name.
///
/// Returns:
///     What was tried; nothing if the documents do not compile.
///
/// Raises:
///     TypeError: a document holds something that YAML has no form for.
#[pyfunction]
#[pyo3(signature = (policy, own, manifests))]
fn self_test(
    py: Python<'_>,
    policy: &Bound<'_, PyAny>,
    own: &Bound<'_, PyAny>,
    manifests: Vec<(String, Bound<'_, PyAny>)>,
) -> PyResult<Vec<Probe>> {
    let (document, own) = (lift_document(policy)?, lift_document(own)?);
    let mut lifted = Vec::with_capacity(manifests.len());
    for (name, document) in &manifests {
        lifted.push(ManifestDocument { name: name.clone(), document: lift_document(document)? });
    }
    let probed = py.detach(|| callgate_analysis::self_test(&document, &own, &lifted));
    probed.into_iter().map(|probed| Probe::new(py, probed)).collect()
}
