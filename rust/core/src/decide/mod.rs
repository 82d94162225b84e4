//! What is decided of one call: reads the state and changes nothing.
mod approval;
mod batch;
mod commit;
mod findings;
mod held;
mod ladder;
mod revise;
mod rules;
mod strictest;

use std::sync::Arc;

use callgate_value::Value;

use crate::budget::{Need, Pool, Share};
use crate::call::Call;
use crate::claims::Held;
use crate::policy::{Mode, Policy};
use crate::reply;
use crate::task::Task;
use crate::verdict::{Action, AskedBy, Finding, Lifted, Note};
use crate::Reason;

pub(crate) use approval::Approval;
pub(crate) use commit::timeout;

/// What is decided of one call, before anything is changed.
struct Decision {
    findings: Vec<Finding>,
    action: Action,
    would: Option<Action>,
    reuse_of: Option<Arc<str>>,
    reused: Option<(Arc<Value>, f64)>,
    retry: bool,
    takes_step: bool,
    notes: Vec<Note>,
    lifted: Vec<Lifted>,
    /// It was asked about, and a person said yes.
    again: bool,
}

/// What budgets are judged by: the task's, or a trial copy of them.
#[derive(Clone, Copy)]
struct Funds<'a> {
    pool: &'a Pool,
    share: &'a Share,
}

/// What is settled before a call is judged.
#[derive(Clone, Copy, Default)]
struct Given<'a> {
    /// For each policy that applies a finding that must be among its own.
    forced: &'a [Option<Finding>],
    /// What a person was told who said yes: it asks no more.
    told: &'a [AskedBy],
    /// What the call holds; nothing of most reads.
    held: Option<&'a Held>,
}

/// What a call holds that claims nothing.
static NOTHING_HELD: Held = Held { key: None, key_error: None, claim: None, answer: None, verification: None };

impl Task {
    fn decide_now(&self, policy: &Policy, call: &Call, id: (&str, bool), given: Given<'_>) -> Decision {
        let Some(session) = self.sessions.get(call.session) else { return Decision::nothing() };
        self.decide(policy, call, id, Funds { pool: &self.pool, share: &session.share }, given)
    }

    /// The strictest of what the policies say that apply.
    fn decide(&self, policy: &Policy, call: &Call, id: (&str, bool), funds: Funds<'_>, given: Given<'_>) -> Decision {
        let forced = given.forced.iter().map(Option::as_ref).chain(std::iter::repeat(None));
        let decisions = policy.each().zip(forced).map(|(policy, forced)| {
            let decision = self.decide_under(policy, call, id, funds, (forced, given));
            (policy.mode, decision)
        });
        strictest::strictest(decisions).unwrap_or_else(Decision::nothing)
    }

    /// What one policy says.
    fn decide_under(
        &self,
        policy: &Policy,
        call: &Call,
        (call_id, bad_id): (&str, bool),
        funds: Funds<'_>,
        (forced, Given { told, held, .. }): (Option<&Finding>, Given<'_>),
    ) -> Decision {
        let held = held.unwrap_or(&NOTHING_HELD);
        let Some(session) = self.sessions.get(call.session) else { return Decision::nothing() };
        let round = session.round.as_ref();
        let first = round.and_then(|round| round.firsts.get(&call.exact.0)).cloned();
        let stopped = self.stop.as_ref().filter(|_| !policy.budgets.may_finish(&call.tool));
        let elapsed = self.elapsed(call.session);
        let retry = self.is_retry(call.loose);
        let needs_step = !round.is_some_and(|round| round.step_taken);
        if let (Some(first), false, None) = (first, bad_id, stopped) {
            let mut decision = Decision::coalesced(policy, first, retry);
            // where its equal was approved, which takes no step, this one begins the model's
            if needs_step {
                let mut over = Vec::new();
                funds.pool.check(policy, funds.share, &call.tool, Need { step: true, retry }, elapsed, &mut over);
                decision.takes_step = policy.mode != Mode::Enforce || !over.iter().any(holds_no_step);
            }
            decision.notes = notes(policy, call, call_id, &decision);
            return decision;
        }
        let mut findings = Vec::new();
        if let Some(stop) = stopped {
            let evidence = vec![("stopped_by", Value::from(stop.reason.name())), ("at", Value::Float(stop.at))];
            findings.push(Finding::refuse(Reason::Stopped, evidence));
        }
        if bad_id {
            findings.push(Finding::refuse(Reason::BadCallId, Vec::new()));
        }
        // where nothing is enforced the step is taken all the same, and every call of the round says that it is one too many
        let over = round.is_some_and(|round| round.step_over);
        let need = Need { step: needs_step || over, retry };
        self.gather(policy, call, held, &mut findings);
        funds.pool.check(policy, funds.share, &call.tool, need, elapsed, &mut findings);
        Self::gather_short(policy, held, &mut findings);
        if let Some(forced) = forced.filter(|forced| !findings.iter().any(|finding| finding.reason == forced.reason)) {
            findings.push(forced.clone());
        }
        self.ask_rules(policy, call, call_id, (funds.pool, elapsed), &mut findings);
        findings.sort_by_key(|finding| finding.reason);
        let lifted = self.lift(policy, call, &session.agent, &mut findings);
        self.climb(policy, &mut findings);
        findings.retain(|finding| {
            let is_answered = || told.contains(&finding.told()) || self.confirmed.covers(call, &finding.told());
            finding.action != Action::Ask || !is_answered()
        });
        let already = self.already(held, &mut findings);
        let reused = self.reuse(policy, call, &findings);
        if reused.is_some() {
            for finding in findings.iter_mut().filter(|finding| finding.action == Action::Refuse) {
                finding.action = Action::Reuse;
            }
        }
        let strongest = findings.iter().map(|finding| finding.action).max().unwrap_or(Action::Allow);
        let softened = policy.mode != Mode::Enforce && strongest > Action::Allow && !bad_id;
        let mut decision = Decision {
            takes_step: needs_step && (softened || !findings.iter().any(holds_no_step)),
            action: if softened { Action::Allow } else { strongest },
            would: softened.then_some(strongest),
            findings,
            reuse_of: None,
            reused: reused.or(already),
            retry,
            notes: Vec::new(),
            lifted,
            again: false,
        };
        decision.notes = notes(policy, call, call_id, &decision);
        decision
    }
}

/// Whether a round takes no step for want of this.
fn holds_no_step(finding: &Finding) -> bool {
    matches!(finding.reason, Reason::Stopped | Reason::BudgetTime | Reason::BudgetSteps)
}

/// What the model should read beside a result: what is only noted, and in mode `warn` everything.
fn notes(policy: &Policy, call: &Call, call_id: &str, decision: &Decision) -> Vec<Note> {
    if policy.mode == Mode::Audit || decision.findings.is_empty() {
        return Vec::new();
    }
    let softened = policy.mode == Mode::Warn && decision.would.is_some();
    let told = decision.findings.iter().filter(|finding| finding.action == Action::Allow || softened);
    let call_id: Arc<str> = call_id.into();
    told.map(|finding| reply::note_of_finding(finding, call, &call_id)).collect()
}

impl Decision {
    fn nothing() -> Self {
        let findings = vec![Finding::refuse(Reason::BadCallId, Vec::new())];
        let (would, reuse_of, reused, notes, lifted) = (None, None, None, Vec::new(), Vec::new());
        Self {
            findings,
            action: Action::Refuse,
            would,
            reuse_of,
            reused,
            retry: false,
            takes_step: false,
            notes,
            lifted,
            again: false,
        }
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
            notes: Vec::new(),
            lifted: Vec::new(),
            again: false,
        }
    }
}
