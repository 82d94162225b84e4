//! The self-test of a policy: each rule, rung and budget that it writes, and whether a generated run fires it.
use callgate_core::compile::{compile, ManifestDocument};
use callgate_core::model::Pointer;
use callgate_core::policy::Policy;
use callgate_value::{Map, Value};

use crate::budgets;
use crate::caller::{callers, stand_ins, undeclared, Caller};
use crate::dead::at;
use crate::detectors::{self, cannot_feed, Does, Rung};
use crate::rules;

/// What a guard does when it fires: how a run shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A rule has its say.
    Rule,
    /// A note.
    Note,
    /// A refusal, or what stands in its place.
    Refuse,
    /// The end of the task.
    Exit,
    /// A budget refuses.
    Budget,
}

impl Kind {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rule => "rule",
            Self::Note => "note",
            Self::Refuse => "refuse",
            Self::Exit => "exit",
            Self::Budget => "budget",
        }
    }
}

/// A rule, a rung or a budget.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Where it is written in the resolved policy.
    pub pointer: Pointer,
    /// What authors call it: ``the rule `ceiling` ``.
    pub title: String,
    /// The reason that verdicts carry when it fires.
    pub reason: String,
    /// How it shows.
    pub kind: Kind,
    /// Whether a generated run fired it.
    pub fires: bool,
    /// Why no run can, where that is known: the tools it is for cannot feed it.
    pub why: Option<String>,
}

/// Plays runs for each rule, rung and budget that the policy writes itself. Nothing if the documents do not compile.
///
/// `document` is the resolved policy, and `own` the part of it that is not inherited: what stands there at the same place.
/// Where no manifest declares a tool, as in a pack, rungs and budgets are tried with stand-ins, one of each class.
#[must_use]
pub fn self_test(document: &Value, own: &Value, manifests: &[ManifestDocument]) -> Vec<Probe> {
    let (Some(policy), _) = compile(document, manifests) else { return Vec::new() };
    let mut found = of_rules(&policy, own, manifests);
    let stood_in: Option<(Policy, Vec<ManifestDocument>)> = policy
        .tools
        .is_empty()
        .then(|| {
            let manifests = vec![stand_ins()?];
            Some((compile(document, &manifests).0?, manifests))
        })
        .flatten();
    let is_stood_in = stood_in.is_some();
    let (policy, manifests) = match &stood_in {
        Some((policy, manifests)) => (policy, manifests.as_slice()),
        None => (&policy, manifests),
    };
    let block = |key: &str| own.get("spec").and_then(|spec| spec.get(key)).and_then(Value::as_map);
    if [block("detectors"), block("budgets"), block("time")].iter().all(Option::is_none) {
        return found;
    }
    let tools = callers(policy, manifests);
    if let Some(block) = block("detectors") {
        of_detectors(policy, &tools, block, is_stood_in, &mut found);
    }
    of_budgets(policy, &tools, block("budgets"), block("time"), &mut found);
    found
}

fn of_rules(policy: &Policy, own: &Value, manifests: &[ManifestDocument]) -> Vec<Probe> {
    let written = own.get("spec").and_then(|spec| spec.get("rules")).and_then(Value::as_list).unwrap_or_default();
    let is_own = |id: &str| written.iter().any(|rule| rule.get("id").and_then(Value::as_str) == Some(id));
    let rules = policy.rules.iter().enumerate().filter(|(_, rule)| is_own(&rule.id));
    let tools = if written.is_empty() { Vec::new() } else { callers(policy, manifests) };
    rules
        .map(|(index, rule)| Probe {
            pointer: at(&["spec", "rules"]).index(index).key("when"),
            title: format!("the rule `{}`", rule.id),
            reason: format!("rule:{}", rule.id),
            kind: Kind::Rule,
            fires: rules::fires(policy, &tools, manifests, rule),
            why: None,
        })
        .collect()
}

fn of_detectors(policy: &Policy, tools: &[Caller], block: &Map, is_stood_in: bool, found: &mut Vec<Probe>) {
    let root = at(&["spec", "detectors"]);
    let general: Vec<(callgate_value::Text, Value)> = block
        .iter()
        .filter(|(name, _)| !matches!(name.as_str(), Some("window" | "for")))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let general = Map::new(general).unwrap_or_default();
    for rung in detectors::rungs(&general) {
        let able: Vec<Caller> = tools.iter().filter(|it| detectors::has(&it.tool.detectors, &rung)).cloned().collect();
        found.push(of_rung(policy, &able, &rung, &root));
    }
    let special = block.get("for").and_then(Value::as_map);
    for (name, thresholds) in special.into_iter().flat_map(Map::iter) {
        let (Some(name), Some(thresholds)) = (name.as_str(), thresholds.as_map()) else { continue };
        let is_meant =
            |caller: &&Caller| *caller.tool.name == *name || caller.tool.groups.iter().any(|it| **it == *name);
        let mut meant: Vec<Caller> = tools.iter().filter(is_meant).cloned().collect();
        let declared = !meant.is_empty();
        if !declared && !policy.refuse_undeclared {
            meant.push(undeclared(policy, name));
        }
        if !declared && is_stood_in {
            // nobody knows what the tool of that name does
            continue;
        }
        for rung in detectors::rungs(thresholds) {
            let able: Vec<Caller> =
                meant.iter().filter(|it| detectors::has(&it.tool.detectors, &rung)).cloned().collect();
            found.push(of_rung(policy, &able, &rung, &root.key("for").key(name)));
        }
    }
}

fn of_rung(policy: &Policy, able: &[Caller], rung: &Rung, root: &Pointer) -> Probe {
    let fires = detectors::fires(policy, able, rung);
    let reasons: Option<Vec<&str>> = able.iter().map(|caller| cannot_feed(&rung.detector, &caller.tool)).collect();
    let why = reasons.filter(|_| !fires).and_then(|reasons| reasons.first().map(|why| (*why).to_owned()));
    let kind = match rung.does {
        Does::Notes => Kind::Note,
        Does::Refuses => Kind::Refuse,
        Does::Exits => Kind::Exit,
    };
    let key = if rung.key == "sufficient_reads" { "sufficient_reads.refuse_after" } else { &rung.key };
    Probe {
        pointer: root.key(&rung.detector).key(&rung.key),
        title: format!("`{key}` of `{}`", rung.detector),
        reason: detectors::reason(&rung.detector).map(|reason| reason.name().to_owned()).unwrap_or_default(),
        kind,
        fires,
        why,
    }
}

fn of_budgets(policy: &Policy, tools: &[Caller], budgets: Option<&Map>, time: Option<&Map>, found: &mut Vec<Probe>) {
    for (block, budget) in budgets::written(policy, budgets, time) {
        // a name that no manifest has is told of elsewhere
        let known = match (budget.key, &budget.name) {
            ("calls_per_tool", Some(name)) => name == "*" || policy.tools.contains_key(name),
            (_, Some(name)) => tools.iter().any(|caller| caller.tool.groups.iter().any(|group| **group == **name)),
            _ => true,
        };
        if !known {
            continue;
        }
        let (mut pointer, mut title) = (at(&["spec", block, budget.key]), format!("{block}.{}", budget.key));
        if let Some(name) = &budget.name {
            pointer = pointer.key(name);
            title = format!("{title}.{name}");
        }
        found.push(Probe {
            pointer,
            title: format!("`{title}`"),
            reason: budgets::reason(&budget).name().to_owned(),
            kind: Kind::Budget,
            fires: budgets::fires(policy, tools, &budget),
            why: None,
        });
    }
}
