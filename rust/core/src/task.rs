//! A task: the agents that work on one job, and everything that is counted for them.
use std::sync::Arc;

use callgate_value::{SymbolKey, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use crate::about::About;
use crate::budget::{Elapsed, Pool, Share, Spent};
use crate::call::Call;
use crate::detect::consecutive::Consecutive;
use crate::detect::cycle::CycleStream;
use crate::detect::denied::Denied;
use crate::detect::empty_streak::EmptyStreak;
use crate::detect::exact_repeat::ExactRepeat;
use crate::detect::frequency::Frequency;
use crate::detect::invalid_arguments::InvalidArguments;
use crate::detect::no_gain::{NoGain, TaskNoGain};
use crate::detect::oscillation::Oscillation;
use crate::detect::repeated_effect::Effects;
use crate::detect::same_error::SameError;
use crate::detect::same_result::SameResult;
use crate::detect::stale_wait::StaleWait;
use crate::detect::state_oscillation::StateOscillation;
use crate::detect::transfer::Transfers;
use crate::detect::unknown_tool::UnknownTool;
use crate::detect::window::Window;
use crate::detect::{Detector, Remark, Stake};
use crate::gain::Known;
use crate::incident::Incidents;
use crate::policy::{Policy, Resets};
use crate::round::Round;
use crate::verdict::{Finding, Stop};
use crate::Reason;

/// The detectors of one agent's stream.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SessionDetectors {
    pub(crate) exact_repeat: ExactRepeat,
    pub(crate) consecutive: Consecutive,
    pub(crate) cycle: Option<CycleStream>,
    pub(crate) oscillation: Oscillation,
    pub(crate) same_error: SameError,
    pub(crate) same_result: SameResult,
    pub(crate) no_gain: NoGain,
    pub(crate) empty_streak: EmptyStreak,
    pub(crate) stale_wait: StaleWait,
    pub(crate) unknown_tool: UnknownTool,
    pub(crate) invalid_arguments: InvalidArguments,
    pub(crate) frequency: Frequency,
    /// What `frequency` and `diversity` look at.
    pub(crate) window: Window,
}

impl SessionDetectors {
    fn new(policy: &Policy) -> Self {
        Self {
            exact_repeat: ExactRepeat::default(),
            consecutive: Consecutive::default(),
            cycle: policy.cycle.as_ref().map(CycleStream::new),
            oscillation: Oscillation::default(),
            same_error: SameError::default(),
            same_result: SameResult::default(),
            no_gain: NoGain::default(),
            empty_streak: EmptyStreak::default(),
            stale_wait: StaleWait::default(),
            unknown_tool: UnknownTool::default(),
            invalid_arguments: InvalidArguments::default(),
            frequency: Frequency::default(),
            window: Window::new(policy.window),
        }
    }

    pub(crate) fn all(&self) -> [&dyn Detector; 10] {
        [
            &self.exact_repeat,
            &self.consecutive,
            &self.oscillation,
            &self.same_error,
            &self.same_result,
            &self.no_gain,
            &self.empty_streak,
            &self.stale_wait,
            &self.unknown_tool,
            &self.invalid_arguments,
        ]
    }

    pub(crate) fn all_mut(&mut self) -> [&mut dyn Detector; 10] {
        [
            &mut self.exact_repeat,
            &mut self.consecutive,
            &mut self.oscillation,
            &mut self.same_error,
            &mut self.same_result,
            &mut self.no_gain,
            &mut self.empty_streak,
            &mut self.stale_wait,
            &mut self.unknown_tool,
            &mut self.invalid_arguments,
        ]
    }

    fn reset(&mut self, resets: Resets) {
        for detector in self.all_mut() {
            detector.reset(resets);
        }
        if resets.repeats {
            self.window.clear();
            self.frequency.clear();
            if let Some(cycle) = &mut self.cycle {
                cycle.clear();
            }
        }
    }
}

/// Attempts of one call that failed so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Attempts {
    pub(crate) stake: Stake,
    pub(crate) retries: u64,
}

/// The last known result of a call.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct LastResult {
    pub(crate) result: u64,
    pub(crate) failure: Option<u64>,
    pub(crate) others: u64,
}

/// One agent's stream of calls.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Session {
    pub(crate) agent: String,
    pub(crate) agent_symbol: u64,
    pub(crate) depth: u64,
    pub(crate) started: f64,
    pub(crate) share: Share,
    pub(crate) detectors: SessionDetectors,
    /// Failing calls by loose identity.
    pub(crate) attempts: FxHashMap<u64, Attempts>,
    /// Last known results by loose identity, for incidents.
    pub(crate) last_results: FxHashMap<u64, LastResult>,
    /// Last known results by tool, for incidents.
    pub(crate) last_of_tool: FxHashMap<u64, u64>,
    /// Last known results by tool and target of reads, for incidents.
    pub(crate) last_of_reads: FxHashMap<u64, u64>,
    #[serde(skip)]
    pub(crate) round: Option<Round>,
}

/// Calls remembered for incidents by one agent.
pub(crate) const MOST_LAST_RESULTS: usize = 65_536;

/// A result that may be handed out again.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) result: Arc<Value>,
    pub(crate) at_dispatch: u64,
    pub(crate) at_end: u64,
    pub(crate) at: f64,
}

/// Results kept for reuse.
pub(crate) const MOST_STORED: usize = 512;

/// A call that is out.
#[derive(Clone, Debug)]
pub(crate) struct Out {
    pub(crate) call: Arc<Call>,
    pub(crate) round: u64,
    pub(crate) first: bool,
    pub(crate) retry: bool,
    pub(crate) read_version: u64,
    pub(crate) approved: bool,
}

/// The state of a task. A value: cloning it is a snapshot, and a decision reads it and nothing else.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    pub(crate) id: String,
    #[serde(with = "crate::snapshot::key")]
    pub(crate) key: SymbolKey,
    pub(crate) generation: u64,
    pub(crate) about: About,
    /// `task.confirmation`: 1, and one more with each approval.
    pub(crate) confirmation: u64,
    pub(crate) now: f64,
    pub(crate) started: f64,
    pub(crate) sessions: Vec<Session>,
    pub(crate) pool: Pool,
    pub(crate) next_call: u64,
    pub(crate) next_round: u64,
    pub(crate) next_number: u64,
    /// Loose identities that were admitted: the table of past calls.
    pub(crate) seen: FxHashSet<u64>,
    pub(crate) known: Known,
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
    #[serde(skip)]
    pub(crate) out: FxHashMap<Arc<str>, Out>,
    #[serde(skip)]
    pub(crate) asked: FxHashMap<Arc<str>, Arc<Call>>,
    #[serde(skip)]
    pub(crate) stored: FxHashMap<u64, Stored>,
    /// Remarks of rounds that closed between two answers.
    #[serde(skip)]
    pub(crate) remarks: Vec<Remark>,
}

/// Something that happened to the conversation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// Somebody spoke; only a human's turn resets anything.
    UserTurn {
        /// Whether it was a person.
        by_human: bool,
    },
    /// The conversation was compacted.
    Compaction,
    /// The model used tokens or money.
    Usage {
        /// Tokens.
        tokens: f64,
        /// Money, in the policy's currency.
        cost: f64,
    },
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
            confirmation: 1,
            now,
            started: now,
            sessions: Vec::new(),
            pool: Pool::default(),
            next_call: 0,
            next_round: 0,
            next_number: 1,
            seen: FxHashSet::default(),
            known: Known::default(),
            read_version: 0,
            repeat_epoch: 0,
            stirred: 0,
            stirred_by: FxHashMap::default(),
            denied: Denied::default(),
            effects: Effects::default(),
            states: StateOscillation::default(),
            transfers: Transfers::new(policy.transfer_cycle.as_ref()),
            merged: policy.cycle.as_ref().map(CycleStream::new),
            no_gain: TaskNoGain::default(),
            incidents: Incidents::default(),
            stop: None,
            out: FxHashMap::default(),
            asked: FxHashMap::default(),
            stored: FxHashMap::default(),
            remarks: Vec::new(),
        }
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

    /// Takes the host's clock, which may jump back: the task's never does.
    pub(crate) fn clock(&mut self, now: Option<f64>) -> f64 {
        if let Some(now) = now.filter(|now| now.is_finite()) {
            self.now = self.now.max(now);
        }
        self.now
    }

    /// The index of the agent's session, new if it was not there.
    pub(crate) fn session(&mut self, policy: &Policy, agent: &str) -> usize {
        if let Some(index) = self.sessions.iter().position(|session| session.agent == agent) {
            return index;
        }
        self.sessions.push(Session {
            agent: agent.to_owned(),
            agent_symbol: self.key.bytes(agent.as_bytes()).0,
            depth: 0,
            // the agent that begins a task is there from its beginning, whenever it first asks
            started: if self.sessions.is_empty() { self.started } else { self.now },
            share: Share::default(),
            detectors: SessionDetectors::new(policy),
            attempts: FxHashMap::default(),
            last_results: FxHashMap::default(),
            last_of_tool: FxHashMap::default(),
            last_of_reads: FxHashMap::default(),
            round: None,
        });
        self.sessions.len().saturating_sub(1)
    }

    pub(crate) fn elapsed(&self, session: usize) -> Elapsed {
        let of = self.sessions.get(session);
        let round = of.and_then(|session| session.round.as_ref());
        Elapsed {
            task: self.now - of.map_or(self.started, |session| session.started),
            workflow: self.now - self.started,
            step: self.now - round.map_or(self.now, |round| round.opened),
        }
    }

    /// Starts an agent below another one.
    ///
    /// # Errors
    /// A finding `budget_depth`, and then nothing is used; or `bad_call_id` where the name is taken.
    pub fn spawn(&mut self, policy: &Policy, parent: &str, child: &str, now: Option<f64>) -> Result<(), Box<Finding>> {
        self.clock(now);
        let parent = self.session(policy, parent);
        let depth = self.sessions.get(parent).map_or(0, |session| session.depth).saturating_add(1);
        if let Some(limit) = policy.budgets.depth.filter(|limit| depth > *limit) {
            let number = |count: u64| Value::Int(i64::try_from(count).unwrap_or(i64::MAX));
            let evidence = vec![("depth", number(depth)), ("limit", number(limit))];
            return Err(Box::new(Finding::refuse(Reason::BudgetDepth, evidence)));
        }
        if self.sessions.iter().any(|session| session.agent == child) {
            return Err(Box::new(Finding::refuse(Reason::BadCallId, vec![("agent", Value::from(child))])));
        }
        let index = self.session(policy, child);
        let own = policy.budgets.child_share.map(|share| self.pool.own_limits(&policy.budgets, share));
        if let Some(session) = self.sessions.get_mut(index) {
            session.depth = depth;
            session.share.own = own;
        }
        Ok(())
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

    /// Something happened to the conversation.
    pub fn event(&mut self, policy: &Policy, agent: &str, event: Event, now: Option<f64>) {
        self.clock(now);
        let index = self.session(policy, agent);
        match event {
            Event::UserTurn { by_human: false } => {}
            Event::UserTurn { by_human: true } => self.reset(policy, policy.on_user_turn),
            Event::Compaction => self.reset(policy, policy.on_compaction),
            Event::Usage { tokens, cost } => {
                if let Some(session) = self.sessions.get_mut(index) {
                    self.pool.take_usage(&mut session.share, tokens, cost);
                }
            }
        }
    }

    fn reset(&mut self, policy: &Policy, resets: Resets) {
        // what came back before the event belongs to before it
        for session in 0..self.sessions.len() {
            self.close_round(policy, session);
        }
        for session in &mut self.sessions {
            session.detectors.reset(resets);
        }
        self.states.reset(resets);
        self.transfers.reset(resets);
        if resets.repeats {
            if let Some(merged) = &mut self.merged {
                merged.clear();
            }
        }
        if resets.gain {
            self.no_gain.clear();
        }
        if resets.incidents {
            self.incidents.clear();
        }
    }
}
