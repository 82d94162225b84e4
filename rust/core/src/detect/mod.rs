//! Detectors: one file each. A detector sees calls before they run and observations after they ended, keeps its own
//! state, and answers with nothing, a note or a finding.
use std::sync::Arc;

use callgate_value::Value;
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::gain::Gain;
use crate::needs::Mark;
use crate::outcome::{Judged, Outcome};
use crate::policy::{Cycle, Detectors, Resets};
use crate::verdict::{Evidence, Finding};

pub(crate) mod consecutive;
pub(crate) mod cycle;
pub(crate) mod denied;
pub(crate) mod diversity;
pub(crate) mod empty_streak;
pub(crate) mod exact_repeat;
pub(crate) mod frequency;
pub(crate) mod invalid_arguments;
pub(crate) mod no_gain;
pub(crate) mod oscillation;
pub(crate) mod remarks;
pub(crate) mod repeated_effect;
pub(crate) mod same_error;
pub(crate) mod same_result;
pub(crate) mod stale_wait;
pub(crate) mod state_oscillation;
pub(crate) mod tally;
pub(crate) mod transfer;
pub(crate) mod unknown_tool;
pub(crate) mod window;

pub(crate) use remarks::{Lift, Remark, Remarks, Said, Under};
use window::Window;

/// A call before it runs.
pub(crate) struct Before<'a> {
    pub(crate) call: &'a Call,
    pub(crate) now: f64,
    /// The last calls of the agent.
    pub(crate) window: &'a Window,
    /// Whether its `coverage` range or cursor is new to the task.
    pub(crate) uncovered: bool,
    /// How often calls that are no transfers have brought something to the task, or written something.
    pub(crate) worked: u64,
    /// The thresholds of the policy that is asked, for the call's tool.
    pub(crate) thresholds: &'a Detectors,
    /// The same policy's periods and laps of transfers.
    pub(crate) transfer_cycle: Option<&'a Cycle>,
}

/// A call that was allowed and is on its way.
#[derive(Clone, Copy)]
pub(crate) struct Dispatch<'a> {
    pub(crate) call: &'a Call,
    pub(crate) now: f64,
    /// Whether its `coverage` range or cursor is new to the task.
    pub(crate) uncovered: bool,
    /// The thresholds of a policy that applies, for the call's tool.
    pub(crate) thresholds: &'a Detectors,
    /// The same policy's periods and laps of transfers.
    pub(crate) transfer_cycle: Option<&'a Cycle>,
}

/// A call after it ended, as it is fed to the detectors.
#[derive(Clone, Debug)]
pub(crate) struct Observation {
    pub(crate) call: Arc<Call>,
    pub(crate) call_id: Arc<str>,
    /// When it ended.
    pub(crate) at: f64,
    pub(crate) judged: Judged,
    /// What came back, where rules want to see it.
    pub(crate) outcome: Option<Outcome>,
    /// How many calls other than this one, of an effect that may change something, were dispatched or ended by then.
    pub(crate) others: u64,
    /// No call of this loose identity was admitted in the task before.
    pub(crate) first: bool,
    /// Whether it belongs to the detectors, and not to a retry policy.
    pub(crate) fed: bool,
    /// The same call will be tried again by itself.
    pub(crate) retrying: bool,
    /// Further attempts of the same call that had failed before it.
    pub(crate) retries: u64,
    /// It failed, and was answered with an earlier result.
    pub(crate) from_cache: bool,
    /// The cells of the task's needs that it speaks of.
    pub(crate) marks: Vec<Mark>,
    /// Set when it is fed.
    pub(crate) gain: Gain,
    /// Likewise: missing cells that it is the first to fill.
    pub(crate) cells: u32,
    /// Whether its tool can fill cells.
    pub(crate) feeds_needs: bool,
    /// Set when it is fed: whether it looks anew. That it brings nothing new is then no news of its tool.
    pub(crate) fresh_look: Option<FreshLook>,
    /// Likewise: an earlier call of its round brought the same under other arguments, and one batch is one observation; or
    /// what the tool answered before was acted upon.
    pub(crate) passed_over: bool,
    /// Likewise: it is its agent's first look at a target that the tool declares. That it brings nothing new is no news of
    /// the task.
    pub(crate) new_target: bool,
    /// Likewise: how often calls that are no transfers have brought something to the task, or written something.
    pub(crate) worked: u64,
}

/// Why a read is worth making although it may bring nothing new.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum FreshLook {
    /// A write has landed on what it looks at, by the tags or the targets of both.
    Changed,
    /// A write has landed of which nothing says that it has nothing to do with it.
    MayHaveChanged,
    /// Whoever asks has not got the answer: a person asks again, it was compacted away, or another agent had it.
    Wanted,
}

impl Observation {
    pub(crate) fn succeeded(&self) -> bool {
        !self.judged.failed
    }

    /// Whether it brought what the tool's calls are held against: something new to the task, or a missing cell filled
    /// where its tool can do that.
    pub(crate) fn brought_something(&self) -> bool {
        if self.feeds_needs && self.counts_cells() {
            self.cells > 0
        } else {
            self.gain.count > 0
        }
    }

    /// Whether `no_gain` looks at the task's needs.
    pub(crate) fn counts_cells(&self) -> bool {
        self.call.tool.detectors.no_gain.is_some_and(|no_gain| no_gain.towards_needs)
    }

    /// A successful read with a known result.
    pub(crate) fn is_known_read(&self) -> bool {
        self.succeeded() && self.call.is_read() && self.judged.result.is_some()
    }
}

/// A write that landed, or may have.
pub(crate) struct Write<'a> {
    pub(crate) call: &'a Call,
    /// The same was written again and again, and nothing came of it: that is no reason to look once more.
    pub(crate) fruitless: bool,
}

/// What a run needs to know of its call to tell whether a write ends it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Stake {
    loose: u64,
    reads: Box<[u32]>,
    target: Option<u64>,
}

impl Stake {
    pub(crate) fn of(call: &Call) -> Self {
        Self { loose: call.loose, reads: call.tool.reads.clone(), target: call.target }
    }

    /// A landed write ends the runs of other calls: by tags if both declare some, else by target, else always.
    pub(crate) fn ended_by_landed(&self, write: &Write<'_>) -> bool {
        if self.loose == write.call.loose {
            return false;
        }
        let touches = &write.call.tool.touches;
        if !touches.is_empty() && !self.reads.is_empty() {
            return self.shares(touches);
        }
        match (write.call.target, self.target) {
            (Some(written), Some(mine)) => written == mine,
            _ => true,
        }
    }

    /// Of a write that ends the run: whether both say that it does, by a tag or by their target.
    pub(crate) fn is_said_to_end(&self, write: &Write<'_>) -> bool {
        let tagged = !write.call.tool.touches.is_empty() && !self.reads.is_empty();
        tagged || (write.call.target.is_some() && self.target.is_some())
    }

    /// A possible write ends the runs of other calls that do not say what they read, or say that they read this.
    pub(crate) fn ended_by_possible(&self, write: &Write<'_>) -> bool {
        self.loose != write.call.loose && (self.reads.is_empty() || self.shares(&write.call.tool.touches))
    }

    fn shares(&self, touches: &[u32]) -> bool {
        touches.iter().any(|tag| self.reads.contains(tag))
    }
}

/// A detector. Thresholds come with the question; what it counts is its own, once for all policies that apply.
pub(crate) trait Detector {
    /// What speaks against running the call.
    fn before(&self, before: &Before<'_>) -> Option<Finding>;

    /// The call was allowed and is on its way.
    fn dispatched(&mut self, _dispatch: Dispatch<'_>) {}

    /// The call came back, or never ran; its outcome may be fed later or not at all.
    fn returned(&mut self, _call: &Call) {}

    /// An outcome that is fed.
    fn after(&mut self, seen: &Observation, remarks: &mut Remarks);

    /// A write landed.
    fn landed(&mut self, _write: &Write<'_>) {}

    /// Something new ran that may have written.
    fn possibly_written(&mut self, _write: &Write<'_>) {}

    /// A poll brought a new answer.
    fn waited(&mut self) {}

    /// An event resets what it names.
    fn reset(&mut self, resets: Resets);
}

/// `count` and `threshold`: what most findings show.
pub(crate) fn counted(count: u64, threshold: Option<u64>) -> Evidence {
    let number = |count: u64| Value::Int(i64::try_from(count).unwrap_or(i64::MAX));
    let mut evidence = vec![("count", number(count))];
    if let Some(threshold) = threshold {
        evidence.push(("threshold", number(threshold)));
    }
    evidence
}
