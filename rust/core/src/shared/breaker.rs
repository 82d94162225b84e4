//! The circuit breaker: closed, open after failures in a row, then at most so many probes until one of them answers.
//!
//! Nygard, *Release It!*, "Circuit Breaker"; that half-open lets only so many through is what the copies of it forget.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::claim::{BreakerClaim, BreakerEnd, OpenBreaker};
use crate::fallback::BreakerState;

/// How a breaker stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Breaker {
    /// Failures in a row, while it is closed.
    failures: u64,
    /// Since when it is open.
    opened: Option<f64>,
    /// Seconds for which it stays open, as whoever opened it said.
    open_for: f64,
    /// Goes up whenever it opens or closes: what a call says counts only in the time in which it was let through.
    period: u64,
    /// Who is finding out whether it can be closed, by claim, and when each of them counts as dead.
    probes: BTreeMap<String, f64>,
}

/// A call that was let through.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Passage {
    period: u64,
    probe: bool,
    failures: u64,
    open_for: f64,
}

impl Breaker {
    /// How it stands at a time.
    #[must_use]
    pub fn state(&self, now: f64) -> BreakerState {
        match self.opened {
            None => BreakerState::Closed,
            Some(opened) if now < opened.min(now) + self.open_for => BreakerState::Open,
            Some(_) => BreakerState::HalfOpen,
        }
    }

    /// What speaks against letting a call through. Forgets probes whose owner is dead.
    pub(super) fn against(&mut self, claim: &BreakerClaim, now: f64) -> Option<OpenBreaker> {
        self.probes.retain(|_, until| now < *until);
        // a clock that was set back must not keep it open for longer than was said
        let opened = self.opened.map(|opened| opened.min(now));
        self.opened = opened;
        let shut = |retry_after, probing| Some(OpenBreaker { name: claim.name.clone(), retry_after, probing });
        let until = opened? + claim.open_for;
        if now < until {
            return shut(until - now, false);
        }
        let taken = u64::try_from(self.probes.len()).unwrap_or(u64::MAX);
        if taken < claim.probes.max(1) {
            return None;
        }
        let first = self.probes.values().copied().fold(f64::INFINITY, f64::min);
        shut((first - now).min(claim.open_for).max(0.0), true)
    }

    /// Lets a call through: as a probe where it is half open and there is room, which `against` has found out.
    pub(super) fn pass(&mut self, claim: &BreakerClaim, id: &str, lease_until: f64, room: bool) -> Passage {
        let probe = self.opened.is_some() && room;
        if probe {
            self.probes.insert(id.to_owned(), lease_until);
        }
        Passage { period: self.period, probe, failures: claim.failures.max(1), open_for: claim.open_for }
    }

    /// Takes in what a call says that was let through.
    pub(super) fn settle(&mut self, passage: &Passage, id: &str, end: BreakerEnd, now: f64) {
        self.probes.remove(id);
        if passage.period != self.period {
            return;
        }
        match (self.opened, end) {
            (_, BreakerEnd::Neither) => {}
            (None, BreakerEnd::Success) => self.failures = 0,
            (None, BreakerEnd::Failure) => {
                self.failures = self.failures.saturating_add(1);
                if self.failures >= passage.failures {
                    self.turn(Some(now), passage.open_for);
                }
            }
            // let through although it was open: says nothing of whether it can be closed
            (Some(_), _) if !passage.probe => {}
            (Some(_), BreakerEnd::Success) => self.turn(None, 0.0),
            (Some(_), BreakerEnd::Failure) => self.turn(Some(now), passage.open_for),
        }
    }

    /// How many are finding out whether it can be closed.
    #[cfg(test)]
    pub(super) fn probing(&self, now: f64) -> usize {
        self.probes.values().filter(|until| now < **until).count()
    }

    fn turn(&mut self, opened: Option<f64>, open_for: f64) {
        *self = Self { failures: 0, opened, open_for, period: self.period.saturating_add(1), probes: BTreeMap::new() };
    }
}

#[cfg(test)]
mod tests {
    use super::{Breaker, Passage};
    use crate::fallback::BreakerState::{Closed, HalfOpen, Open};
    use crate::shared::{BreakerClaim, BreakerEnd, OpenBreaker};
    use BreakerEnd::{Failure, Neither, Success};

    fn claim() -> BreakerClaim {
        BreakerClaim { name: "tool:pay".to_owned(), failures: 2, open_for: 30.0, probes: 1 }
    }

    /// Lets a call through whose lease is ten seconds, or gives what speaks against it.
    fn ask(breaker: &mut Breaker, id: &str, now: f64) -> Result<Passage, OpenBreaker> {
        match breaker.against(&claim(), now) {
            None => Ok(breaker.pass(&claim(), id, now + 10.0, true)),
            Some(open) => Err(open),
        }
    }

    fn call(breaker: &mut Breaker, id: &str, end: BreakerEnd, now: f64) {
        let passage = ask(breaker, id, now).unwrap();
        breaker.settle(&passage, id, end, now);
    }

    fn open(now: f64) -> Breaker {
        let mut breaker = Breaker::default();
        call(&mut breaker, "a", Failure, now);
        call(&mut breaker, "b", Failure, now);
        breaker
    }

    fn shut(retry_after: f64, probing: bool) -> Result<Passage, OpenBreaker> {
        Err(OpenBreaker { name: "tool:pay".to_owned(), retry_after, probing })
    }

    #[test]
    fn it_opens_after_failures_in_a_row_and_a_success_between_them_starts_the_count_anew() {
        let mut breaker = Breaker::default();
        for end in [Failure, Success, Failure, Neither] {
            call(&mut breaker, "a", end, 0.0);
            assert_eq!(breaker.state(0.0), Closed);
        }
        call(&mut breaker, "b", Failure, 1.0);
        assert_eq!(breaker.state(1.0), Open);
        assert_eq!(ask(&mut breaker, "c", 11.0), shut(20.0, false));
    }

    #[test]
    fn after_its_time_one_probe_passes_and_the_others_are_told_that_it_is_being_tried() {
        let mut breaker = open(0.0);
        assert_eq!(breaker.state(30.0), HalfOpen);
        assert!(ask(&mut breaker, "p", 30.0).is_ok());
        assert_eq!(ask(&mut breaker, "q", 32.0), shut(8.0, true));
    }

    #[test]
    fn a_probe_that_succeeds_closes_it() {
        let mut breaker = open(0.0);
        call(&mut breaker, "p", Success, 30.0);
        assert_eq!(breaker.state(30.0), Closed);
        assert!(ask(&mut breaker, "q", 30.0).is_ok() && ask(&mut breaker, "r", 30.0).is_ok());
    }

    #[test]
    fn a_probe_that_fails_opens_it_anew() {
        let mut breaker = open(0.0);
        call(&mut breaker, "p", Failure, 31.0);
        assert_eq!(ask(&mut breaker, "q", 31.0), shut(30.0, false));
    }

    #[test]
    fn a_probe_that_says_nothing_makes_room_for_the_next() {
        let mut breaker = open(0.0);
        call(&mut breaker, "p", Neither, 30.0);
        assert_eq!(breaker.state(30.0), HalfOpen);
        assert!(ask(&mut breaker, "q", 30.0).is_ok());
    }

    #[test]
    fn a_probe_whose_owner_died_makes_room_when_its_lease_is_over() {
        let mut breaker = open(0.0);
        ask(&mut breaker, "p", 30.0).unwrap();
        assert!(ask(&mut breaker, "q", 39.9).is_err());
        assert!(ask(&mut breaker, "q", 40.0).is_ok());
    }

    #[test]
    fn what_was_let_through_before_it_opened_changes_nothing_afterwards() {
        let mut breaker = Breaker::default();
        let early: Vec<Passage> = (0..4).map(|n| ask(&mut breaker, &n.to_string(), 0.0).unwrap()).collect();
        call(&mut breaker, "a", Failure, 0.0);
        call(&mut breaker, "b", Failure, 0.0);
        breaker.settle(&early[0], "0", Success, 1.0);
        breaker.settle(&early[1], "1", Failure, 20.0);
        assert_eq!(ask(&mut breaker, "c", 20.0), shut(10.0, false));
        call(&mut breaker, "p", Success, 30.0);
        breaker.settle(&early[2], "2", Failure, 31.0);
        breaker.settle(&early[3], "3", Failure, 31.0);
        assert_eq!(breaker.state(31.0), Closed);
    }

    #[test]
    fn of_two_probes_the_first_to_answer_decides() {
        let two = BreakerClaim { probes: 2, ..claim() };
        let mut breaker = open(0.0);
        let passages = ["p", "q"].map(|id| {
            assert_eq!(breaker.against(&two, 30.0), None);
            breaker.pass(&two, id, 40.0, true)
        });
        assert!(breaker.against(&two, 30.0).is_some());
        breaker.settle(&passages[0], "p", Failure, 31.0);
        breaker.settle(&passages[1], "q", Success, 32.0);
        assert_eq!(ask(&mut breaker, "r", 32.0), shut(29.0, false));
    }

    #[test]
    fn a_clock_that_was_set_back_keeps_it_open_no_longer_than_was_said() {
        let mut breaker = open(1_000.0);
        assert_eq!(breaker.state(10.0), Open);
        assert_eq!(ask(&mut breaker, "p", 10.0), shut(30.0, false));
        assert_eq!(ask(&mut breaker, "p", 39.0), shut(1.0, false));
        assert!(ask(&mut breaker, "p", 40.0).is_ok());
    }

    #[test]
    fn a_call_that_runs_although_it_is_open_is_no_probe_and_says_nothing() {
        let mut breaker = open(0.0);
        let forced = breaker.pass(&claim(), "f", 10.0, false);
        breaker.settle(&forced, "f", Success, 1.0);
        assert_eq!(breaker.state(1.0), Open);
    }

    #[test]
    fn limits_of_nothing_count_as_one() {
        let none = BreakerClaim { failures: 0, probes: 0, ..claim() };
        let mut breaker = Breaker::default();
        let passage = breaker.pass(&none, "a", 10.0, true);
        breaker.settle(&passage, "a", Failure, 0.0);
        assert_eq!(breaker.state(0.0), Open);
        assert_eq!(breaker.against(&none, 30.0), None);
    }
}
