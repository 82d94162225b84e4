//! The three operations on shared state, on the rows that they touch: commit before a call runs, settle when it ended, release
//! if it never ran. Each counts once under its id, however often it comes.
use super::breaker::Passage;
use super::claim::{BreakerClaim, BreakerEnd, Claim, EffectAnswer, EffectEnd, Grant, Settlement};
use super::ledger::Beginner;
use super::rows::{Hold, Rows};
use super::{counters, ledger};

/// Seconds that a claim without a sensible lease is given.
const LEASE: f64 = 300.0;
/// Seconds for which an id is known beyond its lease: so late may a message come a second time.
const KEEP: f64 = 3_600.0;

impl Hold {
    fn new(id: &str, task: &str, lease_until: f64) -> Self {
        let grant = Grant { id: id.to_owned(), ..Grant::default() };
        let keep_until = lease_until + KEEP;
        Self { id: id.to_owned(), task: task.to_owned(), lease_until, keep_until, grant, ..Self::default() }
    }

    /// What is left of it once it ended: that it did. Whoever asks under its id again holds nothing.
    fn end(&mut self, now: f64) {
        self.ended = true;
        self.keep_until = self.keep_until.max(now + KEEP);
        self.amounts.clear();
        self.passages.clear();
        self.effect = None;
        self.grant = Grant { id: self.id.clone(), ..Grant::default() };
    }

    fn beginner(&self, now: f64) -> Beginner<'_> {
        Beginner { id: &self.id, task: &self.task, now, lease_until: self.lease_until }
    }
}

/// Takes what a claim asks for if all of it is there, and says how everything stands.
pub fn commit(rows: &mut Rows, claim: &Claim, now: f64) -> Grant {
    let grant = match &rows.hold {
        Some(hold) => again(hold, now),
        None => first(rows, claim, now),
    };
    Grant { counts: rows.counters.clone(), ..grant }
}

fn first(rows: &mut Rows, claim: &Claim, now: f64) -> Grant {
    let lease = if claim.lease.is_finite() && claim.lease > 0.0 { claim.lease } else { LEASE };
    let mut hold = Hold::new(&claim.id, &claim.task, now + lease);
    let mut grant = Grant {
        id: claim.id.clone(),
        short: counters::short(&rows.counters, &claim.amounts),
        denied: claim.denials.iter().find(|key| rows.denials.contains(*key)).cloned(),
        ..Grant::default()
    };
    grant.effect = claim.effect.as_ref().map(|effect| ledger::ask(&mut rows.entries, effect, hold.beginner(now)));
    let against = |breaker: &BreakerClaim| rows.breakers.entry(breaker.name.clone()).or_default().against(breaker, now);
    grant.open = claim.breakers.iter().filter_map(against).collect();
    let new = matches!(grant.effect, None | Some(EffectAnswer::New));
    grant.taken = grant.short.is_empty() && grant.denied.is_none() && grant.open.is_empty() && new;
    if grant.taken || claim.forced {
        hold.amounts = counters::take(&mut rows.counters, &claim.amounts);
        if let Some(effect) = claim.effect.as_ref().filter(|_| new) {
            ledger::begin(&mut rows.entries, effect, hold.beginner(now));
            hold.effect = Some(effect.clone());
        }
        for breaker in &claim.breakers {
            let room = !grant.open.iter().any(|open| open.name == breaker.name);
            let state = rows.breakers.entry(breaker.name.clone()).or_default();
            let passage = state.pass(breaker, &claim.id, hold.lease_until, room);
            hold.passages.insert(breaker.name.clone(), passage);
        }
    }
    hold.grant = grant.clone();
    rows.hold = Some(hold);
    grant
}

/// The answer to what was asked before. Whoever hears it only after the lease must not run the effect: others may be at it.
fn again(hold: &Hold, now: f64) -> Grant {
    let mut grant = Grant { id: hold.id.clone(), ..hold.grant.clone() };
    if let Some(effect) = hold.effect.as_ref().filter(|_| !hold.ended && hold.lease_until <= now) {
        let (key, verify) = (effect.effect.key.clone(), effect.effect.verify.clone());
        grant.taken = false;
        grant.effect = Some(EffectAnswer::Unknown { since: hold.lease_until, key, verify, checked: 0 });
    }
    grant
}

/// Takes in how something ended. Says whether that is new.
pub fn settle(rows: &mut Rows, settlement: &Settlement, now: f64) -> bool {
    let known = rows.hold.take();
    let stranger = known.is_none();
    let mut hold = known.unwrap_or_else(|| Hold::new(&settlement.id, &settlement.task, now));
    if hold.ended {
        rows.hold = Some(hold);
        return false;
    }
    counters::take(&mut rows.counters, &settlement.amounts);
    // of an effect that was begun and of which nothing is said, nobody knows
    let unsaid = hold.effect.is_some().then_some(&EffectEnd::Unknown);
    if let Some(end) = settlement.effect.as_ref().or(unsaid).filter(|_| stranger || hold.effect.is_some()) {
        ledger::end(&mut rows.entries, hold.effect.as_ref(), hold.beginner(now), end);
    }
    for (name, passage) in &hold.passages {
        let said = settlement.breakers.iter().rev().find(|(other, _)| other == name);
        pass_on(rows, name, passage, &hold.id, said.map_or(BreakerEnd::Neither, |(_, end)| *end), now);
    }
    for resolution in &settlement.resolve {
        ledger::resolve(&mut rows.entries, resolution, now);
    }
    if let Some(late) = &settlement.late {
        ledger::late(&mut rows.entries, late, &settlement.task, now);
    }
    for key in &settlement.lift {
        rows.denials.remove(key);
    }
    rows.denials.extend(settlement.deny.iter().cloned());
    hold.end(now);
    rows.hold = Some(hold);
    true
}

/// Gives back what a claim holds: the call never ran. Says whether that is new.
pub fn release(rows: &mut Rows, id: &str, task: &str, now: f64) -> bool {
    let mut hold = rows.hold.take().unwrap_or_else(|| Hold::new(id, task, now));
    let new = !hold.ended;
    if new {
        counters::give_back(&mut rows.counters, &hold.amounts);
        if hold.effect.is_some() {
            ledger::end(&mut rows.entries, hold.effect.as_ref(), hold.beginner(now), &EffectEnd::Free);
        }
        for (name, passage) in &hold.passages {
            pass_on(rows, name, passage, id, BreakerEnd::Neither, now);
        }
        hold.end(now);
    }
    rows.hold = Some(hold);
    new
}

fn pass_on(rows: &mut Rows, name: &str, passage: &Passage, id: &str, end: BreakerEnd, now: f64) {
    if let Some(breaker) = rows.breakers.get_mut(name) {
        breaker.settle(passage, id, end, now);
    }
}
