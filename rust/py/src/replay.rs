//! Replays for Python: lines of a trace in, rows and counts out, the GIL released meanwhile.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use callgate_core::replay::{Replay as CoreReplay, Row, Totals};
use callgate_core::trace::Record;
use callgate_core::About;
use callgate_value::write_json;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::lift::to_python;
use crate::policy::CompiledPolicy;

/// Adds what this module has to the Python module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Replay>()
}

/// A replay of recorded sessions under a policy.
#[pyclass(frozen, module = "callgate._core")]
pub struct Replay {
    replay: Mutex<CoreReplay>,
}

impl Replay {
    fn lock(&self) -> PyResult<MutexGuard<'_, CoreReplay>> {
        self.replay.lock().map_err(|_| PyRuntimeError::new_err("an earlier call left the replay's state in doubt"))
    }
}

#[pymethods]
impl Replay {
    /// A replay that keeps at most `most_open` tasks open at once. `rows`: whether what was decided of each call is kept for
    /// `take_rows` and `take_lines`; without it there are only the counts. `tenant`, `labels` and `began` (when a task's clock
    /// stood at 0, in seconds since 1970) are of tasks whose first record says nothing else.
    #[new]
    #[pyo3(signature = (policy, *, most_open = 1024, rows = true, tenant = None, labels = None, began = None))]
    fn new(
        policy: &CompiledPolicy,
        most_open: usize,
        rows: bool,
        tenant: Option<String>,
        labels: Option<BTreeMap<String, String>>,
        began: Option<f64>,
    ) -> Self {
        let about = About { tenant, labels: labels.unwrap_or_default(), began, ..About::default() };
        Self { replay: Mutex::new(CoreReplay::new(Arc::clone(&policy.guard), about, most_open, rows)) }
    }

    /// Feeds whole lines; the faults of those that were skipped, as (position of the line in `lines` from 0, why).
    #[pyo3(signature = (lines))]
    fn feed(&self, py: Python<'_>, lines: &[u8]) -> PyResult<Vec<(usize, String)>> {
        // the lock is taken inside, where the GIL is not held: nobody waits for it with the GIL in hand, because
        // every method takes it like this
        py.detach(|| {
            let mut replay = self.lock()?;
            let mut faults = Vec::new();
            for (at, line) in lines.split(|byte| *byte == b'\n').enumerate() {
                if line.iter().all(u8::is_ascii_whitespace) {
                    continue;
                }
                if let Err(why) = Record::from_line(line).and_then(|record| replay.feed(record)) {
                    faults.push((at, why));
                }
            }
            Ok(faults)
        })
    }

    /// Judges what is still gathered and closes every session.
    #[pyo3(signature = ())]
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| {
            self.lock()?.finish();
            Ok(())
        })
    }

    /// The rows that are complete since the last time, as dictionaries. `explained`: with `findings`, `reply` and `runs`.
    #[pyo3(signature = (*, explained = false))]
    fn take_rows<'py>(&self, py: Python<'py>, explained: bool) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let rows = py.detach(|| Ok::<_, PyErr>(self.lock()?.take_rows()))?;
        let told = |row: &Row| if explained { row.to_explained_value() } else { row.to_value() };
        rows.iter().map(|row| to_python(py, &told(row))).collect()
    }

    /// How the tasks ended that are closed since the last time: `task`, `status`, `exit`, `missing`.
    #[pyo3(signature = ())]
    fn take_endings<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let endings = py.detach(|| Ok::<_, PyErr>(self.lock()?.take_endings()))?;
        endings.iter().map(|ending| to_python(py, ending)).collect()
    }

    /// The same as JSON lines. `every`: those of plain allowed calls without a note too.
    #[pyo3(signature = (*, every = true))]
    fn take_lines<'py>(&self, py: Python<'py>, every: bool) -> PyResult<Bound<'py, PyBytes>> {
        let text = py.detach(|| {
            let mut replay = self.lock()?;
            let rows = replay.take_rows();
            replay.take_endings(); // decisions tell of calls alone
            let mut text = Vec::new();
            for row in rows.iter().filter(|row| every || row.says_something()) {
                write_json(&row.to_value(), &mut text);
                text.push(b'\n');
            }
            Ok::<_, PyErr>(text)
        })?;
        Ok(PyBytes::new(py, &text))
    }

    /// Counts so far: sessions, calls, events, saved, noted_sessions, touched_sessions, stopped_sessions, and `by_reason`:
    /// a list of (kind, reason, count), kind one of note, reuse, ask, refuse, stop; and `lifted`: a list of (exception,
    /// reason, count), of the tasks that are closed.
    #[getter]
    fn totals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let totals = py.detach(|| Ok::<_, PyErr>(self.lock()?.totals().clone()))?;
        counted(py, totals)
    }
}

/// The counts of a replay as a dictionary.
pub(crate) fn counted(py: Python<'_>, totals: Totals) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("sessions", totals.sessions)?;
    dict.set_item("calls", totals.calls)?;
    dict.set_item("events", totals.events)?;
    dict.set_item("saved", totals.saved)?;
    dict.set_item("noted_sessions", totals.noted_sessions)?;
    dict.set_item("touched_sessions", totals.touched_sessions)?;
    dict.set_item("stopped_sessions", totals.stopped_sessions)?;
    let by_reason = totals.by_reason.into_iter().map(|((kind, reason), count)| (kind, reason, count));
    dict.set_item("by_reason", by_reason.collect::<Vec<_>>())?;
    let lifted = totals.lifted.into_iter().map(|((exception, reason), count)| (exception, reason, count));
    dict.set_item("lifted", lifted.collect::<Vec<_>>())?;
    Ok(dict)
}
