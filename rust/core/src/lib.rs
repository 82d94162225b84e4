//! The pure heart of callgate: policy model, identity, detectors, budgets, task state, decisions.
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

pub mod batch;
pub mod model;
