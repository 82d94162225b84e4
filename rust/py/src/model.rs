//! The policy model for Python: every fault of a document, and the JSON Schemas.
use callgate_core::model::{self, Segment, Stage};
use callgate_value::Value;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use crate::lift::lift_arguments;

/// Adds what this module has to the Python module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Fault>()?;
    module.add_function(wrap_pyfunction!(validate, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(kinds, module)?)?;
    module.add_function(wrap_pyfunction!(codes, module)?)
}

/// One thing that is wrong with a document.
///
/// `pointer` leads from the document's root to the place: keys as text, list positions as integers from 0. `part` says
/// whether the fault is about the key there or about the value; `span`, where it is not None, from which to which code
/// point of the text that stands there. `related` holds further places, each as
/// (pointer, message).
#[pyclass(frozen, module = "callgate._core", get_all)]
pub struct Fault {
    code: &'static str,
    name: &'static str,
    severity: &'static str,
    pointer: Py<PyTuple>,
    part: &'static str,
    span: Option<(usize, usize)>,
    message: String,
    hint: Option<String>,
    related: Py<PyTuple>,
}

#[pymethods]
impl Fault {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let pointer = self.pointer.bind(py).repr()?;
        Ok(format!("Fault({} {} at {pointer}: {})", self.code, self.severity, self.message))
    }
}

impl Fault {
    pub(crate) fn new(py: Python<'_>, fault: model::Fault) -> PyResult<Self> {
        let related = fault.related.iter().map(|(at, message)| Ok((pointer(py, at)?, message.as_str())));
        let related = related.collect::<PyResult<Vec<_>>>()?;
        Ok(Self {
            code: fault.code.id,
            name: fault.code.name,
            severity: fault.severity.as_str(),
            pointer: pointer(py, &fault.pointer)?.unbind(),
            part: fault.part.as_str(),
            span: fault.span,
            message: fault.message,
            hint: fault.hint,
            related: PyTuple::new(py, related)?.unbind(),
        })
    }
}

/// The steps to a value, as a tuple.
pub(crate) fn pointer<'py>(py: Python<'py>, pointer: &model::Pointer) -> PyResult<Bound<'py, PyTuple>> {
    let mut steps = Vec::with_capacity(pointer.0.len());
    for step in &pointer.0 {
        steps.push(match step {
            Segment::Key(key) => PyString::new(py, key).into_any(),
            Segment::Index(index) => index.into_pyobject(py)?.into_any(),
        });
    }
    PyTuple::new(py, steps)
}

/// Every fault of a document: of its form, and of its sense as far as one document can tell.
///
/// Args:
///     kind: the kind that the document says it is.
///     document: the whole document as plain data, envelope included.
///     resolved: whether it is what all layers together say, so that nothing may be missing.
///
/// Returns:
///     The faults; none if the document is in order.
///
/// Raises:
///     ArgumentError: the document holds something that is not JSON-like, or is nested too deeply.
///
/// Example:
///     >>> from callgate import _core
///     >>> [fault.code for fault in _core.validate("GuardPolicies", {})]
///     ['CG208']
#[pyfunction]
#[pyo3(signature = (kind, document, *, resolved = false))]
fn validate(py: Python<'_>, kind: &str, document: &Bound<'_, PyAny>, resolved: bool) -> PyResult<Vec<Fault>> {
    let document = lift_document(document)?;
    let stage = if resolved { Stage::Resolved } else { Stage::Layer };
    model::validate(kind, &document, stage).into_iter().map(|fault| Fault::new(py, fault)).collect()
}

/// A YAML document as a value.
pub(crate) fn lift_document(document: &Bound<'_, PyAny>) -> PyResult<Value> {
    lift_arguments(document).map_err(|fault| fault.into_error(document.py(), "document"))
}

/// The JSON Schema (2020-12) of a kind of documents, as JSON text.
///
/// Raises:
///     ValueError: there is no such kind.
#[pyfunction]
#[pyo3(signature = (kind))]
fn schema(kind: &str) -> PyResult<String> {
    let schema = model::json_schema(kind).ok_or_else(|| PyValueError::new_err(format!("unknown kind `{kind}`")))?;
    Ok(format!("{schema:#}\n"))
}

/// The kinds of documents.
#[pyfunction]
fn kinds() -> Vec<&'static str> {
    model::KINDS.to_vec()
}

/// The codes of the model with their names: `[("CG201", "unknown-key"), …]`.
#[pyfunction]
fn codes() -> Vec<(&'static str, &'static str)> {
    model::codes::ALL.iter().map(|code| (code.id, code.name)).collect()
}
