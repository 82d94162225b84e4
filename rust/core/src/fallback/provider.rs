//! Providers of the model: whether one is down as a whole, and which one to take instead.
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::outcome::{default_class, Reported};
use crate::policy::{Edge, EdgeKind, Effect, ErrorClass, FallbackStep, Policy};
use crate::scope::ProviderScope;
use crate::task::Task;

/// Failures in a row that open a provider's breaker: one 429 does not.
const FAILURES: u32 = 5;
/// Seconds for which it then stays open.
const OPEN_FOR: f64 = 30.0;
/// Providers that are told apart; names beyond these share nothing and are forgotten first.
const MOST: usize = 64;

/// How a provider is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerState {
    /// It answers.
    Closed,
    /// It was down; one call may find out whether it still is.
    HalfOpen,
    /// It is down as a whole.
    Open,
}

impl BreakerState {
    /// The name in expressions and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::HalfOpen => "half_open",
            Self::Open => "open",
        }
    }
}

/// What to do after a model answered, or did not.
#[derive(Clone, Debug)]
pub struct ModelAdvice {
    /// How the provider is now.
    pub breaker: BreakerState,
    /// Whether it answered.
    pub answered: bool,
    /// Providers to take instead, in the policy's order.
    pub substitutes: Vec<Arc<str>>,
    /// Whether asking the same one again may help.
    pub retryable: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Provider {
    failures: u32,
    opened: Option<f64>,
}

/// The providers that a task has met.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Providers {
    known: BTreeMap<String, Provider>,
    last: Option<String>,
}

impl Providers {
    fn state(&self, name: &str, now: f64) -> BreakerState {
        match self.known.get(name).and_then(|provider| provider.opened) {
            None => BreakerState::Closed,
            Some(opened) if now < opened + OPEN_FOR => BreakerState::Open,
            Some(_) => BreakerState::HalfOpen,
        }
    }

    /// How the provider is that was asked last.
    pub(crate) fn last_state(&self, now: f64) -> BreakerState {
        self.last.as_deref().map_or(BreakerState::Closed, |name| self.state(name, now))
    }

    fn answered(&mut self, name: &str) {
        self.known.remove(name);
    }

    fn failed(&mut self, name: &str, now: f64) {
        let was_open = self.state(name, now) != BreakerState::Closed;
        if self.known.len() >= MOST && !self.known.contains_key(name) {
            self.known.pop_first();
        }
        let provider = self.known.entry(name.to_owned()).or_default();
        provider.failures = provider.failures.saturating_add(1);
        // a probe that fails opens it again at once
        if was_open || provider.failures >= FAILURES {
            provider.opened = Some(now);
        }
    }
}

impl Task {
    /// Takes what came of asking a model: nothing wrong, or an error. Says whether its provider is down as a whole, and
    /// which one the policy names instead.
    pub fn model_result(
        &mut self,
        policy: &Policy,
        provider: &str,
        error: Option<&Reported>,
        now: Option<f64>,
    ) -> ModelAdvice {
        let now = self.clock(now);
        self.providers.last = Some(provider.to_owned());
        let Some(error) = error else {
            self.providers.answered(provider);
            return ModelAdvice {
                breaker: BreakerState::Closed,
                answered: true,
                substitutes: Vec::new(),
                retryable: false,
            };
        };
        let kind = error.kind.as_deref().unwrap_or(if error.status.is_some() { "http" } else { "tool_error" });
        let is_transient = default_class(kind, error.status, Effect::Read) == ErrorClass::Transient;
        // a wrong question says nothing about whoever was asked
        if is_transient {
            self.providers.failed(provider, now);
        }
        let breaker = self.providers.state(provider, now);
        let substitutes = self.other_providers(policy, provider, breaker, now);
        if let Some(first) = substitutes.first() {
            self.journal.degraded("provider", &format!("{provider} -> {first}"), "", now);
        }
        ModelAdvice { breaker, answered: false, substitutes, retryable: is_transient && breaker != BreakerState::Open }
    }

    fn other_providers(&self, policy: &Policy, name: &str, breaker: BreakerState, now: f64) -> Vec<Arc<str>> {
        if !policy.fallback.order.contains(&FallbackStep::Provider) {
            return Vec::new();
        }
        let scope = ProviderScope { policy, task: self, breaker };
        let holds = |edge: &Edge| match &edge.when {
            None => breaker == BreakerState::Open,
            Some(when) => when.test(&scope).unwrap_or(false),
        };
        let edges = policy.fallback.from(EdgeKind::Provider, name);
        let there = edges.filter(|edge| self.providers.state(&edge.to, now) != BreakerState::Open);
        there.filter(|edge| holds(edge)).map(|edge| Arc::clone(&edge.to)).collect()
    }
}
