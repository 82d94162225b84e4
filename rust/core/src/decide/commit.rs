//! The only thing of a decision that changes the task: budgets taken, the call out, the round joined.
use std::sync::Arc;

use super::Decision;
use crate::bounds::{make_room, ASKED, PAST_CALLS};
use crate::budget::Elapsed;
use crate::call::Call;
use crate::claims::{with_key, After, Held, Holding};
use crate::detect::{Detector, Dispatch};
use crate::fields::map;
use crate::policy::{Budgets, Limit, Mode, Policy, Retry};
use crate::reply;
use crate::round::{Fate, Member};
use crate::task::{Asked, Out, Task};
use crate::verdict::{Action, Backoff, Finding, IncidentKey, Stop, TimeLeft, Verdict};
use crate::Reason;

impl Task {
    pub(super) fn commit(
        &mut self,
        policy: &Policy,
        (call, call_id): (Arc<Call>, Arc<str>),
        decision: Decision,
        mut held: Held,
        after: &mut After,
    ) -> Verdict {
        let Decision { findings, action, would, reuse_of, reused, retry, takes_step, mut notes, lifted, again } =
            decision;
        let elapsed = self.elapsed(call.session);
        if let Some(error) = &call.form_error {
            notes.push(reply::note_of_error(error, &call_id));
        }
        if let Some(session) = self.sessions.get_mut(call.session) {
            if takes_step {
                self.pool.take_step(&mut session.share);
                if let Some(round) = &mut session.round {
                    round.step_taken = true;
                    round.step_over = findings.iter().any(|finding| finding.reason == Reason::BudgetSteps);
                }
            }
            if action == Action::Allow {
                self.pool.take_call(&mut session.share, &call.tool, retry, 1.0);
            }
        }
        for each in policy.each() {
            let crossed = self.pool.crossed(each, &call.tool, elapsed);
            let told = crossed.into_iter().filter(|_| each.mode != Mode::Audit);
            notes.extend(told.map(|(reason, used, limit)| reply::note_of_share(reason, used, limit, &call_id)));
        }
        self.tally(&lifted);
        if policy.mode == Mode::Audit {
            notes.clear();
        }
        let stop = self.stop_of(policy, &findings, action, &call_id);
        self.journal.judged(&call, &call_id, (self.now, action), &findings, again);
        let verify = match held.grant().and_then(|grant| grant.effect.as_ref()) {
            Some(answer) => self.doubted(policy, &call, answer),
            None => None,
        };
        let key = held.key.take();
        let handed = key.as_ref().and_then(|key| with_key(&call, key)).map(Arc::new);
        let holding = self.hold(action, held, after);
        let fate = self.enter(policy, &call, &call_id, (action, holding), &findings, retry);
        // the ladder climbs by what holds; where nothing is enforced, by what would have happened
        let enforced = policy.mode == Mode::Enforce;
        let judged = if enforced { action } else { would.unwrap_or(action) };
        self.join_round(&call, &call_id, fate, &findings, (judged, enforced));
        Verdict {
            symbol: call.exact,
            tool: Arc::clone(&call.tool.name),
            arguments: Arc::clone(&call.arguments),
            timeout: timeout(policy, &call),
            server: call.tool.server.clone(),
            time_left: time_left(policy, &call, elapsed),
            backoff: call.tool.retry.as_ref().map(backoff),
            call_id,
            action,
            would,
            findings,
            notes,
            reuse_of,
            reused: reused.filter(|_| action == Action::Reuse),
            missing: if action == Action::Stop { self.missing(policy) } else { Vec::new() },
            instead: if action > Action::Allow { self.hops.standing(policy, &call.tool.name) } else { Vec::new() },
            stop,
            bindings: Arc::clone(&policy.bindings),
            lifted,
            idempotency_key: key,
            handed,
            verify,
        }
    }

    fn stop_of(&mut self, policy: &Policy, findings: &[Finding], action: Action, call_id: &str) -> Option<Stop> {
        if action != Action::Stop || self.stop.is_some() {
            return self.stop.clone().filter(|_| action == Action::Stop);
        }
        let finding = findings.iter().find(|finding| finding.holds && finding.action == Action::Stop)?;
        let stop = Stop {
            reason: finding.reason,
            rule: finding.rule.as_deref().map(str::to_owned),
            call_id: call_id.to_owned(),
            at: self.now,
            exit: self.exit_decision(policy),
            evidence: map(finding.evidence.clone()),
        };
        self.stop = Some(stop.clone());
        Some(stop)
    }

    /// What an admission changes at once.
    fn enter(
        &mut self,
        policy: &Policy,
        call: &Arc<Call>,
        call_id: &Arc<str>,
        (action, held): (Action, Option<Box<Holding>>),
        findings: &[Finding],
        retry: bool,
    ) -> Fate {
        let now = self.now;
        let Some(session) = self.sessions.get_mut(call.session) else { return Fate::NotRun };
        if action == Action::Ask {
            let asking = findings.iter().filter(|finding| finding.holds && finding.action == Action::Ask);
            let rules = asking.flat_map(|finding| &finding.incidents).filter_map(|incident| match incident {
                IncidentKey::Rule(rule) => Some(rule.clone()),
                _ => None,
            });
            let told = findings.iter().filter(|finding| finding.action == Action::Ask).map(Finding::told);
            let confirmation = self.confirmed.version(call);
            let asked = Asked { call: Arc::clone(call), rules: rules.collect(), told: told.collect(), confirmation };
            if self.asked.len() >= ASKED {
                let mut numbers: Vec<u64> = self.asked.values().map(|asked| asked.call.number).collect();
                let middle = numbers.len() / 2;
                let (_, median, _) = numbers.select_nth_unstable(middle);
                let median = *median;
                self.asked.retain(|_, asked| asked.call.number > median);
            }
            self.asked.insert(Arc::clone(call_id), asked);
        }
        if action != Action::Allow {
            let undeclared = policy.each().any(|policy| policy.refuses_undeclared(&call.tool.name));
            if undeclared && findings.iter().any(|finding| finding.reason == Reason::UnknownTool) {
                session.detectors.unknown_tool.refused(call, now);
            }
            return Fate::NotRun;
        }
        self.confirmed.use_up(call);
        if retry {
            if let Some(attempts) = self.attempts.get_mut(&call.loose) {
                attempts.retries = attempts.retries.saturating_add(1);
            }
        } else if !self.attempts.is_empty() {
            self.attempts.remove(&call.loose);
        }
        self.dispatch(policy, call, now);
        if self.seen.len() >= PAST_CALLS {
            self.seen.clear();
        }
        let first = self.seen.insert(call.loose);
        let round = self.sessions.get(call.session).and_then(|it| it.round.as_ref()).map_or(0, |round| round.number);
        let substitute = self.hops.dispatched(policy, &self.needs, call, call_id, now);
        self.out_changing = self.out_changing.saturating_add(usize::from(!call.is_read()));
        let (call, approved) = (Arc::clone(call), false);
        let (read_version, dispatched) = (self.read_version, self.claim_time());
        let out =
            Out { call, round, first, retry, read_version, approved, substitute, held, dispatched, follows: None };
        self.out.insert(Arc::clone(call_id), out);
        Fate::Out
    }

    /// What a call keeps of what was claimed for it; what does not run gives it back.
    fn hold(&mut self, action: Action, held: Held, after: &mut After) -> Option<Box<Holding>> {
        let is_granted = held.grant().map(|grant| grant.taken);
        let Held { claim: Some(mut claim), verification, .. } = held else { return None };
        let holds = is_granted.is_some_and(|taken| taken || claim.forced);
        if action != Action::Allow {
            if holds {
                after.releases.push((claim.id, claim.task));
            }
            return None;
        }
        // nobody answered, and the policy lets it run all the same
        is_granted?;
        if !holds {
            // it runs although its claim was refused, as where an exception lifts that: it takes what can be had
            claim.id = self.claim_id();
            claim.forced = true;
            after.forced.push((*claim).clone());
        }
        Some(Box::new(Holding { claim, verification }))
    }

    /// Tells the detectors that a call is on its way, for each policy that applies: a cool-down of any of them may have let
    /// it through.
    pub(crate) fn dispatch(&mut self, policy: &Policy, call: &Call, now: f64) {
        let uncovered = call.asked.as_ref().is_some_and(|asked| self.known.is_uncovered(asked));
        for policy in policy.each() {
            let thresholds = if policy.binding.is_none() { None } else { Some(policy.thresholds(&call.tool)) };
            let thresholds = thresholds.as_deref().unwrap_or(&call.tool.detectors);
            let transfer_cycle = policy.transfer_cycle.as_ref();
            self.dispatch_under(policy, call, Dispatch { call, now, uncovered, thresholds, transfer_cycle });
        }
        self.stir(call);
    }

    fn dispatch_under(&mut self, policy: &Policy, call: &Call, dispatch: Dispatch<'_>) {
        let Some(session) = self.sessions.get_mut(call.session) else { return };
        for detector in session.detectors.all_mut() {
            detector.dispatched(dispatch);
        }
        session.detectors.frequency.dispatched(dispatch, &session.detectors.window);
        if let Some(by) = &policy.cycle {
            if let Some(cycle) = &mut session.detectors.cycle {
                cycle.dispatched(call.loose, dispatch.now, call, by);
            }
            if let Some(merged) = &mut self.merged {
                merged.dispatched(call.member(), dispatch.now, call, by);
            }
        }
        self.denied.dispatched(dispatch);
        self.states.dispatched(dispatch);
        self.transfers.dispatched(dispatch);
    }

    fn join_round(
        &mut self,
        call: &Arc<Call>,
        call_id: &Arc<str>,
        fate: Fate,
        findings: &[Finding],
        (judged, enforced): (Action, bool),
    ) {
        let mut incidents: Vec<IncidentKey> = Vec::new();
        let counts = !findings.iter().any(|finding| finding.reason == Reason::Stopped);
        // what is asked counts for nothing: only the answer does
        if judged > Action::Allow && judged != Action::Ask && counts {
            let counts = |finding: &&Finding| (finding.holds || !enforced) && finding.reason != Reason::Rule;
            let holding = findings.iter().filter(counts);
            for incident in holding.flat_map(|finding| &finding.incidents) {
                if !incidents.contains(incident) {
                    incidents.push(incident.clone());
                }
            }
        }
        let Some(round) = self.sessions.get_mut(call.session).and_then(|session| session.round.as_mut()) else {
            return;
        };
        // a call with a bad id has no answer of its own to share
        if !findings.iter().any(|finding| finding.reason == Reason::BadCallId) {
            round.firsts.entry(call.exact.0).or_insert_with(|| Arc::clone(call_id));
        }
        let (call_id, number, reused) = (Arc::clone(call_id), call.number, judged == Action::Reuse);
        round.join(Member { call_id, number, fate, incidents, reused });
    }

    /// A call that may change something was dispatched or ended.
    pub(crate) fn stir(&mut self, call: &Call) {
        if call.tool.effect.may_change() {
            self.read_version = self.read_version.saturating_add(1);
            self.stirred = self.stirred.saturating_add(1);
            make_room(&mut self.stirred_by, &call.loose, PAST_CALLS);
            let own = self.stirred_by.entry(call.loose).or_default();
            *own = own.saturating_add(1);
        }
    }
}

/// What the strictest of the policies that apply leave each layer.
fn time_left(policy: &Policy, call: &Call, elapsed: Elapsed) -> TimeLeft {
    let left = |limit: fn(&Budgets) -> Limit, spent: f64| {
        policy.each().filter_map(|policy| limit(&policy.budgets)).reduce(f64::min).map(|limit| (limit - spent).max(0.0))
    };
    TimeLeft {
        server: call.tool.server.as_ref().and_then(|_| left(|budgets| budgets.server_time, 0.0)),
        step: left(|budgets| budgets.step_time, elapsed.step),
        task: left(|budgets| budgets.task_time, elapsed.task),
        workflow: left(|budgets| budgets.workflow_time, elapsed.workflow),
    }
}

fn backoff(retry: &Retry) -> Backoff {
    Backoff { initial: retry.initial, factor: retry.factor, longest: retry.longest, jitter: retry.jitter }
}

/// The tool's own, else the shortest of what the policies give every tool.
pub(crate) fn timeout(policy: &Policy, call: &Call) -> Option<f64> {
    call.tool.timeout.or_else(|| policy.each().filter_map(|policy| policy.budgets.tool_time).reduce(f64::min))
}
