//! What an outcome brings up to date at once: effects, denials, results for reuse, retries, usage.
use std::sync::Arc;

use crate::bounds::{make_room, CALLS, STORED};
use crate::decisions::No;
use crate::outcome::{Judged, Outcome};
use crate::policy::{ErrorClass, FallbackStep, Policy};
use crate::task::{Attempts, Out, Stored, Task};

impl Task {
    /// Everything that is brought up to date at once. Answers with the retries that the call has used.
    pub(super) fn account(&mut self, policy: &Policy, judged: &Judged, outcome: &Outcome, out: &Out, now: f64) -> u64 {
        let call = &*out.call;
        self.effects.ended(call, judged.failed);
        if judged.class == Some(ErrorClass::Denied) {
            self.denied.record(call, Vec::new(), &No::default(), now);
        }
        self.store(policy, judged, outcome, out, now);
        let Some(session) = self.sessions.get_mut(call.session) else { return 0 };
        if let Some(tokens) = outcome.tokens {
            self.pool.take_usage(&mut session.share, tokens, 0.0);
        }
        let used = self.attempts.get(&call.loose).map_or(0, |attempts| attempts.retries);
        if judged.failed && !matches!(judged.class, Some(ErrorClass::Denied | ErrorClass::Format)) {
            let stake = crate::detect::Stake::of(call);
            make_room(&mut self.attempts, &call.loose, CALLS);
            let attempts = self.attempts.entry(call.loose).or_insert(Attempts { stake, ..Attempts::default() });
            attempts.again = true;
        } else if !judged.failed {
            self.attempts.remove(&call.loose);
        } else if let Some(attempts) = self.attempts.get_mut(&call.loose) {
            // what was out beside it is a further attempt still
            attempts.again = false;
        }
        self.list(call.session);
        used
    }

    /// Keeps a read's result for reuse.
    fn store(&mut self, policy: &Policy, judged: &Judged, outcome: &Outcome, out: &Out, now: f64) {
        let call = &*out.call;
        if !call.is_read() {
            return;
        }
        let result = outcome.result.as_ref().filter(|_| !judged.failed && judged.result.is_some());
        let Some(result) = result else {
            // a failure may still be answered with it, where the policy says so
            match self.stored.get_mut(&call.exact.0) {
                Some(stored) if judged.failed && policy.fallback.order.contains(&FallbackStep::Cache) => {
                    stored.failed_since = true;
                }
                _ => drop(self.stored.remove(&call.exact.0)),
            }
            return;
        };
        if self.stored.len() >= STORED && !self.stored.contains_key(&call.exact.0) {
            let oldest = self.stored.iter().min_by(|a, b| a.1.at.total_cmp(&b.1.at)).map(|(exact, _)| *exact);
            if let Some(oldest) = oldest {
                self.stored.remove(&oldest);
            }
        }
        let stored = Stored {
            result: Arc::clone(result),
            at_dispatch: out.read_version,
            at_end: self.read_version,
            at: now,
            epoch: self.repeat_epoch,
            failed_since: false,
        };
        self.stored.insert(call.exact.0, stored);
    }
}
