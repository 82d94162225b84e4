//! `admit`: may these calls run? Deciding reads the state; committing is the only thing that changes it.
use std::sync::Arc;

use callgate_value::Value;

use crate::budget::{Elapsed, Need, Pool, Share};
use crate::call::{Call, Request};
use crate::detect::{diversity, Before, Detector, Dispatch};
use crate::expression::EvaluationError;
use crate::identify::identify;
use crate::policy::{Mode, Phase, Policy, RuleEffect};
use crate::reply;
use crate::round::{Fate, Member};
use crate::scope::RuleScope;
use crate::task::{Out, Task};
use crate::verdict::{Action, ExitDecision, Finding, IncidentKey, Note, Stop, Verdict};
use crate::Reason;

/// What is decided of one call, before anything is changed.
struct Decision {
    findings: Vec<Finding>,
    action: Action,
    would: Option<Action>,
    reuse_of: Option<Arc<str>>,
    reused: Option<(Arc<Value>, f64)>,
    retry: bool,
    takes_step: bool,
}

/// What budgets are judged by: the task's, or a trial copy of them.
#[derive(Clone, Copy)]
struct Funds<'a> {
    pool: &'a Pool,
    share: &'a Share,
}

impl Task {
    /// Judges a batch: the calls that the model made in one turn, before any of them starts. Verdicts come in the order
    /// of the requests, one each. Outside an explicit round the batch is a round of its own.
    pub fn admit(&mut self, policy: &Policy, agent: &str, requests: &[Request], now: Option<f64>) -> Vec<Verdict> {
        let now = self.clock(now);
        let session = self.session(policy, agent);
        let explicit = self.sessions.get(session).and_then(|it| it.round.as_ref()).is_some_and(|round| round.explicit);
        if !explicit {
            self.close_round(policy, session);
            self.open_round(session, false, now);
        }
        let agent_symbol = self.sessions.get(session).map_or(0, |session| session.agent_symbol);
        let calls: Vec<Arc<Call>> = requests
            .iter()
            .zip(self.next_number..)
            .map(|(request, number)| Arc::new(identify(policy, &self.key, request, session, (agent_symbol, number))))
            .collect();
        self.next_number = self.next_number.saturating_add(calls.len() as u64);
        let ids = self.call_ids(requests);
        let forced = if policy.budgets.all_or_nothing && calls.len() > 1 && policy.mode == Mode::Enforce {
            self.over_budget(policy, session, calls.iter().zip(&ids))
        } else {
            None
        };
        let mut verdicts = Vec::with_capacity(calls.len());
        for (call, (id, is_bad)) in calls.into_iter().zip(ids) {
            let decision = self.decide_now(policy, &call, (&id, is_bad), forced.as_ref());
            verdicts.push(self.commit(policy, call, id, decision));
        }
        let mut earlier = std::mem::take(&mut self.remarks);
        if policy.mode == Mode::Audit {
            earlier.clear();
        }
        if let Some(first) = verdicts.first_mut() {
            first.notes.splice(0..0, earlier.into_iter().map(reply::note));
        }
        self.close_if_settled(policy, session);
        verdicts
    }

    /// Each call's id, and whether it cannot be used.
    fn call_ids(&mut self, requests: &[Request]) -> Vec<(Arc<str>, bool)> {
        let mut ids: Vec<(Arc<str>, bool)> = Vec::with_capacity(requests.len());
        for request in requests {
            let entry = if let Some(id) = &request.call_id {
                let is_taken = |id: &Arc<str>| self.out.contains_key(id) || self.asked.contains_key(id);
                let is_bad = is_taken(id) || ids.iter().any(|(earlier, _)| earlier == id);
                (Arc::clone(id), is_bad)
            } else {
                loop {
                    self.next_call = self.next_call.saturating_add(1);
                    let id: Arc<str> = format!("call-{}", self.next_call).into();
                    let given = requests.iter().any(|other| other.call_id.as_ref() == Some(&id));
                    if !given && !self.out.contains_key(&id) && !self.asked.contains_key(&id) {
                        break (id, false);
                    }
                }
            };
            ids.push(entry);
        }
        ids
    }

    /// `all_or_nothing`: the budget finding of the first call of the batch that does not fit, if one does not.
    fn over_budget<'c>(
        &self,
        policy: &Policy,
        session: usize,
        calls: impl Iterator<Item = (&'c Arc<Call>, &'c (Arc<str>, bool))>,
    ) -> Option<Finding> {
        let mut pool = self.pool.clone();
        let mut share = self.sessions.get(session)?.share.clone();
        let mut firsts: Vec<u64> = Vec::new();
        for (call, (_, is_bad)) in calls {
            // a call with a bad id sinks no batch
            if *is_bad || firsts.contains(&call.exact.0) {
                continue;
            }
            firsts.push(call.exact.0);
            let decision = self.decide(policy, call, ("", false), Funds { pool: &pool, share: &share }, None);
            if let Some(finding) = decision.findings.into_iter().find(|finding| is_budget(finding.reason)) {
                return Some(finding);
            }
            if decision.action == Action::Allow {
                pool.take_call(&mut share, &call.tool, decision.retry, 1.0);
            }
        }
        None
    }

    fn decide_now(&self, policy: &Policy, call: &Call, id: (&str, bool), forced: Option<&Finding>) -> Decision {
        let Some(session) = self.sessions.get(call.session) else { return Decision::nothing() };
        self.decide(policy, call, id, Funds { pool: &self.pool, share: &session.share }, forced)
    }

    fn decide(
        &self,
        policy: &Policy,
        call: &Call,
        (call_id, bad_id): (&str, bool),
        funds: Funds<'_>,
        forced: Option<&Finding>,
    ) -> Decision {
        let Some(session) = self.sessions.get(call.session) else { return Decision::nothing() };
        let round = session.round.as_ref();
        let first = round.and_then(|round| round.firsts.get(&call.exact.0)).cloned();
        let may_finish = policy.budgets.reserve_for.iter().any(|name| **name == *call.tool.name);
        let stopped = self.stop.as_ref().filter(|_| !may_finish);
        if let (Some(first), false, None) = (first, bad_id, stopped) {
            return Decision::coalesced(policy, first, session.attempts.contains_key(&call.loose));
        }
        let mut findings = Vec::new();
        if let Some(stop) = stopped {
            let evidence = vec![("stopped_by", Value::from(stop.reason.name())), ("at", Value::Float(stop.at))];
            findings.push(Finding::refuse(Reason::Stopped, evidence));
        }
        if bad_id {
            findings.push(Finding::refuse(Reason::BadCallId, Vec::new()));
        }
        let elapsed = self.elapsed(call.session);
        let retry = session.attempts.contains_key(&call.loose);
        let needs_step = !round.is_some_and(|round| round.step_taken);
        // where nothing is enforced the step is taken all the same, and every call of the round says that it is one too many
        let over = round.is_some_and(|round| round.step_over);
        let need = Need { step: needs_step || over, retry };
        self.gather(policy, call, &mut findings);
        funds.pool.check(&policy.budgets, funds.share, &call.tool, need, elapsed, &mut findings);
        if let Some(forced) = forced.filter(|forced| !findings.iter().any(|finding| finding.reason == forced.reason)) {
            findings.push(forced.clone());
        }
        self.ask_rules(policy, call, call_id, elapsed, &mut findings);
        findings.sort_by_key(|finding| finding.reason);
        self.climb(policy, &mut findings);
        let reused = self.reuse(policy, call, &findings);
        if reused.is_some() {
            for finding in findings.iter_mut().filter(|finding| finding.action == Action::Refuse) {
                finding.action = Action::Reuse;
            }
        }
        let strongest = findings.iter().map(|finding| finding.action).max().unwrap_or(Action::Allow);
        let softened = policy.mode != Mode::Enforce && strongest > Action::Allow && !bad_id;
        let holds_no_step =
            |finding: &Finding| matches!(finding.reason, Reason::Stopped | Reason::BudgetTime | Reason::BudgetSteps);
        Decision {
            takes_step: needs_step && (softened || !findings.iter().any(holds_no_step)),
            action: if softened { Action::Allow } else { strongest },
            would: softened.then_some(strongest),
            findings,
            reuse_of: None,
            reused,
            retry,
        }
    }

    /// What tools, denials, effects and detectors say.
    pub(crate) fn gather(&self, policy: &Policy, call: &Call, findings: &mut Vec<Finding>) {
        let Some(session) = self.sessions.get(call.session) else { return };
        let detectors = &session.detectors;
        let uncovered = call.asked.as_ref().is_some_and(|asked| self.known.is_uncovered(asked));
        let before = Before { call, now: self.now, window: &detectors.window, uncovered };
        if !call.tool.declared && policy.refuse_undeclared {
            let near = nearest(policy, &call.tool.name);
            let evidence = near.into_iter().map(|name| ("nearest", Value::from(name.as_str()))).collect();
            let incident = IncidentKey::Tool { session: call.session, tool: call.tool_symbol };
            findings.push(Finding::refuse(Reason::UnknownTool, evidence).within(incident));
        }
        if let Some(fault) = &call.fault {
            let incident = IncidentKey::Tool { session: call.session, tool: call.tool_symbol };
            let mut finding = Finding::refuse(Reason::InvalidArguments, Vec::new()).within(incident);
            finding.message = Some(fault.to_string());
            findings.push(finding);
        }
        if let Some(finding) = invalid(call) {
            findings.push(finding);
        }
        for detector in detectors.all() {
            let doubled = |finding: &Finding| findings.iter().any(|other| other.reason == finding.reason);
            if let Some(finding) = detector.before(&before).filter(|finding| !doubled(finding)) {
                findings.push(finding);
            }
        }
        findings.extend(detectors.frequency.before(&before));
        findings.extend(diversity::before(&before));
        findings.extend(self.denied.before(&before));
        findings.extend(self.effects.findings(&before).into_iter().flatten());
        findings.extend(self.states.before(&before));
        findings.extend(self.transfers.findings(&before).into_iter().flatten());
        findings.extend(self.cycle_finding(call));
    }

    /// The session's cycle and the merged one where it spans agents: one finding, in the incidents of both.
    fn cycle_finding(&self, call: &Call) -> Option<Finding> {
        call.tool.detectors.cycle.as_ref()?;
        let own = self.sessions.get(call.session)?.detectors.cycle.as_ref();
        let own = own.filter(|cycle| cycle.refuses(call.loose, self.now));
        let merged = self.merged.as_ref().filter(|cycle| cycle.refuses(call.member(), self.now) && cycle.is_shared());
        let mut finding = Finding::refuse(Reason::Cycle, own.or(merged)?.evidence());
        finding.incidents.extend(own.map(|cycle| IncidentKey::of_cycle(Some(call.session), cycle.members())));
        finding.incidents.extend(merged.map(|cycle| IncidentKey::of_cycle(None, cycle.members())));
        Some(finding)
    }

    /// The author's rules of `admit`, in their order.
    fn ask_rules(&self, policy: &Policy, call: &Call, call_id: &str, elapsed: Elapsed, findings: &mut Vec<Finding>) {
        let mut rules = policy.rules.iter().filter(|rule| rule.phase == Phase::Admit && rule.is_about(call)).peekable();
        if rules.peek().is_none() {
            return;
        }
        let scope = RuleScope::of_admission(self, policy, call, call_id, elapsed);
        for rule in rules {
            match rule.when.test(&scope) {
                Ok(false) => {}
                Ok(true) => {
                    let mut finding = Finding::refuse(Reason::Rule, Vec::new());
                    finding.action = match rule.action {
                        RuleEffect::Hold(action) => action,
                        RuleEffect::Note | RuleEffect::Retry | RuleEffect::Exit => Action::Allow,
                    };
                    finding.rule = Some(Arc::clone(&rule.id));
                    finding.code.clone_from(&rule.code);
                    finding.message = rule.words(&scope);
                    findings.push(finding);
                }
                Err(error) => findings.push(policy_error(policy, call, &rule.id, rule.when.source(), &error)),
            }
        }
    }

    /// A refusal of an incident that was refused often enough is a stop.
    fn climb(&self, policy: &Policy, findings: &mut [Finding]) {
        if findings.iter().any(|finding| finding.reason == Reason::Stopped) {
            return;
        }
        for finding in findings.iter_mut().filter(|finding| finding.action == Action::Refuse) {
            let bound = if finding.reason.is_deterministic() {
                policy.ladder.deterministic_stop_after
            } else {
                policy.ladder.stop_after_refusals
            };
            let reached = |incident| bound.is_some_and(|bound| self.incidents.counted(incident) >= bound);
            if finding.incidents.iter().any(reached) {
                finding.action = Action::Stop;
            }
        }
    }

    /// The stored result that may be handed out instead of a refusal.
    fn reuse(&self, policy: &Policy, call: &Call, findings: &[Finding]) -> Option<(Arc<Value>, f64)> {
        if !call.is_read() || policy.ladder.reuse_reads == 0 {
            return None;
        }
        let mut against = findings.iter().filter(|finding| finding.action >= Action::Ask).peekable();
        against.peek()?;
        let may_reuse = |finding: &Finding| {
            let reuses = |incident| self.incidents.get(incident).map_or(0, |incident| incident.reuses);
            finding.action == Action::Refuse
                && finding.reason.may_reuse()
                && !finding.incidents.is_empty()
                && finding.incidents.iter().all(|incident| reuses(incident) < policy.ladder.reuse_reads)
        };
        if !against.all(may_reuse) || self.out.values().any(|out| !out.call.is_read()) {
            return None;
        }
        let stored = self.stored.get(&call.exact.0)?;
        let age = self.now - stored.at;
        let unchanged = stored.at_dispatch == self.read_version && stored.at_end == self.read_version;
        (unchanged && age < call.tool.cache_ttl).then(|| (Arc::clone(&stored.result), age))
    }

    fn commit(&mut self, policy: &Policy, call: Arc<Call>, call_id: Arc<str>, decision: Decision) -> Verdict {
        let Decision { findings, action, would, reuse_of, reused, retry, takes_step } = decision;
        let elapsed = self.elapsed(call.session);
        let mut notes: Vec<Note> = Vec::new();
        if policy.mode == Mode::Warn && would.is_some() {
            notes.extend(findings.iter().map(|finding| reply::note_of_finding(finding, &call, &call_id)));
        }
        let advised = findings.iter().filter(|finding| finding.action == Action::Allow);
        notes.extend(advised.map(|finding| reply::note_of_finding(finding, &call, &call_id)));
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
        for (reason, used, limit) in self.pool.crossed(&policy.budgets, &call.tool, elapsed) {
            notes.push(reply::note_of_share(reason, used, limit, &call_id));
        }
        if policy.mode == Mode::Audit {
            notes.clear();
        }
        let stop = self.stop_of(&findings, action, &call_id);
        let fate = self.enter(policy, &call, &call_id, action, &findings, retry);
        self.join_round(&call, &call_id, fate, &findings, would.unwrap_or(action));
        Verdict {
            symbol: call.exact,
            tool: Arc::clone(&call.tool.name),
            arguments: Arc::clone(&call.arguments),
            timeout: timeout(policy, &call),
            call_id,
            action,
            would,
            findings,
            notes,
            reuse_of,
            reused: reused.filter(|_| action == Action::Reuse),
            stop,
        }
    }

    fn stop_of(&mut self, findings: &[Finding], action: Action, call_id: &str) -> Option<Stop> {
        if action != Action::Stop || self.stop.is_some() {
            return self.stop.clone().filter(|_| action == Action::Stop);
        }
        let finding = findings.iter().find(|finding| finding.action == Action::Stop)?;
        let stop = Stop {
            reason: finding.reason,
            rule: finding.rule.as_deref().map(str::to_owned),
            call_id: call_id.to_owned(),
            at: self.now,
            exit: ExitDecision::Escalate,
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
        action: Action,
        findings: &[Finding],
        retry: bool,
    ) -> Fate {
        let now = self.now;
        let Some(session) = self.sessions.get_mut(call.session) else { return Fate::NotRun };
        if action == Action::Ask {
            self.asked.insert(Arc::clone(call_id), Arc::clone(call));
        }
        if action != Action::Allow {
            let undeclared = !call.tool.declared && policy.refuse_undeclared;
            if undeclared && findings.iter().any(|finding| finding.reason == Reason::UnknownTool) {
                session.detectors.unknown_tool.refused(call, now);
            }
            return Fate::NotRun;
        }
        if retry {
            if let Some(attempts) = session.attempts.get_mut(&call.loose) {
                attempts.retries = attempts.retries.saturating_add(1);
            }
        }
        self.dispatch(call, now);
        let first = self.seen.insert(call.loose);
        let round = self.sessions.get(call.session).and_then(|it| it.round.as_ref()).map_or(0, |round| round.number);
        let out = Out { call: Arc::clone(call), round, first, retry, read_version: self.read_version, approved: false };
        self.out.insert(Arc::clone(call_id), out);
        Fate::Out
    }

    /// Tells the detectors that a call is on its way.
    pub(crate) fn dispatch(&mut self, call: &Call, now: f64) {
        let uncovered = call.asked.as_ref().is_some_and(|asked| self.known.is_uncovered(asked));
        let dispatch = Dispatch { call, now, uncovered };
        let Some(session) = self.sessions.get_mut(call.session) else { return };
        for detector in session.detectors.all_mut() {
            detector.dispatched(dispatch);
        }
        session.detectors.frequency.dispatched(dispatch, &session.detectors.window);
        if let Some(cycle) = &mut session.detectors.cycle {
            cycle.dispatched(call.loose, now, call);
        }
        if let Some(merged) = &mut self.merged {
            merged.dispatched(call.member(), now, call);
        }
        self.denied.dispatched(dispatch);
        self.states.dispatched(dispatch);
        self.transfers.dispatched(dispatch);
        self.stir(call);
    }

    fn join_round(&mut self, call: &Arc<Call>, call_id: &Arc<str>, fate: Fate, findings: &[Finding], judged: Action) {
        let mut incidents: Vec<IncidentKey> = Vec::new();
        let counts = !findings.iter().any(|finding| finding.reason == Reason::Stopped);
        if judged > Action::Allow && counts {
            for incident in findings.iter().flat_map(|finding| &finding.incidents) {
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
        round.members.push(Member { call_id: Arc::clone(call_id), fate, incidents, reused: judged == Action::Reuse });
    }

    /// A call that may change something was dispatched or ended.
    pub(crate) fn stir(&mut self, call: &Call) {
        if call.tool.effect.may_change() {
            self.read_version = self.read_version.saturating_add(1);
            self.stirred = self.stirred.saturating_add(1);
            let own = self.stirred_by.entry(call.loose).or_default();
            *own = own.saturating_add(1);
        }
    }

    /// A person says yes to a call that was asked about: it is judged once more, without what asked.
    ///
    /// # Errors
    /// The id, if no call of that id was asked about.
    pub fn approve(&mut self, policy: &Policy, call_id: &str, now: Option<f64>) -> Result<Verdict, String> {
        self.clock(now);
        let Some((id, call)) = self.asked.remove_entry(call_id) else { return Err(call_id.to_owned()) };
        self.confirmation = self.confirmation.saturating_add(1);
        self.denied.lift(&call);
        let session = call.session;
        let implicit = self.sessions.get(session).is_some_and(|session| session.round.is_none());
        if implicit {
            self.open_round(session, false, self.now);
            // the step was taken when the model made the call
            if let Some(round) = self.sessions.get_mut(session).and_then(|session| session.round.as_mut()) {
                round.step_taken = true;
            }
        }
        if let Some(round) = self.sessions.get_mut(session).and_then(|session| session.round.as_mut()) {
            round.members.retain(|member| *member.call_id != *id);
            // it coalesces with an equal call of its round that was dispatched, and only with such
            let ran = |first: &Arc<str>| {
                round.members.iter().any(|member| member.call_id == *first && !matches!(member.fate, Fate::NotRun))
            };
            let equal = round.firsts.get(&call.exact.0).is_some_and(ran);
            if !equal {
                round.firsts.remove(&call.exact.0);
            }
        }
        let mut decision = self.decide_now(policy, &call, (&id, false), None);
        decision.findings.retain(|finding| finding.action != Action::Ask);
        if decision.action == Action::Ask {
            decision.action = Action::Allow;
        }
        let loose = call.loose;
        let verdict = self.commit(policy, call, id, decision);
        if verdict.action == Action::Allow {
            self.incidents.close(&IncidentKey::TaskCall { call: loose });
        }
        if let Some(out) = self.out.get_mut(&verdict.call_id) {
            out.approved = true;
        }
        self.close_if_settled(policy, session);
        Ok(verdict)
    }

    /// A person says no. The call goes on record: issued again, it is refused without asking.
    ///
    /// # Errors
    /// The id, if no call of that id was asked about.
    pub fn deny(&mut self, call_id: &str, now: Option<f64>) -> Result<Vec<Note>, String> {
        let now = self.clock(now);
        let Some((id, call)) = self.asked.remove_entry(call_id) else { return Err(call_id.to_owned()) };
        self.denied.record(&call, now);
        let noted = call.tool.detectors.denied.is_some_and(|rungs| rungs.notes(1));
        let finding = Finding::refuse(Reason::Denied, Vec::new());
        Ok(noted.then(|| reply::note_of_finding(&finding, &call, &id)).into_iter().collect())
    }
}

impl Decision {
    fn nothing() -> Self {
        let findings = vec![Finding::refuse(Reason::BadCallId, Vec::new())];
        let (would, reuse_of, reused) = (None, None, None);
        Self { findings, action: Action::Refuse, would, reuse_of, reused, retry: false, takes_step: false }
    }

    /// The same call stands earlier in the round: its answer serves this one too.
    fn coalesced(policy: &Policy, first: Arc<str>, retry: bool) -> Self {
        let mut finding = Finding::refuse(Reason::DuplicateInBatch, vec![("first", Value::from(&*first))]);
        finding.action = Action::Reuse;
        let softened = policy.mode != Mode::Enforce;
        Self {
            findings: vec![finding],
            action: if softened { Action::Allow } else { Action::Reuse },
            would: softened.then_some(Action::Reuse),
            reuse_of: Some(first).filter(|_| !softened),
            reused: None,
            retry: retry && softened,
            takes_step: false,
        }
    }
}

fn is_budget(reason: Reason) -> bool {
    reason >= Reason::BudgetSteps && reason <= Reason::BudgetTime
}

fn policy_error(policy: &Policy, call: &Call, rule: &Arc<str>, source: &str, error: &EvaluationError) -> Finding {
    let evidence = vec![("rule", Value::from(&**rule)), ("kind", Value::from(error.kind()))];
    let mut finding = Finding::refuse(Reason::PolicyError, evidence);
    finding.message = Some(format!("`{source}`: {error}"));
    if policy.on_error_allow_reads && call.is_read() {
        finding.action = Action::Allow;
    }
    finding
}

fn timeout(policy: &Policy, call: &Call) -> Option<f64> {
    match (call.tool.timeout, policy.budgets.tool_time) {
        (Some(own), _) => Some(own),
        (None, general) => general,
    }
}

/// What the tool's schema says of the arguments.
fn invalid(call: &Call) -> Option<Finding> {
    let schema = call.tool.parameters.as_ref().filter(|_| call.fault.is_none())?;
    let faults = schema.faults(&call.arguments);
    let told: Vec<String> = faults.iter().map(|fault| format!("{}: {}", fault.path, fault.message)).collect();
    let first = told.first()?;
    let more = told.len().saturating_sub(1);
    let message = match more {
        0 => format!("`{}` does not take these arguments: {first}", call.tool.name),
        _ => format!("`{}` does not take these arguments: {first} (and {more} more)", call.tool.name),
    };
    let evidence = vec![("faults", Value::List(told.iter().map(|fault| Value::from(fault.as_str())).collect()))];
    let incident = IncidentKey::Call { session: call.session, call: call.loose };
    let mut finding = Finding::refuse(Reason::InvalidArguments, evidence).within(incident);
    finding.message = Some(message);
    Some(finding)
}

/// Names of declared tools that look like this one, nearest first, three at most.
fn nearest(policy: &Policy, name: &str) -> Vec<String> {
    let mut near: Vec<(f64, &str)> = policy
        .tools
        .keys()
        .map(|known| (strsim::jaro_winkler(name, known), known.as_str()))
        .filter(|(likeness, _)| *likeness >= 0.75)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    near.into_iter().take(3).map(|(_, known)| known.to_owned()).collect()
}
