//! What the answer to a call's claim has against it, apart from its effect: the store itself, breakers, denials and budgets
//! that are shared; and what an earlier call under the same key brought.
use std::sync::Arc;

use callgate_value::{read_json, Value};

use crate::call::Call;
use crate::claims::Held;
use crate::detect::repeated_effect::ALREADY_CREATED;
use crate::policy::{Mode, Policy};
use crate::shared::EffectAnswer;
use crate::task::Task;
use crate::verdict::{Action, Finding, IncidentKey};
use crate::Reason;

impl Task {
    /// What stands against a call that could not hold what it claims.
    pub(crate) fn gather_held(&self, policy: &Policy, call: &Call, held: &Held, findings: &mut Vec<Finding>) {
        if let Some(why) = held.failure() {
            let mut finding = Finding::refuse(Reason::StoreFailure, vec![("error", Value::from(why))]);
            if policy.on_store_failure_allow {
                finding.action = Action::Allow;
            }
            findings.push(finding);
        }
        if let Some(why) = held.key_error.as_deref().filter(|_| !call.is_invalid()) {
            let evidence = vec![("key", Value::Bool(true)), ("error", Value::from(why))];
            findings.push(Finding::refuse(Reason::PolicyError, evidence));
        }
        let Some(grant) = held.grant() else { return };
        for open in &grant.open {
            let mut evidence = vec![("breaker", Value::from(open.name.as_str()))];
            if open.probing {
                evidence.push(("probing", Value::Bool(true)));
            }
            let mut finding = Finding::refuse(Reason::BreakerOpen, evidence);
            finding.retry_after = Some(open.retry_after);
            findings.push(finding);
        }
        if let Some(name) = grant.denied.as_deref() {
            if !findings.iter().any(|finding| finding.reason == Reason::Denied) {
                let evidence = vec![("denial", Value::from(name.split(':').next().unwrap_or(name)))];
                let incident = IncidentKey::TaskCall { call: call.loose };
                findings.push(Finding::refuse(Reason::Denied, evidence).within(incident));
            }
        }
    }

    /// Shared budgets that had too little left, where what is known of them does not say so: others have given back since.
    pub(super) fn gather_short(policy: &Policy, held: &Held, findings: &mut Vec<Finding>) {
        let Some(grant) = held.grant().filter(|grant| !grant.short.is_empty() && policy.mode == Mode::Enforce) else {
            return;
        };
        for counter in &grant.short {
            let (mut reason, mut evidence) =
                (Reason::BudgetToolCalls, vec![("counter", Value::from(counter.as_str()))]);
            match counter.split_once(':') {
                Some(("tool", _)) => reason = Reason::BudgetCallsPerTool,
                Some((_, group)) => {
                    reason = Reason::BudgetCallsPerGroup;
                    evidence.push(("group", Value::from(group)));
                }
                None => match counter.as_str() {
                    "retries" => reason = Reason::BudgetRetries,
                    "tokens" => reason = Reason::BudgetTokens,
                    "cost" => reason = Reason::BudgetCost,
                    _ => {}
                },
            }
            let is_known = |finding: &Finding| {
                let reserved = reason == Reason::BudgetToolCalls && finding.reason == Reason::BudgetReserved;
                finding.reason == reason || reserved
            };
            if findings.iter().any(is_known) {
                continue;
            }
            let amount = held.claim.as_ref().and_then(|claim| claim.amounts.iter().find(|it| it.counter == *counter));
            evidence.push(("used", grant.counts.get(counter).copied().map_or(Value::Null, crate::budget::number)));
            evidence.push(("limit", amount.and_then(|it| it.limit).map_or(Value::Null, crate::budget::number)));
            findings.push(Finding::refuse(reason, evidence));
        }
    }

    /// What happened under the call's own key is answered with what it brought, instead of being refused.
    pub(super) fn already(&self, held: &Held, findings: &mut [Finding]) -> Option<(Arc<Value>, f64)> {
        let Some(EffectAnswer::Completed { at, result }) = held.grant().and_then(|grant| grant.effect.as_ref()) else {
            return None;
        };
        let is_own = |it: &&mut Finding| it.code.as_deref() == Some(ALREADY_CREATED) && it.action == Action::Refuse;
        findings.iter_mut().find(is_own)?.action = Action::Reuse;
        let result = result.as_ref().and_then(|text| read_json(text.as_bytes()).ok())?;
        Some((Arc::new(result), (self.claim_time() - at).max(0.0)))
    }
}
