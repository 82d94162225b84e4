//! What detectors say after an observation: notes, and the end; each policy that applies by its own thresholds.
use std::sync::Arc;

use super::cycle::CycleStream;
use super::{counted, Observation};
use crate::policy::{Cycle, Detectors, Mode, Rungs};
use crate::verdict::{reason_name, Evidence};
use crate::Reason;

/// A note before it has words: words are made once it is known that it is wanted.
#[derive(Clone, Debug)]
pub(crate) struct Remark {
    pub(crate) reason: Reason,
    /// The author's rule and its words, for [`Reason::Rule`].
    pub(crate) rule: Option<(Arc<str>, Option<String>)>,
    pub(crate) call_id: Arc<str>,
    pub(crate) tool: Arc<str>,
    pub(crate) evidence: Evidence,
}

impl Remark {
    fn of(reason: Reason, seen: &Observation, evidence: Evidence) -> Self {
        let (call_id, tool) = (Arc::clone(&seen.call_id), Arc::clone(&seen.call.tool.name));
        Self { reason, rule: None, call_id, tool, evidence }
    }
}

/// A reason that an exception lifts of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lift {
    pub(crate) exception: Arc<str>,
    pub(crate) reason: Reason,
    pub(crate) rule: Option<Arc<str>>,
}

impl Lift {
    pub(crate) fn is_of(&self, reason: Reason, rule: Option<&str>) -> bool {
        self.reason == reason && self.rule.as_deref() == rule
    }
}

/// One of the policies that an outcome is fed under.
#[derive(Clone, Debug)]
pub(crate) struct Under {
    pub(crate) mode: Mode,
    pub(crate) thresholds: Arc<Detectors>,
    pub(crate) cycle: Option<Cycle>,
    pub(crate) transfer_cycle: Option<Cycle>,
    pub(crate) lifts: Vec<Lift>,
}

/// What one policy makes of an observation.
#[derive(Debug, Default)]
pub(crate) struct Said {
    pub(crate) note: Option<Evidence>,
    pub(crate) end: Option<Evidence>,
}

impl Said {
    pub(crate) fn note(evidence: Option<Evidence>) -> Self {
        Self { note: evidence, end: None }
    }
}

/// The notes of a round, and what ends the task.
#[derive(Debug, Default)]
pub(crate) struct Remarks {
    pub(crate) notes: Vec<Remark>,
    /// The first observation that reached an `exit_after`.
    pub(crate) exit: Option<Remark>,
    /// The policies that apply to the observation that is being fed; none where there is but one, and no exception.
    pub(crate) under: Vec<Under>,
    /// What exceptions lifted: (exception, reason).
    pub(crate) lifted: Vec<(Arc<str>, String)>,
}

impl Remarks {
    /// What each policy's rungs say of a count after an observation: nothing, a note, or the end.
    pub(crate) fn count(
        &mut self,
        reason: Reason,
        seen: &Observation,
        rungs: impl Fn(&Detectors) -> Option<&Rungs>,
        count: u64,
    ) {
        self.count_told(reason, seen, rungs, (count, count));
    }

    /// The same of a count that stands for more than it says; what it was is told.
    pub(crate) fn count_told(
        &mut self,
        reason: Reason,
        seen: &Observation,
        rungs: impl Fn(&Detectors) -> Option<&Rungs>,
        (count, told): (u64, u64),
    ) {
        self.each(reason, seen, |thresholds, _| {
            let Some(rungs) = rungs(thresholds) else { return Said::default() };
            Said {
                note: rungs.notes(count).then(|| counted(told, rungs.note_after)),
                end: rungs.exit_after.filter(|after| count >= *after).map(|after| counted(told, Some(after))),
            }
        });
    }

    /// A stream that goes round, as each policy counts laps.
    pub(crate) fn cycle(
        &mut self,
        reason: Reason,
        seen: &Observation,
        stream: &CycleStream,
        thresholds: impl Fn(&Detectors, Option<&Under>) -> Option<Cycle>,
        counts: impl Fn(usize) -> bool,
    ) {
        self.each(reason, seen, |detectors, under| {
            let found = thresholds(detectors, under).and_then(|by| Some((stream.period_by(&by)?, by)));
            let found = found.filter(|(period, _)| counts(*period));
            Said::note(found.map(|(period, by)| stream.evidence(period, by.laps)))
        });
    }

    /// Asks each policy that applies what it makes of an observation.
    pub(crate) fn each(
        &mut self,
        reason: Reason,
        seen: &Observation,
        says: impl Fn(&Detectors, Option<&Under>) -> Said,
    ) {
        if self.under.is_empty() {
            let said = says(&seen.call.tool.detectors, None);
            self.take(reason, seen, said);
            return;
        }
        let policies = std::mem::take(&mut self.under);
        for under in &policies {
            // a policy in mode `audit` adds nothing, and one in mode `warn` ends nothing
            let mut said =
                if under.mode == Mode::Audit { Said::default() } else { says(&under.thresholds, Some(under)) };
            if under.mode == Mode::Warn && said.note.is_none() {
                said.note = said.end.take();
            }
            if under.mode == Mode::Warn {
                said.end = None;
            }
            let lift = under.lifts.iter().find(|lift| lift.is_of(reason, None));
            match lift.filter(|_| said.note.is_some() || said.end.is_some()) {
                Some(lift) => self.lifted.push((Arc::clone(&lift.exception), reason.name().to_owned())),
                None => self.take(reason, seen, said),
            }
        }
        self.under = policies;
    }

    fn take(&mut self, reason: Reason, seen: &Observation, said: Said) {
        if let Some(evidence) = said.note {
            self.add(reason, seen, evidence);
        }
        if let Some(evidence) = said.end {
            self.end(reason, seen, evidence);
        }
    }

    /// A rule of the author's fired on an outcome.
    pub(crate) fn rule(&mut self, seen: &Observation, id: &Arc<str>, words: Option<String>, ends: bool) {
        let remark = Remark { rule: Some((Arc::clone(id), words)), ..Remark::of(Reason::Rule, seen, Vec::new()) };
        if ends {
            self.exit.get_or_insert(remark);
        } else {
            self.notes.push(remark);
        }
    }

    /// The task has to end.
    fn end(&mut self, reason: Reason, seen: &Observation, evidence: Evidence) {
        self.exit.get_or_insert_with(|| Remark::of(reason, seen, evidence));
    }

    pub(crate) fn add(&mut self, reason: Reason, seen: &Observation, evidence: Evidence) {
        // one call has one note for one reason, whatever it was counted in; its notes come one after the other
        let mut of_call = self.notes.iter().rev().take_while(|note| note.call_id == seen.call_id);
        if !of_call.any(|note| note.reason == reason) {
            self.notes.push(Remark::of(reason, seen, evidence));
        }
    }

    /// A lifted rule.
    pub(crate) fn lift_rule(&mut self, exception: &Arc<str>, rule: &str) {
        self.lifted.push((Arc::clone(exception), reason_name(Reason::Rule, Some(rule))));
    }
}
