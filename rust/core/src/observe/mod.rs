//! `observe`: what came back. Says what it makes of the outcome, once the outcome is filed where it belongs.
mod account;
mod feed;
mod look;
mod novelty;
mod rules;
mod settle;
mod sufficiency;
mod transient;
mod write;

use std::sync::Arc;

use crate::call::Call;
use crate::claims::Claims;
use crate::detect::{Detector, Observation, Remarks};
use crate::envelope::Envelope;
use crate::fallback::{Offer, Skipped};
use crate::gain::Gain;
use crate::outcome::{judge, Judged, Outcome};
use crate::policy::{ErrorClass, Mode, Policy};
use crate::reply;
use crate::round::Fate;
use crate::shared::Settlement;
use crate::task::Task;
use crate::verdict::{Assessment, Grade, Next, Stop};

pub(crate) use rules::error_evidence;

/// An outcome that was fed already in its round, by what makes it one with those that follow.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Fed {
    /// A tool failed with what may pass, whatever it said.
    MayPass { tool: u64 },
    /// A tool failed in this way.
    Failed { tool: u64, how: u64 },
    /// A call of a tool brought this.
    Brought { tool: u64, call: u64, result: u64 },
    /// Some call of a tool did.
    Alike { tool: u64, result: u64 },
    /// A read of a tool brought nothing new.
    Idle { tool: u64 },
}

/// What a call brought.
struct Gained {
    number: u64,
    gain: Gain,
    cells: u32,
}

/// What feeding a round came to.
#[derive(Default)]
pub(crate) struct Closed {
    pub(crate) remarks: Remarks,
    stop: Option<Stop>,
    gains: Vec<Gained>,
    /// Calls that are proposed instead of members.
    offers: Vec<Offer>,
    /// What is done without.
    skipped: Vec<Skipped>,
    /// Calls that a rule proposes to try again.
    retries: Vec<Arc<str>>,
    /// Calls on whose outcome an expression failed.
    ungraded: Vec<Arc<str>>,
}

impl Task {
    /// Tells what came back from an allowed call.
    ///
    /// # Errors
    /// The id, if no call of that id is out.
    pub fn observe(
        &mut self,
        policy: &Policy,
        call_id: &str,
        outcome: &Outcome,
        now: Option<f64>,
    ) -> Result<Assessment, String> {
        self.with_own(|task, own| task.observe_with(own, policy, call_id, outcome, now))
    }

    /// The same, where `claims` is told how the call ends what it held.
    ///
    /// # Errors
    /// The id, if no call of that id is out.
    pub fn observe_with(
        &mut self,
        claims: &mut dyn Claims,
        policy: &Policy,
        call_id: &str,
        outcome: &Outcome,
        now: Option<f64>,
    ) -> Result<Assessment, String> {
        let (assessment, settlement) = self.observe_apart(policy, call_id, outcome, now)?;
        if let Some(settlement) = settlement {
            claims.settle(&settlement, self.claim_time());
        }
        Ok(assessment)
    }

    /// The same, for a host that tells whoever keeps the shared state itself.
    ///
    /// # Errors
    /// The id, if no call of that id is out.
    pub fn observe_apart(
        &mut self,
        policy: &Policy,
        call_id: &str,
        outcome: &Outcome,
        now: Option<f64>,
    ) -> Result<(Assessment, Option<Settlement>), String> {
        let now = self.clock(now);
        let Some((id, out)) = self.out.remove_entry(call_id) else { return Err(call_id.to_owned()) };
        let call = Arc::clone(&out.call);
        let mut judged = judge(policy, &self.key, &call, outcome);
        self.out_changing = self.out_changing.saturating_sub(usize::from(!call.is_read()));
        self.came_back(&call);
        let retries = self.account(policy, &judged, outcome, &out, now);
        let (resolutions, asked_again) = self.verified(policy, &call, &out, (&judged, outcome));
        let in_doubt = judged.class == Some(ErrorClass::Ambiguous) && call.tool.has_effects();
        let verification = if in_doubt { self.doubt(&out) } else { asked_again };
        let settlement = self.settlement(&judged, outcome, &out, resolutions, policy);
        self.keep_for_late(&out, settlement.as_ref());
        let marks = self.fill_needs(policy, &mut judged, &id, outcome, &out);
        let others = self.stirred.saturating_sub(self.stirred_by.get(&call.loose).copied().unwrap_or(0));
        let assessed = (judged.grade, judged.class, judged.gaps.clone());
        let next = next(&call, &judged, retries);
        let retrying = matches!(next, Next::Retry(_));
        let failed = judged.failed;
        let helps = retrying || (call.tool.retry.is_none() && judged.class == Some(ErrorClass::Transient));
        let mut envelope = Envelope::of(&judged, outcome, helps);
        let fed = feeds(&call, &judged, retries);
        let mut seen = Observation {
            call: Arc::clone(&call),
            call_id: Arc::clone(&id),
            at: now,
            judged,
            outcome: policy.looks_at_outcomes().then(|| outcome.clone()),
            others,
            first: out.first,
            fed,
            retrying,
            retries,
            from_cache: false,
            marks,
            gain: Gain::default(),
            cells: 0,
            feeds_needs: policy.feeds_needs(&call.tool),
            fresh_look: None,
            passed_over: false,
            new_target: false,
            worked: 0,
        };
        let cached = self.earlier_answer(policy, &seen);
        if let Some((result, age)) = &cached {
            seen.from_cache = true;
            envelope = Envelope::from_cache(result, *age, &envelope);
        }
        self.journal.ended(&seen, outcome);
        let mut closed = self.file(policy, &out, seen);
        let mut notes: Vec<_> = std::mem::take(&mut self.remarks).into_iter().map(reply::note).collect();
        notes.extend(closed.remarks.notes.drain(..).map(reply::note));
        let gained = closed.gains.iter().find(|gained| gained.number == call.number);
        let (gain, cells) = gained.map_or((0, 0), |gained| (gained.gain.count, gained.cells));
        let (mut offers, mut skipped) = self.drain_ways();
        offers.append(&mut closed.offers);
        skipped.append(&mut closed.skipped);
        let (grade, class, gaps) = assessed;
        let ungraded = closed.ungraded.contains(&id);
        let grade = if ungraded { Grade::Ungraded } else { grade };
        if ungraded && !failed {
            envelope.code = "UNGRADED".into();
        }
        let next = match next {
            _ if closed.stop.is_some() || self.stop.is_some() => Next::Exit,
            Next::Continue if closed.retries.contains(&id) && !in_doubt => Next::Retry(pause(&call, retries)),
            Next::Continue if verification.is_some() => verification.map_or(Next::Continue, Next::Verify),
            Next::Continue if offers.iter().any(|offer| offer.call_id == id) => Next::Substitute,
            next => next,
        };
        envelope.retryable &= next != Next::Exit;
        if policy.mode == Mode::Audit {
            notes.clear();
        }
        let assessment = Assessment {
            call_id: id,
            grade,
            class,
            gaps,
            gain,
            cells,
            notes,
            next,
            offers,
            skipped,
            cached,
            envelope,
            stop: closed.stop,
        };
        Ok((assessment, settlement))
    }

    /// A call that was allowed never ran: what it reserved is given back.
    ///
    /// # Errors
    /// The id, if no call of that id is out.
    pub fn abandon(&mut self, policy: &Policy, call_id: &str, now: Option<f64>) -> Result<(), String> {
        self.with_own(|task, own| task.abandon_with(own, policy, call_id, now))
    }

    /// The same, where it is given back to `claims`.
    ///
    /// # Errors
    /// The id, if no call of that id is out.
    pub fn abandon_with(
        &mut self,
        claims: &mut dyn Claims,
        policy: &Policy,
        call_id: &str,
        now: Option<f64>,
    ) -> Result<(), String> {
        if let Some((id, task)) = self.abandon_apart(policy, call_id, now)? {
            claims.release(&id, &task, self.claim_time());
        }
        Ok(())
    }

    /// The same, for a host that releases the claim itself: its id and task, where there is one.
    ///
    /// # Errors
    /// The id, if no call of that id is out.
    pub fn abandon_apart(
        &mut self,
        policy: &Policy,
        call_id: &str,
        now: Option<f64>,
    ) -> Result<Option<(String, String)>, String> {
        self.clock(now);
        let Some((id, out)) = self.out.remove_entry(call_id) else { return Err(call_id.to_owned()) };
        let call = out.call;
        self.out_changing = self.out_changing.saturating_sub(usize::from(!call.is_read()));
        self.came_back(&call);
        self.journal.abandoned();
        if let Some(attempts) = self.attempts.get_mut(&call.loose).filter(|_| out.retry) {
            attempts.retries = attempts.retries.saturating_sub(1);
        }
        if let Some(session) = self.sessions.get_mut(call.session) {
            self.pool.take_call(&mut session.share, &call.tool, out.retry, -1.0);
            if let Some(round) = &mut session.round {
                // what never ran has no answer to share
                if round.firsts.get(&call.exact.0) == Some(&id) {
                    round.firsts.remove(&call.exact.0);
                }
                round.came_back(&id, Fate::NotRun);
            }
        }
        self.close_if_settled(policy, call.session);
        Ok(out.held.map(|held| (held.claim.id, held.claim.task)))
    }

    /// A call ended, whatever came of it.
    pub(crate) fn came_back(&mut self, call: &Call) {
        if let Some(session) = self.sessions.get_mut(call.session) {
            for detector in session.detectors.all_mut() {
                detector.returned(call);
            }
            session.detectors.frequency.returned(call);
            if let Some(cycle) = &mut session.detectors.cycle {
                cycle.returned(call);
            }
        }
        if let Some(merged) = &mut self.merged {
            merged.returned(call);
        }
        self.denied.returned(call);
        self.states.returned(call);
        self.transfers.returned(call);
        self.stir(call);
    }
}

/// Failures that are still being retried belong to the retry policy.
fn feeds(call: &Call, judged: &Judged, retries: u64) -> bool {
    let Some(class) = judged.class else { return true };
    !call.tool.retry.as_ref().is_some_and(|it| it.classes.contains(&class) && retries < it.max)
}

fn next(call: &Call, judged: &Judged, retries: u64) -> Next {
    let (Some(class), Some(retry)) = (judged.class, &call.tool.retry) else { return Next::Continue };
    // what may have happened is never sent again by itself
    if class == ErrorClass::Ambiguous && call.tool.has_effects() {
        return Next::Continue;
    }
    if !retry.classes.contains(&class) || retries >= retry.max {
        return Next::Continue;
    }
    Next::Retry(pause(call, retries))
}

/// How long to wait before the next attempt, without jitter.
fn pause(call: &Call, retries: u64) -> f64 {
    let Some(retry) = &call.tool.retry else { return 0.0 };
    let exponent = i32::try_from(retries).unwrap_or(i32::MAX);
    (retry.initial * retry.factor.powi(exponent)).min(retry.longest)
}
