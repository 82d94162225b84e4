//! What tasks and processes share (budgets, the ledger of effects, breakers, denials), reached by one conditional
//! operation before a call runs and one after it.
//!
//! The rules are pure functions on the [`Rows`] that an operation touches. [`Shared`] keeps all rows in memory; a store reads
//! them from wherever it keeps them, has [`commit`], [`settle`] or [`release`] done on them, and writes the [`Changes`] back in
//! the same transaction. So every store answers alike.
#[cfg(test)]
mod any_order;
mod breaker;
mod claim;
mod counters;
#[cfg(test)]
mod late_tests;
mod ledger;
mod memory;
mod operation;
mod rows;
#[cfg(test)]
mod tests;
mod text;

pub use breaker::{Breaker, Passage};
pub use claim::{
    Amount, BreakerClaim, BreakerEnd, Claim, EffectAnswer, EffectClaim, EffectEnd, EffectKey, Entry, EntryState, Grant,
    LateEnd, LateWord, OpenBreaker, Resolution, Settlement,
};
pub use counters::Counters;
pub use ledger::{resolve, Entries};
pub use memory::Shared;
pub use operation::{commit, release, settle};
pub use rows::{Changes, Hold, Rows};
pub use text::{read, write};
