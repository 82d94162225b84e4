//! `transfer_streak` and `transfer_cycle`: control handed on and on, or round, without work in between.
use serde::{Deserialize, Serialize};

use super::cycle::CycleStream;
use super::tally::Tally;
use super::{counted, Before, Detector, Dispatch, Observation, Remarks, Under};
use crate::call::Call;
use crate::policy::{Cycle, Detectors, Resets};
use crate::verdict::{Finding, IncidentKey};
use crate::Reason;

/// Transfers of the task since its last other call.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Transfers {
    streak: Tally,
    round: Option<CycleStream>,
}

impl Transfers {
    pub(crate) fn new(round: Option<&Cycle>) -> Self {
        Self { streak: Tally::default(), round: round.map(CycleStream::new) }
    }

    /// What both say of a transfer before it runs.
    pub(crate) fn findings(&self, before: &Before<'_>) -> [Option<Finding>; 2] {
        let call = before.call;
        if !call.tool.transfer {
            return [None, None];
        }
        let streak = before.thresholds.transfer_streak.filter(|rungs| self.streak.refuses(rungs, before.now));
        let streak = streak.map(|rungs| {
            Finding::refuse(Reason::TransferStreak, counted(self.streak.count, rungs.refuse_after))
                .within(IncidentKey::Transfers)
        });
        let by = before.transfer_cycle.filter(|_| before.thresholds.transfer_cycle.is_some());
        let round = self.round.as_ref().zip(by).and_then(|(round, by)| {
            let period = round.refuses(call.member(), before.now, by)?;
            let evidence = round.evidence(period, by.laps);
            Some(Finding::refuse(Reason::TransferCycle, evidence).within(IncidentKey::Transfers))
        });
        [streak, round]
    }

    /// A call that is no transfer was admitted.
    pub(crate) fn interrupted(&mut self) {
        self.streak = Tally::default();
        if let Some(round) = &mut self.round {
            round.clear();
        }
    }
}

impl Detector for Transfers {
    fn before(&self, before: &Before<'_>) -> Option<Finding> {
        self.findings(before).into_iter().flatten().next()
    }

    fn dispatched(&mut self, Dispatch { call, now, thresholds: judged_by, transfer_cycle, .. }: Dispatch<'_>) {
        if !call.tool.transfer {
            self.interrupted();
            return;
        }
        if let Some(rungs) = &judged_by.transfer_streak {
            self.streak.dispatched(rungs, now, call);
        }
        if let (Some(round), Some(by)) = (&mut self.round, transfer_cycle) {
            round.dispatched(call.member(), now, call, by);
        }
    }

    fn returned(&mut self, call: &Call) {
        if call.tool.transfer {
            self.streak.returned(call);
            if let Some(round) = &mut self.round {
                round.returned(call);
            }
        }
    }

    fn after(&mut self, seen: &Observation, remarks: &mut Remarks) {
        if !seen.call.tool.transfer {
            return;
        }
        self.streak.add(seen.at);
        remarks.count(Reason::TransferStreak, seen, |by| by.transfer_streak.as_ref(), self.streak.count);
        if let Some(round) = &mut self.round {
            let member = seen.call.member();
            round.push(Some(member), member, seen.call.agent, seen.at);
            let own = *round.by();
            let by = |by: &Detectors, under: Option<&Under>| {
                by.transfer_cycle.as_ref()?;
                under.map_or(Some(own), |under| under.transfer_cycle)
            };
            remarks.cycle(Reason::TransferCycle, seen, round, by, |_| true);
        }
    }

    fn reset(&mut self, resets: Resets) {
        if resets.results {
            self.interrupted();
        }
    }
}
