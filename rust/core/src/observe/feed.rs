//! One outcome feeds the detectors.
use std::sync::Arc;

use callgate_value::Symbol;
use rustc_hash::FxHashSet;

use super::rules::error_evidence;
use super::write::{changes, Wrote};
use super::{Closed, Fed, Gained};
use crate::detect::cycle::CycleStream;
use crate::detect::{diversity, Detector, Observation, Remarks, Under};
use crate::policy::{Detectors, Effect, ErrorClass, Policy};
use crate::task::Task;
use crate::verdict::Grade;
use crate::Reason;

impl Task {
    /// Feeds one outcome, in request order, once the author's rules have looked at it: one that they fail on is ungraded.
    pub(crate) fn feed(
        &mut self,
        policy: &Policy,
        mut seen: Observation,
        earlier: &mut Option<FxHashSet<Fed>>,
        closed: &mut Closed,
    ) {
        if let Some(error) = &seen.judged.expression_error {
            closed.remarks.add(Reason::PolicyError, &seen, error_evidence(error));
        }
        let is_format = seen.judged.class == Some(ErrorClass::Format);
        let counts = !is_double(&seen, earlier) && !self.may_pass(&seen);
        seen.passed_over = is_alike(&seen, earlier);
        let feeds = counts && !is_format && seen.fed;
        let is_known = seen.succeeded() && seen.judged.result.is_some() && seen.judged.expression_error.is_none();
        let cells = self.needs.credit(&seen.marks);
        if feeds && is_known && seen.call.tool.waiting.is_none() {
            seen.gain = self.known.learn(&seen.judged.offer);
            seen.cells = cells;
            closed.gains.push(Gained { number: seen.call.number, gain: seen.gain, cells });
            self.journal.gained(&seen.call, seen.gain.count, cells);
            if seen.gain.count > 0 {
                self.hops.gained();
                self.moves = self.moves.saturating_add(1);
                // the number of a change is new each time, whatever was changed
                if !changes(&seen.call) {
                    self.fruitless.clear();
                }
                self.work(&seen);
            }
            seen.passed_over |= is_idle_again(&seen, earlier);
        }
        seen.worked = self.worked;
        let (said, failed) = self.ask_observe_rules(policy, &seen, closed);
        if let Some(error) = failed {
            seen.judged.grade = Grade::Ungraded;
            seen.judged.expression_error.get_or_insert(error);
        }
        if seen.judged.expression_error.is_some() {
            closed.ungraded.push(Arc::clone(&seen.call_id));
        }
        if feeds && seen.call.tool.waiting.is_none() && seen.judged.expression_error.is_none() {
            seen.fresh_look = self.look(&seen);
            seen.passed_over |= self.follows_what_was_acted_upon(&seen);
            seen.new_target = self.looks_at_new_target(&seen);
            if seen.new_target {
                self.work(&seen);
            }
        }
        if counts {
            self.feed_detectors(&seen, is_format, closed);
        }
        // what detectors say comes first, as it does in verdicts
        closed.remarks.notes.extend(said.notes);
        closed.remarks.lifted.extend(said.lifted);
        closed.remarks.exit = closed.remarks.exit.take().or(said.exit);
        if closed.remarks.exit.is_none() && !policy.fallback.order.is_empty() {
            let (mut offers, skipped) = self.find_ways(policy, &seen, &mut closed.remarks);
            closed.offers.append(&mut offers);
            closed.skipped.extend(skipped);
        }
    }

    /// Somebody has done something: to pass control on as before is no repeat then.
    fn work(&mut self, seen: &Observation) {
        if !seen.call.tool.transfer {
            self.worked = self.worked.saturating_add(1);
        }
    }

    fn feed_detectors(&mut self, seen: &Observation, is_format: bool, closed: &mut Closed) {
        let call = Arc::clone(&seen.call);
        self.catch_up(call.session);
        if let Some(session) = self.sessions.get_mut(call.session).filter(|_| is_format || seen.succeeded()) {
            session.detectors.unknown_tool.after(seen, &mut closed.remarks);
            session.detectors.invalid_arguments.after(seen, &mut closed.remarks);
        }
        if is_format {
            self.feed_malformed(seen, &mut closed.remarks);
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
        if wrote == Wrote::News {
            self.moves = self.moves.saturating_add(1);
        }
        if wrote != Wrote::Nothing && seen.first && seen.call.tool.effect != Effect::Ui {
            self.work(seen);
        }
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
        if graded || wrote == Wrote::News {
            self.count_gain(seen, wrote, &mut closed.remarks);
        }
        self.list(call.session);
    }

    /// What is malformed never ran. It is a failure like others where other arguments fail in the same way, and it brings
    /// nothing.
    fn feed_malformed(&mut self, seen: &Observation, remarks: &mut Remarks) {
        if seen.judged.expression_error.is_some() {
            return;
        }
        if let Some(session) = self.sessions.get_mut(seen.call.session).filter(|_| &*seen.judged.kind != "unknown_tool")
        {
            session.detectors.same_error.after(seen, remarks);
        }
        self.count_gain(seen, Wrote::Nothing, remarks);
        self.list(seen.call.session);
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
        self.waited = self.waited.saturating_add(1);
        self.moves = self.moves.saturating_add(1);
        self.fruitless.clear();
        self.catch_up(seen.call.session);
        self.no_gain.clear();
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
        // a transfer says nothing but that control was passed on: what was brought meanwhile tells one from another. A click
        // says no more, but the looks between clicks are laps of its own stream
        let worked = if seen.call.tool.transfer { seen.worked } else { 0 };
        let symbol = |member: u64| {
            let result = seen.judged.result?;
            Some(key.join(&[Symbol(member), Symbol(result), Symbol(worked)]).0)
        };
        if let Some(cycle) = &mut detectors.cycle {
            cycle.push(symbol(seen.call.loose), seen.call.loose, seen.call.agent, seen.at);
        }
        if let Some(merged) = &mut self.merged {
            merged.push(symbol(seen.call.member()), seen.call.member(), seen.call.agent, seen.at);
        }
        let by = |stream: &CycleStream| {
            let own = *stream.by();
            move |thresholds: &Detectors, under: Option<&Under>| {
                thresholds.cycle.as_ref()?;
                under.map_or(Some(own), |under| under.cycle)
            }
        };
        if let Some(cycle) = &detectors.cycle {
            remarks.cycle(Reason::Cycle, seen, cycle, by(cycle), |_| true);
        }
        if let Some(merged) = &self.merged {
            remarks.cycle(Reason::Cycle, seen, merged, by(merged), |period| merged.is_shared(period));
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

    /// The task-wide count; it may end the task.
    fn count_gain(&mut self, seen: &Observation, wrote: Wrote, remarks: &mut Remarks) {
        if self.stop.is_some() {
            return;
        }
        let brought = if seen.counts_cells() { seen.cells > 0 } else { seen.gain.count > 0 };
        if wrote == Wrote::News || brought {
            self.no_gain.clear();
        } else if seen.fresh_look.is_none()
            && !seen.passed_over
            && !seen.new_target
            && (!seen.succeeded() || seen.judged.result.is_some())
        {
            self.no_gain.add(seen, remarks);
        }
    }
}

/// One batch is one observation: of equal outcomes of one tool only the first is fed, and so of failures that may pass,
/// whatever they say.
fn is_double(seen: &Observation, earlier: &mut Option<FxHashSet<Fed>>) -> bool {
    let Some(earlier) = earlier else { return false };
    let tool = seen.call.tool_symbol;
    let entry = match seen.judged.result {
        _ if seen.judged.class == Some(ErrorClass::Transient) => Fed::MayPass { tool },
        None => return false,
        Some(_) if seen.judged.failed => match seen.judged.error_key {
            Some(how) => Fed::Failed { tool, how },
            None => return false,
        },
        Some(result) => Fed::Brought { tool, call: seen.call.loose, result },
    };
    !earlier.insert(entry)
}

/// Whether an earlier read of its round and tool brought nothing new either: that is told once.
fn is_idle_again(seen: &Observation, earlier: &mut Option<FxHashSet<Fed>>) -> bool {
    let Some(earlier) = earlier else { return false };
    seen.is_known_read() && seen.gain.count == 0 && !earlier.insert(Fed::Idle { tool: seen.call.tool_symbol })
}

/// Whether an earlier call of its round brought the same, asked for in other words: that is told once.
fn is_alike(seen: &Observation, earlier: &mut Option<FxHashSet<Fed>>) -> bool {
    let Some(earlier) = earlier else { return false };
    let tool = seen.call.tool_symbol;
    let result = seen.judged.result.filter(|_| seen.succeeded());
    result.is_some_and(|result| !earlier.insert(Fed::Alike { tool, result }))
}
