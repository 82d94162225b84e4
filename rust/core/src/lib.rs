//! The pure heart of callgate: policy model, identity, detectors, budgets, task state, decisions.
//!
//! No clock, no I/O, no randomness, no Python: time is an argument, state is a value, a decision is a function.
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

mod about;
pub mod batch;
mod bounds;
mod budget;
mod call;
mod claims;
pub mod compile;
mod counted;
mod decide;
mod decisions;
mod detect;
mod envelope;
mod exit;
pub mod expression;
mod fallback;
mod fields;
mod gain;
pub mod guard;
mod identify;
mod incident;
mod journal;
mod lift;
pub mod measure;
pub mod model;
mod needs;
mod observe;
mod outcome;
pub mod policy;
mod reading;
mod reason;
pub mod replay;
pub mod replay_pair;
pub mod reply;
mod report;
mod round;
pub mod schema;
mod scope;
pub mod shared;
mod snapshot;
mod task;
pub mod trace;
mod verdict;
pub mod watch;

pub use about::About;
pub use call::{Call, Request};
pub use claims::{After, Answer, Claims, Grants, Prepared, Revival, Scope, Sharing, Told, Verification};
pub use decisions::{No, Yes};
pub use envelope::Envelope;
pub use fallback::{BreakerState, ModelAdvice, Offer, Skipped};
pub use identify::identify_alone;
pub use lift::lift;
pub use outcome::{Outcome, Reported, Said};
pub use reason::Reason;
pub use snapshot::SnapshotError;
pub use task::{Event, Task};
pub use verdict::{
    reason_name, Action, Assessment, Backoff, Evidence, ExitDecision, Finding, Grade, Lifted, Next, Note, Status, Stop,
    TimeLeft, Verdict,
};
