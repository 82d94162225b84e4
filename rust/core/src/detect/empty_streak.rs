//! `empty_streak`: searches that keep returning nothing while the query is reworded.
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::same_result::{incident, place};
use super::tally::ReadTally;
use super::{counted, Before, Detector, Dispatch, FreshLook, Observation, Remarks};
use crate::bounds::{make_room, PLACES};
use crate::call::Call;
use crate::policy::Resets;
use crate::verdict::{Finding, Grade};
use crate::Reason;

/// Empty answers in a row, by tool and target.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct EmptyStreak {
    streaks: FxHashMap<u64, ReadTally>,
}

impl Detector for EmptyStreak {
    fn before(&self, before: &Before<'_>) -> Option<Finding> {
        let call = before.call;
        let rungs = before.thresholds.empty_streak.as_ref().filter(|_| call.is_read())?;
        let tally = &self.streaks.get(&place(call))?.tally;
        tally.refuses(rungs, before.now).then(|| {
            Finding::refuse(Reason::EmptyStreak, counted(tally.count, rungs.refuse_after)).within(incident(call))
        })
    }

    fn dispatched(&mut self, Dispatch { call, now, thresholds: judged_by, .. }: Dispatch<'_>) {
        let reads = self.streaks.get_mut(&place(call)).filter(|_| call.is_read());
        if let (Some(reads), Some(rungs)) = (reads, &judged_by.empty_streak) {
            reads.tally.dispatched(rungs, now, call);
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
        if seen.judged.grade != Grade::Empty {
            self.streaks.remove(&place(&seen.call));
            return;
        }
        if seen.passed_over || seen.fresh_look == Some(FreshLook::Wanted) {
            return;
        }
        make_room(&mut self.streaks, &place(&seen.call), PLACES);
        let reads = self.streaks.entry(place(&seen.call)).or_default();
        // to write something down somewhere does not make a search that finds nothing a better one
        if seen.fresh_look == Some(FreshLook::Changed) && !reads.looked_after_write() {
            return;
        }
        reads.tally.add(seen.at);
        remarks.count(Reason::EmptyStreak, seen, |by| by.empty_streak.as_ref(), reads.tally.count);
    }

    fn reset(&mut self, resets: Resets) {
        if resets.results {
            self.streaks.clear();
        }
    }
}
