//! Several policies that apply to one agent, as one: what is kept once a task is shared, what each says stays its own.
use std::sync::Arc;

use super::{Budgets, Cycle, Detectors, Exception, Fallback, Ladder, Mode, Policy, Resets, Tool, ToolEntry};
use crate::about::About;
use crate::detect::Lift;
use crate::expression::Expression;
use crate::verdict::RuleKey;

impl Policy {
    /// The policies that apply here: those that were combined, else itself.
    pub fn each(&self) -> impl Iterator<Item = &Self> {
        let alone = self.combined_of.is_empty().then_some(self);
        alone.into_iter().chain(self.combined_of.iter().map(|policy| &**policy))
    }

    /// Whether several apply.
    pub(crate) fn is_combined(&self) -> bool {
        !self.combined_of.is_empty()
    }

    /// The name under which a policy keeps what is its own in a task: its binding's, or none.
    pub(crate) fn key(&self) -> &str {
        self.binding.as_ref().map_or("", |binding| &binding.name)
    }

    /// How a task tells one of its rules from others.
    pub(crate) fn rule_key(&self, rule: &str) -> RuleKey {
        RuleKey { binding: self.key().to_owned(), rule: rule.to_owned() }
    }

    /// The policies of several bindings as one, in their order. A tool is what the first policy says that declares it.
    #[must_use]
    pub fn combined(policies: Vec<Arc<Self>>, digest: &str) -> Self {
        let Some(first) = policies.first() else { return Self::nobody(digest) };
        let mut whole = Self::clone(first);
        whole.digest = digest.to_owned();
        whole.bindings = policies.iter().filter_map(|policy| policy.binding.clone()).collect();
        for policy in policies.iter().skip(1) {
            for (name, entry) in &policy.tools {
                whole.tools.entry(name.clone()).or_insert_with(|| entry.clone());
            }
            whole.mode = whole.mode.strictest(policy.mode);
            whole.final_answer &= policy.final_answer;
            whole.on_user_turn = whole.on_user_turn.both(policy.on_user_turn);
            whole.on_compaction = whole.on_compaction.both(policy.on_compaction);
            whole.take_needs(policy);
        }
        if policies.len() > 1 {
            let others = || policies.iter().skip(1);
            let widen = |tool: &Tool| {
                let own = policies.iter().map(|policy| policy.thresholds(tool));
                own.reduce(|all, one| Arc::new(all.widest(&one))).unwrap_or_else(|| Arc::clone(&tool.detectors))
            };
            for entry in whole.tools.values_mut() {
                *entry = entry.with(&widen);
            }
            whole.undeclared = others().fold(whole.undeclared, |all, it| Arc::new(all.widest(&it.undeclared)));
            let names: Vec<String> =
                policies.iter().flat_map(|policy| policy.undeclared_special.keys().cloned()).collect();
            for name in names {
                let tool = Tool::undeclared(&name, Arc::clone(&whole.undeclared));
                let widest = widen(&tool);
                whole.undeclared_special.insert(name, widest);
            }
        }
        whole.combined_of = policies;
        whole
    }

    /// Takes over what another policy needs, and its ways out; where both say how a run ends, the more careful end holds.
    fn take_needs(&mut self, other: &Self) {
        let mut places = Vec::with_capacity(other.needs.len());
        for need in &other.needs {
            let known = self.needs.iter().position(|have| have == need);
            places.push(known.unwrap_or(self.needs.len()));
            if known.is_none() {
                self.needs.push(need.clone());
            }
        }
        if other.fallback.order.is_empty() {
            return;
        }
        if self.fallback.order.is_empty() {
            self.fallback = Fallback { edges: Vec::new(), ..other.fallback.clone() };
        } else {
            self.fallback.max_hops = self.fallback.max_hops.min(other.fallback.max_hops);
            self.fallback.closed |= other.fallback.closed;
            self.fallback.then = self.fallback.then.more_careful(&other.fallback.then);
        }
        self.fallback.edges.extend(other.fallback.edges.iter().map(|edge| {
            let needs = edge.needs.iter().filter_map(|need| places.get(*need).copied()).collect();
            super::Edge { needs, ..edge.clone() }
        }));
    }

    /// What everyone is judged by whom no binding names: everything is refused.
    #[must_use]
    pub fn nobody(digest: &str) -> Self {
        Self {
            name: String::new(),
            revision: String::new(),
            digest: digest.to_owned(),
            mode: Mode::Enforce,
            is_nobody: true,
            binding: None,
            bindings: Arc::default(),
            combined_of: Vec::new(),
            exceptions: Vec::new(),
            refuse_undeclared: false,
            on_store_failure_allow: false,
            on_error_allow_reads: false,
            final_answer: true,
            window: 1,
            cycle: None,
            stream_cycle: None,
            transfer_cycle: None,
            stream_transfer_cycle: None,
            undeclared: Arc::default(),
            undeclared_special: rustc_hash::FxHashMap::default(),
            tools: rustc_hash::FxHashMap::default(),
            budgets: Budgets::default(),
            ladder: Ladder { reuse_reads: 0, stop_after_refusals: None, deterministic_stop_after: None },
            on_user_turn: Resets::default(),
            on_compaction: Resets::default(),
            rules: Vec::new(),
            needs: Vec::new(),
            fallback: Fallback::default(),
            params: callgate_value::Value::Null,
            constants: callgate_value::Value::Null,
            variables: Vec::new(),
            watch: None,
        }
    }

    /// Whether this policy refuses a tool because none of its manifests declares it.
    pub(crate) fn refuses_undeclared(&self, tool: &str) -> bool {
        self.refuse_undeclared && !self.tools.contains_key(tool)
    }

    /// This policy's thresholds for a tool, whoever declares it.
    pub(crate) fn thresholds(&self, tool: &Tool) -> Arc<Detectors> {
        match self.tools.get(&*tool.name) {
            Some(entry) => Arc::clone(&entry.form_like(tool).detectors),
            None => Arc::clone(self.undeclared_special.get(&*tool.name).unwrap_or(&self.undeclared)),
        }
    }

    /// What exceptions lift of calls of a tool by an agent, at a moment on the wall clock.
    pub(crate) fn lifts(&self, tool: &str, agent: &str, about: &About, moment: Option<f64>) -> Vec<Lift> {
        let standing = self.exceptions.iter().filter(|it| it.covers(tool, agent, about, moment));
        let lifts = standing.flat_map(|it: &Exception| it.lifts.iter().map(|lift| (&it.name, lift)));
        lifts
            .map(|(name, (reason, rule))| Lift { exception: Arc::clone(name), reason: *reason, rule: rule.clone() })
            .collect()
    }
}

impl Mode {
    fn strictest(self, other: Self) -> Self {
        match (self, other) {
            (Self::Enforce, _) | (_, Self::Enforce) => Self::Enforce,
            (Self::Warn, _) | (_, Self::Warn) => Self::Warn,
            _ => Self::Audit,
        }
    }
}

impl Resets {
    /// What both reset.
    fn both(self, other: Self) -> Self {
        Self {
            repeats: self.repeats && other.repeats,
            errors: self.errors && other.errors,
            results: self.results && other.results,
            gain: self.gain && other.gain,
            incidents: self.incidents && other.incidents,
        }
    }
}

impl Cycle {
    /// The stream that both can be read from.
    pub(crate) fn widest(&self, other: &Self) -> Self {
        Self {
            max_period: self.max_period.max(other.max_period),
            laps: self.laps.min(other.laps),
            mismatches: self.mismatches.max(other.mismatches),
            cool_down: self.cool_down.zip(other.cool_down).map(|(one, other)| one.max(other)),
        }
    }
}

impl ToolEntry {
    fn with(&self, widen: &impl Fn(&Tool) -> Arc<Detectors>) -> Self {
        let widened = |tool: &Arc<Tool>| Arc::new(Tool { detectors: widen(tool), ..Tool::clone(tool) });
        let form = |(when, tool): &(Option<Expression>, Arc<Tool>)| (when.clone(), widened(tool));
        Self {
            base: widened(&self.base),
            undecided: widened(&self.undecided),
            forms: self.forms.iter().map(form).collect(),
        }
    }

    /// The form with the groups of another policy's form, on which alone thresholds hang; else the tool itself.
    fn form_like(&self, tool: &Tool) -> &Tool {
        let forms = self.forms.iter().map(|(_, form)| form);
        forms.chain([&self.base]).find(|form| form.groups == tool.groups).unwrap_or(&self.base)
    }
}
