//! A task: the agents that work on one job, and everything that is counted for them.
mod acted;
mod event;
mod fruitless;
mod session;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use callgate_value::{SymbolKey, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use crate::about::About;
use crate::budget::{Pool, Spent};
use crate::call::Call;
use crate::claims::{Confirmed, Doubts, Holding, Late, Revival, Sharing};
use crate::decisions::Decisions;
use crate::detect::cycle::CycleStream;
use crate::detect::denied::Denied;
use crate::detect::no_gain::TaskNoGain;
use crate::detect::repeated_effect::Effects;
use crate::detect::state_oscillation::StateOscillation;
use crate::detect::transfer::Transfers;
use crate::detect::Remark;
use crate::fallback::{Hops, Offer, Providers, Skipped};
use crate::gain::Known;
use crate::incident::Incidents;
use crate::journal::Journal;
use crate::needs::Needs;
use crate::policy::Policy;
use crate::round::Round;
use crate::shared::Shared;
use crate::verdict::{AskedBy, Lifted, RuleKey, Stop};

pub use event::Event;
pub(crate) use fruitless::Fruitless;
pub(crate) use session::{Attempts, LastResult, Session};

/// A result that may be handed out again.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) result: Arc<Value>,
    pub(crate) at_dispatch: u64,
    pub(crate) at_end: u64,
    pub(crate) at: f64,
    /// Writes that had landed by then.
    pub(crate) epoch: u64,
    /// The same call has failed since: no answer to a repeat, but one for want of a better one.
    pub(crate) failed_since: bool,
}

/// A call that is out.
#[derive(Clone, Debug)]
pub(crate) struct Out {
    pub(crate) call: Arc<Call>,
    pub(crate) round: u64,
    pub(crate) first: bool,
    pub(crate) retry: bool,
    pub(crate) read_version: u64,
    pub(crate) approved: bool,
    /// Its tool stands in for another one.
    pub(crate) substitute: bool,
    /// What it holds of the shared state; nothing for most reads.
    pub(crate) held: Option<Box<Holding>>,
    /// When that was, on the clock of claims.
    pub(crate) dispatched: f64,
    /// It goes on after it is given up, and under this name is told what it brings then.
    pub(crate) follows: Option<Arc<str>>,
}

impl Out {
    /// How the ledger names who found out about an effect.
    pub(crate) fn dispatch_name(&self) -> u64 {
        self.call.number
    }
}

/// A call that a person is asked about.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) call: Arc<Call>,
    /// The rules that ask, if any does.
    pub(crate) rules: Vec<RuleKey>,
    /// What the person was told: each reason that asked, a rule by its id. A yes covers no other.
    pub(crate) told: Vec<AskedBy>,
    /// `task.confirmation` when it was asked.
    pub(crate) confirmation: u64,
}

/// The sessions that a write has to look at; each stands there once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Endable {
    pub(crate) by_landed: Vec<usize>,
    pub(crate) by_possible: Vec<usize>,
}

/// The state of a task. A value: cloning it is a snapshot, and a decision reads it and nothing else.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    pub(crate) id: String,
    #[serde(with = "crate::snapshot::key")]
    pub(crate) key: SymbolKey,
    pub(crate) generation: u64,
    pub(crate) about: About,
    /// What a person has said yes to.
    pub(crate) confirmed: Confirmed,
    pub(crate) now: f64,
    pub(crate) started: f64,
    pub(crate) sessions: Vec<Session>,
    pub(crate) pool: Pool,
    pub(crate) next_call: u64,
    pub(crate) next_round: u64,
    pub(crate) next_number: u64,
    pub(crate) next_claim: u64,
    /// The beginning of the task's lineage, which the ids of its claims begin with.
    #[serde(skip)]
    pub(crate) short_lineage: OnceLock<Arc<str>>,
    /// Loose identities that were admitted: the table of past calls.
    pub(crate) seen: FxHashSet<u64>,
    pub(crate) known: Known,
    /// Failing calls by loose identity.
    pub(crate) attempts: FxHashMap<u64, Attempts>,
    pub(crate) read_version: u64,
    pub(crate) repeat_epoch: u64,
    /// Dispatches and ends of calls that may change something, in all and by loose identity.
    pub(crate) stirred: u64,
    pub(crate) stirred_by: FxHashMap<u64, u64>,
    pub(crate) denied: Denied,
    pub(crate) effects: Effects,
    pub(crate) states: StateOscillation,
    pub(crate) transfers: Transfers,
    pub(crate) merged: Option<CycleStream>,
    pub(crate) no_gain: TaskNoGain,
    pub(crate) incidents: Incidents,
    pub(crate) stop: Option<Stop>,
    /// What exceptions lifted so far: exception → reason → how often.
    pub(crate) lifted: BTreeMap<String, BTreeMap<String, u64>>,
    pub(crate) needs: Needs,
    pub(crate) hops: Hops,
    pub(crate) providers: Providers,
    pub(crate) journal: Journal,
    pub(crate) decisions: Decisions,
    #[serde(skip)]
    pub(crate) out: FxHashMap<Arc<str>, Out>,
    #[serde(skip)]
    pub(crate) asked: FxHashMap<Arc<str>, Asked>,
    #[serde(skip)]
    pub(crate) stored: FxHashMap<u64, Stored>,
    /// The index of each agent's session.
    #[serde(skip)]
    pub(crate) by_agent: FxHashMap<String, usize>,
    /// Sessions with runs that a landed write may end, and with runs that a possible one may end.
    #[serde(skip)]
    pub(crate) endable: Endable,
    /// How often a poll has brought a new answer; each session clears its repeats when it is next asked.
    pub(crate) waited: u64,
    /// How often calls that are no transfers have brought or written something: what ends repeats of transfers.
    pub(crate) worked: u64,
    /// What was done again since anything new came of it.
    pub(crate) fruitless: Fruitless,
    /// How often something was written that was not fruitless: what ends the cycles of other agents.
    pub(crate) written: u64,
    /// How often anything was brought or written, or a person spoke: what makes it worth while to begin anew after a
    /// compaction.
    pub(crate) moves: u64,
    /// Calls that are out and may change something.
    #[serde(skip)]
    pub(crate) out_changing: usize,
    /// Remarks of rounds that closed between two answers.
    #[serde(skip)]
    pub(crate) remarks: Vec<Remark>,
    /// Proposals of such rounds.
    #[serde(skip)]
    pub(crate) offers: Vec<Offer>,
    #[serde(skip)]
    pub(crate) skipped: Vec<Skipped>,
    /// The ledger and the breakers of a task that shares them with nobody.
    #[serde(skip)]
    pub(crate) shared: Shared,
    #[serde(skip)]
    pub(crate) sharing: Sharing,
    #[serde(skip)]
    pub(crate) doubts: Doubts,
    /// Calls in doubt that go on although they were given up, by the names under which they are told of.
    #[serde(skip)]
    pub(crate) late: FxHashMap<Arc<str>, Late>,
    /// What a snapshot tells of the shared state.
    pub(crate) revival: Revival,
}

impl Task {
    /// A new task. `key` must be random and secret: whoever knows it could make calls collide.
    #[must_use]
    pub fn new(policy: &Policy, id: &str, key: [u8; 16], now: f64) -> Self {
        Self {
            id: id.to_owned(),
            key: SymbolKey::new(key),
            generation: 0,
            about: About::default(),
            confirmed: Confirmed::default(),
            now,
            started: now,
            sessions: Vec::new(),
            pool: Pool::default(),
            next_call: 0,
            next_round: 0,
            next_number: 1,
            next_claim: 0,
            short_lineage: OnceLock::new(),
            seen: FxHashSet::default(),
            known: Known::default(),
            attempts: FxHashMap::default(),
            read_version: 0,
            repeat_epoch: 0,
            stirred: 0,
            stirred_by: FxHashMap::default(),
            denied: Denied::default(),
            effects: Effects::default(),
            states: StateOscillation::default(),
            transfers: Transfers::new(policy.stream_transfer_cycle.as_ref()),
            merged: policy.stream_cycle.as_ref().map(CycleStream::new),
            no_gain: TaskNoGain::default(),
            incidents: Incidents::default(),
            stop: None,
            lifted: BTreeMap::new(),
            needs: Needs::default(),
            hops: Hops::default(),
            providers: Providers::default(),
            journal: Journal::default(),
            decisions: Decisions::default(),
            out: FxHashMap::default(),
            asked: FxHashMap::default(),
            stored: FxHashMap::default(),
            by_agent: FxHashMap::default(),
            endable: Endable::default(),
            waited: 0,
            worked: 0,
            fruitless: Fruitless::default(),
            written: 0,
            moves: 0,
            out_changing: 0,
            remarks: Vec::new(),
            offers: Vec::new(),
            skipped: Vec::new(),
            shared: Shared::default(),
            sharing: Sharing::default(),
            doubts: Doubts::default(),
            late: FxHashMap::default(),
            revival: Revival::default(),
        }
    }

    /// The same task, sharing what `sharing` says with others.
    #[must_use]
    pub fn sharing(mut self, sharing: Sharing) -> Self {
        self.sharing = sharing;
        self
    }

    /// The same task with what the host says about it.
    #[must_use]
    pub fn with(mut self, about: About) -> Self {
        self.about = about;
        self
    }

    /// What the host said about it.
    #[must_use]
    pub fn about(&self) -> &About {
        &self.about
    }

    /// The task's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Why and when it was stopped, if it was.
    #[must_use]
    pub fn stopped(&self) -> Option<&Stop> {
        self.stop.as_ref()
    }

    /// What was used of the plain resources.
    #[must_use]
    pub fn spent(&self) -> Spent {
        self.pool.spent
    }

    /// (repeat epoch, read version): how often a write landed, and how often something may have changed.
    #[must_use]
    pub fn world(&self) -> (u64, u64) {
        (self.repeat_epoch, self.read_version)
    }

    /// What exceptions lifted: exception → reason → how often, notes included.
    #[must_use]
    pub fn lifted(&self) -> &BTreeMap<String, BTreeMap<String, u64>> {
        &self.lifted
    }

    pub(crate) fn tally(&mut self, lifted: &[Lifted]) {
        for Lifted { exception, reason } in lifted {
            let count = self.lifted.entry(exception.to_string()).or_default().entry(reason.clone()).or_default();
            *count = count.saturating_add(1);
        }
    }

    /// Now on the wall clock, in seconds since 1970-01-01T00:00:00Z, as far as that is known.
    pub(crate) fn moment(&self) -> Option<f64> {
        self.about.began.filter(|began| began.is_finite()).map(|began| began + self.now)
    }

    /// The agent whose call is out, or was asked about.
    #[must_use]
    pub fn agent_of(&self, call_id: &str) -> Option<&str> {
        let call =
            self.out.get(call_id).map(|out| &out.call).or_else(|| self.asked.get(call_id).map(|asked| &asked.call))?;
        self.sessions.get(call.session).map(|session| session.agent.as_str())
    }

    /// Takes the host's clock, which may jump back: the task's never does.
    pub(crate) fn clock(&mut self, now: Option<f64>) -> f64 {
        if let Some(now) = now.filter(|now| now.is_finite()) {
            self.now = self.now.max(now);
        }
        self.now
    }

    /// Opens a round that the host will end.
    pub fn begin_round(&mut self, policy: &Policy, agent: &str, now: Option<f64>) {
        let now = self.clock(now);
        let session = self.session(policy, agent);
        self.close_round(policy, session);
        self.open_round(session, true, now);
    }

    /// Ends it. Its notes come with the next answer, unless they came with the last observation.
    pub fn end_round(&mut self, policy: &Policy, agent: &str) {
        let session = self.session(policy, agent);
        self.close_round(policy, session);
    }

    pub(crate) fn open_round(&mut self, session: usize, explicit: bool, now: f64) {
        self.next_round = self.next_round.saturating_add(1);
        let number = self.next_round;
        if let Some(session) = self.sessions.get_mut(session) {
            session.round = Some(Round::new(number, explicit, now));
        }
    }
}
