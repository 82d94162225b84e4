//! What keeps a side effect from happening twice, finds out whether it happened, and leaves a failing tool alone.
use std::sync::Arc;

use crate::expression::Expression;

/// `idempotency`: the key that tells one effect from another.
#[derive(Clone, Debug)]
pub struct Idempotency {
    /// What the key is made of.
    pub key: Expression,
    /// The argument in which the tool gets it.
    pub pass_as: Option<PassAs>,
    /// How long it is remembered after its effect is complete, in seconds.
    pub retain: f64,
}

/// `pass_as`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassAs {
    /// The argument's name.
    pub name: Arc<str>,
    /// Whether `parameters` declare it: then they are asked with a key in place.
    pub in_schema: bool,
}

/// `verify`: the call that finds out what became of an effect.
#[derive(Clone, Debug)]
pub struct Verify {
    /// The tool to call.
    pub tool: Arc<str>,
    /// Its arguments, over the call in doubt.
    pub arguments: Vec<(Arc<str>, Expression)>,
    /// When its result says that the effect took place.
    pub landed_when: Option<Expression>,
    /// When its result says that it did not, and will not.
    pub absent_when: Option<Expression>,
    /// How long to wait before asking, in seconds.
    pub after: f64,
    /// How often to ask.
    pub attempts: u64,
}

/// `breaker`
#[derive(Clone, Debug, PartialEq)]
pub struct Breaker {
    /// `tool:NAME` or `server:NAME`.
    pub name: Arc<str>,
    /// Failures in a row that open it.
    pub failures: u64,
    /// How long it stays open, in seconds.
    pub open_for: f64,
    /// Calls that may then try at once.
    pub probes: u64,
}
