//! A task's state behind a lock. The lock is taken with the GIL held and never across a detach; nothing of Python's
//! runs while it is held, so no thread can wait for it and hold what its owner needs.
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use callgate_core::guard::Guard;
use callgate_core::policy::Policy;
use callgate_core::shared::{Claim, Entry, Grant, Settlement, Shared};
use callgate_core::{
    About, Claims, Event, Reason, Request, Sharing, SnapshotError as CoreSnapshotError, Task as CoreTask,
};
use callgate_value::{Map, Value};
use pyo3::create_exception;
use pyo3::exceptions::{PyLookupError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::assessment::Assessment;
use crate::finding::{notes, Note, Stop};
use crate::incoming::{no, outcome, reported, request, yes, Loose, ReportedError};
use crate::lift::{lift_arguments, to_python};
use crate::policy::CompiledPolicy;
use crate::shared::SharedState;
use crate::shared_task::Waiting;
use crate::verdict::Verdict;
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
    pub(crate) guard: Arc<Guard>,
    state: Mutex<State>,
    /// The ledger and the breakers of its gate.
    shared: Option<Arc<Mutex<Shared>>>,
}

/// The task, and by agent what it is judged by.
pub(crate) struct State {
    pub(crate) task: CoreTask,
    policies: HashMap<String, Arc<Policy>>,
    /// What waits for its claims to be answered by a store.
    pub(crate) waiting: Option<Waiting>,
}

/// A gate's shared state, locked for one operation at a time, and only by calls that need it.
struct Joined<'s>(&'s Mutex<Shared>);

impl Joined<'_> {
    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Claims for Joined<'_> {
    fn commit(&mut self, claim: &Claim, now: f64) -> Grant {
        self.lock().commit(claim, now)
    }

    fn settle(&mut self, settlement: &Settlement, now: f64) {
        self.lock().settle(settlement, now);
    }

    fn release(&mut self, id: &str, task: &str, now: f64) {
        self.lock().release(id, task, now);
    }

    fn restore(&mut self, entries: Vec<Entry>) {
        self.lock().restore(entries);
    }
}

impl State {
    fn new(task: CoreTask) -> Self {
        Self { task, policies: HashMap::new(), waiting: None }
    }

    /// The policy of an agent, and the task.
    pub(crate) fn of(&mut self, guard: &Guard, agent: &str) -> (Arc<Policy>, &mut CoreTask) {
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
    pub(crate) fn of_call(&mut self, guard: &Guard, call_id: &str) -> (Arc<Policy>, &mut CoreTask) {
        if guard.is_alone() {
            return self.of(guard, "");
        }
        let agent = self.task.agent_of(call_id).unwrap_or_default().to_owned();
        self.of(guard, &agent)
    }

    /// The same for a call that was given up and goes on.
    pub(crate) fn of_late(&mut self, guard: &Guard, name: &str) -> (Arc<Policy>, &mut CoreTask) {
        let agent = self.task.late_agent(name).unwrap_or_default().to_owned();
        self.of(guard, &agent)
    }
}

/// What ending a round tells: notes, proposals, skipped capabilities.
type Ended<'py> = (Bound<'py, PyTuple>, Bound<'py, PyTuple>, Bound<'py, PyTuple>);

/// The verdict for the host. A call that runs although its arguments have no JSON form, in `warn` or `audit`, runs with
/// what came in: the guard changes nothing there.
pub(crate) fn told(verdict: callgate_core::Verdict, fault: bool, arguments: &Bound<'_, PyAny>) -> Verdict {
    let runs = fault && verdict.action == callgate_core::Action::Allow;
    Verdict { verdict, unjudged: runs.then(|| arguments.clone().unbind()) }
}

impl TaskState {
    pub(crate) fn lock(&self) -> PyResult<MutexGuard<'_, State>> {
        self.state.lock().map_err(|_| PyRuntimeError::new_err("an earlier call left the task's state in doubt"))
    }

    /// Does something with the shared state of the gate, or with the task's own.
    fn with_claims<T>(&self, task: &mut CoreTask, act: impl FnOnce(&mut CoreTask, &mut dyn Claims) -> T) -> T {
        match &self.shared {
            Some(shared) => act(task, &mut Joined(shared)),
            None => task.with_own(act),
        }
    }
}

/// A task with what it shares: with its gate the ledger and the breakers, under a name that no other task has; with a store
/// everything, under its id.
fn sharing(task: CoreTask, joined: bool, store: bool) -> CoreTask {
    let scope = (joined && !store).then(|| task.lineage());
    task.sharing(Sharing { scope, all: store })
}

pub(crate) fn unknown(id: String) -> PyErr {
    UnknownCallError::new_err(format!(
        "no call `{id}` is out: it was refused, came back or was given up already, or was never admitted"
    ))
}

pub(crate) fn unasked(id: String) -> PyErr {
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
    #[pyo3(signature = (policy, task_id, key, now, *, context = None, trace_id = None, conversation_id = None, tenant = None, labels = None, began = None, shared = None, store = false))]
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
        shared: Option<&SharedState>,
        store: bool,
    ) -> PyResult<Self> {
        let context = context.map(|it| lift_arguments(it).map_err(|fault| fault.into_error(it.py(), "context")));
        let context = context.transpose()?.unwrap_or(Value::Map(Map::default()));
        let about = About { context, trace_id, conversation_id, tenant, labels: labels.unwrap_or_default(), began };
        let guard = Arc::clone(&policy.guard);
        let task = CoreTask::new(&guard.policy("", &about), task_id, key, now).with(about);
        let task = sharing(task, shared.is_some(), store);
        let shared = shared.map(|shared| Arc::clone(&shared.shared));
        Ok(Self { guard, state: Mutex::new(State::new(task)), shared })
    }

    /// The task of a snapshot, in its next generation.
    #[staticmethod]
    #[pyo3(signature = (policy, snapshot, *, any_policy = false, shared = None, store = false))]
    fn resume(
        policy: &CompiledPolicy,
        snapshot: &str,
        any_policy: bool,
        shared: Option<&SharedState>,
        store: bool,
    ) -> PyResult<Self> {
        let guard = Arc::clone(&policy.guard);
        let any = guard.policy("", &About::default());
        let task = CoreTask::resume_apart(&any, snapshot, any_policy).map_err(|error| unreadable(&error))?;
        let task = sharing(task, shared.is_some(), store);
        let shared = shared.map(|shared| Arc::clone(&shared.shared));
        Ok(Self { guard, state: Mutex::new(State::new(task)), shared })
    }

    /// Tells the shared state of the gate, or the task's own, what the snapshot told; for one that goes on.
    #[pyo3(signature = ())]
    fn revive(&self) -> PyResult<()> {
        let mut state = self.lock()?;
        self.with_claims(&mut state.task, CoreTask::revive);
        Ok(())
    }

    /// The state as JSON text.
    #[pyo3(signature = ())]
    fn snapshot(&self) -> PyResult<String> {
        let state = self.lock()?;
        let any = self.guard.policy("", state.task.about());
        let text = match &self.shared {
            Some(shared) => {
                let entries = Joined(shared).lock().entries_of(state.task.scope());
                state.task.snapshot_with(&any, entries)
            }
            None => state.task.snapshot(&any),
        };
        text.map_err(|error| unreadable(&error))
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
        let verdicts = self.with_claims(task, |task, claims| task.admit_with(claims, &policy, agent, &[request], now));
        let verdict = verdicts.into_iter().next();
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
        let verdicts = self.with_claims(task, |task, claims| task.admit_with(claims, &policy, agent, &requests, now));
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
        let outcome = outcome(result, known, error, is_error, digest, tokens, cached);
        let mut state = self.lock()?;
        let (policy, task) = state.of_call(&self.guard, call_id);
        let told = self.with_claims(task, |task, claims| task.observe_with(claims, &policy, call_id, &outcome, now));
        let assessment = told.map_err(unknown)?;
        Ok(Assessment { assessment })
    }

    /// A call that is out goes on when it is given up; under this name is told what it brings then.
    fn follow(&self, call_id: &str, name: &str) -> PyResult<()> {
        self.lock()?.task.follow(call_id, name);
        Ok(())
    }

    /// What a call brought that was given up.
    #[pyo3(signature = (name, now, *, result = None, known = false, error = None))]
    fn came_late(
        &self,
        name: &str,
        now: Option<f64>,
        result: Option<&Bound<'_, PyAny>>,
        known: bool,
        error: Option<ReportedError>,
    ) -> PyResult<()> {
        let outcome = outcome(result, known, error, false, None, None, None);
        let mut state = self.lock()?;
        let (policy, task) = state.of_late(&self.guard, name);
        if let Some(settlement) = task.came_late(&policy, name, &outcome, now) {
            let now = task.claim_time();
            self.with_claims(task, |_, claims| claims.settle(&settlement, now));
        }
        Ok(())
    }

    /// A call that was allowed never ran.
    #[pyo3(signature = (call_id, now))]
    fn abandon(&self, call_id: &str, now: Option<f64>) -> PyResult<()> {
        let mut state = self.lock()?;
        let (policy, task) = state.of_call(&self.guard, call_id);
        self.with_claims(task, |task, claims| task.abandon_with(claims, &policy, call_id, now)).map_err(unknown)
    }

    /// A person says yes to a call that was asked about.
    #[pyo3(signature = (call_id, now, *, by = None, grants = "once"))]
    fn approve(&self, call_id: &str, now: Option<f64>, by: Option<String>, grants: &str) -> PyResult<Verdict> {
        let yes = yes(by, grants)?;
        let mut state = self.lock()?;
        let (policy, task) = state.of_call(&self.guard, call_id);
        let verdict = self.with_claims(task, |task, claims| task.approve_with(claims, &policy, call_id, &yes, now));
        let verdict = verdict.map_err(unasked)?;
        Ok(Verdict { verdict, unjudged: None })
    }

    /// A person says no.
    #[pyo3(signature = (call_id, now, *, by = None, scope = "call", why = None))]
    fn deny(
        &self,
        call_id: &str,
        now: Option<f64>,
        by: Option<String>,
        scope: &str,
        why: Option<String>,
    ) -> PyResult<Vec<Note>> {
        let no = no(by, scope, why)?;
        let mut state = self.lock()?;
        let (policy, task) = state.of_call(&self.guard, call_id);
        let (notes, _) = task.deny_apart(&policy, call_id, &no, now).map_err(unasked)?;
        Ok(notes.into_iter().map(|note| Note { note }).collect())
    }

    /// A person, or something outside the task, says what became of an effect in doubt.
    #[pyo3(signature = (key, landed, by))]
    fn find_out(&self, key: &str, landed: bool, by: &str) -> PyResult<()> {
        let mut state = self.lock()?;
        let settlement = state.task.found_out(key, landed, by);
        let now = state.task.claim_time();
        self.with_claims(&mut state.task, |_, claims| claims.settle(&settlement, now));
        Ok(())
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
