//! Coverage for Python: a policy that is watched, what can be exercised in it, and what was.
use std::sync::Arc;

use callgate_analysis::Coverage as Covered;
use callgate_core::compile::{ManifestDocument, Place};
use callgate_core::guard::Guard;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::model::{lift_document, pointer};
use crate::policy::CompiledPolicy;

/// Adds what this module has to the Python module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Coverage>()
}

/// (document: -1 for the policy, else the manifest's position; pointer; span in code points; kind; outcome; owner)
type Item = (i64, Py<PyTuple>, Option<(usize, usize)>, &'static str, &'static str, String);

/// (call id; policy; document; pointer; the text's parts, innermost first, each from, to in code points, and value)
type Evaluation = (String, usize, i64, Py<PyTuple>, Vec<(usize, usize, String)>);

/// A resolved policy and the manifests in force, each with its name.
type Documents<'py> = (Bound<'py, PyAny>, Vec<(String, Bound<'py, PyAny>)>);

/// A compiled policy that is watched.
#[pyclass(frozen, module = "callgate._core")]
pub struct Coverage {
    guard: Arc<Guard>,
    parts: Vec<Covered>,
}

#[pymethods]
impl Coverage {
    /// Watches a compiled policy, or each of several.
    ///
    /// Args:
    ///     policy: the policy.
    ///     documents: for each policy in it (by the names of their bindings, if they are bound) the resolved document
    ///         and the manifests that it was compiled from.
    ///     values: keep every evaluation, with the values of its parts.
    ///
    /// Raises:
    ///     TypeError: a document holds something that YAML has no form for.
    ///     ValueError: there are more or fewer documents than policies.
    #[new]
    #[pyo3(signature = (policy, documents, *, values = false))]
    fn new(policy: &CompiledPolicy, documents: Vec<Documents<'_>>, values: bool) -> PyResult<Self> {
        if policy.guard.policies().count() != documents.len() {
            return Err(PyValueError::new_err("there must be one document for each policy"));
        }
        let mut parts = Vec::with_capacity(documents.len());
        for (policy, (document, manifests)) in policy.guard.policies().zip(&documents) {
            let mut lifted = Vec::with_capacity(manifests.len());
            for (name, document) in manifests {
                lifted.push(ManifestDocument { name: name.clone(), document: lift_document(document)? });
            }
            parts.push(Covered::new(policy, &lift_document(document)?, &lifted, values));
        }
        let guard = policy
            .guard
            .changed(|at, policy| parts.get(at).map_or_else(|| policy.clone(), |part| part.policy().clone()));
        Ok(Self { guard: Arc::new(guard), parts })
    }

    /// The policy, watched: what is judged under it counts.
    #[getter]
    fn policy(&self) -> CompiledPolicy {
        CompiledPolicy { guard: Arc::clone(&self.guard) }
    }

    /// For each policy all that can be exercised: (document, pointer, span, kind, outcome, owner). `document` is -1 for the
    /// policy, else the position of the manifest; `span` is from which to which code point of the text there.
    #[getter]
    fn items(&self, py: Python<'_>) -> PyResult<Vec<Vec<Item>>> {
        let one = |part: &Covered| {
            let items = part.items().iter().map(|item| {
                let pointer = pointer(py, &item.pointer)?.unbind();
                let (span, kind) = (item.span, item.kind.name());
                Ok((number(item.place)?, pointer, span, kind, item.outcome, item.owner.clone()))
            });
            items.collect::<PyResult<Vec<Item>>>()
        };
        self.parts.iter().map(one).collect()
    }

    /// For each policy the positions of the items that were exercised since the last time.
    #[pyo3(signature = ())]
    fn take(&self) -> Vec<Vec<usize>> {
        self.parts.iter().map(Covered::take).collect()
    }

    /// The evaluations since the last time, in their order: (call id, policy, document, pointer, parts). The call id is
    /// empty where the expression sees none; a part is (from, to, value), in code points of the text.
    #[pyo3(signature = ())]
    fn take_evaluations(&self, py: Python<'_>) -> PyResult<Vec<Evaluation>> {
        let mut found = Vec::new();
        for (at, part) in self.parts.iter().enumerate() {
            for (place, to, source, evaluation) in part.take_evaluations() {
                let points = |byte: u32| source.get(..byte as usize).map_or(0, |text| text.chars().count());
                let values = evaluation.values.into_iter();
                let values = values.map(|(span, text)| (points(span.start), points(span.end), text)).collect();
                found.push((evaluation.call, at, number(place)?, pointer(py, to)?.unbind(), values));
            }
        }
        Ok(found)
    }
}

fn number(place: Place) -> PyResult<i64> {
    match place {
        Place::Policy => Ok(-1),
        Place::Manifest(position) => i64::try_from(position).map_err(|_| PyTypeError::new_err("too many")),
    }
}
