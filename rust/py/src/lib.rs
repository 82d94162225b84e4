//! The border between the core and Python: values in, verdicts out. The only crate that names PyO3.
mod batch;
mod model;

use pyo3::prelude::*;

/// The compiled part of callgate.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    batch::register(module)?;
    model::register(module)?;
    Ok(())
}
