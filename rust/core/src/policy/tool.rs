//! A tool as a decision sees it.
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Breaker, Coverage, Detectors, ErrorRule, Idempotency, Identity, ResultContract, Retry, Verify, Waiting};
use crate::expression::Expression;

/// What a call does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Effect {
    /// Looks, changes nothing.
    Read,
    /// Changes something inside the task's workspace that can be undone.
    Write,
    /// Leaves the workspace: a mail, a payment.
    External,
    /// Acts on a user interface.
    Ui,
    /// Steers the agents themselves.
    Control,
    /// Nobody said.
    Unknown,
}

impl Effect {
    /// Whether dispatching or ending such a call may change what reads return.
    #[must_use]
    pub fn may_change(self) -> bool {
        matches!(self, Self::Write | Self::External | Self::Ui | Self::Unknown)
    }
}

/// One tool, or one form of it.
#[derive(Clone, Debug)]
pub struct Tool {
    /// Its name.
    pub name: Arc<str>,
    /// Whether a manifest declares it.
    pub declared: bool,
    /// What it does to the world.
    pub effect: Effect,
    /// Whether doing it twice is the same as once.
    pub idempotent: bool,
    /// Groups, for budgets.
    pub groups: Vec<Arc<str>>,
    /// Tags of the world that it reads.
    pub reads: Box<[u32]>,
    /// Tags of the world that it changes.
    pub touches: Box<[u32]>,
    /// What its arguments must be.
    pub parameters: Option<Arc<crate::schema::ArgumentSchema>>,
    /// What makes two calls the same.
    pub identity: Identity,
    /// How its result is read.
    pub result: ResultContract,
    /// Whether anything that is declared reads fields of its result: a text that is JSON is read as that.
    pub has_fields: bool,
    /// Whether it waits.
    pub waiting: Option<Waiting>,
    /// What part of something it covers.
    pub coverage: Option<Coverage>,
    /// Whether it hands control to another agent.
    pub transfer: bool,
    /// Classes of its errors.
    pub errors: Vec<ErrorRule>,
    /// Retries.
    pub retry: Option<Retry>,
    /// The server that it lives on.
    pub server: Option<Arc<str>>,
    /// When it is left alone.
    pub breaker: Option<Arc<Breaker>>,
    /// What tells one of its effects from another.
    pub idempotency: Option<Arc<Idempotency>>,
    /// The call that finds out what became of one.
    pub verify: Option<Arc<Verify>>,
    /// How long a call may take, in seconds.
    pub timeout: Option<f64>,
    /// How long a result may be reused, in seconds.
    pub cache_ttl: f64,
    /// Thresholds for this tool.
    pub detectors: Arc<Detectors>,
}

impl Tool {
    /// Whether the ledger keeps its effects.
    #[must_use]
    pub fn has_effects(&self) -> bool {
        matches!(self.effect, Effect::Write | Effect::External)
    }

    /// Whether the same call may be sent again although nobody knows what became of the first: it is idempotent, and the
    /// tool gets the key by which it can tell.
    #[must_use]
    pub fn may_be_resent(&self) -> bool {
        self.idempotent && self.idempotency.as_ref().is_some_and(|it| it.pass_as.is_some())
    }

    /// A tool of which nothing is declared.
    #[must_use]
    pub fn undeclared(name: &str, detectors: Arc<Detectors>) -> Self {
        Self {
            name: name.into(),
            declared: false,
            effect: Effect::Unknown,
            idempotent: false,
            groups: Vec::new(),
            reads: Box::default(),
            touches: Box::default(),
            parameters: None,
            identity: Identity::default(),
            result: ResultContract { min_records: 1, ..ResultContract::default() },
            has_fields: false,
            waiting: None,
            coverage: None,
            transfer: false,
            errors: Vec::new(),
            retry: None,
            server: None,
            breaker: None,
            idempotency: None,
            verify: None,
            timeout: None,
            cache_ttl: 300.0,
            detectors,
        }
    }
}

/// A declared tool with its forms.
#[derive(Clone, Debug)]
pub struct ToolEntry {
    /// Used when no form matches.
    pub base: Arc<Tool>,
    /// Used when a condition of a form fails to evaluate: the tool's own keys, effect unknown.
    pub undecided: Arc<Tool>,
    /// First match wins.
    pub forms: Vec<(Option<Expression>, Arc<Tool>)>,
}
