//! `observe`: what came back. Feeds the detectors when a round closes, and says what it makes of the outcome.
use std::sync::Arc;

use crate::call::Call;
use crate::detect::{diversity, same_result, Detector, Observation, Remark, Remarks, Write};
use crate::gain::Gain;
use crate::incident::Novelty;
use crate::outcome::{judge, Judged, Outcome};
use crate::policy::{Effect, ErrorClass, Mode, Phase, Policy, RuleEffect};
use crate::reply;
use crate::round::{Fate, Member};
use crate::scope::RuleScope;
use crate::task::{Attempts, LastResult, Out, Stored, Task, MOST_LAST_RESULTS, MOST_STORED};
use crate::verdict::{Assessment, Evidence, ExitDecision, Grade, Next, Stop};
use crate::Reason;

/// An outcome that was fed already in its round: the tool, whether it failed, what came, and the call.
pub(crate) type Fed = (u64, bool, u64, u64);

/// What feeding a round came to.
#[derive(Default)]
pub(crate) struct Closed {
    pub(crate) remarks: Remarks,
    stop: Option<Stop>,
    /// (call id, gain)
    gains: Vec<(Arc<str>, Gain)>,
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
        let now = self.clock(now);
        let Some((id, out)) = self.out.remove_entry(call_id) else { return Err(call_id.to_owned()) };
        let call = Arc::clone(&out.call);
        let judged = judge(policy, &self.key, &call, outcome);
        self.came_back(&call);
        let retries = self.account(&call, &judged, outcome, &out, now);
        let others = self.stirred.saturating_sub(self.stirred_by.get(&call.loose).copied().unwrap_or(0));
        let assessed = (judged.grade, judged.class, judged.gaps.clone());
        let next = next(&call, &judged, retries);
        let fed = feeds(&call, &judged, retries);
        let gain = Gain::default();
        let seen = Observation {
            call: Arc::clone(&call),
            call_id: Arc::clone(&id),
            at: now,
            judged,
            outcome: policy.observes().then(|| outcome.clone()),
            others,
            first: out.first,
            fed,
            gain,
        };
        let mut closed = self.file(policy, &out, seen);
        let mut notes: Vec<_> = std::mem::take(&mut self.remarks).into_iter().map(reply::note).collect();
        notes.extend(closed.remarks.notes.drain(..).map(reply::note));
        let gain = closed.gains.iter().find(|(of, _)| *of == id).map_or(0, |(_, gain)| gain.count);
        let (grade, class, gaps) = assessed;
        let grade = if closed.ungraded.contains(&id) { Grade::Ungraded } else { grade };
        let next = match next {
            _ if closed.stop.is_some() || self.stop.is_some() => Next::Exit,
            Next::Continue if closed.retries.contains(&id) => Next::Retry(pause(&call, retries)),
            next => next,
        };
        if policy.mode == Mode::Audit {
            notes.clear();
        }
        Ok(Assessment { call_id: id, grade, class, gaps, gain, notes, next, stop: closed.stop })
    }

    /// A call that was allowed never ran: what it reserved is given back.
    ///
    /// # Errors
    /// The id, if no call of that id is out.
    pub fn abandon(&mut self, policy: &Policy, call_id: &str, now: Option<f64>) -> Result<(), String> {
        self.clock(now);
        let Some((id, out)) = self.out.remove_entry(call_id) else { return Err(call_id.to_owned()) };
        let call = out.call;
        self.came_back(&call);
        if let Some(session) = self.sessions.get_mut(call.session) {
            self.pool.take_call(&mut session.share, &call.tool, out.retry, -1.0);
            if let Some(attempts) = session.attempts.get_mut(&call.loose).filter(|_| out.retry) {
                attempts.retries = attempts.retries.saturating_sub(1);
            }
            if let Some(round) = &mut session.round {
                // what never ran has no answer to share
                round.firsts.retain(|_, first| *first != id);
                if let Some(member) = round.member(&id) {
                    member.fate = Fate::NotRun;
                }
            }
        }
        self.close_if_settled(policy, call.session);
        Ok(())
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

    /// Everything that is brought up to date at once. Answers with the retries that the call has used.
    fn account(&mut self, call: &Call, judged: &Judged, outcome: &Outcome, out: &Out, now: f64) -> u64 {
        self.effects.ended(call, judged.failed, judged.class, out.approved);
        if judged.class == Some(ErrorClass::Denied) {
            self.denied.record(call, now);
        }
        self.store(call, judged, outcome, out, now);
        let Some(session) = self.sessions.get_mut(call.session) else { return 0 };
        if let Some(tokens) = outcome.tokens {
            self.pool.take_usage(&mut session.share, tokens, 0.0);
        }
        let used = session.attempts.get(&call.loose).map_or(0, |attempts| attempts.retries);
        if judged.failed && !matches!(judged.class, Some(ErrorClass::Denied | ErrorClass::Format)) {
            let stake = crate::detect::Stake::of(call);
            session.attempts.entry(call.loose).or_insert(Attempts { stake, retries: 0 });
        } else {
            session.attempts.remove(&call.loose);
        }
        used
    }

    /// Keeps a read's result for reuse.
    fn store(&mut self, call: &Call, judged: &Judged, outcome: &Outcome, out: &Out, now: f64) {
        if !call.is_read() {
            return;
        }
        let result = outcome.result.as_ref().filter(|_| !judged.failed && judged.result.is_some());
        let Some(result) = result else {
            self.stored.remove(&call.exact.0);
            return;
        };
        if self.stored.len() >= MOST_STORED && !self.stored.contains_key(&call.exact.0) {
            let oldest = self.stored.iter().min_by(|a, b| a.1.at.total_cmp(&b.1.at)).map(|(exact, _)| *exact);
            if let Some(oldest) = oldest {
                self.stored.remove(&oldest);
            }
        }
        let stored =
            Stored { result: Arc::clone(result), at_dispatch: out.read_version, at_end: self.read_version, at: now };
        self.stored.insert(call.exact.0, stored);
    }

    /// Puts an observation into its round, and closes the round if that was the last; or feeds it alone if it is late.
    fn file(&mut self, policy: &Policy, out: &Out, seen: Observation) -> Closed {
        let session = seen.call.session;
        let round = self.sessions.get_mut(session).and_then(|it| it.round.as_mut());
        let round = round.filter(|round| round.number == out.round);
        if let Some(round) = round {
            let settle_now = !round.explicit;
            if let Some(member) = round.member(&seen.call_id) {
                member.fate = Fate::Observed(Box::new(seen));
            }
            return if settle_now && round.is_settled() { self.feed_round(policy, session) } else { Closed::default() };
        }
        let member = Member {
            call_id: Arc::clone(&seen.call_id),
            fate: Fate::Observed(Box::new(seen)),
            incidents: Vec::new(),
            reused: false,
        };
        self.feed_members(policy, vec![member])
    }

    pub(crate) fn close_if_settled(&mut self, policy: &Policy, session: usize) {
        let round = self.sessions.get(session).and_then(|it| it.round.as_ref());
        if round.is_some_and(|round| !round.explicit && round.is_settled()) {
            self.close_round(policy, session);
        }
    }

    /// Closes the session's round, if there is one; its remarks wait for the next answer.
    pub(crate) fn close_round(&mut self, policy: &Policy, session: usize) {
        let mut closed = self.feed_round(policy, session);
        self.remarks.append(&mut closed.remarks.notes);
    }

    fn feed_round(&mut self, policy: &Policy, session: usize) -> Closed {
        match self.sessions.get_mut(session).and_then(|it| it.round.take()) {
            Some(round) => self.feed_members(policy, round.members),
            None => Closed::default(),
        }
    }

    fn feed_members(&mut self, policy: &Policy, members: Vec<Member>) -> Closed {
        let mut closed = Closed::default();
        let mut earlier: Vec<Fed> = Vec::new();
        let mut refused = Vec::new();
        for member in members {
            if !member.incidents.is_empty() {
                refused.push((member.call_id, member.incidents, member.reused));
            }
            if let Fate::Observed(seen) = member.fate {
                self.feed(policy, *seen, &mut earlier, &mut closed);
                self.end_if_due(policy, &mut closed);
            }
        }
        for (call_id, incidents, reused) in refused {
            let elsewhere = closed.gains.iter().any(|(of, gain)| *of != call_id && gain.count > 0);
            if !elsewhere {
                for incident in &incidents {
                    self.incidents.count(incident, reused);
                }
            }
        }
        closed
    }

    /// Feeds one outcome, in request order, once the author's rules have looked at it: one that they fail on is ungraded.
    pub(crate) fn feed(&mut self, policy: &Policy, mut seen: Observation, earlier: &mut Vec<Fed>, closed: &mut Closed) {
        if let Some(error) = &seen.judged.expression_error {
            closed.remarks.add(Reason::PolicyError, &seen, error_evidence(error));
        }
        let is_format = seen.judged.class == Some(ErrorClass::Format);
        let counts = !is_double(&seen, earlier) && seen.judged.class != Some(ErrorClass::Transient);
        let feeds = counts && !is_format && seen.fed;
        let is_known = seen.succeeded() && seen.judged.result.is_some() && seen.judged.expression_error.is_none();
        if feeds && is_known && seen.call.tool.waiting.is_none() {
            seen.gain = self.known.learn(&seen.judged.offer, seen.call.asked.as_ref());
            closed.gains.push((Arc::clone(&seen.call_id), seen.gain));
        }
        let (said, failed) = self.ask_observe_rules(policy, &seen, closed);
        if let Some(error) = failed {
            seen.judged.grade = Grade::Ungraded;
            seen.judged.expression_error.get_or_insert(error);
        }
        if seen.judged.expression_error.is_some() {
            closed.ungraded.push(Arc::clone(&seen.call_id));
        }
        if counts {
            self.feed_detectors(&seen, is_format, closed);
        }
        // what detectors say comes first, as it does in verdicts
        closed.remarks.notes.extend(said.notes);
        closed.remarks.exit = closed.remarks.exit.take().or(said.exit);
    }

    fn feed_detectors(&mut self, seen: &Observation, is_format: bool, closed: &mut Closed) {
        let call = Arc::clone(&seen.call);
        if let Some(session) = self.sessions.get_mut(call.session).filter(|_| is_format || seen.succeeded()) {
            session.detectors.unknown_tool.after(seen, &mut closed.remarks);
            session.detectors.invalid_arguments.after(seen, &mut closed.remarks);
        }
        if is_format || !seen.fed {
            return;
        }
        if call.tool.waiting.is_some() {
            self.feed_wait(seen, &mut closed.remarks);
            return;
        }
        let graded = seen.judged.expression_error.is_none();
        let wrote = self.write(seen);
        let novelty = self.novelty(seen);
        self.run_identity_detectors(seen, &mut closed.remarks);
        if graded {
            self.run_outcome_detectors(seen, &mut closed.remarks);
        }
        self.denied.after(seen, &mut closed.remarks);
        self.effects.after(seen, &mut closed.remarks);
        self.transfers.after(seen, &mut closed.remarks);
        self.incidents.observe(&call, novelty, seen.gain.count > 0);
        self.remember(seen);
        if graded || wrote {
            self.count_gain(seen, wrote, &mut closed.remarks);
        }
    }

    /// The author's rules of `observe`, in their order: what they say, and the first error.
    fn ask_observe_rules(&self, policy: &Policy, seen: &Observation, closed: &mut Closed) -> (Remarks, Option<String>) {
        let (mut said, mut first) = (Remarks::default(), None);
        let mut rules =
            policy.rules.iter().filter(|rule| rule.phase == Phase::Observe && rule.is_about(&seen.call)).peekable();
        if rules.peek().is_none() {
            return (said, first);
        }
        let scope = RuleScope::of_observation(self, policy, seen);
        for rule in rules {
            match rule.when.test(&scope) {
                Ok(false) => {}
                Ok(true) => {
                    said.rule(seen, &rule.id, rule.words(&scope), rule.action == RuleEffect::Exit);
                    if rule.action == RuleEffect::Retry {
                        closed.retries.push(Arc::clone(&seen.call_id));
                    }
                }
                Err(error) => {
                    let error = format!("rule `{}`: `{}`: {error}", rule.id, rule.when.source());
                    said.add(Reason::PolicyError, seen, error_evidence(&error));
                    first.get_or_insert(error);
                }
            }
        }
        (said, first)
    }

    fn feed_wait(&mut self, seen: &Observation, remarks: &mut Remarks) {
        let Some(session) = self.sessions.get_mut(seen.call.session) else { return };
        let progress = session.detectors.stale_wait.is_progress(seen);
        session.detectors.stale_wait.after(seen, remarks);
        if !progress {
            return;
        }
        if let Some(merged) = &mut self.merged {
            merged.clear();
        }
        for session in &mut self.sessions {
            session.detectors.exact_repeat.waited();
            session.detectors.consecutive.waited();
            if let Some(cycle) = &mut session.detectors.cycle {
                cycle.clear();
            }
        }
        self.no_gain.clear();
    }

    /// Lands what may have been written. True if it ends the task-wide `no_gain`.
    fn write(&mut self, seen: &Observation) -> bool {
        if !seen.succeeded() {
            return false;
        }
        let call = &*seen.call;
        let write = Write { call };
        let tagged = !call.tool.touches.is_empty();
        let landed = match call.tool.effect {
            Effect::Write => true,
            Effect::External | Effect::Ui => tagged,
            Effect::Read | Effect::Control | Effect::Unknown => false,
        };
        if landed {
            self.repeat_epoch = self.repeat_epoch.saturating_add(1);
            for session in &mut self.sessions {
                for detector in session.detectors.all_mut() {
                    detector.landed(&write);
                }
                session.attempts.retain(|_, attempts| !attempts.stake.ended_by_landed(&write));
            }
            return true;
        }
        if matches!(call.tool.effect, Effect::Unknown | Effect::Ui) && seen.first {
            for session in &mut self.sessions {
                for detector in session.detectors.all_mut() {
                    detector.possibly_written(&write);
                }
                session.attempts.retain(|_, attempts| !attempts.stake.ended_by_possible(&write));
            }
            return true;
        }
        call.tool.effect == Effect::External
    }

    /// What is new in an outcome, as far as incidents ask.
    fn novelty(&self, seen: &Observation) -> Novelty {
        let none = Novelty { call: false, tool: false, reads: false, state: false };
        let (Some(session), Some(result)) = (self.sessions.get(seen.call.session), seen.judged.result) else {
            return none;
        };
        let call = session.last_results.get(&seen.call.loose).is_none_or(|last| {
            let same_failure = last.failure.is_some() && last.failure == seen.judged.failure;
            last.result != result && !(same_failure && last.others == seen.others)
        });
        let tool = session.last_of_tool.get(&seen.call.tool_symbol) != Some(&result);
        let reads = session.last_of_reads.get(&same_result::place(&seen.call)) != Some(&result);
        let state = seen.judged.state.is_some_and(|state| self.states.is_new(&seen.call, state));
        Novelty { call, tool, reads, state }
    }

    /// The detectors that ask only which call it was and whether the same came back.
    fn run_identity_detectors(&mut self, seen: &Observation, remarks: &mut Remarks) {
        let key = self.key;
        let Some(session) = self.sessions.get_mut(seen.call.session) else { return };
        let detectors = &mut session.detectors;
        detectors.window.push(seen.call.exact.0);
        detectors.exact_repeat.after(seen, remarks);
        detectors.consecutive.after(seen, remarks);
        detectors.frequency.after(seen, &detectors.window, remarks);
        let symbol = |member: u64| {
            let result = seen.judged.result?;
            Some(key.join(&[callgate_value::Symbol(member), callgate_value::Symbol(result)]).0)
        };
        let (mut own, mut shared) = (false, false);
        if let Some(cycle) = &mut detectors.cycle {
            cycle.push(symbol(seen.call.loose), seen.call.loose, seen.call.agent, seen.at);
            own = cycle.period().is_some();
        }
        if let Some(merged) = &mut self.merged {
            merged.push(symbol(seen.call.member()), seen.call.member(), seen.call.agent, seen.at);
            shared = merged.period().is_some() && merged.is_shared();
        }
        if seen.call.tool.detectors.cycle.is_some() {
            let cycle = if own { detectors.cycle.as_ref() } else { self.merged.as_ref().filter(|_| shared) };
            if let Some(cycle) = cycle {
                remarks.add(Reason::Cycle, seen, cycle.evidence());
            }
        }
        diversity::after(seen, &detectors.window, remarks);
    }

    /// The detectors that ask what the outcome is worth.
    fn run_outcome_detectors(&mut self, seen: &Observation, remarks: &mut Remarks) {
        let Some(session) = self.sessions.get_mut(seen.call.session) else { return };
        let detectors = &mut session.detectors;
        detectors.oscillation.after(seen, remarks);
        detectors.same_error.after(seen, remarks);
        detectors.same_result.after(seen, remarks);
        detectors.no_gain.after(seen, remarks);
        detectors.empty_streak.after(seen, remarks);
        self.states.after(seen, remarks);
    }

    fn remember(&mut self, seen: &Observation) {
        let (Some(session), Some(result)) = (self.sessions.get_mut(seen.call.session), seen.judged.result) else {
            return;
        };
        if session.last_results.len() >= MOST_LAST_RESULTS && !session.last_results.contains_key(&seen.call.loose) {
            session.last_results.clear();
        }
        let last = LastResult { result, failure: seen.judged.failure, others: seen.others };
        session.last_results.insert(seen.call.loose, last);
        session.last_of_tool.insert(seen.call.tool_symbol, result);
        if seen.call.is_read() {
            session.last_of_reads.insert(same_result::place(&seen.call), result);
        }
    }

    /// The task-wide count; it may end the task.
    fn count_gain(&mut self, seen: &Observation, wrote: bool, remarks: &mut Remarks) {
        if self.stop.is_some() {
            return;
        }
        if wrote || seen.gain.count > 0 {
            self.no_gain.clear();
        } else if !seen.succeeded() || seen.judged.result.is_some() {
            self.no_gain.add(seen, remarks);
        }
    }

    /// An `exit_after` that was reached ends the task, at this observation.
    fn end_if_due(&mut self, policy: &Policy, closed: &mut Closed) {
        let Some(end) = closed.remarks.exit.take().filter(|_| self.stop.is_none()) else { return };
        if policy.mode == Mode::Enforce {
            let call_id = end.call_id.to_string();
            let rule = end.rule.as_ref().map(|(id, _)| id.to_string());
            let stop = Stop { reason: end.reason, rule, call_id, at: self.now, exit: ExitDecision::Escalate };
            self.stop = Some(stop.clone());
            closed.stop = Some(stop);
        }
        let told = |note: &Remark| note.reason == end.reason && note.call_id == end.call_id && note.rule == end.rule;
        if !closed.remarks.notes.iter().any(told) {
            closed.remarks.notes.push(end);
        }
    }
}

/// Transient failures, and those that are still being retried, belong to the retry policy.
fn feeds(call: &Call, judged: &Judged, retries: u64) -> bool {
    let Some(class) = judged.class else { return true };
    let retried = call.tool.retry.as_ref().is_some_and(|it| it.classes.contains(&class) && retries < it.max);
    class != ErrorClass::Transient && !retried
}

fn next(call: &Call, judged: &Judged, retries: u64) -> Next {
    let (Some(class), Some(retry)) = (judged.class, &call.tool.retry) else { return Next::Continue };
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

fn error_evidence(error: &str) -> Evidence {
    vec![("error", callgate_value::Value::from(error))]
}

/// One batch is one observation: of equal outcomes of one tool only the first is fed.
fn is_double(seen: &Observation, earlier: &mut Vec<Fed>) -> bool {
    let Some(result) = seen.judged.result else { return false };
    let call = if seen.judged.failed { 0 } else { seen.call.loose };
    let entry = (seen.call.tool_symbol, seen.judged.failed, result, call);
    if earlier.contains(&entry) {
        return true;
    }
    earlier.push(entry);
    false
}

impl Task {
    /// Remarks that no answer has carried yet; none in mode `audit`.
    pub fn drain_remarks(&mut self, policy: &Policy) -> Vec<crate::Note> {
        let mut remarks: Vec<Remark> = std::mem::take(&mut self.remarks);
        if policy.mode == Mode::Audit {
            remarks.clear();
        }
        remarks.into_iter().map(reply::note).collect()
    }
}
