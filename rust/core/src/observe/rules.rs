//! The author's rules of `observe`.
use std::sync::Arc;

use super::Closed;
use crate::detect::{Observation, Remarks};
use crate::policy::{Phase, Policy, RuleEffect};
use crate::scope::RuleScope;
use crate::task::Task;
use crate::verdict::Evidence;
use crate::Reason;

impl Task {
    /// The author's rules of `observe`, in their order: what they say, and the first error.
    pub(super) fn ask_observe_rules(
        &self,
        policy: &Policy,
        seen: &Observation,
        closed: &mut Closed,
    ) -> (Remarks, Option<String>) {
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
}

pub(super) fn error_evidence(error: &str) -> Evidence {
    vec![("error", callgate_value::Value::from(error))]
}
