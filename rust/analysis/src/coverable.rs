//! All that can be exercised of a policy, each with how it shows.
use callgate_core::compile::Place;
use callgate_core::model::Pointer;
use callgate_core::policy::{EdgeKind, Policy};
use callgate_core::Status;
use callgate_value::{Map, Text, Value};

use crate::budgets;
use crate::coverage::{Counted, Item, Shown};
use crate::dead::at;
use crate::detectors::{self, Does};
use crate::reached::Scope;
use crate::watched::{Decides, Site};
use crate::written::Written;

struct Found(Vec<(Item, Shown)>);

/// All of it, in the order policy, manifests.
pub(crate) fn coverable(
    policy: &Policy,
    document: &Value,
    written: &Written<'_>,
    sites: &[Site],
) -> Vec<(Item, Shown)> {
    let mut found = Found(Vec::new());
    let spec = document.get("spec");
    let block = |key: &str| spec.and_then(|spec| spec.get(key)).and_then(Value::as_map);
    for (witness, site) in sites.iter().enumerate() {
        found.of_expression(witness, site);
    }
    found.of_detectors(block("detectors"));
    for (name, budget) in budgets::written(policy, block("budgets"), block("time")) {
        let (mut pointer, mut owner) = (at(&["spec", name, budget.key]), format!("{name}.{}", budget.key));
        if let Some(of) = &budget.name {
            pointer = pointer.key(of);
            owner = format!("{owner}.{of}");
        }
        let owner = format!("`{owner}`");
        found.add((Place::Policy, &pointer), Counted::Budget, "is used up", &owner, Shown::Spent(budget));
    }
    found.of_ways(policy, document);
    found.of_tools(written);
    found.0
}

impl Found {
    fn add(
        &mut self,
        (place, pointer): (Place, &Pointer),
        kind: Counted,
        outcome: &'static str,
        owner: &str,
        shown: Shown,
    ) {
        let (pointer, owner) = (pointer.clone(), owner.to_owned());
        self.0.push((Item { place, pointer, span: None, kind, outcome, owner }, shown));
    }

    fn of_expression(&mut self, witness: usize, site: &Site) {
        let place = (site.place, &site.pointer);
        let (owner, whole) = match &site.decides {
            Decides::Rule(id) => (format!("the rule `{id}`"), Some((Counted::Rule, ["fires", "does not fire"]))),
            // whether it is offered is more than whether its condition holds
            Decides::Edge(edge) => (edge.clone(), None),
            Decides::Other(name) => (name.clone(), Some((Counted::Part, ["is true", "is false"]))),
        };
        let tells = site.expression.is_condition();
        if let Some((kind, outcomes)) = whole.filter(|_| tells) {
            for (truth, outcome) in [true, false].into_iter().zip(outcomes) {
                self.add(place, kind, outcome, &owner, Shown::Came { witness, node: None, truth });
            }
        }
        let source = site.expression.written();
        let points = |byte: u32| source.get(..byte as usize).map_or(0, |text| text.chars().count());
        for part in site.expression.witness().map_or(&[][..], |witness| witness.parts()) {
            for (truth, outcome) in [(true, "is true"), (false, "is false")] {
                let shown = Shown::Came { witness, node: Some(part.node), truth };
                self.add(place, Counted::Part, outcome, &owner, shown);
                if let Some((item, _)) = self.0.last_mut() {
                    item.span = Some((points(part.span.start), points(part.span.end)));
                }
            }
        }
    }

    fn of_detectors(&mut self, block: Option<&Map>) {
        let Some(block) = block else { return };
        let root = at(&["spec", "detectors"]);
        let special = block.get("for").and_then(Value::as_map);
        let general: Vec<(Text, Value)> = block
            .iter()
            .filter(|(name, _)| !matches!(name.as_str(), Some("window" | "for")))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let general = Map::new(general).unwrap_or_default();
        self.of_rungs(&general, None, special, &root);
        for (name, thresholds) in special.into_iter().flat_map(Map::iter) {
            if let (Some(name), Some(thresholds)) = (name.as_str(), thresholds.as_map()) {
                self.of_rungs(thresholds, Some(name), special, &root.key("for").key(name));
            }
        }
    }

    fn of_rungs(&mut self, block: &Map, name: Option<&str>, special: Option<&Map>, root: &Pointer) {
        for rung in detectors::rungs(block) {
            let pointer = root.key(&rung.detector).key(&rung.key);
            let outcome = match rung.does {
                Does::Notes => "notes",
                Does::Refuses => "refuses",
                Does::Exits => "ends the task",
            };
            let of = name.map_or_else(String::new, |name| format!(" for `{name}`"));
            let owner = format!("`{}` of `{}`{of}", rung.key, rung.detector);
            let scope = Scope::of(name, &rung, special);
            self.add((Place::Policy, &pointer), Counted::Rung, outcome, &owner, Shown::Rung(scope, rung));
        }
    }

    /// Edges between tools, needs, and how runs end.
    fn of_ways(&mut self, policy: &Policy, document: &Value) {
        for (index, edge) in policy.fallback.edges.iter().enumerate().filter(|(_, edge)| edge.kind == EdgeKind::Tool) {
            let pointer = at(&["spec", "fallback", "edges"]).index(index);
            let owner = format!("the edge `{}` → `{}`", edge.from, edge.to);
            for (truth, outcome) in [(true, "is offered"), (false, "is not offered")] {
                let shown = Shown::Offered { from: edge.from.clone(), to: edge.to.clone(), truth };
                self.add((Place::Policy, &pointer), Counted::Edge, outcome, &owner, shown);
            }
        }
        for (need, written) in policy.needs.iter().enumerate() {
            let pointer = at(&["spec", "needs"]).index(need);
            let owner = format!("the need `{}`", written.id);
            for (truth, outcome) in [(true, "is met"), (false, "is left open")] {
                let shown = Shown::Met { need, truth };
                self.add((Place::Policy, &pointer), Counted::Need, outcome, &owner, shown);
            }
        }
        let then = document.get("spec").and_then(|spec| spec.get("fallback")).and_then(|it| it.get("then"));
        let ends = [
            ("partial", Status::Partial, policy.fallback.then.partial),
            ("insufficient", Status::Incomplete, policy.fallback.then.insufficient),
        ];
        for (key, status, exit) in ends {
            if then.is_some_and(|then| then.get(key).is_some()) {
                let pointer = at(&["spec", "fallback", "then", key]);
                let owner = format!("`fallback.then.{key}`");
                let shown = Shown::Ended { status, exit };
                self.add((Place::Policy, &pointer), Counted::Exit, "ends a run", &owner, shown);
            }
        }
    }

    fn of_tools(&mut self, written: &Written<'_>) {
        for (name, position, tool) in written.tools() {
            if written.meant(name) != name {
                continue;
            }
            let place = Place::Manifest(position);
            let root = at(&["spec", "tools", name]);
            let forms = tool.get("forms").and_then(Value::as_list).unwrap_or_default();
            for (index, form) in forms.iter().enumerate() {
                let pointer = root.key("forms").index(index);
                let owner = format!("form {} of `{name}`", index.saturating_add(1));
                let shown = Shown::Formed { tool: name.to_owned(), form: Some(index) };
                self.add((place, &pointer), Counted::Form, "is taken", &owner, shown);
                self.of_waiting((place, &pointer), &owner, form, name, Some(index));
            }
            // a form without a condition leaves nothing for the tool itself
            if forms.iter().all(|form| form.get("when").is_some()) {
                let owner = format!("`{name}`");
                let outcome = if forms.is_empty() { "is called" } else { "is called in no form" };
                let shown = Shown::Formed { tool: name.to_owned(), form: None };
                self.add((place, &root), Counted::Form, outcome, &owner, shown);
                self.of_waiting((place, &root), &owner, tool, name, None);
            }
        }
    }

    fn of_waiting(&mut self, at: (Place, &Pointer), owner: &str, written: &Value, name: &str, form: Option<usize>) {
        let Some(waiting) = written.get("waiting") else { return };
        for key in ["max_unchanged", "max_stale", "min_interval"] {
            let limited = waiting.get(key).filter(|limit| limit.as_str() != Some("unlimited"));
            if limited.is_some() {
                let pointer = at.1.key("waiting").key(key);
                let owner = format!("`waiting.{key}` of {owner}");
                let shown = Shown::Waited { tool: name.to_owned(), form, key };
                self.add((at.0, &pointer), Counted::Rung, "speaks", &owner, shown);
            }
        }
    }
}
