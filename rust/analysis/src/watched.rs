//! A policy whose conditions are watched, each under the place where it is written.
use std::sync::Arc;

use callgate_core::compile::{ManifestDocument, Place};
use callgate_core::expression::Expression;
use callgate_core::model::Pointer;
use callgate_core::policy::{EdgeKind, ErrorRule, Policy, ResultContract, Tool, ToolEntry};
use callgate_core::watch::Log;

use crate::dead::at;
use crate::written::Written;

/// What an expression decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decides {
    /// Whether the rule of this id fires.
    Rule(String),
    /// Whether an edge is offered.
    Edge(String),
    /// Something else, as authors call it.
    Other(String),
}

/// An expression with a witness, and where it is written.
pub(crate) struct Site {
    pub(crate) place: Place,
    pub(crate) pointer: Pointer,
    pub(crate) decides: Decides,
    pub(crate) expression: Expression,
}

pub(crate) struct Watched {
    pub(crate) policy: Policy,
    pub(crate) sites: Vec<Site>,
}

struct Walk<'l> {
    sites: Vec<Site>,
    log: Option<&'l Arc<Log>>,
}

impl Walk<'_> {
    /// The expression with a witness: what is written once is watched as one, wherever it is compiled to.
    fn watch(&mut self, expression: &Expression, (place, pointer): (Place, Pointer), decides: Decides) -> Expression {
        let known = self.sites.iter().find(|site| site.place == place && site.pointer == pointer);
        if let Some(site) = known.filter(|site| site.expression.written() == expression.written()) {
            return expression.watched_as(&site.expression);
        }
        let log = self.log.map(|log| (self.sites.len(), Arc::clone(log)));
        let expression = expression.watched(log);
        self.sites.push(Site { place, pointer, decides, expression: expression.clone() });
        expression
    }
}

/// Watches the conditions of a policy and its manifests, its variables and messages. With a log, each evaluation is told there.
pub(crate) fn watched(policy: &Policy, manifests: &[ManifestDocument], log: Option<&Arc<Log>>) -> Watched {
    let mut walk = Walk { sites: Vec::new(), log };
    let mut policy = policy.clone();
    for (name, expression) in &mut policy.variables {
        let decides = Decides::Other(format!("the variable `{name}`"));
        *expression = walk.watch(expression, (Place::Policy, at(&["spec", "variables", name])), decides);
    }
    for (index, rule) in policy.rules.iter_mut().enumerate() {
        let place = at(&["spec", "rules"]).index(index);
        let decides = Decides::Rule(rule.id.to_string());
        rule.when = walk.watch(&rule.when, (Place::Policy, place.key("when")), decides);
        if let Some(message) = &mut rule.message {
            let decides = Decides::Other(format!("the message of rule `{}`", rule.id));
            *message = walk.watch(message, (Place::Policy, place.key("message")), decides);
        }
    }
    for (index, edge) in policy.fallback.edges.iter_mut().enumerate() {
        let place = at(&["spec", "fallback", "edges"]).index(index);
        if let Some(when) = edge.when.as_mut().filter(|_| edge.kind == EdgeKind::Tool) {
            let decides = Decides::Edge(format!("the edge `{}` → `{}`", edge.from, edge.to));
            *when = walk.watch(when, (Place::Policy, place.key("when")), decides);
        }
    }
    let written = Written::of(manifests);
    for (name, ..) in written.tools() {
        let Some(entry) = policy.tools.get(name).cloned() else { continue };
        let entry = of_tool(&mut walk, &written, name, &entry);
        policy.tools.insert(name.to_owned(), entry);
    }
    Watched { policy, sites: walk.sites }
}

fn of_tool<'d>(walk: &mut Walk<'_>, written: &Written<'d>, name: &'d str, entry: &ToolEntry) -> ToolEntry {
    let mut forms = Vec::with_capacity(entry.forms.len());
    for (index, (when, form)) in entry.forms.iter().enumerate() {
        let when = when.as_ref().map(|when| match written.place(name, Some(index), &["when"]) {
            Some(place) => {
                let decides = Decides::Other(format!("form {} of `{}`", index.saturating_add(1), written.meant(name)));
                walk.watch(when, place, decides)
            }
            None => when.clone(),
        });
        forms.push((when, Arc::new(contract(walk, written, name, Some(index), form))));
    }
    ToolEntry {
        base: Arc::new(contract(walk, written, name, None, &entry.base)),
        undecided: Arc::new(contract(walk, written, name, None, &entry.undecided)),
        forms,
    }
}

/// The tool with what reads its outcomes watched.
fn contract<'d>(walk: &mut Walk<'_>, written: &Written<'d>, name: &'d str, form: Option<usize>, tool: &Tool) -> Tool {
    let meant = written.meant(name);
    let mut of = |expression: Option<&Expression>, keys: &[&str]| {
        let expression = expression?;
        let decides = Decides::Other(format!("`{}` of `{meant}`", keys.join(".")));
        Some(match written.place(name, form, keys) {
            Some(place) => walk.watch(expression, place, decides),
            None => expression.clone(),
        })
    };
    let result = ResultContract {
        failed_when: of(tool.result.failed_when.as_ref(), &["result", "failed_when"]),
        empty_when: of(tool.result.empty_when.as_ref(), &["result", "empty_when"]),
        ..tool.result.clone()
    };
    let errors = tool.errors.iter().enumerate().map(|(index, rule)| {
        let when = of(rule.when.as_ref(), &["errors", &index.to_string(), "when"]);
        ErrorRule { when, ..rule.clone() }
    });
    let errors = errors.collect();
    Tool { result, errors, ..tool.clone() }
}
