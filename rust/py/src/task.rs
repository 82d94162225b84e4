//! A task's state behind a lock. The lock is taken with the GIL held and never across a detach; nothing of Python's
//! runs while it is held, so no thread can wait for it and hold what its owner needs.
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};

use callgate_core::guard::Guard;
use callgate_core::policy::Policy;
use callgate_core::{
    lift, About, Event, Outcome, Reason, Reported, Request, SnapshotError as CoreSnapshotError, Task as CoreTask,
};
use callgate_value::{Map, Value};
use pyo3::create_exception;
use pyo3::exceptions::{PyLookupError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::lift::{lift_arguments, lift_result, to_python};
use crate::policy::CompiledPolicy;
use crate::verdict::{notes, Assessment, Note, Stop, Verdict};
use crate::ways::{proposals, skipped, ModelAdvice};

create_exception!(callgate, UnknownCallError, PyLookupError, "No call of this id is out (or was asked about).");
create_exception!(callgate, SnapshotError, PyValueError, "A snapshot that cannot be resumed.");

/// Adds what this module has to the Python module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("UnknownCallError", module.py().get_type::<UnknownCallError>())?;
    module.add("SnapshotError", module.py().get_type::<SnapshotError>())?;
    module.add_class::<TaskState>()
}

/// The state of a task. Thread-safe; times are seconds on the host's clock.
#[pyclass(frozen, module = "callgate._core")]
pub struct TaskState {
    guard: Arc<Guard>,
    state: Mutex<State>,
}

/// The task, and by agent what it is judged by.
struct State {
    task: CoreTask,
    policies: HashMap<String, Arc<Policy>>,
}

impl State {
    fn new(task: CoreTask) -> Self {
        Self { task, policies: HashMap::new() }
    }

    /// The policy of an agent, and the task.
    fn of(&mut self, guard: &Guard, agent: &str) -> (Arc<Policy>, &mut CoreTask) {
        if let Some(policy) = self.policies.get(agent) {
            return (Arc::clone(policy), &mut self.task);
        }
        let policy = guard.policy(agent, self.task.about());
        if !guard.is_alone() {
            self.task.judge_by(agent, &policy);
            self.policies.insert(agent.to_owned(), Arc::clone(&policy));
        }
        (policy, &mut self.task)
    }

    /// The same for a call that is out or was asked about.
    fn of_call(&mut self, guard: &Guard, call_id: &str) -> (Arc<Policy>, &mut CoreTask) {
        if guard.is_alone() {
            return self.of(guard, "");
        }
        let agent = self.task.agent_of(call_id).unwrap_or_default().to_owned();
        self.of(guard, &agent)
    }
}

/// (type, status, message)
type ReportedError = (Option<Loose>, Option<i64>, Option<Loose>);

/// A text from outside; lone surrogates, which a model can send and Rust cannot hold, become U+FFFD.
struct Loose(String);

impl<'py> FromPyObject<'_, 'py> for Loose {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let text = object.cast::<PyString>().map_err(|_| {
            let name = object.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
            PyTypeError::new_err(format!("expected text, found `{name}`"))
        })?;
        Ok(Self(text.to_string_lossy().into_owned()))
    }
}

fn request(
    tool: String,
    arguments: &Bound<'_, PyAny>,
    call_id: Option<String>,
    hints: Option<&Bound<'_, PyAny>>,
    again: bool,
) -> Request {
    let lifted = lift_arguments(arguments).map_err(|fault| fault.into_error(arguments.py(), "arguments"));
    let (arguments, fault) = match lifted {
        Ok(map @ Value::Map(_)) => (map, None),
        Ok(other) => (Value::Map(Map::default()), Some(no_map(&other))),
        Err(error) => (Value::Map(Map::default()), Some(error.value(arguments.py()).to_string())),
    };
    Request {
        tool: tool.into(),
        arguments: Arc::new(arguments),
        call_id: call_id.map(Into::into),
        hints: hints.map(|hints| Arc::new(lift_result(hints))),
        fault: fault.map(Into::into),
        again,
    }
}

/// What is wrong with arguments that are no map.
fn no_map(arguments: &Value) -> String {
    match arguments {
        Value::Str(_) => {
            "`arguments` is a text, and a map from names is wanted: JSON has to be parsed first".to_owned()
        }
        _ => "`arguments` is not a map from names".to_owned(),
    }
}

/// What ending a round tells: notes, proposals, skipped capabilities.
type Ended<'py> = (Bound<'py, PyTuple>, Bound<'py, PyTuple>, Bound<'py, PyTuple>);

fn reported((kind, status, message): ReportedError) -> Reported {
    let text = |text: Option<Loose>| text.map(|text| text.0.into());
    Reported { kind: text(kind), status, message: text(message) }
}

/// The verdict for the host. A call that runs although its arguments have no JSON form, in `warn` or `audit`, runs with
/// what came in: the guard changes nothing there.
fn told(verdict: callgate_core::Verdict, fault: bool, arguments: &Bound<'_, PyAny>) -> Verdict {
    let runs = fault && verdict.action == callgate_core::Action::Allow;
    Verdict { verdict, unjudged: runs.then(|| arguments.clone().unbind()) }
}

impl TaskState {
    fn lock(&self) -> PyResult<MutexGuard<'_, State>> {
        self.state.lock().map_err(|_| PyRuntimeError::new_err("an earlier call left the task's state in doubt"))
    }
}

fn unknown(id: String) -> PyErr {
    UnknownCallError::new_err(format!(
        "no call `{id}` is out: it was refused, came back or was given up already, or was never admitted"
    ))
}

fn unasked(id: String) -> PyErr {
    UnknownCallError::new_err(format!("no call `{id}` waits for an approval"))
}

fn unreadable(error: &CoreSnapshotError) -> PyErr {
    SnapshotError::new_err(error.to_string())
}

#[pymethods]
impl TaskState {
    /// A new task; `key` is 16 random bytes, `context` a dict with text keys, `began` when the task's clock stands at 0, in
    /// seconds since 1970.
    #[new]
    #[pyo3(signature = (policy, task_id, key, now, *, context = None, trace_id = None, conversation_id = None, tenant = None, labels = None, began = None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        policy: &CompiledPolicy,
        task_id: &str,
        key: [u8; 16],
        now: f64,
        context: Option<&Bound<'_, PyAny>>,
        trace_id: Option<String>,
        conversation_id: Option<String>,
        tenant: Option<String>,
        labels: Option<BTreeMap<String, String>>,
        began: Option<f64>,
    ) -> PyResult<Self> {
        let context = context.map(|it| lift_arguments(it).map_err(|fault| fault.into_error(it.py(), "context")));
        let context = context.transpose()?.unwrap_or(Value::Map(Map::default()));
        let about = About { context, trace_id, conversation_id, tenant, labels: labels.unwrap_or_default(), began };
        let guard = Arc::clone(&policy.guard);
        let task = CoreTask::new(&guard.policy("", &about), task_id, key, now).with(about);
        Ok(Self { guard, state: Mutex::new(State::new(task)) })
    }

    /// The task of a snapshot, in its next generation.
    #[staticmethod]
    #[pyo3(signature = (policy, snapshot, *, any_policy = false))]
    fn resume(policy: &CompiledPolicy, snapshot: &str, any_policy: bool) -> PyResult<Self> {
        let guard = Arc::clone(&policy.guard);
        let any = guard.policy("", &About::default());
        let task = CoreTask::resume(&any, snapshot, any_policy).map_err(|error| unreadable(&error))?;
        Ok(Self { guard, state: Mutex::new(State::new(task)) })
    }

    /// The state as JSON text.
    #[pyo3(signature = ())]
    fn snapshot(&self) -> PyResult<String> {
        let state = self.lock()?;
        let any = self.guard.policy("", state.task.about());
        state.task.snapshot(&any).map_err(|error| unreadable(&error))
    }

    /// Judges one call; `again` is a further attempt of one that failed.
    #[pyo3(signature = (agent, tool, arguments, call_id, hints, now, *, again = false))]
    #[allow(clippy::too_many_arguments)]
    fn admit(
        &self,
        agent: &str,
        tool: Loose,
        arguments: &Bound<'_, PyAny>,
        call_id: Option<Loose>,
        hints: Option<&Bound<'_, PyAny>>,
        now: Option<f64>,
        again: bool,
    ) -> PyResult<Verdict> {
        let request = request(tool.0, arguments, call_id.map(|id| id.0), hints, again);
        let fault = request.fault.is_some();
        let mut state = self.lock()?;
        let (policy, task) = state.of(&self.guard, agent);
        let verdict = task.admit(&policy, agent, &[request], now).into_iter().next();
        let verdict = verdict.ok_or_else(|| PyRuntimeError::new_err("no verdict"))?;
        Ok(told(verdict, fault, arguments))
    }

    /// Judges a batch of (tool, arguments, call id, hints).
    #[pyo3(signature = (agent, calls, now))]
    #[allow(clippy::type_complexity)]
    fn admit_all(
        &self,
        agent: &str,
        calls: Vec<(Loose, Bound<'_, PyAny>, Option<Loose>, Option<Bound<'_, PyAny>>)>,
        now: Option<f64>,
    ) -> PyResult<Vec<Verdict>> {
        let (requests, given): (Vec<Request>, Vec<Bound<'_, PyAny>>) = calls
            .into_iter()
            .map(|(tool, args, id, hints)| (request(tool.0, &args, id.map(|id| id.0), hints.as_ref(), false), args))
            .unzip();
        let mut state = self.lock()?;
        let (policy, task) = state.of(&self.guard, agent);
        let verdicts = task.admit(&policy, agent, &requests, now);
        let faults = requests.iter().map(|request| request.fault.is_some());
        let told =
            verdicts.into_iter().zip(faults).zip(&given).map(|((verdict, fault), args)| told(verdict, fault, args));
        Ok(told.collect())
    }

    /// Tells what came back from an allowed call.
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
    ) -> PyResult<Assessment> {
        let lifted = match (known, result) {
            (false, _) => None,
            (true, Some(result)) => Some(lift_result(result)),
            (true, None) => Some(Value::Null),
        };
        let error = error.map(reported);
        let outcome = lift(Outcome {
            result: lifted.map(Arc::new),
            digest: digest.map(Into::into),
            error,
            is_error,
            tokens,
            cached,
            said: None,
        });
        let mut state = self.lock()?;
        let (policy, task) = state.of_call(&self.guard, call_id);
        let assessment = task.observe(&policy, call_id, &outcome, now).map_err(unknown)?;
        Ok(Assessment { assessment })
    }

    /// A call that was allowed never ran.
    #[pyo3(signature = (call_id, now))]
    fn abandon(&self, call_id: &str, now: Option<f64>) -> PyResult<()> {
        let mut state = self.lock()?;
        let (policy, task) = state.of_call(&self.guard, call_id);
        task.abandon(&policy, call_id, now).map_err(unknown)
    }

    /// A person says yes to a call that was asked about.
    #[pyo3(signature = (call_id, now))]
    fn approve(&self, call_id: &str, now: Option<f64>) -> PyResult<Verdict> {
        let mut state = self.lock()?;
        let (policy, task) = state.of_call(&self.guard, call_id);
        let verdict = task.approve(&policy, call_id, now).map_err(unasked)?;
        Ok(Verdict { verdict, unjudged: None })
    }

    /// A person says no.
    #[pyo3(signature = (call_id, now))]
    fn deny(&self, call_id: &str, now: Option<f64>) -> PyResult<Vec<Note>> {
        let notes = self.lock()?.task.deny(call_id, now).map_err(unasked)?;
        Ok(notes.into_iter().map(|note| Note { note }).collect())
    }

    /// Opens a round.
    #[pyo3(signature = (agent, now))]
    fn begin_round(&self, agent: &str, now: Option<f64>) -> PyResult<()> {
        let mut state = self.lock()?;
        let (policy, task) = state.of(&self.guard, agent);
        task.begin_round(&policy, agent, now);
        Ok(())
    }

    /// Ends it; the notes, proposals and skipped capabilities that no observation carried.
    #[pyo3(signature = (agent))]
    fn end_round<'py>(&self, py: Python<'py>, agent: &str) -> PyResult<Ended<'py>> {
        let (drained, (offers, done_without)) = {
            let mut state = self.lock()?;
            let (policy, task) = state.of(&self.guard, agent);
            task.end_round(&policy, agent);
            (task.drain_remarks(&policy), task.drain_ways())
        };
        Ok((notes(py, &drained)?, proposals(py, &offers)?, skipped(py, &done_without)?))
    }

    /// What came of asking a model.
    #[pyo3(signature = (agent, provider, error, now))]
    fn model_result(
        &self,
        agent: &str,
        provider: &str,
        error: Option<ReportedError>,
        now: Option<f64>,
    ) -> PyResult<ModelAdvice> {
        let error = error.map(reported);
        let mut state = self.lock()?;
        let (policy, task) = state.of(&self.guard, agent);
        Ok(ModelAdvice { advice: task.model_result(&policy, provider, error.as_ref(), now) })
    }

    /// How the task stands, as data, by what an agent's policy needs.
    #[pyo3(signature = (agent))]
    fn report<'py>(&self, py: Python<'py>, agent: &str) -> PyResult<Bound<'py, PyAny>> {
        let report = {
            let mut state = self.lock()?;
            let (policy, task) = state.of(&self.guard, agent);
            task.report(&policy)
        };
        to_python(py, &report)
    }

    /// The queue that an agent's policy names for what goes to a person.
    #[pyo3(signature = (agent))]
    fn queue(&self, agent: &str) -> PyResult<Option<String>> {
        let mut state = self.lock()?;
        let (policy, _) = state.of(&self.guard, agent);
        Ok(policy.fallback.then.queue.as_deref().map(str::to_owned))
    }

    /// Starts an agent below another one. None, or why not.
    #[pyo3(signature = (parent, child, now))]
    fn spawn(&self, parent: &str, child: &str, now: Option<f64>) -> PyResult<Option<(String, String)>> {
        let mut state = self.lock()?;
        let policy = self.guard.policy(child, state.task.about());
        let answer = state.task.spawn(&policy, parent, child, now);
        Ok(answer.err().map(|finding| {
            let message = match finding.reason {
                // its words are about calls
                Reason::BadCallId => format!("an agent named `{child}` is in this task already"),
                _ => callgate_core::reply::explain(&finding, child),
            };
            (finding.name(), message)
        }))
    }

    /// Somebody spoke.
    #[pyo3(signature = (agent, by_human, now))]
    fn user_turn(&self, agent: &str, by_human: bool, now: Option<f64>) -> PyResult<()> {
        let mut state = self.lock()?;
        let (policy, task) = state.of(&self.guard, agent);
        task.event(&policy, agent, Event::UserTurn { by_human }, now);
        Ok(())
    }

    /// The conversation was compacted.
    #[pyo3(signature = (agent, now))]
    fn compaction(&self, agent: &str, now: Option<f64>) -> PyResult<()> {
        let mut state = self.lock()?;
        let (policy, task) = state.of(&self.guard, agent);
        task.event(&policy, agent, Event::Compaction, now);
        Ok(())
    }

    /// The model used tokens or money.
    #[pyo3(signature = (agent, tokens, cost, now))]
    fn usage(&self, agent: &str, tokens: f64, cost: f64, now: Option<f64>) -> PyResult<()> {
        let mut state = self.lock()?;
        let (policy, task) = state.of(&self.guard, agent);
        task.event(&policy, agent, Event::Usage { tokens, cost }, now);
        Ok(())
    }

    /// The task's id.
    #[getter]
    fn id(&self) -> PyResult<String> {
        Ok(self.lock()?.task.id().to_owned())
    }

    /// What the host said about it: `trace_id`, `conversation_id`, `tenant`, `labels`, `context`.
    #[getter]
    fn about<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let about = self.lock()?.task.about().clone();
        let dict = PyDict::new(py);
        dict.set_item("trace_id", about.trace_id)?;
        dict.set_item("conversation_id", about.conversation_id)?;
        dict.set_item("tenant", about.tenant)?;
        dict.set_item("labels", about.labels)?;
        dict.set_item("context", to_python(py, &about.context)?)?;
        Ok(dict)
    }

    /// What exceptions lifted so far: by exception and reason, how often.
    #[getter]
    fn lifted(&self) -> PyResult<BTreeMap<String, BTreeMap<String, u64>>> {
        Ok(self.lock()?.task.lifted().clone())
    }

    /// Tells this task from others of the same id.
    #[getter]
    fn lineage(&self) -> PyResult<String> {
        Ok(self.lock()?.task.lineage())
    }

    /// How often it was resumed.
    #[getter]
    fn generation(&self) -> PyResult<u64> {
        Ok(self.lock()?.task.generation())
    }

    /// Why and when it was stopped, if it was.
    #[getter]
    fn stop(&self) -> PyResult<Option<Stop>> {
        Ok(self.lock()?.task.stopped().cloned().map(|stop| Stop { stop }))
    }

    /// (repeat epoch, read version).
    #[getter]
    fn world(&self) -> PyResult<(u64, u64)> {
        Ok(self.lock()?.task.world())
    }

    /// What was used: steps, tool_calls, retries, tokens, cost.
    #[getter]
    fn spent<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let spent = self.lock()?.task.spent();
        let dict = PyDict::new(py);
        for (name, used) in [
            ("steps", spent.steps),
            ("tool_calls", spent.tool_calls),
            ("retries", spent.retries),
            ("tokens", spent.tokens),
            ("cost", spent.cost),
        ] {
            dict.set_item(name, used)?;
        }
        Ok(dict)
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("TaskState({})", self.lock()?.task.id()))
    }
}
