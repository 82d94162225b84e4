//! `same_error`: one tool fails in the same way under ever-new arguments.
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::tally::{Tally, BETWEEN_WRITES};
use super::{counted, Before, Detector, Dispatch, Observation, Remarks, Stake, Write};
use crate::bounds::{make_room, ERRORS, FAILING_TOOLS};
use crate::call::Call;
use crate::policy::{Resets, Rungs};
use crate::verdict::{Finding, IncidentKey};
use crate::Reason;

/// Counts by tool and error since the tool's last success.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SameError {
    tools: FxHashMap<u64, FxHashMap<u64, Failing>>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Failing {
    stake: Stake,
    tally: Tally,
    /// Failures in a row, without a write in between.
    run: u64,
    /// All since the last success of the tool.
    all: u64,
}

impl Failing {
    fn count(&self) -> u64 {
        self.run.max(self.all / BETWEEN_WRITES)
    }

    /// How often it has failed, as people count.
    fn told(&self) -> u64 {
        if self.run >= self.all / BETWEEN_WRITES {
            self.run
        } else {
            self.all
        }
    }

    fn add(&mut self, at: f64) {
        self.run = self.run.saturating_add(1);
        self.all = self.all.saturating_add(1);
        self.tally.add(at);
        self.tally.count = self.count();
    }

    fn end_run(&mut self) {
        self.run = 0;
        self.tally.restart(self.count(), self.tally.last);
    }
}

/// The cool-down doubles with each failure after the second one at or above the threshold, this often at most.
const DOUBLINGS: u64 = 8;

/// An agent whose turns take longer than the cool-down would never be refused anything: what was let through and failed
/// alike once more is let through again only after twice the time.
fn growing(rungs: &Rungs, count: u64) -> Rungs {
    let reached = |after: u64| count.saturating_sub(after).saturating_sub(1);
    let beyond = rungs.refuse_after.map_or(0, reached).min(DOUBLINGS);
    let factor = 2_f64.powi(i32::try_from(beyond).unwrap_or_default());
    Rungs { cool_down: rungs.cool_down.map(|pause| pause * factor), ..*rungs }
}

impl Detector for SameError {
    fn before(&self, before: &Before<'_>) -> Option<Finding> {
        let call = before.call;
        let rungs = before.thresholds.same_error.as_ref()?;
        let errors = self.tools.get(&call.tool_symbol)?;
        let refuses = |error: &&Failing| error.tally.refuses(&growing(rungs, error.tally.count), before.now);
        let refusing = errors.values().filter(refuses);
        let worst = refusing.max_by_key(|error| (error.tally.count, error.told()))?;
        let incident = IncidentKey::Tool { session: call.session, tool: call.tool_symbol };
        Some(Finding::refuse(Reason::SameError, counted(worst.told(), rungs.refuse_after)).within(incident))
    }

    fn dispatched(&mut self, Dispatch { call, now, thresholds: judged_by, .. }: Dispatch<'_>) {
        if let (Some(errors), Some(rungs)) = (self.tools.get_mut(&call.tool_symbol), &judged_by.same_error) {
            for error in errors.values_mut() {
                let rungs = growing(rungs, error.tally.count);
                error.tally.dispatched(&rungs, now, call);
            }
        }
    }

    fn returned(&mut self, call: &Call) {
        for error in self.tools.get_mut(&call.tool_symbol).into_iter().flat_map(FxHashMap::values_mut) {
            error.tally.returned(call);
        }
    }

    fn after(&mut self, seen: &Observation, remarks: &mut Remarks) {
        if seen.succeeded() {
            self.tools.remove(&seen.call.tool_symbol);
            return;
        }
        let Some(error) = seen.judged.error_key else { return };
        make_room(&mut self.tools, &seen.call.tool_symbol, FAILING_TOOLS);
        let errors = self.tools.entry(seen.call.tool_symbol).or_default();
        if errors.len() >= ERRORS && !errors.contains_key(&error) {
            errors.clear();
        }
        let failing = errors.entry(error).or_default();
        failing.stake = Stake::of(&seen.call);
        failing.add(seen.at);
        let count = (failing.tally.count, failing.told());
        remarks.count_told(Reason::SameError, seen, |by| by.same_error.as_ref(), count);
    }

    fn landed(&mut self, write: &Write<'_>) {
        let failing = self.tools.values_mut().flat_map(FxHashMap::values_mut);
        failing.filter(|failing| failing.run > 0 && failing.stake.ended_by_landed(write)).for_each(Failing::end_run);
    }

    fn reset(&mut self, resets: Resets) {
        if resets.errors {
            self.tools.clear();
        }
    }
}

impl SameError {
    /// Whether there is no count that a write could end.
    pub(crate) fn is_idle(&self) -> bool {
        self.tools.values().flat_map(FxHashMap::values).all(|failing| failing.run == 0)
    }
}
