//! What tasks and processes share (budgets, the ledger of effects, breakers, denials), reached by one conditional
//! operation before a call runs and one after it.
mod claim;

pub use claim::{
    Amount, BreakerClaim, BreakerEnd, Claim, EffectAnswer, EffectClaim, EffectEnd, EffectKey, Entry, EntryState, Grant,
    OpenBreaker, Resolution, Settlement,
};
