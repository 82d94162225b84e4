//! What a call has to hold before it runs, and how that ends. A decision is made on what is held already, so nothing can be
//! lost between deciding and taking; here claims and settlements are made, and whoever keeps the shared state answers them.
mod amounts;
mod confirmed;
mod doubt;
mod late;
mod prepare;
mod revive;
mod settle;

use std::sync::Arc;

use callgate_value::Value;

use crate::call::Call;
use crate::shared::{Claim, Entry, Grant, Settlement, Shared};

pub(crate) use confirmed::Confirmed;
pub use confirmed::{Grants, Scope};
pub(crate) use doubt::Doubts;
pub(crate) use late::Late;
pub use prepare::Prepared;
pub(crate) use prepare::{may_finish, Attempts, PreparedCall};
pub use revive::Revival;

/// Whoever keeps what tasks share.
pub trait Claims {
    /// Takes all that a claim names, or nothing.
    fn commit(&mut self, claim: &Claim, now: f64) -> Grant;

    /// Ends what was taken, adds usage, ends doubts.
    fn settle(&mut self, settlement: &Settlement, now: f64);

    /// Gives back what was taken for a call that did not run.
    fn release(&mut self, id: &str, task: &str, now: f64);

    /// Puts entries of the ledger back that are not there.
    fn restore(&mut self, entries: Vec<Entry>);
}

impl Claims for Shared {
    fn commit(&mut self, claim: &Claim, now: f64) -> Grant {
        Self::commit(self, claim, now)
    }

    fn settle(&mut self, settlement: &Settlement, now: f64) {
        Self::settle(self, settlement, now);
    }

    fn release(&mut self, id: &str, task: &str, now: f64) {
        Self::release(self, id, task, now);
    }

    fn restore(&mut self, entries: Vec<Entry>) {
        Self::restore(self, entries);
    }
}

/// What became of a claim.
#[derive(Clone, Debug)]
pub enum Answer {
    /// The shared state answered.
    Granted(Grant),
    /// It could not be reached; why.
    Failed(String),
}

impl Answer {
    /// A grant as a store gives it, as JSON.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let why = |error| format!("the store answered with no grant: {error}");
        serde_json::from_str(text).map_or_else(|error| Self::Failed(why(error)), Self::Granted)
    }
}

/// What stores read as JSON.
pub trait Told: serde::Serialize {
    /// The JSON text.
    ///
    /// # Errors
    /// Why it has none.
    fn told(&self) -> Result<String, String> {
        serde_json::to_string(self).map_err(|error| error.to_string())
    }
}

impl Told for Claim {}
impl Told for Settlement {}

/// The call that finds out what became of an effect.
#[derive(Clone, Debug)]
pub struct Verification {
    /// The tool to call.
    pub tool: Arc<str>,
    /// Its arguments.
    pub arguments: Arc<Value>,
    /// Seconds to wait before asking.
    pub after: f64,
}

impl PartialEq for Verification {
    fn eq(&self, other: &Self) -> bool {
        let told = |it: &Self| callgate_value::to_json(&it.to_value());
        told(self) == told(other)
    }
}

impl Verification {
    /// As verdicts, assessments and logs tell it.
    #[must_use]
    pub fn to_value(&self) -> Value {
        crate::fields::map(vec![
            ("tool", Value::from(&*self.tool)),
            ("arguments", (*self.arguments).clone()),
            ("after", Value::Float(self.after)),
        ])
    }
}

/// What is claimed for a call and what came of it: all that a decision reads of the shared state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Held {
    /// The declared key, in hex.
    pub(crate) key: Option<Arc<str>>,
    /// Why there is none.
    pub(crate) key_error: Option<String>,
    pub(crate) claim: Option<Box<Claim>>,
    pub(crate) answer: Option<Answer>,
    pub(crate) verification: Option<Arc<Verification>>,
}

impl Held {
    pub(crate) fn grant(&self) -> Option<&Grant> {
        match &self.answer {
            Some(Answer::Granted(grant)) => Some(grant),
            _ => None,
        }
    }

    /// Why the shared state could not be asked.
    pub(crate) fn failure(&self) -> Option<&str> {
        match &self.answer {
            Some(Answer::Failed(why)) => Some(why),
            _ => None,
        }
    }
}

/// What a call that is out holds.
#[derive(Clone, Debug)]
pub(crate) struct Holding {
    pub(crate) claim: Box<Claim>,
    pub(crate) verification: Option<Arc<Verification>>,
}

/// What has to be told to whoever keeps the shared state once verdicts are there.
#[derive(Clone, Debug, Default)]
pub struct After {
    /// Claims whose calls do not run: the id and the task of each.
    pub releases: Vec<(String, String)>,
    /// Claims that were spent at once.
    pub settlements: Vec<Settlement>,
    /// Claims of calls that run although theirs was not granted.
    pub forced: Vec<Claim>,
}

impl After {
    /// Whether there is nothing to tell.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.releases.is_empty() && self.settlements.is_empty() && self.forced.is_empty()
    }

    pub(crate) fn tell(&self, claims: &mut dyn Claims, now: f64) {
        for (id, task) in &self.releases {
            claims.release(id, task, now);
        }
        for claim in &self.forced {
            claims.commit(claim, now);
        }
        for settlement in &self.settlements {
            claims.settle(settlement, now);
        }
    }
}

/// What a task shares, and under which name.
#[derive(Clone, Debug, Default)]
pub struct Sharing {
    /// Whose counters, effects and denials are meant; none: those of the task's id.
    pub scope: Option<String>,
    /// Budgets and denials are shared too: every call makes a claim.
    pub all: bool,
}

/// The arguments of a call with its key in the argument that takes it.
pub(crate) fn with_key(call: &Call, key: &str) -> Option<Value> {
    let pass_as = call.tool.idempotency.as_ref()?.pass_as.as_ref()?;
    let Value::Map(map) = &*call.arguments else { return None };
    let own = map.iter().map(|(name, value)| (name.clone(), value.clone()));
    let passed = (callgate_value::Text::from(&*pass_as.name), Value::from(key));
    callgate_value::Map::new(own.chain([passed]).collect()).ok().map(Value::Map)
}
