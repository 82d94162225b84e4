//! Which rung, limit or budget it was that spoke.
use callgate_core::policy::{Policy, Tool};
use callgate_core::watch::Did;
use callgate_core::{Evidence, Reason};
use callgate_value::{Map, Value};

use crate::budgets::{self, Budget};
use crate::detectors::{self, Does, Rung};

/// Whose calls a rung is for: those of one tool or group, or all that no such rung is for.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    /// The name under `detectors.for`; none: the policy's own thresholds.
    pub(crate) name: Option<String>,
    /// All names under `detectors.for` that write this very rung.
    pub(crate) special: Vec<String>,
}

impl Scope {
    /// The scope of a rung that is written under `name`, among all that `detectors` says.
    pub(crate) fn of(name: Option<&str>, rung: &Rung, special: Option<&Map>) -> Self {
        let writes = |thresholds: &Value| thresholds.get(&rung.detector).is_some_and(|it| it.get(&rung.key).is_some());
        let names = special.into_iter().flat_map(Map::iter).filter(|(_, thresholds)| writes(thresholds));
        let special = names.filter_map(|(name, _)| name.as_str().map(str::to_owned)).collect();
        Self { name: name.map(str::to_owned), special }
    }

    /// Whether the rung is the one that a tool has: its own before those of its groups, in their order.
    pub(crate) fn is_of(&self, tool: &Tool) -> bool {
        let names = std::iter::once(&*tool.name).chain(tool.groups.iter().map(|group| &**group));
        let nearest = names.into_iter().find(|name| self.special.iter().any(|it| it == name));
        nearest == self.name.as_deref()
    }
}

fn figure(evidence: &Evidence, name: &str) -> Option<f64> {
    evidence.iter().find(|(key, _)| *key == name).and_then(|(_, value)| value.as_f64())
}

/// Whether this reason with this evidence is what the rung says.
pub(crate) fn is_rung(rung: &Rung, reason: Reason, did: Did, tool: &Tool, evidence: &Evidence) -> bool {
    let does = match did {
        Did::Note => Does::Notes,
        Did::Refuse => Does::Refuses,
        Did::Exit => Does::Exits,
    };
    if detectors::reason(&rung.detector) != Some(reason) || rung.does != does {
        return false;
    }
    let below =
        |figure: Option<f64>, bound: Option<f64>| figure.zip(bound).is_some_and(|(figure, bound)| figure < bound);
    let diversity = tool.detectors.diversity.as_ref();
    match &*rung.key {
        "note_below" => below(figure(evidence, "distinct_share"), diversity.and_then(|it| it.note_below)),
        "entropy_note_below" => below(figure(evidence, "entropy_bits"), diversity.and_then(|it| it.entropy_note_below)),
        "sufficient_reads" => is_sufficient(tool, evidence),
        "refuse_after" if rung.detector == "exact_repeat" => !is_sufficient(tool, evidence),
        _ => true,
    }
}

/// Whether a refusal of an exact repeat goes by the threshold for sufficient reads.
fn is_sufficient(tool: &Tool, evidence: &Evidence) -> bool {
    let after = tool.detectors.exact_repeat.as_ref().and_then(|it| it.sufficient_reads);
    #[allow(clippy::cast_precision_loss)] // thresholds are small
    let after = after.map(|after| after as f64);
    after.is_some() && figure(evidence, "threshold") == after
}

/// Whether this is what a limit of a wait says.
pub(crate) fn is_wait(key: &str, reason: Reason, did: Did, tool: &Tool, evidence: &Evidence) -> bool {
    let Some(waiting) = tool.waiting.as_ref().filter(|_| reason == Reason::StaleWait && did != Did::Exit) else {
        return false;
    };
    let pause = evidence.iter().any(|(name, _)| *name == "min_interval");
    #[allow(clippy::cast_precision_loss)] // limits are small
    let unchanged = waiting.max_unchanged.map(|most| most as f64);
    let at_least =
        |name: &str, most: Option<f64>| figure(evidence, name).zip(most).is_some_and(|(figure, most)| figure >= most);
    match key {
        "min_interval" => pause,
        "max_unchanged" => at_least("count", unchanged),
        "max_stale" => at_least("unchanged_for", waiting.max_stale),
        _ => false,
    }
}

/// Whether this is what a budget says once it is used up.
pub(crate) fn is_spent(budget: &Budget, policy: &Policy, reason: Reason, tool: &Tool, evidence: &Evidence) -> bool {
    if budgets::reason(budget) != reason {
        return false;
    }
    let limit = figure(evidence, "limit");
    match (budget.key, &budget.name) {
        ("calls_per_tool", Some(name)) if name == "*" => !policy.budgets.calls_per_tool.contains_key(&*tool.name),
        ("calls_per_tool", Some(name)) => *tool.name == **name,
        ("calls_per_group", Some(name)) => {
            let group = evidence.iter().find(|(key, _)| *key == "group").and_then(|(_, value)| value.as_str());
            group == Some(name)
        }
        ("task", _) => limit == policy.budgets.task_time,
        ("workflow", _) => limit == policy.budgets.workflow_time,
        ("step", _) => limit == policy.budgets.step_time,
        _ => true,
    }
}
