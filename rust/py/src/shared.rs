//! Shared state for Python: whole and in memory, and the operations that a store has done on the rows that it read. JSON text
//! in, JSON text out.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use callgate_core::shared::{
    self, read, write, Changes, Claim, Entry, EntryState, Hold, Resolution, Rows, Settlement, Shared,
};
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;

create_exception!(
    callgate._core,
    RowError,
    PyValueError,
    "A row of shared state that cannot be read: it was damaged, or another version wrote it."
);

/// Adds what this module has to the Python module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("RowError", module.py().get_type::<RowError>())?;
    module.add_class::<SharedState>()?;
    module.add_class::<SharedChanges>()?;
    module.add_class::<SharedClaim>()?;
    module.add_class::<SharedSettlement>()?;
    module.add_function(wrap_pyfunction!(shared_counters, module)?)?;
    module.add_function(wrap_pyfunction!(shared_held, module)?)?;
    module.add_function(wrap_pyfunction!(shared_resolved, module)?)?;
    module.add_function(wrap_pyfunction!(shared_release, module)?)?;
    module.add_function(wrap_pyfunction!(shared_resolve, module)?)
}

fn told(why: String) -> PyErr {
    PyValueError::new_err(why)
}

/// Without an id, what comes twice could not be told from what comes once.
fn named(id: &str, what: &str) -> PyResult<()> {
    if id.is_empty() {
        return Err(told(format!("this is no {what}: it has no id")));
    }
    Ok(())
}

fn read_claim(text: &str) -> PyResult<Claim> {
    let claim: Claim = read(text, "claim").map_err(told)?;
    named(&claim.id, "claim")?;
    Ok(claim)
}

fn read_settlement(text: &str) -> PyResult<Settlement> {
    let settlement: Settlement = read(text, "settlement").map_err(told)?;
    named(&settlement.id, "settlement")?;
    Ok(settlement)
}

/// A time that is no number would make leases that never end.
fn moment(now: f64) -> PyResult<f64> {
    if now.is_finite() {
        Ok(now)
    } else {
        Err(told(format!("the time is {now}, which is none; seconds since 1970 are wanted")))
    }
}

/// What tasks share, in the memory of this process. Safe to share between threads.
#[pyclass(frozen, module = "callgate._core")]
pub struct SharedState {
    pub(crate) shared: Arc<Mutex<Shared>>,
}

impl SharedState {
    // taken with the GIL held and never across a detach, so that nobody waits for it with the GIL in hand
    fn lock(&self) -> PyResult<MutexGuard<'_, Shared>> {
        self.shared.lock().map_err(|_| PyRuntimeError::new_err("an earlier call left the shared state in doubt"))
    }
}

#[pymethods]
impl SharedState {
    #[new]
    fn new() -> Self {
        Self { shared: Arc::default() }
    }

    /// Takes what a claim asks for, all of it or nothing; the grant.
    fn commit(&self, claim: &str, now: f64) -> PyResult<String> {
        let claim = read_claim(claim)?;
        let grant = self.lock()?.commit(&claim, moment(now)?);
        write(&grant).map_err(told)
    }

    /// Takes in how something ended; False if it was known already.
    fn settle(&self, settlement: &str, now: f64) -> PyResult<bool> {
        let settlement = read_settlement(settlement)?;
        Ok(self.lock()?.settle(&settlement, moment(now)?))
    }

    /// Gives back what a claim of a call holds that never ran; False if it ended already.
    fn release(&self, claim_id: &str, task: &str, now: f64) -> PyResult<bool> {
        named(claim_id, "claim")?;
        Ok(self.lock()?.release(claim_id, task, moment(now)?))
    }

    /// Ends a doubt, or notes that it was looked into in vain; False where there is none.
    fn resolve(&self, resolution: &str, now: f64) -> PyResult<bool> {
        let resolution: Resolution = read(resolution, "resolution").map_err(told)?;
        Ok(self.lock()?.resolve(&resolution, moment(now)?))
    }

    /// The entries of the ledger by key, each as JSON; of one task, or all.
    #[pyo3(signature = (task = None))]
    fn entries(&self, task: Option<&str>) -> PyResult<Vec<String>> {
        let shared = self.lock()?;
        let entries = task.map_or_else(|| shared.entries(), |task| shared.entries_of(task));
        entries.iter().map(|entry| write(entry).map_err(told)).collect()
    }

    /// Puts entries back where there is none of their key.
    fn restore(&self, entries: Vec<String>) -> PyResult<()> {
        let entries = entries.iter().map(|text| read(text, "entry of a ledger")).collect::<Result<_, _>>();
        self.lock()?.restore(entries.map_err(told)?);
        Ok(())
    }

    /// The counters of a task.
    fn counters(&self, task: &str) -> PyResult<BTreeMap<String, f64>> {
        Ok(self.lock()?.counters(task))
    }

    /// How a breaker stands: `closed`, `open` or `half_open`.
    fn breaker_state(&self, name: &str, now: f64) -> PyResult<&'static str> {
        Ok(self.lock()?.breaker_state(name, moment(now)?).name())
    }
}

/// (id, keep_until, JSON)
type HoldRow = (String, f64, String);
/// (key, task, tool, state, owner, began, from when on it stands in the way of others, retain_until, JSON)
type EntryRow = (String, String, String, &'static str, String, f64, Option<f64>, Option<f64>, String);

/// What an operation changed, as rows to write.
#[pyclass(frozen, module = "callgate._core", get_all)]
pub struct SharedChanges {
    hold: Option<HoldRow>,
    counters: Option<String>,
    entries: Vec<EntryRow>,
    gone: Vec<String>,
    breakers: Vec<(String, String)>,
    denied: Vec<String>,
    lifted: Vec<String>,
}

impl SharedChanges {
    fn new(changes: Changes) -> Result<Self, String> {
        let mut denied = Vec::new();
        let mut lifted = Vec::new();
        for (key, on) in changes.denials {
            if on { &mut denied } else { &mut lifted }.push(key);
        }
        let (put, gone): (Vec<_>, Vec<_>) = changes.entries.into_iter().partition(|(_, entry)| entry.is_some());
        let breakers = changes.breakers.into_iter().map(|(name, breaker)| Ok((name, write(&breaker)?)));
        Ok(Self {
            hold: changes.hold.map(hold_row).transpose()?,
            counters: changes.counters.map(|counters| write(&counters)).transpose()?,
            entries: put.into_iter().filter_map(|(_, entry)| entry).map(entry_row).collect::<Result<_, _>>()?,
            gone: gone.into_iter().map(|(key, _)| key).collect(),
            breakers: breakers.collect::<Result<_, String>>()?,
            denied,
            lifted,
        })
    }
}

fn hold_row(hold: Hold) -> Result<HoldRow, String> {
    let text = write(&hold)?;
    Ok((hold.id, hold.keep_until, text))
}

fn entry_row(entry: Entry) -> Result<EntryRow, String> {
    let text = write(&entry)?;
    let state = match entry.state {
        EntryState::InFlight => "in_flight",
        EntryState::Completed => "completed",
        EntryState::Unknown => "unknown",
    };
    let (began, blocks_from) = (entry.began, entry.blocks_from());
    let effect = entry.effect;
    Ok((effect.key, entry.task, effect.tool, state, entry.owner, began, blocks_from, entry.retain_until, text))
}

/// (kind, name, JSON) of a row as it is kept: `hold`, `counters` (all of the task), `entry`, `breaker`, `denial`.
type Row = (PyBackedStr, PyBackedStr, PyBackedStr);

/// The rows of an operation, from those that a store has read.
fn rows_of(read_rows: Vec<Row>) -> Result<Rows, String> {
    let mut rows = Rows::default();
    for (kind, name, text) in read_rows {
        match &*kind {
            "hold" => rows.hold = Some(read(&text, "hold of a claim")?),
            "counters" => rows.counters = read(&text, "counters of a task")?,
            "entry" => {
                rows.entries.insert(name.to_string(), read(&text, "entry of a ledger")?);
            }
            "breaker" => {
                rows.breakers.insert(name.to_string(), read(&text, "breaker")?);
            }
            "denial" => {
                rows.denials.insert(name.to_string());
            }
            other => return Err(format!("there are no rows of kind `{other}`")),
        }
    }
    Ok(rows)
}

/// Does an operation on rows; its answer and what it changed.
fn done<T>(rows: Vec<Row>, operation: impl FnOnce(&mut Rows) -> T) -> PyResult<(T, SharedChanges)> {
    let before = rows_of(rows).map_err(RowError::new_err)?;
    let mut after = before.clone();
    let answer = operation(&mut after);
    Ok((answer, SharedChanges::new(after.since(&before)).map_err(told)?))
}

/// (id, task, (key, tool) of its effect, names of breakers, denials)
type Asked = (String, String, Option<(String, String)>, Vec<String>, Vec<String>);
/// (id, task, whether an effect ended, whether there is usage to add, (key, tool) of an effect that ended late, keys in doubt
/// that it resolves, denials)
type Told = (String, String, bool, bool, Option<(String, String)>, Vec<String>, Vec<String>);
/// (task, (key, tool) of its effect, names of breakers)
type Held = (String, Option<(String, String)>, Vec<String>);

/// A claim that was read: which rows it touches, and what it comes to on them.
#[pyclass(frozen, module = "callgate._core")]
pub struct SharedClaim {
    claim: Claim,
}

#[pymethods]
impl SharedClaim {
    #[new]
    fn new(claim: &str) -> PyResult<Self> {
        Ok(Self { claim: read_claim(claim)? })
    }

    /// Which rows it touches.
    #[getter]
    fn touches(&self) -> Asked {
        let claim = &self.claim;
        let effect = claim.effect.as_ref().map(|it| (it.effect.key.clone(), it.effect.tool.clone()));
        let breakers = claim.breakers.iter().map(|breaker| breaker.name.clone()).collect();
        (claim.id.clone(), claim.task.clone(), effect, breakers, claim.denials.clone())
    }

    /// Commits it on the rows that it touches: the grant, and what to write.
    fn commit(&self, rows: Vec<Row>, now: f64) -> PyResult<(String, SharedChanges)> {
        let now = moment(now)?;
        let (grant, changes) = done(rows, |rows| shared::commit(rows, &self.claim, now))?;
        Ok((write(&grant).map_err(told)?, changes))
    }
}

/// A settlement that was read: which rows it touches, and what it comes to on them.
#[pyclass(frozen, module = "callgate._core")]
pub struct SharedSettlement {
    settlement: Settlement,
}

#[pymethods]
impl SharedSettlement {
    #[new]
    fn new(settlement: &str) -> PyResult<Self> {
        Ok(Self { settlement: read_settlement(settlement)? })
    }

    /// Which rows it touches, beside those of its hold.
    #[getter]
    fn touches(&self) -> Told {
        let it = &self.settlement;
        let resolved = it.resolve.iter().map(|resolution| resolution.key.clone()).collect();
        let denials = it.deny.iter().chain(&it.lift).cloned().collect();
        let late = it.late.as_ref().map(|late| (late.effect.effect.key.clone(), late.effect.effect.tool.clone()));
        (it.id.clone(), it.task.clone(), it.effect.is_some(), !it.amounts.is_empty(), late, resolved, denials)
    }

    /// Settles on the rows that it touches: whether that is new, and what to write.
    fn settle(&self, rows: Vec<Row>, now: f64) -> PyResult<(bool, SharedChanges)> {
        let now = moment(now)?;
        done(rows, |rows| shared::settle(rows, &self.settlement, now))
    }
}

/// The key of the entry that a resolution touches.
#[pyfunction]
fn shared_resolved(resolution: &str) -> PyResult<String> {
    read(resolution, "resolution").map(|it: Resolution| it.key).map_err(told)
}

/// Which rows a hold touches when it ends.
#[pyfunction]
fn shared_held(hold: &str) -> PyResult<Held> {
    let hold: Hold = read(hold, "hold of a claim").map_err(RowError::new_err)?;
    let effect = hold.effect.map(|effect| (effect.effect.key, effect.effect.tool));
    Ok((hold.task, effect, hold.passages.into_keys().collect()))
}

/// The counters of a task, from their row.
#[pyfunction]
fn shared_counters(counters: &str) -> PyResult<BTreeMap<String, f64>> {
    read(counters, "counters of a task").map_err(RowError::new_err)
}

/// Releases a claim on the rows that it touches: whether that is new, and what to write.
#[pyfunction]
fn shared_release(rows: Vec<Row>, claim_id: &str, task: &str, now: f64) -> PyResult<(bool, SharedChanges)> {
    let now = moment(now)?;
    named(claim_id, "claim")?;
    done(rows, |rows| shared::release(rows, claim_id, task, now))
}

/// Resolves a doubt on the row of its key: whether there was one, and what to write.
#[pyfunction]
fn shared_resolve(rows: Vec<Row>, resolution: &str, now: f64) -> PyResult<(bool, SharedChanges)> {
    let (resolution, now): (Resolution, _) = (read(resolution, "resolution").map_err(told)?, moment(now)?);
    done(rows, |rows| shared::resolve(&mut rows.entries, &resolution, now))
}
