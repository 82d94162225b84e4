//! The author's rules of `admit`.
use std::sync::Arc;

use callgate_value::Value;

use crate::budget::{Elapsed, Pool};
use crate::call::Call;
use crate::expression::EvaluationError;
use crate::policy::{Phase, Policy, RuleEffect};
use crate::scope::RuleScope;
use crate::task::Task;
use crate::verdict::{Action, Finding, IncidentKey};
use crate::Reason;

impl Task {
    /// The author's rules of `admit`, in their order.
    pub(super) fn ask_rules(
        &self,
        policy: &Policy,
        call: &Call,
        call_id: &str,
        (pool, elapsed): (&Pool, Elapsed),
        findings: &mut Vec<Finding>,
    ) {
        let mut rules = policy.rules.iter().filter(|rule| rule.phase == Phase::Admit && rule.is_about(call)).peekable();
        if rules.peek().is_none() {
            return;
        }
        let scope = RuleScope::of_admission((self, pool), policy, call, call_id, elapsed);
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
                    if finding.action == Action::Ask {
                        finding.incidents.push(IncidentKey::Rule(policy.rule_key(&rule.id)));
                    }
                    finding.code.clone_from(&rule.code);
                    finding.message = rule.words(&scope);
                    findings.push(finding);
                }
                Err(error) => findings.push(policy_error(policy, call, &rule.id, rule.when.source(), &error)),
            }
        }
    }
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
