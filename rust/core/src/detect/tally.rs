//! A count with a cool-down: the part that most detectors share.
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::policy::Rungs;

/// How often something was seen, when last, and which call the cool-down let through that is still out.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Tally {
    pub(crate) count: u64,
    pub(crate) last: f64,
    /// The number of that call; not kept in snapshots, for what was out then never comes back.
    #[serde(skip)]
    out: Option<u64>,
}

impl Tally {
    /// One more, now.
    pub(crate) fn add(&mut self, at: f64) {
        self.count = self.count.saturating_add(1);
        self.last = at;
    }

    /// Counts from `count` again, now. What the cool-down let through was let through for what has ended.
    pub(crate) fn restart(&mut self, count: u64, at: f64) {
        *self = Self { count, last: at, out: None };
    }

    /// Whether the next call is refused.
    pub(crate) fn refuses(&self, rungs: &Rungs, now: f64) -> bool {
        rungs.reached(self.count) && !self.lets_through(rungs, now)
    }

    /// A call is on its way: if only the cool-down lets it through, no second one may follow.
    pub(crate) fn dispatched(&mut self, rungs: &Rungs, now: f64, call: &Call) {
        if self.out.is_none() && rungs.reached(self.count) && rungs.cooled(self.last, now) {
            self.out = Some(call.number);
        }
    }

    /// A call came back; if it was the one that was let through, the next one may be.
    pub(crate) fn returned(&mut self, call: &Call) {
        if self.out == Some(call.number) {
            self.out = None;
        }
    }

    fn lets_through(&self, rungs: &Rungs, now: f64) -> bool {
        rungs.cooled(self.last, now) && self.out.is_none()
    }
}

/// Of looks that only a write has made worth while one in so many counts: it may have helped, and has not so often.
pub(crate) const BETWEEN_WRITES: u64 = 4;

/// A tally of reads, in which one that is made because something was written counts for less.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ReadTally {
    pub(crate) tally: Tally,
    after_writes: u64,
}

impl ReadTally {
    /// A look that a write has made worth while; whether it is one that counts.
    pub(crate) fn looked_after_write(&mut self) -> bool {
        self.after_writes = self.after_writes.saturating_add(1);
        self.after_writes.is_multiple_of(BETWEEN_WRITES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cool_down_lets_one_call_through_at_a_time() {
        let rungs = Rungs { note_after: None, refuse_after: Some(2), exit_after: None, cool_down: Some(30.0) };
        let mut tally = Tally::default();
        tally.add(0.0);
        assert!(!tally.refuses(&rungs, 1.0));
        tally.add(10.0);
        assert!(tally.refuses(&rungs, 39.9));
        assert!(!tally.refuses(&rungs, 40.0));
        tally.out = Some(7);
        assert!(tally.refuses(&rungs, 41.0));
        tally.out = None;
        tally.add(42.0);
        assert!(tally.refuses(&rungs, 43.0));
    }

    #[test]
    fn what_was_let_through_is_forgotten_with_what_it_was_let_through_for() {
        let rungs = Rungs { note_after: None, refuse_after: Some(1), exit_after: None, cool_down: Some(2.0) };
        let mut tally = Tally { count: 1, last: 0.0, out: Some(7) };
        assert!(tally.refuses(&rungs, 3.0));
        tally.restart(1, 3.0);
        assert!(tally.refuses(&rungs, 4.0));
        assert!(!tally.refuses(&rungs, 5.0));
    }
}
