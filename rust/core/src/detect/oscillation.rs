//! `oscillation`: one tool, arguments varied a little, records known already.
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::same_result::{incident, place};
use super::tally::Tally;
use super::{counted, Before, Detector, Dispatch, Observation, Remarks};
use crate::bounds::{make_room, PLACES};
use crate::call::Call;
use crate::policy::Resets;
use crate::verdict::Finding;
use crate::Reason;

/// The last successful read and the count, by tool and target.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Oscillation {
    reads: FxHashMap<u64, Reads>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Reads {
    fields: Vec<(u64, u64)>,
    tally: Tally,
}

/// How many top-level fields of two calls differ, and how many there are in either.
#[allow(clippy::cast_precision_loss)]
fn differing(one: &[(u64, u64)], other: &[(u64, u64)]) -> (usize, usize) {
    let value =
        |fields: &[(u64, u64)], name: u64| fields.iter().find(|(have, _)| *have == name).map(|(_, value)| *value);
    let differ = one.iter().filter(|(name, mine)| value(other, *name) != Some(*mine)).count();
    let only_other = other.iter().filter(|(name, _)| value(one, *name).is_none()).count();
    (differ.saturating_add(only_other), one.len().saturating_add(only_other))
}

impl Detector for Oscillation {
    fn before(&self, before: &Before<'_>) -> Option<Finding> {
        let call = before.call;
        let rungs = &before.thresholds.oscillation.as_ref().filter(|_| call.is_read())?.rungs;
        let reads = self.reads.get(&place(call))?;
        reads.tally.refuses(rungs, before.now).then(|| {
            Finding::refuse(Reason::Oscillation, counted(reads.tally.count, rungs.refuse_after)).within(incident(call))
        })
    }

    fn dispatched(&mut self, Dispatch { call, now, thresholds: judged_by, .. }: Dispatch<'_>) {
        let reads = self.reads.get_mut(&place(call)).filter(|_| call.is_read());
        if let (Some(reads), Some(thresholds)) = (reads, &judged_by.oscillation) {
            reads.tally.dispatched(&thresholds.rungs, now, call);
        }
    }

    fn returned(&mut self, call: &Call) {
        if let Some(reads) = self.reads.get_mut(&place(call)) {
            reads.tally.returned(call);
        }
    }

    #[allow(clippy::cast_precision_loss)]
    fn after(&mut self, seen: &Observation, remarks: &mut Remarks) {
        let Some(thresholds) = &seen.call.tool.detectors.oscillation else { return };
        let Some(known) = seen.gain.known.filter(|_| seen.is_known_read()) else { return };
        if (seen.fresh_look.is_some() || seen.passed_over) && known >= thresholds.known_records {
            return;
        }
        let fresh = !self.reads.contains_key(&place(&seen.call));
        make_room(&mut self.reads, &place(&seen.call), PLACES);
        let reads = self.reads.entry(place(&seen.call)).or_default();
        let (differ, fields) = differing(&reads.fields, &seen.call.fields);
        reads.fields.clone_from(&seen.call.fields);
        if known < thresholds.known_records {
            reads.tally.restart(0, seen.at);
            return;
        }
        let few = differ == 1 || differ as f64 <= thresholds.arguments_at_most * fields as f64;
        if fresh || differ == 0 || !few {
            return;
        }
        reads.tally.add(seen.at);
        remarks.count(Reason::Oscillation, seen, |by| by.oscillation.as_ref().map(|it| &it.rungs), reads.tally.count);
    }

    fn reset(&mut self, resets: Resets) {
        if resets.results {
            self.reads.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_compared_one_by_one() {
        assert_eq!(differing(&[(1, 1), (2, 2)], &[(1, 1), (2, 3)]), (1, 2));
        assert_eq!(differing(&[(1, 1)], &[(2, 1)]), (2, 2));
        assert_eq!(differing(&[(1, 1)], &[(1, 1), (2, 1), (3, 1)]), (2, 3));
        assert_eq!(differing(&[], &[]), (0, 0));
    }
}
