//! `same_result`: one tool returns the same under ever-new arguments.
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::tally::Tally;
use super::{counted, Before, Detector, Dispatch, Observation, Remarks};
use crate::bounds::{make_room, PLACES};
use crate::call::Call;
use crate::policy::Resets;
use crate::verdict::{Finding, IncidentKey};
use crate::Reason;

/// What the reads of one tool (and target) are counted under.
pub(crate) fn place(call: &Call) -> u64 {
    // an odd multiplier and an addition keep (tool, none) and (tool, target) apart well enough for keyed hashes
    match call.target {
        None => call.tool_symbol,
        Some(target) => call.tool_symbol.rotate_left(17) ^ target.wrapping_mul(0x9E37_79B9_7F4A_7C15),
    }
}

/// The incident of everything that is said of one tool's reads.
pub(crate) fn incident(call: &Call) -> IncidentKey {
    IncidentKey::Reads { session: call.session, tool: call.tool_symbol, target: call.target }
}

/// Runs by tool and target.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SameResult {
    runs: FxHashMap<u64, Run>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Run {
    result: u64,
    /// The calls that were counted; few, for the count refuses before they are many.
    calls: Vec<u64>,
    tally: Tally,
}

/// Calls remembered in one run; only a policy that never refuses gets there.
const MOST_CALLS: usize = 1_024;

/// The share of known items at which two things of one version are one.
const ONE_THING: f64 = 0.8;

impl Detector for SameResult {
    fn before(&self, before: &Before<'_>) -> Option<Finding> {
        let call = before.call;
        let rungs = before.thresholds.same_result.as_ref().filter(|_| call.is_read())?;
        let run = self.runs.get(&place(call))?;
        let refused = run.tally.refuses(rungs, before.now);
        refused.then(|| {
            Finding::refuse(Reason::SameResult, counted(run.tally.count, rungs.refuse_after)).within(incident(call))
        })
    }

    fn dispatched(&mut self, Dispatch { call, now, thresholds: judged_by, .. }: Dispatch<'_>) {
        let run = self.runs.get_mut(&place(call)).filter(|_| call.is_read());
        if let (Some(run), Some(rungs)) = (run, &judged_by.same_result) {
            run.tally.dispatched(rungs, now, call);
        }
    }

    fn returned(&mut self, call: &Call) {
        if let Some(run) = self.runs.get_mut(&place(call)) {
            run.tally.returned(call);
        }
    }

    fn after(&mut self, seen: &Observation, remarks: &mut Remarks) {
        let Some(result) = seen.judged.result.filter(|_| seen.is_known_read() && !seen.passed_over) else { return };
        make_room(&mut self.runs, &place(&seen.call), PLACES);
        let run = self.runs.entry(place(&seen.call)).or_default();
        // a version tells whether a thing is as it was, not whether two things are one
        let is_other = seen.judged.by_version
            && !run.calls.contains(&seen.call.loose)
            && seen.gain.share.is_some_and(|known| known < ONE_THING);
        if run.tally.count > 0 && run.result == result && !is_other {
            run.tally.last = seen.at;
            if !run.calls.contains(&seen.call.loose) {
                if run.calls.len() < MOST_CALLS {
                    run.calls.push(seen.call.loose);
                }
                run.tally.add(seen.at);
            }
        } else {
            *run = Run { result, calls: vec![seen.call.loose], tally: Tally::default() };
            run.tally.restart(1, seen.at);
        }
        remarks.count(Reason::SameResult, seen, |by| by.same_result.as_ref(), run.tally.count);
    }

    fn reset(&mut self, resets: Resets) {
        if resets.results {
            self.runs.clear();
        }
    }
}
