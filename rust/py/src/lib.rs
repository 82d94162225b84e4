//! The border between the core and Python: values in, verdicts out. The only crate that names PyO3.
mod assessment;
mod batch;
mod coverage;
mod evaluate;
mod finding;
mod host_object;
mod identity;
mod incoming;
mod lift;
mod lift_fault;
mod long_int;
mod measure;
mod model;
mod mutation;
mod plain;
mod policy;
mod replay;
mod replay_pair;
mod self_test;
mod shared;
mod shared_task;
mod task;
mod verdict;
mod ways;
mod yaml;

use pyo3::prelude::*;

/// The compiled part of callgate.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    batch::register(module)?;
    coverage::register(module)?;
    evaluate::register(module)?;
    identity::register(module)?;
    measure::register(module)?;
    model::register(module)?;
    mutation::register(module)?;
    policy::register(module)?;
    replay::register(module)?;
    replay_pair::register(module)?;
    self_test::register(module)?;
    shared::register(module)?;
    shared_task::register(module)?;
    task::register(module)?;
    verdict::register(module)?;
    finding::register(module)?;
    assessment::register(module)?;
    ways::register(module)?;
    yaml::register(module)?;
    // The stub names what there is, once; a second list beside it would only fall behind.
    module.delattr("__all__")
}
