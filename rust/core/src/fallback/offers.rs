//! What is proposed after a call that did not deliver: substitutes by the policy's edges, or doing without.
use std::sync::Arc;

use callgate_value::{Map, Value};

use super::hops::open_for;
use crate::call::Request;
use crate::detect::{Observation, Remarks};
use crate::expression::EvaluationError;
use crate::identify::identify;
use crate::observe::error_evidence;
use crate::policy::{Edge, EdgeKind, ErrorClass, FallbackStep, Need, Policy};
use crate::scope::RuleScope;
use crate::task::Task;
use crate::verdict::Grade;
use crate::Reason;

/// A call that is proposed instead of one that did not deliver.
#[derive(Clone, Debug)]
pub struct Offer {
    /// The call that did not deliver.
    pub call_id: Arc<str>,
    /// Its tool.
    pub from: Arc<str>,
    /// The tool that is proposed.
    pub tool: Arc<str>,
    /// Its arguments.
    pub arguments: Arc<Value>,
    /// The need that it can fill; none for the task as a whole.
    pub need: Option<Arc<str>>,
}

/// A capability that is done without.
#[derive(Clone, Debug)]
pub struct Skipped {
    /// The call that failed.
    pub call_id: Arc<str>,
    /// Its tool.
    pub tool: Arc<str>,
    /// For the model.
    pub message: String,
}

/// An edge that leads on, for one need or the task as a whole.
struct Candidate<'p> {
    need: Option<&'p Need>,
    edge: &'p Edge,
    arguments: Arc<Value>,
}

impl Task {
    /// Walks the ways out after an outcome, in the policy's order, as far as the first that is open.
    pub(crate) fn find_ways(
        &mut self,
        policy: &Policy,
        seen: &Observation,
        remarks: &mut Remarks,
    ) -> (Vec<Offer>, Option<Skipped>) {
        let nothing = (Vec::new(), None);
        if seen.retrying || self.stop.is_some() {
            return nothing;
        }
        // a single failure of this class may be chance: as many further attempts as the tool declares, else one, come first
        let attempts = seen.call.tool.retry.as_ref().map_or(1, |retry| retry.max);
        let is_down = seen.judged.class == Some(ErrorClass::Transient) && seen.retries >= attempts;
        for step in &policy.fallback.order {
            match step {
                FallbackStep::Cache if seen.from_cache => return nothing,
                FallbackStep::Substitute => {
                    let offers = self.offers(policy, seen, remarks);
                    if !offers.is_empty() {
                        return (offers, None);
                    }
                }
                FallbackStep::Skip if is_down => return (Vec::new(), Some(self.skip(seen))),
                FallbackStep::Cache | FallbackStep::Provider | FallbackStep::Skip => {}
            }
        }
        nothing
    }

    fn offers(&mut self, policy: &Policy, seen: &Observation, remarks: &mut Remarks) -> Vec<Offer> {
        let mut offers = Vec::new();
        for Candidate { need, edge, arguments } in self.candidates(policy, seen, remarks) {
            if self.hops.may_hop(policy, need, &edge.to) {
                offers.push(Offer {
                    call_id: Arc::clone(&seen.call_id),
                    from: Arc::clone(&edge.from),
                    tool: Arc::clone(&edge.to),
                    arguments: Arc::clone(&arguments),
                    need: need.map(|need| Arc::clone(&need.id)),
                });
            }
            // one beyond the limit is remembered too: it is not proposed, and refused if it is made all the same
            self.hops.offer(need, edge, &seen.call_id, &arguments);
        }
        offers
    }

    /// Whether a substitute stands ready for a call that failed, where that comes before an earlier answer.
    pub(crate) fn has_substitute(&self, policy: &Policy, seen: &Observation) -> bool {
        let candidates = self.candidates(policy, seen, &mut Remarks::default());
        candidates.iter().any(|it| self.hops.may_hop(policy, it.need, &it.edge.to))
    }

    /// The edges that lead on from an outcome, each for every need that it is open for.
    fn candidates<'p>(&self, policy: &'p Policy, seen: &'p Observation, remarks: &mut Remarks) -> Vec<Candidate<'p>> {
        let mut found = Vec::new();
        // an expression reads what its own policy gives it
        let of_each = |policy: &'p Policy| {
            policy.fallback.from(EdgeKind::Tool, &seen.call.tool.name).map(move |edge| (policy, edge))
        };
        for (policy, edge) in policy.each().flat_map(of_each) {
            let needs = open_for(policy, &self.needs, edge);
            if needs.is_empty() || !self.holds(policy, edge, seen, remarks) {
                continue;
            }
            let Some(arguments) = self.arguments_of(policy, edge, seen) else { continue };
            found.extend(needs.into_iter().map(|need| Candidate { need, edge, arguments: Arc::clone(&arguments) }));
        }
        found
    }

    /// Whether the edge's condition holds; without one, whether the call did not deliver.
    fn holds(&self, policy: &Policy, edge: &Edge, seen: &Observation, remarks: &mut Remarks) -> bool {
        let Some(when) = &edge.when else {
            return seen.judged.grade != Grade::Sufficient || !seen.judged.gaps.is_empty();
        };
        let scope = RuleScope::of_observation(self, policy, seen);
        when.test(&scope).unwrap_or_else(|error: EvaluationError| {
            let error = format!("edge to `{}`: `{}`: {error}", edge.to, when.source());
            remarks.add(Reason::PolicyError, seen, error_evidence(&error));
            false
        })
    }

    /// The arguments of the proposed call; none where they cannot be computed, the tool does not take them, or the same
    /// call was made in this task already.
    fn arguments_of(&self, policy: &Policy, edge: &Edge, seen: &Observation) -> Option<Arc<Value>> {
        let scope = RuleScope::of_observation(self, policy, seen);
        let mut fields = Vec::with_capacity(edge.arguments.len());
        for (name, expression) in &edge.arguments {
            fields.push(((&**name).into(), expression.evaluate(&scope).ok()?.into_owned()));
        }
        let arguments = Arc::new(Value::Map(Map::new(fields).ok()?));
        let entry = policy.tool(&edge.to);
        let schema = entry.and_then(|entry| entry.base.parameters.as_ref());
        if schema.is_some_and(|schema| !schema.faults(&arguments).is_empty()) {
            return None;
        }
        let (tool, copy) = (Arc::clone(&edge.to), Arc::clone(&arguments));
        let request = Request { tool, arguments: copy, call_id: None, hints: None, fault: None, again: false };
        let call = identify(policy, &self.key, &request, seen.call.session, (seen.call.agent, 0));
        (!self.seen.contains(&call.loose)).then_some(arguments)
    }

    fn skip(&mut self, seen: &Observation) -> Skipped {
        let tool = Arc::clone(&seen.call.tool.name);
        let message = format!(
            "`{tool}` is not available now. Trying again will not help: go on without it, and say in your answer what you \
             could not look up."
        );
        self.journal.degraded("skip", &tool, &seen.call_id, self.now);
        Skipped { call_id: Arc::clone(&seen.call_id), tool, message }
    }
}
