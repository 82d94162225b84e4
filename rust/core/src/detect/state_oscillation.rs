//! `state_oscillation`: a target that returns to earlier states although each call succeeds.
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use super::tally::Tally;
use super::{counted, Before, Detector, Dispatch, Observation, Remarks};
use crate::bounds::STATES;
use crate::call::Call;
use crate::policy::Resets;
use crate::verdict::{Finding, IncidentKey};
use crate::Reason;

/// States by target, in the task.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct StateOscillation {
    targets: FxHashMap<u64, States>,
    /// States, targets and returning calls that were kept since all were forgotten last.
    kept: usize,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct States {
    current: Option<u64>,
    seen: FxHashSet<u64>,
    /// Calls whose last landing was a return.
    returning: FxHashSet<u64>,
    tally: Tally,
}

/// What the states of a call's target are kept under.
pub(crate) fn place(call: &Call) -> u64 {
    call.target.unwrap_or(call.tool_symbol)
}

impl StateOscillation {
    /// Whether this state is new to the target.
    pub(crate) fn is_new(&self, call: &Call, state: u64) -> bool {
        !self.targets.get(&place(call)).is_some_and(|states| states.seen.contains(&state))
    }
}

impl Detector for StateOscillation {
    fn before(&self, before: &Before<'_>) -> Option<Finding> {
        let call = before.call;
        let rungs = before.thresholds.state_oscillation.as_ref().filter(|_| call.tool.result.state.is_some())?;
        let states = self.targets.get(&place(call))?;
        let refused = states.returning.contains(&call.loose) && states.tally.refuses(rungs, before.now);
        refused.then(|| {
            let incident = IncidentKey::State { target: place(call) };
            Finding::refuse(Reason::StateOscillation, counted(states.tally.count, rungs.refuse_after)).within(incident)
        })
    }

    fn dispatched(&mut self, Dispatch { call, now, thresholds: judged_by, .. }: Dispatch<'_>) {
        if let (Some(states), Some(rungs)) = (self.targets.get_mut(&place(call)), &judged_by.state_oscillation) {
            if states.returning.contains(&call.loose) {
                states.tally.dispatched(rungs, now, call);
            }
        }
    }

    fn returned(&mut self, call: &Call) {
        if let Some(states) = self.targets.get_mut(&place(call)) {
            states.tally.returned(call);
        }
    }

    fn after(&mut self, seen: &Observation, remarks: &mut Remarks) {
        let Some(state) = seen.judged.state.filter(|_| seen.succeeded()) else { return };
        if self.kept >= STATES {
            *self = Self::default();
        }
        self.kept = self.kept.saturating_add(1);
        let states = self.targets.entry(place(&seen.call)).or_default();
        if states.current == Some(state) {
            states.returning.remove(&seen.call.loose);
            return;
        }
        states.current = Some(state);
        if states.seen.insert(state) {
            states.returning.remove(&seen.call.loose);
            states.tally.restart(0, seen.at);
            return;
        }
        states.returning.insert(seen.call.loose);
        states.tally.add(seen.at);
        remarks.count(Reason::StateOscillation, seen, |by| by.state_oscillation.as_ref(), states.tally.count);
    }

    fn reset(&mut self, resets: Resets) {
        if resets.results {
            *self = Self::default();
        }
    }
}
