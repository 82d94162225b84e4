//! The halves of a task's operations, for a host whose store is somewhere else: what has to be committed comes out as JSON,
//! the answers go in as JSON, and so does what has to be settled.
use callgate_core::shared::Settlement;
use callgate_core::{After, Answer, Outcome, Prepared, Told};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::assessment::Assessment;
use crate::finding::Note;
use crate::incoming::{no, outcome, request, yes, Loose, ReportedError};
use crate::task::{told, unasked, unknown, State, TaskState};
use crate::verdict::Verdict;

/// A batch whose claims are on their way: what it was asked with, for calls that run with what came in.
pub(crate) struct Waiting {
    prepared: Prepared,
    agent: String,
    given: Vec<(bool, Py<PyAny>)>,
}

/// A call as it comes from Python: (tool, arguments, call id, hints).
type GivenCall<'py> = (Loose, Bound<'py, PyAny>, Option<Loose>, Option<Bound<'py, PyAny>>);
/// What a store has to be told after verdicts: (id, task) of claims to release, claims to commit, settlements.
type ForTheStore = (Vec<(String, String)>, Vec<String>, Vec<String>);

/// What has to be released, as (id, task), and then to be committed, as JSON.
type ToAskAnew = (Vec<(String, String)>, Vec<String>);

fn json<T: Told>(value: &T) -> PyResult<String> {
    value.told().map_err(PyValueError::new_err)
}

fn settlement(settlement: Option<Settlement>) -> PyResult<Option<String>> {
    settlement.as_ref().map(json).transpose()
}

fn after(after: &After) -> PyResult<ForTheStore> {
    let forced = after.forced.iter().map(json).collect::<PyResult<_>>()?;
    let settlements = after.settlements.iter().map(json).collect::<PyResult<_>>()?;
    Ok((after.releases.clone(), forced, settlements))
}

fn wait(state: &mut State, waiting: Waiting) -> PyResult<Vec<String>> {
    let claims = waiting.prepared.claims().map(json).collect();
    state.waiting = Some(waiting);
    claims
}

/// Adds what this module has to the Python module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<TaskClaims>()
}

/// A task whose shared state is in a store: each operation in the halves around what the store does.
#[pyclass(frozen, module = "callgate._core")]
pub struct TaskClaims {
    state: Py<TaskState>,
}

#[pymethods]
impl TaskClaims {
    #[new]
    fn new(state: Py<TaskState>) -> Self {
        Self { state }
    }

    /// The first half of `admit_all`: what has to be committed, each as JSON.
    #[pyo3(signature = (agent, calls, now, *, again = false))]
    fn prepare(&self, agent: &str, calls: Vec<GivenCall<'_>>, now: Option<f64>, again: bool) -> PyResult<Vec<String>> {
        let asked = calls.into_iter().map(|(tool, arguments, id, hints)| {
            let request = request(tool.0, &arguments, id.map(|id| id.0), hints.as_ref(), again);
            (request, arguments.unbind())
        });
        let (requests, arguments): (Vec<_>, Vec<_>) = asked.unzip();
        let given = requests.iter().map(|request| request.fault.is_some()).zip(arguments).collect();
        let of = self.state.get();
        let mut state = of.lock()?;
        let (policy, task) = state.of(&of.guard, agent);
        let prepared = task.prepare(&policy, agent, &requests, now);
        wait(&mut state, Waiting { prepared, agent: agent.to_owned(), given })
    }

    /// The first half of `approve`.
    #[pyo3(signature = (call_id, now, *, by = None, grants = "once"))]
    fn prepare_approval(
        &self,
        call_id: &str,
        now: Option<f64>,
        by: Option<String>,
        grants: &str,
    ) -> PyResult<Vec<String>> {
        let yes = yes(by, grants)?;
        let of = self.state.get();
        let mut state = of.lock()?;
        let agent = state.task.agent_of(call_id).unwrap_or_default().to_owned();
        let (policy, task) = state.of_call(&of.guard, call_id);
        let prepared = task.prepare_approval(&policy, call_id, &yes, now).map_err(unasked)?;
        wait(&mut state, Waiting { prepared, agent, given: Vec::new() })
    }

    /// Takes the answers. Where a call of a batch holds something and will not run, which a later one could use, it says what has
    /// to be released, as (id, task), and then to be committed, as JSON. Each answer is (grant as JSON, None), or (None, why
    /// there is none).
    #[pyo3(signature = (answers))]
    fn answered(&self, answers: Vec<(Option<String>, Option<String>)>) -> PyResult<ToAskAnew> {
        let answers = answers.into_iter().map(|(grant, why)| match grant {
            Some(text) => Answer::read(&text),
            None => Answer::Failed(why.unwrap_or_default()),
        });
        let answers: Vec<Answer> = answers.collect();
        let of = self.state.get();
        let mut state = of.lock()?;
        let Some(mut waiting) = state.waiting.take() else {
            return Err(PyRuntimeError::new_err("nothing was prepared"));
        };
        waiting.prepared.answer(answers);
        let (policy, task) = state.of(&of.guard, &waiting.agent);
        let idle = task.revise(&policy, &mut waiting.prepared);
        if idle.is_empty() {
            state.waiting = Some(waiting);
            return Ok((idle, Vec::new()));
        }
        Ok((idle, wait(&mut state, waiting)?))
    }

    /// The second half of both, once everything is answered: the verdicts, and what the store has to be told.
    fn admit_prepared(&self, py: Python<'_>) -> PyResult<(Vec<Verdict>, ForTheStore)> {
        let of = self.state.get();
        let mut state = of.lock()?;
        let Some(Waiting { prepared, agent, given }) = state.waiting.take() else {
            return Err(PyRuntimeError::new_err("nothing was prepared"));
        };
        let (policy, task) = state.of(&of.guard, &agent);
        let (verdicts, told_after) = task.admit_prepared(&policy, prepared);
        drop(state);
        let mut given = given.into_iter();
        let verdicts = verdicts.into_iter().map(|verdict| match given.next() {
            Some((fault, arguments)) => told(verdict, fault, arguments.bind(py)),
            None => Verdict { verdict, unjudged: None },
        });
        Ok((verdicts.collect(), after(&told_after)?))
    }

    /// `observe`, with what has to be settled as JSON, if anything.
    #[pyo3(signature = (call_id, now, *, result = None, known = false, error = None, is_error = false, digest = None, tokens = None, cached = None))]
    #[allow(clippy::too_many_arguments)]
    fn observe(
        &self,
        call_id: &str,
        now: Option<f64>,
        result: Option<&Bound<'_, PyAny>>,
        known: bool,
        error: Option<ReportedError>,
        is_error: bool,
        digest: Option<String>,
        tokens: Option<f64>,
        cached: Option<f64>,
    ) -> PyResult<(Assessment, Option<String>)> {
        let outcome: Outcome = outcome(result, known, error, is_error, digest, tokens, cached);
        let of = self.state.get();
        let mut state = of.lock()?;
        let (policy, task) = state.of_call(&of.guard, call_id);
        let (assessment, told) = task.observe_apart(&policy, call_id, &outcome, now).map_err(unknown)?;
        Ok((Assessment { assessment }, settlement(told)?))
    }

    /// `came_late`, with what has to be settled, if anything.
    #[pyo3(signature = (name, now, *, result = None, known = false, error = None))]
    fn came_late(
        &self,
        name: &str,
        now: Option<f64>,
        result: Option<&Bound<'_, PyAny>>,
        known: bool,
        error: Option<ReportedError>,
    ) -> PyResult<Option<String>> {
        let outcome = outcome(result, known, error, false, None, None, None);
        let of = self.state.get();
        let mut state = of.lock()?;
        let (policy, task) = state.of_late(&of.guard, name);
        settlement(task.came_late(&policy, name, &outcome, now))
    }

    /// `abandon`, with the (id, task) of what has to be released, if anything.
    #[pyo3(signature = (call_id, now))]
    fn abandon(&self, call_id: &str, now: Option<f64>) -> PyResult<Option<(String, String)>> {
        let of = self.state.get();
        let mut state = of.lock()?;
        let (policy, task) = state.of_call(&of.guard, call_id);
        task.abandon_apart(&policy, call_id, now).map_err(unknown)
    }

    /// `deny`, with what has to be settled.
    #[pyo3(signature = (call_id, now, *, by = None, scope = "call", why = None))]
    fn deny(
        &self,
        call_id: &str,
        now: Option<f64>,
        by: Option<String>,
        scope: &str,
        why: Option<String>,
    ) -> PyResult<(Vec<Note>, Option<String>)> {
        let no = no(by, scope, why)?;
        let of = self.state.get();
        let mut state = of.lock()?;
        let (policy, task) = state.of_call(&of.guard, call_id);
        let (notes, told) = task.deny_apart(&policy, call_id, &no, now).map_err(unasked)?;
        Ok((notes.into_iter().map(|note| Note { note }).collect(), settlement(told)?))
    }

    /// What has to be settled where the model used tokens or money.
    #[pyo3(signature = (tokens, cost))]
    fn usage(&self, tokens: f64, cost: f64) -> PyResult<Option<String>> {
        settlement(self.state.get().lock()?.task.usage_settlement(tokens, cost))
    }

    /// What has to be settled where somebody found out what became of an effect.
    #[pyo3(signature = (key, landed, by))]
    fn find_out(&self, key: &str, landed: bool, by: &str) -> PyResult<String> {
        json(&self.state.get().lock()?.task.found_out(key, landed, by))
    }

    /// What has to be settled of the calls that were out when the snapshot was taken that this goes on from.
    #[pyo3(signature = ())]
    fn lost(&self) -> PyResult<Vec<String>> {
        self.state.get().lock()?.task.take_lost().iter().map(json).collect()
    }

    /// The time that commits and settlements carry, in seconds since 1970.
    #[getter]
    fn claim_time(&self) -> PyResult<f64> {
        Ok(self.state.get().lock()?.task.claim_time())
    }
}
