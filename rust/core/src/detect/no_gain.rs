//! `no_gain`: calls that bring nothing new, of one tool's reads and of the whole task.
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::same_result::{incident, place};
use super::tally::ReadTally;
use super::{counted, Before, Detector, Dispatch, FreshLook, Observation, Remarks, Said, Stake, Write};
use crate::bounds::{make_room, CALLS, PLACES};
use crate::call::Call;
use crate::policy::{Detectors, ErrorClass, Resets};
use crate::verdict::Finding;
use crate::Reason;

/// Reads in a row without gain, by tool and target. A call that a landed write, a person's turn or a compaction has made
/// worth repeating is a fresh look: that it brings nothing new is no news of the tool.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct NoGain {
    streaks: FxHashMap<u64, ReadTally>,
    /// Reads that nothing has made worth repeating since their last outcome, by loose identity.
    looked: FxHashMap<u64, Stake>,
    /// Those that a write may have made so, and another one may still say so.
    doubtful: FxHashMap<u64, Stake>,
    /// Those that something has.
    outdated: FxHashMap<u64, FreshLook>,
}

impl Detector for NoGain {
    fn before(&self, before: &Before<'_>) -> Option<Finding> {
        let call = before.call;
        let rungs = &before.thresholds.no_gain.as_ref().filter(|_| call.is_read() && !before.uncovered)?.rungs;
        let tally = &self.streaks.get(&place(call))?.tally;
        tally
            .refuses(rungs, before.now)
            .then(|| Finding::refuse(Reason::NoGain, counted(tally.count, rungs.refuse_after)).within(incident(call)))
    }

    fn dispatched(&mut self, Dispatch { call, now, uncovered, thresholds: judged_by, .. }: Dispatch<'_>) {
        // a call that is let through anyway needs no cool-down
        if uncovered || !call.is_read() {
            return;
        }
        if let (Some(reads), Some(no_gain)) = (self.streaks.get_mut(&place(call)), &judged_by.no_gain) {
            reads.tally.dispatched(&no_gain.rungs, now, call);
        }
    }

    fn returned(&mut self, call: &Call) {
        if let Some(reads) = self.streaks.get_mut(&place(call)) {
            reads.tally.returned(call);
        }
    }

    fn after(&mut self, seen: &Observation, remarks: &mut Remarks) {
        if !seen.is_known_read() {
            return;
        }
        if seen.brought_something() {
            self.streaks.remove(&place(&seen.call));
            return;
        }
        if seen.passed_over || seen.fresh_look == Some(FreshLook::Wanted) {
            return;
        }
        make_room(&mut self.streaks, &place(&seen.call), PLACES);
        let reads = self.streaks.entry(place(&seen.call)).or_default();
        if seen.fresh_look.is_some() && !reads.looked_after_write() {
            return;
        }
        reads.tally.add(seen.at);
        remarks.count(Reason::NoGain, seen, |by| by.no_gain.as_ref().map(|it| &it.rungs), reads.tally.count);
    }

    fn landed(&mut self, write: &Write<'_>) {
        if write.fruitless {
            return;
        }
        let Self { looked, doubtful, outdated, .. } = self;
        // what says nothing of what it touches can tell no more of those than the write before it
        if !write.call.tool.touches.is_empty() || write.call.target.is_some() {
            doubtful.retain(|call, stake| {
                let changed = stake.ended_by_landed(write) && stake.is_said_to_end(write);
                if changed {
                    outdated.insert(*call, FreshLook::Changed);
                }
                !changed
            });
        }
        looked.retain(|call, stake| {
            if !stake.ended_by_landed(write) {
                return true;
            }
            if stake.is_said_to_end(write) {
                outdated.insert(*call, FreshLook::Changed);
            } else {
                doubtful.insert(*call, std::mem::take(stake));
            }
            false
        });
    }

    fn possibly_written(&mut self, write: &Write<'_>) {
        let doubtful = &mut self.doubtful;
        self.looked.retain(|call, stake| {
            let ended = stake.ended_by_possible(write);
            if ended {
                doubtful.insert(*call, std::mem::take(stake));
            }
            !ended
        });
    }

    fn reset(&mut self, resets: Resets) {
        // what was looked at is still what was looked at
        if resets.gain {
            self.streaks.clear();
        }
    }
}

impl NoGain {
    /// Whether there is no read that a write could make worth repeating.
    pub(crate) fn is_idle(&self) -> bool {
        self.looked.is_empty() && self.doubtful.is_empty()
    }

    /// Remembers that a read came back.
    pub(crate) fn look(&mut self, call: &Call) -> Look {
        if self.looked.len().saturating_add(self.doubtful.len()).saturating_add(self.outdated.len()) >= CALLS {
            *self = Self::default();
        }
        let looked = self.looked.insert(call.loose, Stake::of(call)).is_some();
        let doubtful = self.doubtful.remove(&call.loose).map(|_| FreshLook::MayHaveChanged);
        match (self.outdated.remove(&call.loose).or(doubtful), looked) {
            (Some(why), _) => Look::Anew(why),
            (None, true) => Look::Again,
            (None, false) => Look::First,
        }
    }

    /// Whether the agent has had an answer to a read.
    pub(crate) fn has_looked(&self, loose: u64) -> bool {
        [&self.looked, &self.doubtful].iter().any(|looks| looks.contains_key(&loose))
            || self.outdated.contains_key(&loose)
    }

    /// What the agent has seen is no longer before it, or a person wants to know anew: every read may be asked once more.
    pub(crate) fn outdate(&mut self) {
        self.outdated.values_mut().for_each(|why| *why = FreshLook::Wanted);
        let looks = self.looked.drain().chain(self.doubtful.drain());
        self.outdated.extend(looks.map(|(call, _)| (call, FreshLook::Wanted)));
    }
}

/// How a read stands to what its agent has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// It had not come back to this agent before.
    First,
    /// It had, and nothing has happened since that makes it worth repeating.
    Again,
    /// It had, and something has.
    Anew(FreshLook),
}

/// Calls of the whole task in a row without gain.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct TaskNoGain {
    declared: u64,
    all: u64,
}

impl TaskNoGain {
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Counts a fed outcome that brought nothing. Enough declared calls end the task.
    pub(crate) fn add(&mut self, seen: &Observation, remarks: &mut Remarks) {
        let exit_after = |by: &Detectors| by.no_gain.and_then(|no_gain| no_gain.exit_after);
        if exit_after(&seen.call.tool.detectors).is_none() {
            return;
        }
        self.all = self.all.saturating_add(1);
        // what is malformed brought nothing, whatever its tool does
        let counts = seen.call.tool.declared || seen.judged.class == Some(ErrorClass::Format);
        if counts {
            self.declared = self.declared.saturating_add(1);
        }
        remarks.each(Reason::NoGain, seen, |by, _| match exit_after(by) {
            Some(after) if self.declared >= after && counts => {
                Said { note: None, end: Some(counted(self.declared, Some(after))) }
            }
            Some(after) if self.all >= after => Said::note(Some(counted(self.all, Some(after)))),
            _ => Said::default(),
        });
    }
}
