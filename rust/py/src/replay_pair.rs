//! A recording under two policies side by side, for Python: lines in, what differs and counts out, the GIL released.
use std::sync::{Arc, Mutex, MutexGuard};

use callgate_core::replay_pair::ReplayPair as CorePair;
use callgate_core::trace::Record;
use callgate_core::About;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::lift::to_python;
use crate::policy::CompiledPolicy;
use crate::replay::counted;

/// Adds what this module has to the Python module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<ReplayPair>()
}

/// A replay of recorded sessions under two policies at once.
#[pyclass(frozen, module = "callgate._core")]
pub struct ReplayPair {
    pair: Mutex<CorePair>,
}

impl ReplayPair {
    fn lock(&self) -> PyResult<MutexGuard<'_, CorePair>> {
        self.pair.lock().map_err(|_| PyRuntimeError::new_err("an earlier call left the replay's state in doubt"))
    }
}

#[pymethods]
impl ReplayPair {
    /// Two replays that keep at most `most_open` tasks open at once each. `began`: when tasks began whose records do not say
    /// so, in seconds since 1970.
    #[new]
    #[pyo3(signature = (old, new, *, most_open = 1024, began = None))]
    fn new(old: &CompiledPolicy, new: &CompiledPolicy, most_open: usize, began: Option<f64>) -> Self {
        let about = About { began, ..About::default() };
        let pair = CorePair::new(Arc::clone(&old.guard), Arc::clone(&new.guard), &about, most_open);
        Self { pair: Mutex::new(pair) }
    }

    /// Feeds whole lines; the faults of those that were skipped, as (position of the line in `lines` from 0, why).
    #[pyo3(signature = (lines))]
    fn feed(&self, py: Python<'_>, lines: &[u8]) -> PyResult<Vec<(usize, String)>> {
        py.detach(|| {
            let mut pair = self.lock()?;
            let mut faults = Vec::new();
            for (at, line) in lines.split(|byte| *byte == b'\n').enumerate() {
                if line.iter().all(u8::is_ascii_whitespace) {
                    continue;
                }
                if let Err(why) = Record::from_line(line).and_then(|record| pair.feed(record)) {
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

    /// The calls since the last time that came to differ: in what became of them, in whether they ended the task, or in the
    /// reason for it. Each has `session`, `task`, `agent`, `seq`, `time`, `tool`, `arguments` as text, `answered`; `old` and
    /// `new` of `action`, `ends`, `reason`, `message`, `ran`, `grade`, `notes`; and `first`, with the calls `before` it, where
    /// it is the first of its session that decides otherwise.
    #[pyo3(signature = ())]
    fn take<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let found = py.detach(|| Ok::<_, PyErr>(self.lock()?.take()))?;
        found.iter().map(|pair| to_python(py, pair)).collect()
    }

    /// Counts so far: `old` and `new` as `Replay.totals` has them; `diverged`, `behind`, `without_outcome`, `unanswered`,
    /// `unmatched`; `endings`, a list of (old, new, count); `recorded`, `after_stop_new` and `after_stop_old`: tokens and money.
    #[getter]
    fn totals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (old, new, totals) = py.detach(|| {
            let pair = self.lock()?;
            let (old, new, totals) = pair.totals();
            Ok::<_, PyErr>((old.clone(), new.clone(), totals.clone()))
        })?;
        let dict = PyDict::new(py);
        dict.set_item("old", counted(py, old)?)?;
        dict.set_item("new", counted(py, new)?)?;
        dict.set_item("diverged", totals.diverged)?;
        dict.set_item("behind", totals.behind)?;
        dict.set_item("without_outcome", totals.without_outcome)?;
        dict.set_item("unanswered", totals.unanswered)?;
        dict.set_item("unmatched", totals.unmatched)?;
        let endings = totals.endings.into_iter().map(|((old, new), count)| (old, new, count));
        dict.set_item("endings", endings.collect::<Vec<_>>())?;
        dict.set_item("recorded", totals.recorded)?;
        let [new_only, old_only] = totals.after_stop;
        dict.set_item("after_stop_new", new_only)?;
        dict.set_item("after_stop_old", old_only)?;
        Ok(dict)
    }
}
