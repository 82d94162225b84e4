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
    max_period: usize,
    laps: u64,
    mismatches: usize,
    /// The last `max_period` symbols, each with its member and its agent, newest last.
    recent: VecDeque<(u64, u64, u64)>,
    /// Position of the newest symbol; the first one has 1.
    position: u64,
    /// For lag p, from (p − 1)·(mismatches + 1) on: positions of the latest failed comparisons, newest first, 0 for none.
    failed: Vec<u64>,
    /// The smallest period that goes round now.
    period: Option<usize>,
    cool_down: Option<f64>,
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
            max_period: thresholds.max_period,
            laps: thresholds.laps,
            mismatches: thresholds.mismatches,
            recent: VecDeque::new(),
            position: 0,
            failed: vec![0; thresholds.max_period.saturating_mul(kept)],
            period: None,
            cool_down: thresholds.cool_down,
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
        self.period = if self.mismatches == 0 && self.laps > 1 {
            self.compare(symbol, known)
        } else {
            self.compare_noisy(symbol, known)
        };
        if self.recent.len() >= self.max_period {
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
                let needed = self.laps.saturating_sub(1).saturating_mul(lag);
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
        let kept = self.mismatches.saturating_add(1);
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
                let needed = self.laps.saturating_sub(1).saturating_mul(lag);
                let compared = self.position.saturating_sub(lag);
                let oldest_allowed = failed.last().copied().unwrap_or(0);
                if compared >= needed && oldest_allowed.saturating_add(needed) <= self.position {
                    smallest = usize::try_from(lag).ok();
                }
            }
        }
        smallest
    }

    /// The smallest period that goes round now.
    pub(crate) fn period(&self) -> Option<usize> {
        self.period
    }

    /// The members of the cycle, without doubles, sorted; empty without one.
    pub(crate) fn members(&self) -> Vec<u64> {
        let last = self.recent.iter().rev().take(self.period.unwrap_or(0));
        let mut members: Vec<u64> = last.map(|(_, member, _)| *member).collect();
        members.sort_unstable();
        members.dedup();
        members
    }

    /// Whether there is a cycle and this is a member of it.
    pub(crate) fn names(&self, member: u64) -> bool {
        self.recent.iter().rev().take(self.period.unwrap_or(0)).any(|(_, have, _)| *have == member)
    }

    /// Whether this member is refused now.
    pub(crate) fn refuses(&self, member: u64, now: f64) -> bool {
        (self.out.is_some() || !self.is_cool(now)) && self.names(member)
    }

    /// A call is on its way: if only the cool-down lets it through, no second one may follow.
    pub(crate) fn dispatched(&mut self, member: u64, now: f64, call: &Call) {
        if self.out.is_none() && self.is_cool(now) && self.names(member) {
            self.out = Some(call.number);
        }
    }

    /// It came back.
    pub(crate) fn returned(&mut self, call: &Call) {
        if self.out == Some(call.number) {
            self.out = None;
        }
    }

    fn is_cool(&self, now: f64) -> bool {
        self.cool_down.is_some_and(|pause| now >= self.last + pause)
    }

    /// Whether the members belong to two agents or more.
    pub(crate) fn is_shared(&self) -> bool {
        let mut agents = self.recent.iter().rev().take(self.period.unwrap_or(0)).map(|(.., agent)| *agent);
        let first = agents.next();
        agents.any(|agent| Some(agent) != first)
    }

    pub(crate) fn clear(&mut self) {
        self.recent.clear();
        self.position = 0;
        self.failed.fill(0);
        self.period = None;
    }

    pub(crate) fn evidence(&self) -> Evidence {
        let number = |count: usize| Value::Int(i64::try_from(count).unwrap_or(i64::MAX));
        vec![
            ("period", number(self.period.unwrap_or(0))),
            ("laps", Value::Int(i64::try_from(self.laps).unwrap_or(i64::MAX))),
            ("members", number(self.members().len())),
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
        stream.period()
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
        assert_eq!(stream.period(), None);
    }

    #[test]
    fn members_are_those_of_the_last_lap() {
        let mut stream = CycleStream::new(&Cycle { max_period: 8, laps: 3, mismatches: 0, cool_down: None });
        for symbol in [5, 1, 2, 1, 2, 1, 2] {
            stream.push(Some(symbol), symbol, 0, 0.0);
        }
        assert_eq!(stream.members(), vec![1, 2]);
        assert!(stream.names(1) && stream.names(2) && !stream.names(5));
    }
}
