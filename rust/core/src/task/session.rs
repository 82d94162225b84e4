//! One agent's stream of calls in a task, and its detectors.
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use std::sync::Arc;

use callgate_value::Value;

use super::acted::ActedUpon;
use super::Task;
use crate::budget::{Elapsed, Share};
use crate::detect::consecutive::Consecutive;
use crate::detect::cycle::CycleStream;
use crate::detect::empty_streak::EmptyStreak;
use crate::detect::exact_repeat::ExactRepeat;
use crate::detect::frequency::Frequency;
use crate::detect::invalid_arguments::InvalidArguments;
use crate::detect::no_gain::NoGain;
use crate::detect::oscillation::Oscillation;
use crate::detect::same_error::SameError;
use crate::detect::same_result::SameResult;
use crate::detect::stale_wait::StaleWait;
use crate::detect::unknown_tool::UnknownTool;
use crate::detect::window::Window;
use crate::detect::{Detector, Stake};
use crate::policy::{Policy, Resets};
use crate::round::Round;
use crate::verdict::Finding;
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
            cycle: policy.stream_cycle.as_ref().map(CycleStream::new),
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

    pub(super) fn reset(&mut self, resets: Resets) {
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
    /// The last of them failed so that the next one is a retry: it was neither denied nor malformed.
    pub(crate) again: bool,
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
    /// Transient failures in a row, by tool.
    pub(crate) transient: FxHashMap<u64, u64>,
    /// Last known results by loose identity, for incidents.
    pub(crate) last_results: FxHashMap<u64, LastResult>,
    /// Last known results by tool, for incidents.
    pub(crate) last_of_tool: FxHashMap<u64, u64>,
    /// Last known results by tool and target of reads, for incidents.
    pub(crate) last_of_reads: FxHashMap<u64, u64>,
    pub(crate) acted: ActedUpon,
    #[serde(skip)]
    pub(crate) round: Option<Round>,
    /// The task's `waited` when its repeats were cleared last.
    pub(crate) waited: u64,
    /// How often it wrote something, and how often others had when its stream was cleared last.
    pub(crate) wrote: u64,
    pub(crate) written_by_others: u64,
    /// The task's `moves` when its conversation was compacted last.
    pub(crate) compacted: Option<u64>,
    /// Whether it stands among those that a landed write, and a possible one, has to look at.
    #[serde(skip)]
    pub(crate) listed: (bool, bool),
    /// What the agent is judged by, where that is not the same for all agents.
    #[serde(skip)]
    pub(crate) policy: Option<Arc<Policy>>,
}

impl Session {
    /// Whether there is anything that a landed write may end.
    pub(crate) fn has_runs(&self) -> bool {
        self.has_repeats() || !self.detectors.same_error.is_idle()
    }

    /// Whether there is anything that a possible write may end.
    pub(crate) fn has_repeats(&self) -> bool {
        !self.detectors.exact_repeat.is_idle() || !self.detectors.no_gain.is_idle()
    }
}

impl Task {
    /// Whether another attempt of the call is a retry, whoever makes it.
    pub(crate) fn is_retry(&self, loose: u64) -> bool {
        self.attempts.get(&loose).is_some_and(|attempts| attempts.again)
    }

    /// The index of the agent's session, new if it was not there.
    pub(crate) fn session(&mut self, policy: &Policy, agent: &str) -> usize {
        if let Some(index) = self.by_agent.get(agent).copied() {
            self.catch_up(index);
            return index;
        }
        self.by_agent.insert(agent.to_owned(), self.sessions.len());
        self.sessions.push(Session {
            agent: agent.to_owned(),
            agent_symbol: self.key.bytes(agent.as_bytes()).0,
            depth: 0,
            // the agent that begins a task is there from its beginning, whenever it first asks
            started: if self.sessions.is_empty() { self.started } else { self.now },
            share: Share::default(),
            detectors: SessionDetectors::new(policy),
            transient: FxHashMap::default(),
            last_results: FxHashMap::default(),
            last_of_tool: FxHashMap::default(),
            last_of_reads: FxHashMap::default(),
            acted: ActedUpon::default(),
            round: None,
            policy: None,
            waited: self.waited,
            wrote: 0,
            written_by_others: self.written,
            compacted: None,
            listed: (false, false),
        });
        self.sessions.len().saturating_sub(1)
    }

    /// Says what an agent is judged by, where agents differ. An open round of it is closed under what it was opened under.
    pub fn judge_by(&mut self, agent: &str, policy: &Arc<Policy>) {
        let session = self.session(policy, agent);
        if let Some(session) = self.sessions.get_mut(session) {
            session.policy.get_or_insert_with(|| Arc::clone(policy));
        }
    }

    /// What ended the session's repeats since it was last asked: a poll of some agent has brought a new answer, or another
    /// agent has written something.
    pub(crate) fn catch_up(&mut self, session: usize) {
        let (waited, written) = (self.waited, self.written);
        let Some(session) = self.sessions.get_mut(session) else { return };
        let by_others = written.saturating_sub(session.wrote);
        if session.waited == waited && session.written_by_others == by_others {
            return;
        }
        if session.waited != waited {
            session.detectors.exact_repeat.waited();
            session.detectors.consecutive.waited();
        }
        (session.waited, session.written_by_others) = (waited, by_others);
        if let Some(cycle) = &mut session.detectors.cycle {
            cycle.clear();
        }
    }

    /// Puts a session among those that writes have to look at, as far as it has something to end.
    pub(crate) fn list(&mut self, index: usize) {
        let Some(session) = self.sessions.get_mut(index) else { return };
        if !session.listed.0 && session.has_runs() {
            session.listed.0 = true;
            self.endable.by_landed.push(index);
        }
        if !session.listed.1 && session.has_repeats() {
            session.listed.1 = true;
            self.endable.by_possible.push(index);
        }
    }

    /// What can be worked out from the sessions, after a snapshot.
    pub(crate) fn index(&mut self) {
        let agents = self.sessions.iter().enumerate();
        self.by_agent = agents.map(|(index, session)| (session.agent.clone(), index)).collect();
        for index in 0..self.sessions.len() {
            self.list(index);
        }
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
        let limits = policy.each().filter_map(|policy| policy.budgets.depth);
        if let Some(limit) = limits.min().filter(|limit| depth > *limit) {
            let number = |count: u64| Value::Int(i64::try_from(count).unwrap_or(i64::MAX));
            let evidence = vec![("depth", number(depth)), ("limit", number(limit))];
            return Err(Box::new(Finding::refuse(Reason::BudgetDepth, evidence)));
        }
        if self.by_agent.contains_key(child) {
            return Err(Box::new(Finding::refuse(Reason::BadCallId, vec![("agent", Value::from(child))])));
        }
        let index = self.session(policy, child);
        let own = policy.each().filter_map(|policy| {
            let share = policy.budgets.child_share?;
            Some((policy.key().to_owned(), self.pool.own_limits(&policy.budgets, share)))
        });
        let own = own.collect();
        if let Some(session) = self.sessions.get_mut(index) {
            session.depth = depth;
            session.share.own = own;
        }
        Ok(())
    }
}
