//! Counters of a task: taken before a call runs, given back if it never did.
use std::collections::BTreeMap;

use super::claim::Amount;

/// The counters of a task, by name.
pub type Counters = BTreeMap<String, f64>;

/// What an amount is worth: nothing is ever given back by a negative or absurd one.
fn sane(amount: f64) -> f64 {
    if amount.is_finite() && amount > 0.0 {
        amount
    } else {
        0.0
    }
}

/// The counters that have too little left, in the order of the amounts. Amounts of one counter add up.
pub(super) fn short(counters: &Counters, amounts: &[Amount]) -> Vec<String> {
    let mut wanted = Counters::new();
    let mut short: Vec<String> = Vec::new();
    for amount in amounts {
        let more = sane(amount.amount);
        let stands = wanted
            .entry(amount.counter.clone())
            .or_insert_with(|| counters.get(&amount.counter).copied().unwrap_or(0.0));
        // written so that a limit that is no number lets nothing through
        let fits = amount.limit.is_none_or(|limit| *stands + more <= limit && (more > 0.0 || *stands < limit));
        *stands += more;
        if !fits && !short.contains(&amount.counter) {
            short.push(amount.counter.clone());
        }
    }
    short
}

/// Takes the amounts and gives what was taken.
pub(super) fn take(counters: &mut Counters, amounts: &[Amount]) -> Vec<(String, f64)> {
    let mut taken = Vec::with_capacity(amounts.len());
    for amount in amounts {
        let more = sane(amount.amount);
        let stands = counters.entry(amount.counter.clone()).or_default();
        *stands = (*stands + more).min(f64::MAX);
        if more > 0.0 {
            taken.push((amount.counter.clone(), more));
        }
    }
    taken
}

/// Gives back what was taken.
pub(super) fn give_back(counters: &mut Counters, taken: &[(String, f64)]) {
    for (counter, amount) in taken {
        if let Some(stands) = counters.get_mut(counter) {
            *stands = (*stands - amount).max(0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{give_back, short, take, Counters};
    use crate::shared::Amount;

    fn amount(counter: &str, amount: f64, limit: impl Into<Option<f64>>) -> Amount {
        Amount { counter: counter.to_owned(), amount, limit: limit.into() }
    }

    fn stands(counts: &[(&str, f64)]) -> Counters {
        counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    }

    #[test]
    fn the_last_one_that_fits_is_let_through_and_the_next_is_not() {
        let one = [amount("steps", 1.0, 3.0)];
        assert_eq!(short(&stands(&[("steps", 2.0)]), &one), Vec::<String>::new());
        assert_eq!(short(&stands(&[("steps", 3.0)]), &one), ["steps"]);
    }

    #[test]
    fn every_counter_that_is_short_is_named_once() {
        let wanted = [amount("a", 1.0, 0.0), amount("b", 1.0, 1.0), amount("a", 1.0, 0.0), amount("c", 2.0, 1.0)];
        assert_eq!(short(&Counters::new(), &wanted), ["a", "c"]);
    }

    #[test]
    fn amounts_of_one_counter_add_up() {
        let twice = [amount("a", 1.0, 2.0), amount("a", 1.5, 2.0)];
        assert_eq!(short(&Counters::new(), &twice), ["a"]);
        assert_eq!(short(&Counters::new(), &twice[..1]), Vec::<String>::new());
    }

    #[test]
    fn of_what_is_reported_afterwards_there_is_enough_below_the_limit_only() {
        let nothing = [amount("tokens", 0.0, 10.0)];
        assert_eq!(short(&stands(&[("tokens", 9.0)]), &nothing), Vec::<String>::new());
        assert_eq!(short(&stands(&[("tokens", 10.0)]), &nothing), ["tokens"]);
        assert_eq!(short(&Counters::new(), &[amount("tokens", 0.0, 0.0)]), ["tokens"]);
    }

    #[test]
    fn absurd_amounts_take_nothing_and_an_absurd_limit_lets_nothing_through() {
        let mut counters = stands(&[("cost", 5.0)]);
        let absurd = [-3.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(|it| amount("cost", it, None));
        assert_eq!(take(&mut counters, &absurd), []);
        assert_eq!(counters, stands(&[("cost", 5.0)]));
        assert_eq!(short(&counters, &[amount("cost", 1.0, f64::NAN)]), ["cost"]);
    }

    #[test]
    fn what_is_given_back_is_what_was_taken_and_never_more_than_there_is() {
        let mut counters = stands(&[("steps", 1.0)]);
        let taken = take(&mut counters, &[amount("steps", 2.0, None), amount("calls", 1.0, 1.0)]);
        assert_eq!(counters, stands(&[("steps", 3.0), ("calls", 1.0)]));
        give_back(&mut counters, &taken);
        assert_eq!(counters, stands(&[("steps", 1.0), ("calls", 0.0)]));
        give_back(&mut counters, &taken);
        assert_eq!(counters, stands(&[("steps", 0.0), ("calls", 0.0)]));
    }
}
