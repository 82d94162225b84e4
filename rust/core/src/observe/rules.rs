//! The author's rules of `observe`.
use std::sync::Arc;

use super::Closed;
use crate::detect::{Lift, Observation, Remarks};
use crate::policy::{Mode, Phase, Policy, RuleEffect};
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
        // one of several policies that enforces nothing ends nothing, and in mode `audit` says nothing
        for (at, each) in policy.each().enumerate() {
            let lifts = closed.remarks.under.get(at).map_or(&[][..], |under| &under.lifts);
            let holds = each.mode == policy.mode;
            let told = holds || each.mode != Mode::Audit;
            self.ask_rules_of(each, seen, (holds, told, lifts), &mut said, &mut first, &mut closed.retries);
        }
        (said, first)
    }

    fn ask_rules_of(
        &self,
        policy: &Policy,
        seen: &Observation,
        (holds, told, lifts): (bool, bool, &[Lift]),
        said: &mut Remarks,
        first: &mut Option<String>,
        retries: &mut Vec<Arc<str>>,
    ) {
        let mut rules =
            policy.rules.iter().filter(|rule| rule.phase == Phase::Observe && rule.is_about(&seen.call)).peekable();
        if rules.peek().is_none() {
            return;
        }
        let scope = RuleScope::of_observation(self, policy, seen);
        for rule in rules {
            match rule.when.test(&scope) {
                Ok(false) => {}
                Ok(true) => {
                    if let Some(lift) = lifts.iter().find(|lift| lift.is_of(Reason::Rule, Some(&rule.id))) {
                        said.lift_rule(&lift.exception, &rule.id);
                        continue;
                    }
                    if !told {
                        continue;
                    }
                    said.rule(seen, &rule.id, rule.words(&scope), holds && rule.action == RuleEffect::Exit);
                    if rule.action == RuleEffect::Retry {
                        retries.push(Arc::clone(&seen.call_id));
                    }
                }
                Err(error) => {
                    let error = format!("rule `{}`: `{}`: {error}", rule.id, rule.when.source());
                    said.add(Reason::PolicyError, seen, error_evidence(&error));
                    first.get_or_insert(error);
                }
            }
        }
    }
}

pub(crate) fn error_evidence(error: &str) -> Evidence {
    vec![("error", callgate_value::Value::from(error))]
}
