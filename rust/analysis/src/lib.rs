//! Searches over policies: what is proved never to fire, and generated runs that fire what can.
//!
//! [`dead`] proves, cheaply and without playing anything, that a rule's condition can never be true or that a limit can
//! never be reached. [`self_test`] goes over every rule, every rung of every detector and every budget of a policy, makes up
//! calls and results for each, and plays them through the engine itself until it fires. Both are deterministic and bounded.
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

mod apart;
mod budgets;
mod caller;
mod claims;
mod clash;
mod coverable;
mod coverage;
mod dead;
mod detectors;
mod domain;
mod judge;
mod mutation;
mod reached;
mod relation;
mod rules;
mod sample;
mod sequence;
mod situation;
mod text;
mod trial;
mod watched;
mod wish;
mod written;

pub use apart::{tell_apart, Apart};
pub use callgate_cel::{mutations, Mutation};
pub use coverage::{Counted, Coverage, Item, Placed};
pub use dead::dead;
pub use mutation::{try_out, Differing, Edit, Fate, Judged, Part, Run, Scope, Suite};
pub use relation::{relations, Relation};
pub use self_test::{self_test, Kind, Probe};

mod self_test;
