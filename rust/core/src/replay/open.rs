//! A task that a replay has open, and the sessions in it.
use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::ahead::RoundOf;
use super::row::Row;
use crate::guard::Guard;
use crate::policy::Policy;
use crate::task::Task;
use crate::trace::{CallRecord, Record};

/// One session in a task that is open.
pub(super) struct Track {
    /// The agent of the last call, as the task knows it.
    pub(super) agent: Arc<str>,
    pub(super) last_seq: Option<i64>,
    pub(super) records: i64,
    /// A round is open in the task.
    pub(super) is_open: bool,
    /// The round whose records are being gathered, where it has a number.
    pub(super) round: Option<i64>,
    /// When the last of the round's calls came back that were gathered so far, in seconds.
    pub(super) ended: f64,
    /// The rounds of the session's records that are held, in order.
    pub(super) ahead: VecDeque<RoundOf>,
    /// Gathered, not yet admitted.
    pub(super) pending: Vec<Pending>,
    /// Judged; their notes may still come.
    pub(super) rows: Vec<Row>,
    pub(super) noted: bool,
    pub(super) touched: bool,
    pub(super) stopped: bool,
}

impl Track {
    pub(super) fn new(agent: Arc<str>) -> Self {
        Self {
            agent,
            last_seq: None,
            records: 0,
            is_open: false,
            round: None,
            ended: 0.0,
            ahead: VecDeque::new(),
            pending: Vec::new(),
            rows: Vec::new(),
            noted: false,
            touched: false,
            stopped: false,
        }
    }

    /// When the first of the gathered calls was admitted.
    pub(super) fn start(&self) -> Option<f64> {
        self.pending.iter().map(|it| it.start).min_by(f64::total_cmp)
    }
}

/// A recorded call that waits to be judged.
pub(super) struct Pending {
    pub(super) seq: i64,
    pub(super) id: Arc<str>,
    pub(super) task: Arc<str>,
    pub(super) time: Option<f64>,
    pub(super) duration: f64,
    /// When it was admitted; where no time is recorded, the last known time.
    pub(super) start: f64,
    pub(super) call: CallRecord,
}

/// A task that is open.
pub(super) struct Open {
    pub(super) task: Task,
    pub(super) tracks: FxHashMap<Arc<str>, Track>,
    pub(super) saved: Option<String>,
    /// When it was last touched, in records.
    pub(super) touched: u64,
    /// The sessions with records that were gathered and not yet judged; two at most.
    pub(super) gathering: Vec<Arc<str>>,
    /// The sessions whose rounds are open, in the order in which those began.
    pub(super) running: Vec<Arc<str>>,
    /// Records that wait to be played, each with its `seq`, until it is known whether a round has ended before them.
    pub(super) held: VecDeque<(i64, Record)>,
    /// The last known time of what was played, in seconds.
    pub(super) latest: f64,
    /// By agent: what it is judged by.
    pub(super) policies: FxHashMap<Arc<str>, Arc<Policy>>,
}

impl Open {
    pub(super) fn new(task: Task) -> Self {
        Self {
            task,
            tracks: FxHashMap::default(),
            saved: None,
            touched: 0,
            gathering: Vec::new(),
            running: Vec::new(),
            held: VecDeque::new(),
            latest: 0.0,
            policies: FxHashMap::default(),
        }
    }

    pub(super) fn policy(&mut self, guard: &Guard, agent: &Arc<str>) -> Arc<Policy> {
        if let Some(policy) = self.policies.get(agent) {
            return Arc::clone(policy);
        }
        let policy = guard.policy(agent, self.task.about());
        if !guard.is_alone() {
            self.task.judge_by(agent, &policy);
        }
        self.policies.insert(Arc::clone(agent), Arc::clone(&policy));
        policy
    }
}
