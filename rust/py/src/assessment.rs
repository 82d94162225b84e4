//! Assessments as Python sees them: what became of a call, and what comes next.
use callgate_core::Next;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::finding::{notes, Stop};
use crate::lift::to_python;
use crate::ways::{cells, proposals, skipped, Verification};

/// Adds what this module has to the Python module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Assessment>()
}

/// What the engine makes of an outcome.
#[pyclass(frozen, module = "callgate._core")]
pub struct Assessment {
    pub(crate) assessment: callgate_core::Assessment,
}

#[pymethods]
impl Assessment {
    /// The call.
    #[getter]
    fn call_id(&self) -> &str {
        &self.assessment.call_id
    }

    /// `sufficient`, `partial`, `empty`, `failed` or `ungraded`.
    #[getter]
    fn grade(&self) -> &'static str {
        self.assessment.grade.name()
    }

    /// The class of its failure: `transient`, `permanent`, `ambiguous`, `format` or `denied`; None for a success.
    #[getter]
    fn error_class(&self) -> Option<&'static str> {
        self.assessment.class.map(callgate_core::policy::ErrorClass::name)
    }

    /// Wanted fields that are missing: ((record key, field), ...).
    #[getter]
    fn gaps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        cells(py, &self.assessment.gaps)
    }

    /// Missing cells of the task's needs that it filled, 0 until the round has closed.
    #[getter]
    fn cells(&self) -> u32 {
        self.assessment.cells
    }

    /// Items that were new to the task, 0 until the round has closed.
    #[getter]
    fn gain(&self) -> u32 {
        self.assessment.gain
    }

    /// For the model: of all calls of the round, once it has closed with this observation.
    #[getter]
    fn notes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        notes(py, &self.assessment.notes)
    }

    /// What should happen next: `continue`, `retry`, `verify`, `substitute` or `exit`.
    #[getter]
    fn next(&self) -> &'static str {
        self.assessment.next.name()
    }

    /// Calls that are proposed instead: of all calls of the round, once it has closed with this observation.
    #[getter]
    fn substitutes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        proposals(py, &self.assessment.offers)
    }

    /// Capabilities that are done without, likewise.
    #[getter]
    fn skipped<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        skipped(py, &self.assessment.skipped)
    }

    /// The call failed, and this is what the same call returned before; None where nothing stands in.
    #[getter]
    fn result<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.assessment.cached.as_ref().map(|(result, _)| to_python(py, result)).transpose()
    }

    /// How old that is, in seconds.
    #[getter]
    fn result_age(&self) -> Option<f64> {
        self.assessment.cached.as_ref().map(|(_, age)| *age)
    }

    /// Whether an earlier result stands in for a call that failed.
    #[getter(from_cache)]
    fn is_from_cache(&self) -> bool {
        self.assessment.cached.is_some()
    }

    /// The outcome in one form: `{success, code, retryable, data, message}`.
    #[getter]
    fn envelope<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.assessment.envelope.to_value())
    }

    /// `retry`: seconds to wait first, without jitter.
    #[getter]
    fn retry_after(&self) -> Option<f64> {
        match self.assessment.next {
            Next::Retry(seconds) => Some(seconds),
            Next::Continue | Next::Verify(_) | Next::Substitute | Next::Exit => None,
        }
    }

    /// `verify`: the call that would tell what became of the effect.
    #[getter]
    fn verify(&self) -> Option<Verification> {
        match &self.assessment.next {
            Next::Verify(verification) => Some(Verification { verification: verification.clone() }),
            Next::Continue | Next::Retry(_) | Next::Substitute | Next::Exit => None,
        }
    }

    /// The task was stopped by this observation.
    #[getter]
    fn stop(&self) -> Option<Stop> {
        self.assessment.stop.clone().map(|stop| Stop { stop })
    }

    fn __repr__(&self) -> String {
        format!("Assessment({} {}, {})", self.assessment.call_id, self.grade(), self.next())
    }
}
