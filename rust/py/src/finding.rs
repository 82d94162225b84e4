//! Findings, notes and stops as Python sees them: why a call or a task was answered as it was.
use callgate_core::{reason_name, Evidence};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::lift::to_python;

/// Adds what this module has to the Python module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Finding>()?;
    module.add_class::<Note>()?;
    module.add_class::<Stop>()
}

pub(crate) fn evidence<'py>(py: Python<'py>, evidence: &Evidence) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in evidence {
        dict.set_item(name, to_python(py, value)?)?;
    }
    Ok(dict)
}

/// One reason that fired on a call.
#[pyclass(frozen, module = "callgate._core")]
pub struct Finding {
    pub(crate) finding: callgate_core::Finding,
    pub(crate) tool: std::sync::Arc<str>,
}

#[pymethods]
impl Finding {
    /// Why, such as `exact_repeat` or `rule:order-ceiling`.
    #[getter]
    fn reason(&self) -> String {
        self.finding.name()
    }

    /// What it asks for: `allow` (a note), `reuse`, `ask`, `refuse` or `stop`.
    #[getter]
    fn action(&self) -> &'static str {
        self.finding.action.name()
    }

    /// What shows it.
    #[getter]
    fn evidence<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        evidence(py, &self.finding.evidence)
    }

    /// What happened, in a sentence.
    #[getter]
    fn message(&self) -> String {
        callgate_core::reply::explain(&self.finding, &self.tool)
    }

    /// Seconds after which trying again makes sense.
    #[getter]
    fn retry_after(&self) -> Option<f64> {
        self.finding.retry_after
    }

    fn __repr__(&self) -> String {
        format!("Finding({} {}: {})", self.action(), self.reason(), self.message())
    }
}

/// Something that the model should read beside a result.
#[pyclass(frozen, module = "callgate._core")]
pub struct Note {
    pub(crate) note: callgate_core::Note,
}

#[pymethods]
impl Note {
    /// Why, such as `cycle`.
    #[getter]
    fn reason(&self) -> String {
        reason_name(self.note.reason, self.note.rule.as_deref())
    }

    /// The call that it is about.
    #[getter]
    fn call_id(&self) -> &str {
        &self.note.call_id
    }

    /// For the model.
    #[getter]
    fn message(&self) -> &str {
        &self.note.message
    }

    /// What shows it.
    #[getter]
    fn evidence<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        evidence(py, &self.note.evidence)
    }

    fn __repr__(&self) -> String {
        format!("Note({} on {}: {})", self.reason(), self.note.call_id, self.note.message)
    }
}

pub(crate) fn notes<'py>(py: Python<'py>, notes: &[callgate_core::Note]) -> PyResult<Bound<'py, PyTuple>> {
    let notes = notes.iter().map(|note| Bound::new(py, Note { note: note.clone() }));
    PyTuple::new(py, notes.collect::<PyResult<Vec<_>>>()?)
}

/// Why and when a task was stopped.
#[pyclass(frozen, module = "callgate._core")]
pub struct Stop {
    pub(crate) stop: callgate_core::Stop,
}

#[pymethods]
impl Stop {
    /// The finding that stopped it.
    #[getter]
    fn reason(&self) -> String {
        reason_name(self.stop.reason, self.stop.rule.as_deref())
    }

    /// The call that met it.
    #[getter]
    fn call_id(&self) -> &str {
        &self.stop.call_id
    }

    /// Seconds, on the task's clock.
    #[getter]
    fn at(&self) -> f64 {
        self.stop.at
    }

    /// How the task should end: `finish`, `finish_with_gaps` or `escalate`.
    #[getter]
    fn exit(&self) -> &'static str {
        self.stop.exit.name()
    }

    /// What shows that it had to be: counters and thresholds.
    #[getter]
    fn evidence<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.stop.evidence)
    }

    fn __repr__(&self) -> String {
        format!("Stop({} at {}, {})", self.reason(), self.stop.call_id, self.exit())
    }
}
