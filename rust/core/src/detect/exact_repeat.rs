//! `exact_repeat`: the same call brings the same result, and nothing was written in between.
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::tally::Tally;
use super::{counted, Before, Detector, Dispatch, Observation, Remarks, Stake, Write};
use crate::bounds::CALLS;
use crate::call::Call;
use crate::policy::{ExactRepeat as Thresholds, Resets, Rungs};
use crate::verdict::{Finding, Grade, IncidentKey};
use crate::Reason;

/// Runs of equal results, by loose identity. A run that was ended is simply gone.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ExactRepeat {
    runs: FxHashMap<u64, Run>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Run {
    stake: Stake,
    tally: Tally,
    result: u64,
    failure: Option<u64>,
    others: u64,
    sufficient: bool,
    /// For transfers and the like: how much had been brought to the task. They say nothing but that control was passed on,
    /// or a key pressed, and doing so again is no repeat once something has come of it.
    worked: Option<u64>,
}

impl Run {
    fn is_over(&self, worked: u64) -> bool {
        self.worked.is_some_and(|then| then != worked)
    }
}

fn rungs(thresholds: &Thresholds, call: &Call, run: &Run) -> Rungs {
    match thresholds.sufficient_reads {
        Some(after) if call.is_read() && run.sufficient => Rungs { refuse_after: Some(after), ..thresholds.rungs },
        _ => thresholds.rungs,
    }
}

impl Detector for ExactRepeat {
    fn before(&self, before: &Before<'_>) -> Option<Finding> {
        let call = before.call;
        let run = self.runs.get(&call.loose).filter(|run| !run.is_over(before.worked))?;
        let rungs = rungs(before.thresholds.exact_repeat.as_ref()?, call, run);
        let refused = run.tally.refuses(&rungs, before.now);
        refused.then(|| {
            let incident = IncidentKey::Call { session: call.session, call: call.loose };
            Finding::refuse(Reason::ExactRepeat, counted(run.tally.count, rungs.refuse_after)).within(incident)
        })
    }

    fn dispatched(&mut self, Dispatch { call, now, thresholds: judged_by, .. }: Dispatch<'_>) {
        if let (Some(run), Some(thresholds)) = (self.runs.get_mut(&call.loose), &judged_by.exact_repeat) {
            let rungs = rungs(thresholds, call, run);
            run.tally.dispatched(&rungs, now, call);
        }
    }

    fn returned(&mut self, call: &Call) {
        if let Some(run) = self.runs.get_mut(&call.loose) {
            run.tally.returned(call);
        }
    }

    fn after(&mut self, seen: &Observation, remarks: &mut Remarks) {
        let Some(result) = seen.judged.result else {
            self.runs.remove(&seen.call.loose);
            return;
        };
        if self.runs.len() >= CALLS && !self.runs.contains_key(&seen.call.loose) {
            self.forget_older_half();
        }
        let run = self.runs.entry(seen.call.loose).or_default();
        let same_failure = seen.judged.failure.is_some() && seen.judged.failure == run.failure;
        let same = run.result == result || (same_failure && run.others == seen.others);
        if run.tally.count > 0 && same && !run.is_over(seen.worked) {
            run.tally.add(seen.at);
        } else {
            run.stake = Stake::of(&seen.call);
            run.tally.restart(1, seen.at);
        }
        run.result = result;
        run.failure = seen.judged.failure;
        run.others = seen.others;
        run.worked = seen.call.is_mute().then_some(seen.worked);
        run.sufficient = seen.judged.grade == Grade::Sufficient;
        let count = run.tally.count;
        remarks.count(Reason::ExactRepeat, seen, |by| by.exact_repeat.as_ref().map(|it| &it.rungs), count);
    }

    fn landed(&mut self, write: &Write<'_>) {
        self.runs.retain(|_, run| !run.stake.ended_by_landed(write));
    }

    fn possibly_written(&mut self, write: &Write<'_>) {
        self.runs.retain(|_, run| !run.stake.ended_by_possible(write));
    }

    fn waited(&mut self) {
        self.runs.clear();
    }

    fn reset(&mut self, resets: Resets) {
        if resets.repeats {
            self.runs.clear();
        }
    }
}

impl ExactRepeat {
    /// Whether there is no run that a write could end.
    pub(crate) fn is_idle(&self) -> bool {
        self.runs.is_empty()
    }

    fn forget_older_half(&mut self) {
        let mut times: Vec<f64> = self.runs.values().map(|run| run.tally.last).collect();
        let middle = times.len() / 2;
        let (_, median, _) = times.select_nth_unstable_by(middle, f64::total_cmp);
        let median = *median;
        self.runs.retain(|_, run| run.tally.last > median);
    }
}
