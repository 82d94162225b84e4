//! What a gate judges by: one policy, or several, each bound to those whom it applies to.
use std::sync::{Arc, PoisonError, RwLock};

use callgate_value::{canonical_json, Digest, Map, Value};
use rustc_hash::FxHashMap;

use crate::about::About;
use crate::policy::{Match, Policy};

/// A policy and to whom it applies.
#[derive(Clone, Debug)]
pub struct Bound {
    /// The policy, compiled with the binding's mode and parameters, its `binding` set.
    pub policy: Policy,
    /// Whom it applies to.
    pub matching: Match,
}

/// Policies and to whom each applies. Immutable, but for combinations that are made when they are first asked for.
#[derive(Debug)]
pub struct Guard {
    /// The one policy that applies to everyone, without a binding.
    alone: Option<Arc<Policy>>,
    /// In the order of the bindings' names.
    bound: Vec<(Arc<Policy>, Match)>,
    /// All of them as one.
    whole: Arc<Policy>,
    /// Where no binding matches.
    nobody: Arc<Policy>,
    digest: String,
    combined: RwLock<FxHashMap<Vec<usize>, Arc<Policy>>>,
}

impl Guard {
    /// One policy, for everyone.
    #[must_use]
    pub fn alone(policy: Policy) -> Self {
        let digest = policy.digest.clone();
        let policy = Arc::new(policy);
        let bound = vec![(Arc::clone(&policy), Match::default())];
        Self {
            whole: Arc::clone(&policy),
            alone: Some(policy),
            bound,
            nobody: Arc::new(Policy::nobody(&digest)),
            digest,
            combined: RwLock::default(),
        }
    }

    /// Several, each for those whom its binding names. Detectors see one stream of calls, so the windows and cycle streams
    /// of all are as long as the longest of them.
    #[must_use]
    pub fn of(mut bound: Vec<Bound>) -> Self {
        bound.sort_by(|a, b| name(&a.policy).cmp(name(&b.policy)));
        let digest = digest(&bound);
        let window = bound.iter().map(|it| it.policy.window).max().unwrap_or_default();
        let cycle = bound.iter().filter_map(|it| it.policy.cycle).reduce(|a, b| a.widest(&b));
        let transfer_cycle = bound.iter().filter_map(|it| it.policy.transfer_cycle).reduce(|a, b| a.widest(&b));
        let widened = bound.into_iter().map(|Bound { mut policy, matching }| {
            policy.window = window;
            policy.stream_cycle = cycle;
            policy.stream_transfer_cycle = transfer_cycle;
            (Arc::new(policy), matching)
        });
        let mut nobody = Policy::nobody(&digest);
        (nobody.window, nobody.stream_cycle, nobody.stream_transfer_cycle) = (window, cycle, transfer_cycle);
        let bound: Vec<_> = widened.collect();
        let whole = bound.iter().map(|(policy, _)| Arc::clone(policy)).collect();
        let whole = Arc::new(Policy::combined(whole, &digest));
        Self { alone: None, bound, whole, nobody: Arc::new(nobody), digest, combined: RwLock::default() }
    }

    /// The same with each policy changed, by its position among `policies`.
    #[must_use]
    pub fn changed(&self, change: impl Fn(usize, &Policy) -> Policy) -> Self {
        if let Some(alone) = &self.alone {
            return Self::alone(change(0, alone));
        }
        let bound = self.bound.iter().enumerate();
        let changed =
            bound.map(|(at, (policy, matching))| Bound { policy: change(at, policy), matching: matching.clone() });
        Self::of(changed.collect())
    }

    /// SHA-256, in hex: of the policy where there is but one for everyone, else of all policies with their bindings.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The policies, in the order of their bindings' names.
    pub fn policies(&self) -> impl Iterator<Item = &Policy> {
        self.bound.iter().map(|(policy, _)| &**policy)
    }

    /// All of them as one, for what asks about tools and not about an agent.
    #[must_use]
    pub fn whole(&self) -> &Policy {
        &self.whole
    }

    /// Whether the one policy applies to everyone, without a binding.
    #[must_use]
    pub fn is_alone(&self) -> bool {
        self.alone.is_some()
    }

    /// What an agent of a task is judged by: the policy that applies, all that do as one, or one that refuses everything.
    #[must_use]
    pub fn policy(&self, agent: &str, about: &About) -> Arc<Policy> {
        if let Some(alone) = &self.alone {
            return Arc::clone(alone);
        }
        let fitting = self.bound.iter().enumerate().filter(|(_, (_, matching))| matching.fits(agent, about));
        let fitting: Vec<usize> = fitting.map(|(index, _)| index).collect();
        if fitting.is_empty() {
            return Arc::clone(&self.nobody);
        }
        self.combine(fitting)
    }

    fn combine(&self, fitting: Vec<usize>) -> Arc<Policy> {
        let known = self.combined.read().unwrap_or_else(PoisonError::into_inner).get(&fitting).cloned();
        known.unwrap_or_else(|| {
            let of = fitting.iter().filter_map(|index| self.bound.get(*index)).map(|(policy, _)| Arc::clone(policy));
            let policy = Arc::new(Policy::combined(of.collect(), &self.digest));
            let mut combined = self.combined.write().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(combined.entry(fitting).or_insert(policy))
        })
    }
}

fn name(policy: &Policy) -> &str {
    policy.binding.as_ref().map_or("", |binding| &binding.name)
}

/// SHA-256 of the canonical JSON of what is bound: `[{binding, policy digest, mode, rollout, match, exceptions}, …]`.
fn digest(bound: &[Bound]) -> String {
    let list = |names: &Option<Vec<String>>| match names {
        None => Value::Null,
        Some(names) => Value::List(names.iter().map(|name| Value::from(name.as_str())).collect()),
    };
    let entries = bound.iter().map(|Bound { policy, matching }| {
        let labels = matching.labels.iter().map(|(name, value)| (name.as_str().into(), Value::from(value.as_str())));
        let rollout = policy.binding.as_ref().is_some_and(|binding| binding.rollout);
        let fields = vec![
            ("binding".into(), Value::from(name(policy))),
            ("policy".into(), Value::from(policy.digest.as_str())),
            ("rollout".into(), Value::Bool(rollout)),
            ("agents".into(), list(&matching.agents)),
            ("tenants".into(), list(&matching.tenants)),
            ("labels".into(), Map::new(labels.collect()).map_or(Value::Null, Value::Map)),
        ];
        Map::new(fields).map_or(Value::Null, Value::Map)
    });
    let text = canonical_json(&Value::List(entries.collect())).unwrap_or_default();
    Digest::of(text.as_bytes()).to_hex()
}
