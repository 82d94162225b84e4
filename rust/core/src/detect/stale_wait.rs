//! `stale_wait`: a declared poll whose answer does not change.
use callgate_value::Value;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::{counted, Before, Detector, Observation, Remarks, Said};
use crate::bounds::RARE_CALLS;
use crate::policy::{Resets, Waiting};
use crate::verdict::{Evidence, Finding, IncidentKey};
use crate::Reason;

/// Polls by loose identity.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct StaleWait {
    polls: FxHashMap<u64, Poll>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Poll {
    answer: Option<u64>,
    unchanged: u64,
    changed_at: f64,
    answered_at: f64,
}

impl Poll {
    fn is_stale(&self, waiting: &Waiting) -> bool {
        waiting.max_unchanged.is_some_and(|most| self.unchanged >= most)
            || waiting.max_stale.is_some_and(|most| self.answered_at - self.changed_at >= most)
    }

    fn evidence(&self, waiting: &Waiting) -> Evidence {
        let mut evidence = counted(self.unchanged, waiting.max_unchanged);
        evidence.push(("unchanged_for", Value::Float(self.answered_at - self.changed_at)));
        evidence
    }
}

impl Detector for StaleWait {
    fn before(&self, before: &Before<'_>) -> Option<Finding> {
        let call = before.call;
        let waiting = call.tool.waiting.as_ref()?;
        let poll = self.polls.get(&call.loose)?;
        if poll.is_stale(waiting) {
            let incident = IncidentKey::Call { session: call.session, call: call.loose };
            return Some(Finding::refuse(Reason::StaleWait, poll.evidence(waiting)).within(incident));
        }
        let pause = waiting.min_interval?;
        let rest = poll.answered_at + pause - before.now;
        (rest > 0.0).then(|| {
            let mut finding = Finding::refuse(Reason::StaleWait, vec![("min_interval", Value::Float(pause))]);
            finding.retry_after = Some(rest);
            finding
        })
    }

    fn after(&mut self, seen: &Observation, remarks: &mut Remarks) {
        let (Some(waiting), Some(answer)) = (&seen.call.tool.waiting, seen.judged.result) else { return };
        if self.polls.len() >= RARE_CALLS && !self.polls.contains_key(&seen.call.loose) {
            self.polls.clear();
        }
        let fresh = Poll { answer: None, unchanged: 0, changed_at: seen.at, answered_at: seen.at };
        let poll = self.polls.entry(seen.call.loose).or_insert(fresh);
        poll.answered_at = seen.at;
        if poll.answer == Some(answer) {
            poll.unchanged = poll.unchanged.saturating_add(1);
        } else {
            poll.answer = Some(answer);
            poll.unchanged = 1;
            poll.changed_at = seen.at;
        }
        remarks
            .each(Reason::StaleWait, seen, |_, _| Said::note(poll.is_stale(waiting).then(|| poll.evidence(waiting))));
    }

    fn reset(&mut self, _resets: Resets) {}
}

impl StaleWait {
    /// Whether this answer differs from the poll's previous one.
    pub(crate) fn is_progress(&self, seen: &Observation) -> bool {
        let (Some(poll), Some(answer)) = (self.polls.get(&seen.call.loose), seen.judged.result) else { return false };
        poll.answer.is_some_and(|before| before != answer)
    }
}
