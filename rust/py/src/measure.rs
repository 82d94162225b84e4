//! Hooks for measurements: what the core does by itself, many times in one call, without Python in between.
use callgate_core::measure;
use callgate_core::About;
use callgate_value::Value;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::lift::lift_arguments;
use crate::policy::CompiledPolicy;

/// Adds what this module has to the Python module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_detector_steps, module)?)?;
    module.add_function(wrap_pyfunction!(_all_detector_steps, module)?)?;
    module.add_function(wrap_pyfunction!(_evaluate_many, module)?)
}

/// The symbols of a buffer: 64-bit numbers, lowest byte first.
fn symbols_of(buffer: &[u8]) -> impl Iterator<Item = u64> + '_ {
    buffer.chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap_or_default()))
}

/// Steps the detectors of repeats, cycles, distinct calls and entropy through symbols, for measurements: totals of
/// (earlier occurrences in the window, periods going round, distinct symbols, bits of entropy).
#[pyfunction]
fn _detector_steps(symbols: &[u8], window: usize, max_period: usize, laps: u64) -> (u64, u64, u64, f64) {
    let totals = measure::detector_steps(symbols_of(symbols), window, max_period, laps);
    (totals.repeats, totals.periods, totals.distinct, totals.entropy)
}

/// Steps all detectors of a policy through symbols that stand for calls, for measurements: findings and notes.
#[pyfunction]
fn _all_detector_steps(policy: &CompiledPolicy, symbols: &[u8]) -> u64 {
    measure::all_detector_steps(&policy.guard.policy("root", &About::default()), symbols_of(symbols))
}

/// Evaluates a condition on lifted variables, for measurements: how often it held.
#[pyfunction]
fn _evaluate_many(source: &str, variables: &Bound<'_, PyDict>, times: u64) -> PyResult<u64> {
    let lifted = lift_arguments(variables).map_err(|fault| fault.into_error(variables.py(), "variables"))?;
    let Value::Map(variables) = lifted else { return Err(PyValueError::new_err("`variables` is not a map")) };
    measure::evaluate_many(source, &variables, times).map_err(PyValueError::new_err)
}
