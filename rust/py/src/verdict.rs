//! Verdicts as Python sees them. What is rarely read is made when it is.
use callgate_core::Action;
use callgate_value::to_json;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::finding::{notes, Finding, Stop};
use crate::lift::to_python;
use crate::ways::{cells, proposals, Verification};

/// Adds what this module has to the Python module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Verdict>()
}

/// May this call run?
#[pyclass(frozen, module = "callgate._core")]
pub struct Verdict {
    pub(crate) verdict: callgate_core::Verdict,
    /// What came in, where it has no JSON form and the call runs all the same.
    pub(crate) unjudged: Option<Py<PyAny>>,
}

#[pymethods]
impl Verdict {
    /// Whether the call may run.
    #[getter]
    fn allowed(&self) -> bool {
        self.verdict.action == Action::Allow
    }

    /// `allow`, `reuse`, `ask`, `refuse` or `stop`.
    #[getter]
    fn action(&self) -> &'static str {
        self.verdict.action.name()
    }

    /// In modes `warn` and `audit`: what would have happened.
    #[getter]
    fn would(&self) -> Option<&'static str> {
        self.verdict.would.map(Action::name)
    }

    /// The call's id; made by the engine where the host gave none.
    #[getter]
    fn call_id(&self) -> &str {
        &self.verdict.call_id
    }

    /// The tool's name.
    #[getter]
    fn tool(&self) -> &str {
        &self.verdict.tool
    }

    /// The arguments as they were judged, with the call's key where the tool takes it: give these to the tool. In `warn` and `audit` those without a JSON form are
    /// the very object that came in.
    #[getter]
    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if let Some(unjudged) = &self.unjudged {
            return Ok(unjudged.bind(py).clone());
        }
        to_python(py, self.verdict.handed.as_ref().unwrap_or(&self.verdict.arguments))
    }

    /// The key that tells the call's effect from others: 64 hex digits, the same for every attempt. None where the manifest
    /// declares none.
    #[getter]
    fn idempotency_key(&self) -> Option<&str> {
        self.verdict.idempotency_key.as_deref()
    }

    /// An effect is in doubt, and this call would tell what became of it.
    #[getter]
    fn verify(&self) -> Option<Verification> {
        self.verdict.verify.clone().map(|verification| Verification { verification })
    }

    /// Everything that fired, in a fixed order.
    #[getter]
    fn reasons<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.verdict.findings.iter().map(callgate_core::Finding::name))
    }

    /// The same with evidence.
    #[getter]
    fn findings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let tool = &self.verdict.tool;
        let findings = self.verdict.findings.iter();
        let findings = findings.map(|finding| Bound::new(py, Finding { finding: finding.clone(), tool: tool.clone() }));
        PyTuple::new(py, findings.collect::<PyResult<Vec<_>>>()?)
    }

    /// The observation code, such as `DUPLICATE_TOOL_CALL_BLOCKED`.
    #[getter]
    fn code(&self) -> Option<&str> {
        self.verdict.code()
    }

    /// What the model should read beside the result.
    #[getter]
    fn notes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        notes(py, &self.verdict.notes)
    }

    /// Give this to the model instead of a result: JSON text `{success, code, retryable, data, message}`.
    #[getter]
    fn reply(&self) -> Option<String> {
        self.verdict.reply()
    }

    /// `reuse` inside a batch: the call whose answer serves this one too.
    #[getter]
    fn reuse_of(&self) -> Option<&str> {
        self.verdict.reuse_of.as_deref()
    }

    /// `reuse` of an earlier result: that result.
    #[getter]
    fn result<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.verdict.reused.as_ref().map(|(result, _)| to_python(py, result)).transpose()
    }

    /// `reuse` of an earlier result: how old it is, in seconds.
    #[getter]
    fn result_age(&self) -> Option<f64> {
        self.verdict.reused.as_ref().map(|(_, age)| *age)
    }

    /// Seconds after which trying again makes sense.
    #[getter]
    fn retry_after(&self) -> Option<f64> {
        self.verdict.decisive().and_then(|finding| finding.retry_after)
    }

    /// How long the call may take, in seconds, as far as the policy says.
    #[getter]
    fn timeout(&self) -> Option<f64> {
        self.verdict.timeout
    }

    /// The server that the tool lives on, where its manifest names one.
    #[getter]
    fn server(&self) -> Option<&str> {
        self.verdict.server.as_deref()
    }

    /// Seconds that the layers above the call leave it, as far as the policy says: `server`, `step`, `task`, `workflow`.
    #[getter]
    fn time_left<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let left = self.verdict.time_left;
        let dict = PyDict::new(py);
        for (layer, seconds) in
            [("server", left.server), ("step", left.step), ("task", left.task), ("workflow", left.workflow)]
        {
            if let Some(seconds) = seconds {
                dict.set_item(layer, seconds)?;
            }
        }
        Ok(dict)
    }

    /// How pauses between attempts grow and are spread, where the tool is tried again: the first pause and the factor, the
    /// longest pause, and the name of the spread.
    #[getter]
    fn backoff(&self) -> Option<(f64, f64, f64, &'static str)> {
        self.verdict.backoff.map(|it| (it.initial, it.factor, it.longest, it.jitter.name()))
    }

    /// The bindings of the policies that applied, each (name, policy, mode, rollout); none where one policy applies to
    /// everyone.
    #[getter]
    fn bindings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let bindings = self.verdict.bindings.iter();
        PyTuple::new(py, bindings.map(|it| (&*it.name, &*it.policy, it.mode.name(), it.rollout)))
    }

    /// What exceptions lifted of it, each (exception, reason).
    #[getter]
    fn lifted<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.verdict.lifted.iter().map(|it| (&*it.exception, it.reason.as_str())))
    }

    /// `stop`: why, and how the task should end.
    #[getter]
    fn stop(&self) -> Option<Stop> {
        self.verdict.stop.clone().map(|stop| Stop { stop })
    }

    /// Where the call did not run: substitutes that stand offered for its tool.
    #[getter]
    fn instead<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        proposals(py, &self.verdict.instead)
    }

    /// `stop`: cells of the task's needs that are missing: ((record key, field), ...).
    #[getter]
    fn missing<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        cells(py, &self.verdict.missing)
    }

    /// The call's fingerprint: 64 hex digits.
    #[getter]
    fn fingerprint(&self) -> String {
        self.verdict.fingerprint()
    }

    /// A verdict is never a condition by itself: a refusal would be as true as anything else.
    fn __bool__(&self) -> PyResult<bool> {
        Err(PyTypeError::new_err("a verdict is neither true nor false; ask `verdict.allowed`"))
    }

    fn __repr__(&self) -> String {
        let names: Vec<String> = self.verdict.findings.iter().map(callgate_core::Finding::name).collect();
        let arguments = to_json(&self.verdict.arguments);
        format!("Verdict({} {} {arguments} [{}])", self.action(), self.verdict.tool, names.join(", "))
    }
}
