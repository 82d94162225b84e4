//! What to do when a tool does not deliver: an earlier answer, another tool, another provider, or do without.
mod hops;
mod offers;
mod provider;

pub(crate) use hops::Hops;
pub use offers::{Offer, Skipped};
pub(crate) use provider::Providers;
pub use provider::{BreakerState, ModelAdvice};
