//! Ways out as Python sees them: proposed calls, what is done without, and advice after a model did not answer.
use callgate_core::{BreakerState, ModelAdvice as CoreAdvice};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::lift::to_python;

/// Adds what this module has to the Python module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Proposal>()?;
    module.add_class::<Skipped>()?;
    module.add_class::<Verification>()?;
    module.add_class::<ModelAdvice>()
}

/// A call that is proposed instead of one that did not deliver.
#[pyclass(frozen, module = "callgate._core")]
pub struct Proposal {
    offer: callgate_core::Offer,
}

#[pymethods]
impl Proposal {
    /// The call that did not deliver.
    #[getter]
    fn call_id(&self) -> &str {
        &self.offer.call_id
    }

    /// Its tool.
    #[getter]
    fn instead_of(&self) -> &str {
        &self.offer.from
    }

    /// The tool that is proposed.
    #[getter]
    fn tool(&self) -> &str {
        &self.offer.tool
    }

    /// The arguments that are proposed.
    #[getter]
    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.offer.arguments)
    }

    /// The need that it can fill; None for the task as a whole.
    #[getter]
    fn need(&self) -> Option<&str> {
        self.offer.need.as_deref()
    }

    fn __repr__(&self) -> String {
        let arguments = callgate_value::to_json(&self.offer.arguments);
        format!("Proposal({} {arguments}, instead of {})", self.offer.tool, self.offer.from)
    }
}

/// A call that would tell what became of an effect in doubt.
#[pyclass(frozen, module = "callgate._core")]
pub struct Verification {
    pub(crate) verification: callgate_core::Verification,
}

#[pymethods]
impl Verification {
    /// The tool to call.
    #[getter]
    fn tool(&self) -> &str {
        &self.verification.tool
    }

    /// Its arguments.
    #[getter]
    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.verification.arguments)
    }

    /// Seconds to wait first.
    #[getter]
    fn after(&self) -> f64 {
        self.verification.after
    }

    fn __repr__(&self) -> String {
        let arguments = callgate_value::to_json(&self.verification.arguments);
        format!("Verification({} {arguments}, after {} s)", self.verification.tool, self.verification.after)
    }
}

/// A capability that is done without.
#[pyclass(frozen, module = "callgate._core")]
pub struct Skipped {
    skipped: callgate_core::Skipped,
}

#[pymethods]
impl Skipped {
    /// The call that failed.
    #[getter]
    fn call_id(&self) -> &str {
        &self.skipped.call_id
    }

    /// Its tool.
    #[getter]
    fn tool(&self) -> &str {
        &self.skipped.tool
    }

    /// For the model.
    #[getter]
    fn message(&self) -> &str {
        &self.skipped.message
    }

    fn __repr__(&self) -> String {
        format!("Skipped({} of {})", self.skipped.tool, self.skipped.call_id)
    }
}

/// What to do after a model answered, or did not.
#[pyclass(frozen, module = "callgate._core")]
pub struct ModelAdvice {
    pub(crate) advice: CoreAdvice,
}

#[pymethods]
impl ModelAdvice {
    /// `continue`, `retry` (the same provider again), `substitute` (see `providers`) or `skip` (none is left).
    #[getter]
    fn next(&self) -> &'static str {
        let advice = &self.advice;
        if advice.answered {
            "continue"
        } else if !advice.substitutes.is_empty() {
            "substitute"
        } else if advice.retryable {
            "retry"
        } else {
            "skip"
        }
    }

    /// How the provider is now: `closed`, `half_open` or `open`.
    #[getter]
    fn breaker(&self) -> &'static str {
        let state: BreakerState = self.advice.breaker;
        state.name()
    }

    /// Providers to take instead, in the policy's order.
    #[getter]
    fn providers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.advice.substitutes.iter().map(|name| &**name))
    }

    fn __repr__(&self) -> String {
        format!("ModelAdvice({}, {})", self.next(), self.breaker())
    }
}

pub(crate) fn proposals<'py>(py: Python<'py>, offers: &[callgate_core::Offer]) -> PyResult<Bound<'py, PyTuple>> {
    let offers = offers.iter().map(|offer| Bound::new(py, Proposal { offer: offer.clone() }));
    PyTuple::new(py, offers.collect::<PyResult<Vec<_>>>()?)
}

pub(crate) fn skipped<'py>(py: Python<'py>, all: &[callgate_core::Skipped]) -> PyResult<Bound<'py, PyTuple>> {
    let all = all.iter().map(|skipped| Bound::new(py, Skipped { skipped: skipped.clone() }));
    PyTuple::new(py, all.collect::<PyResult<Vec<_>>>()?)
}

/// Cells as ((record key, field), ...), keys of several fields as tuples.
pub(crate) fn cells<'py>(py: Python<'py>, cells: &[(callgate_value::Value, String)]) -> PyResult<Bound<'py, PyTuple>> {
    let cells = cells.iter().map(|(key, field)| {
        let key = match key.as_list() {
            Some(parts) => {
                let parts = parts.iter().map(|part| to_python(py, part)).collect::<PyResult<Vec<_>>>()?;
                PyTuple::new(py, parts)?.into_any()
            }
            None => to_python(py, key)?,
        };
        Ok((key, field))
    });
    PyTuple::new(py, cells.collect::<PyResult<Vec<_>>>()?)
}
