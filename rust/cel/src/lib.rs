//! CEL for callgate policies: syntax, check, evaluate, all bounded. Knows nothing of tools or agents.
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
