//! `cycle`: a sequence of calls with their results that goes round, of any period up to a bound, noisy ones too.
use std::collections::VecDeque;

use callgate_value::Value;
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::policy::Cycle;
use crate::verdict::Evidence;

/// A stream of symbols. Of every lag p it remembers where `x[i] != x[i−p]` last came, `mismatches + 1` times back; p is
/// a cycle when at most `mismatches` of the last (laps − 1)·p comparisons failed. One step costs one comparison a lag.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CycleStream {
    /// What the period is kept for; other thresholds are looked up when asked.
    by: Cycle,
    /// The last `max_period` symbols, each with its member and its agent, newest last.
    recent: VecDeque<(u64, u64, u64)>,
    /// Position of the newest symbol; the first one has 1.
    position: u64,
    /// For lag p, from (p − 1)·(mismatches + 1) on: positions of the latest failed comparisons, newest first, 0 for none.
    failed: Vec<u64>,
    /// The smallest period that goes round now.
    period: Option<usize>,
    /// When the last symbol came.
    last: f64,
    /// The call that the cool-down let through and that is still out.
    #[serde(skip)]
    out: Option<u64>,
}

impl CycleStream {
    pub(crate) fn new(thresholds: &Cycle) -> Self {
        let kept = thresholds.mismatches.saturating_add(1);
        Self {
            by: *thresholds,
            recent: VecDeque::new(),
            position: 0,
            failed: vec![0; thresholds.max_period.saturating_mul(kept)],
            period: None,
            last: 0.0,
            out: None,
        }
    }

    /// Takes the next symbol. `symbol` is none where the result is unknown: that equals nothing.
    pub(crate) fn push(&mut self, symbol: Option<u64>, member: u64, agent: u64, at: f64) {
        self.last = at;
        self.position = self.position.saturating_add(1);
        // a symbol for the unknown that no other position has; what it is compared with is a keyed hash
        let known = symbol.is_some();
        let symbol = symbol.unwrap_or(self.position);
        self.period = if self.by.mismatches == 0 && self.by.laps > 1 {
            self.compare(symbol, known)
        } else {
            self.compare_noisy(symbol, known)
        };
        if self.recent.len() >= self.by.max_period {
            self.recent.pop_front();
        }
        self.recent.push_back((symbol, member, agent));
    }

    /// Brings all lags up to date; the smallest one that goes round. A lag whose comparison failed just now does not.
    fn compare(&mut self, symbol: u64, known: bool) -> Option<usize> {
        let mut smallest = None;
        for (((earlier, ..), failed), lag) in self.recent.iter().rev().zip(&mut self.failed).zip(1_u64..) {
            if !known || *earlier != symbol {
                *failed = self.position;
            } else if smallest.is_none() {
                let needed = self.by.laps.saturating_sub(1).saturating_mul(lag);
                let compared = self.position.saturating_sub(lag);
                if compared >= needed && failed.saturating_add(needed) <= self.position {
                    smallest = usize::try_from(lag).ok();
                }
            }
        }
        smallest
    }

    /// The same where some comparisons may fail.
    fn compare_noisy(&mut self, symbol: u64, known: bool) -> Option<usize> {
        let kept = self.by.mismatches.saturating_add(1);
        let lags = self.recent.iter().rev().zip(self.failed.chunks_exact_mut(kept)).zip(1_u64..);
        let mut smallest = None;
        for (((earlier, ..), failed), lag) in lags {
            if !known || *earlier != symbol {
                failed.rotate_right(1);
                if let Some(newest) = failed.first_mut() {
                    *newest = self.position;
                }
            }
            if smallest.is_none() {
                let needed = self.by.laps.saturating_sub(1).saturating_mul(lag);
                let compared = self.position.saturating_sub(lag);
                let oldest_allowed = failed.last().copied().unwrap_or(0);
                if compared >= needed && oldest_allowed.saturating_add(needed) <= self.position {
                    smallest = usize::try_from(lag).ok();
                }
            }
        }
        smallest
    }

    /// The thresholds that the stream was made for.
    pub(crate) fn by(&self) -> &Cycle {
        &self.by
    }

    /// The smallest period that goes round now, by the thresholds of one policy.
    pub(crate) fn period_by(&self, by: &Cycle) -> Option<usize> {
        if (by.max_period, by.laps, by.mismatches) == (self.by.max_period, self.by.laps, self.by.mismatches) {
            return self.period;
        }
        let kept = self.by.mismatches.saturating_add(1);
        let lags = self.failed.chunks_exact(kept).zip(1_u64..).take(by.max_period.min(self.recent.len()));
        let found = lags.into_iter().find(|(failed, lag)| {
            let needed = by.laps.saturating_sub(1).saturating_mul(*lag);
            let oldest_allowed = failed.get(by.mismatches).copied().unwrap_or(0);
            self.position.saturating_sub(*lag) >= needed && oldest_allowed.saturating_add(needed) <= self.position
        });
        found.and_then(|(_, lag)| usize::try_from(lag).ok())
    }

    /// The members of a cycle of this period, without doubles, sorted.
    pub(crate) fn members(&self, period: usize) -> Vec<u64> {
        let last = self.recent.iter().rev().take(period);
        let mut members: Vec<u64> = last.map(|(_, member, _)| *member).collect();
        members.sort_unstable();
        members.dedup();
        members
    }

    /// Whether this is a member of the cycle of this period.
    fn names(&self, member: u64, period: usize) -> bool {
        self.recent.iter().rev().take(period).any(|(_, have, _)| *have == member)
    }

    /// The period for which this member is refused now, if it is.
    pub(crate) fn refuses(&self, member: u64, now: f64, by: &Cycle) -> Option<usize> {
        let holds = self.out.is_some() || !self.is_cool(now, by);
        self.period_by(by).filter(|period| holds && self.names(member, *period))
    }

    /// A call is on its way: if only the cool-down lets it through, no second one may follow.
    pub(crate) fn dispatched(&mut self, member: u64, now: f64, call: &Call, by: &Cycle) {
        let named = || self.period_by(by).is_some_and(|period| self.names(member, period));
        if self.out.is_none() && self.is_cool(now, by) && named() {
            self.out = Some(call.number);
        }
    }

    /// It came back.
    pub(crate) fn returned(&mut self, call: &Call) {
        if self.out == Some(call.number) {
            self.out = None;
        }
    }

    fn is_cool(&self, now: f64, by: &Cycle) -> bool {
        by.cool_down.is_some_and(|pause| now >= self.last + pause)
    }

    /// Whether the members of a cycle of this period belong to two agents or more.
    pub(crate) fn is_shared(&self, period: usize) -> bool {
        let mut agents = self.recent.iter().rev().take(period).map(|(.., agent)| *agent);
        let first = agents.next();
        agents.any(|agent| Some(agent) != first)
    }

    pub(crate) fn clear(&mut self) {
        self.recent.clear();
        self.position = 0;
        self.failed.fill(0);
        self.period = None;
    }

    pub(crate) fn evidence(&self, period: usize, laps: u64) -> Evidence {
        let number = |count: usize| Value::Int(i64::try_from(count).unwrap_or(i64::MAX));
        vec![
            ("period", number(period)),
            ("laps", Value::Int(i64::try_from(laps).unwrap_or(i64::MAX))),
            ("members", number(self.members(period).len())),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn period(max_period: usize, mismatches: usize, symbols: &[u64]) -> Option<usize> {
        let mut stream = CycleStream::new(&Cycle { max_period, laps: 3, mismatches, cool_down: None });
        for symbol in symbols {
            stream.push(Some(*symbol), *symbol, 0, 0.0);
        }
        stream.period
    }

    #[test]
    fn three_laps_make_a_cycle_and_the_smallest_period_wins() {
        assert_eq!(period(8, 0, &[1, 2, 1, 2, 1]), None);
        assert_eq!(period(8, 0, &[1, 2, 1, 2, 1, 2]), Some(2));
        assert_eq!(period(8, 0, &[7, 7, 7]), Some(1));
        assert_eq!(period(8, 0, &[7, 7, 7, 7, 7, 7]), Some(1));
        assert_eq!(period(8, 0, &[9, 1, 2, 3, 1, 2, 3, 1, 2, 3]), Some(3));
        assert_eq!(period(2, 0, &[1, 2, 3, 1, 2, 3, 1, 2, 3]), None);
    }

    #[test]
    fn a_long_period_is_found() {
        let lap: Vec<u64> = (0..3000).collect();
        let symbols: Vec<u64> = lap.iter().chain(&lap).chain(&lap).copied().collect();
        assert_eq!(period(4096, 0, &symbols), Some(3000));
        assert_eq!(period(4096, 0, &symbols[..8999]), None);
    }

    #[test]
    fn one_slot_may_vary_where_mismatches_are_allowed() {
        let symbols = [1, 2, 1, 9, 1, 2, 1, 2];
        assert_eq!(period(8, 0, &symbols), None);
        // lag 2, the last 4 comparisons: 1=1 2≠9 1=1 2=2
        assert_eq!(period(8, 1, &symbols), Some(2));
    }

    #[test]
    fn unknown_results_equal_nothing() {
        let mut stream = CycleStream::new(&Cycle { max_period: 8, laps: 3, mismatches: 0, cool_down: None });
        for _ in 0..10 {
            stream.push(None, 1, 0, 0.0);
        }
        assert_eq!(stream.period, None);
    }

    #[test]
    fn members_are_those_of_the_last_lap() {
        let mut stream = CycleStream::new(&Cycle { max_period: 8, laps: 3, mismatches: 0, cool_down: None });
        for symbol in [5, 1, 2, 1, 2, 1, 2] {
            stream.push(Some(symbol), symbol, 0, 0.0);
        }
        assert_eq!(stream.members(2), vec![1, 2]);
        assert!(stream.names(1, 2) && stream.names(2, 2) && !stream.names(5, 2));
    }
}
