//! What an outcome fills of the task's needs, and the earlier answer that stands in where a read failed.
use std::sync::Arc;

use callgate_value::Value;

use crate::detect::Observation;
use crate::needs::{Mark, Origin};
use crate::outcome::{Judged, Outcome};
use crate::policy::{ErrorClass, FallbackStep, Policy};
use crate::task::{Out, Task};

impl Task {
    /// Fills cells at once; what the call is credited with comes when it is fed.
    pub(super) fn fill_needs(
        &mut self,
        policy: &Policy,
        judged: &mut Judged,
        call_id: &Arc<str>,
        outcome: &Outcome,
        out: &Out,
    ) -> Vec<Mark> {
        if judged.picks.is_empty() {
            return Vec::new();
        }
        let picks = std::mem::take(&mut judged.picks);
        let origin = Origin {
            call_id: Arc::clone(call_id),
            tool: Arc::clone(&out.call.tool.name),
            number: out.call.number,
            at: self.now,
            cached: outcome.cached,
            substitute: out.substitute,
        };
        let key = self.key;
        let (moved, marks) = self.needs.fill(policy, &key, picks, &origin);
        for need in moved {
            self.hops.filled(&need);
        }
        if self.stop.is_some() {
            self.decide_exit_anew(policy);
        }
        marks
    }

    /// What the same read returned before, where the policy allows that for one that failed for a while: young enough, and
    /// nothing that the task wrote has landed since.
    pub(super) fn earlier_answer(&mut self, policy: &Policy, seen: &Observation) -> Option<(Arc<Value>, f64)> {
        let (call, order) = (&seen.call, &policy.fallback.order);
        let is_down = seen.judged.class == Some(ErrorClass::Transient) && !seen.retrying && call.is_read();
        let place = order.iter().position(|step| *step == FallbackStep::Cache).filter(|_| is_down)?;
        let stored = self.stored.get(&call.exact.0)?;
        let age = self.now - stored.at;
        if age >= call.tool.cache_ttl || stored.epoch != self.repeat_epoch {
            return None;
        }
        let answer = (Arc::clone(&stored.result), age);
        let before = order.iter().take(place);
        if before.into_iter().any(|step| match step {
            FallbackStep::Substitute => self.has_substitute(policy, seen),
            step => *step == FallbackStep::Skip,
        }) {
            return None;
        }
        self.journal.degraded("cache", &call.tool.name, &seen.call_id, self.now);
        Some(answer)
    }
}
