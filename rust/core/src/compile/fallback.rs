//! `spec.fallback`: the graph of ways out. What can never be taken is said at load, with the path.
use std::sync::Arc;

use callgate_cel::Type;

use super::graph::Graph;
use super::scopes::{self, Given, Stand, Variable};
use super::{at, shared, spec, ArgumentTypes, Faults, Place, Tools};
use crate::model::fallback as written;
use crate::model::policy::PolicySpec;
use crate::model::{codes, Fault, Pointer};
use crate::policy::{Edge, EdgeKind, End, Fallback, FallbackStep, Need};
use crate::verdict::ExitDecision;

/// `max_hops`, where it is left out.
const MAX_HOPS: u64 = 2;

/// What edges are compiled against.
pub(crate) struct Ground<'g> {
    pub(crate) tools: &'g Tools,
    pub(crate) arguments: &'g ArgumentTypes,
    pub(crate) given: &'g Given,
    pub(crate) variables: &'g [Variable],
    pub(crate) needs: &'g [Need],
}

pub(crate) fn compile(spec: &PolicySpec, ground: &Ground<'_>, faults: &mut Faults) -> Fallback {
    let Some(block) = &spec.fallback else { return Fallback::default() };
    let edges = block.edges.iter().flatten().enumerate();
    let edges: Vec<Edge> = edges.filter_map(|(index, edge)| one(index, edge, ground, faults)).collect();
    let order = match &block.order {
        Some(order) => order.iter().map(|it| step(*it)).collect(),
        None => vec![FallbackStep::Cache, FallbackStep::Substitute, FallbackStep::Provider, FallbackStep::Skip],
    };
    let then = block.then.as_ref();
    let ends = |action: Option<written::ExitAction>, default| action.map_or(default, decision);
    let fallback = Fallback {
        order,
        max_hops: block.max_hops.map_or(MAX_HOPS, |hops| hops.get()),
        closed: block.closed.unwrap_or(false),
        edges,
        then: End {
            partial: ends(then.and_then(|then| then.partial), ExitDecision::FinishWithGaps),
            insufficient: ends(then.and_then(|then| then.insufficient), ExitDecision::Escalate),
            queue: then.and_then(|then| then.queue.as_ref()).map(|queue| shared(queue.as_str())),
        },
    };
    // a graph with an edge that could not be read would be judged for what is missing in it
    if fallback.edges.len() == block.edges.as_ref().map_or(0, Vec::len) {
        Graph::new(&fallback, ground.tools, spec).check(block.max_hops.is_some(), faults);
    }
    fallback
}

fn step(written: written::FallbackStep) -> FallbackStep {
    match written {
        written::FallbackStep::Cache => FallbackStep::Cache,
        written::FallbackStep::Substitute => FallbackStep::Substitute,
        written::FallbackStep::Provider => FallbackStep::Provider,
        written::FallbackStep::Skip => FallbackStep::Skip,
    }
}

fn decision(written: written::ExitAction) -> ExitDecision {
    match written {
        written::ExitAction::Finish => ExitDecision::Finish,
        written::ExitAction::FinishWithGaps => ExitDecision::FinishWithGaps,
        written::ExitAction::Escalate => ExitDecision::Escalate,
    }
}

/// The place of an edge.
pub(super) fn place_of(index: usize) -> Pointer {
    at(&["spec", "fallback", "edges"]).index(index)
}

fn one(index: usize, edge: &written::Edge, ground: &Ground<'_>, faults: &mut Faults) -> Option<Edge> {
    let place = place_of(index);
    let kind = match edge.kind {
        None | Some(written::EdgeKind::Tool) => EdgeKind::Tool,
        Some(written::EdgeKind::Provider | written::EdgeKind::Model) => EdgeKind::Provider,
    };
    let is_tool = kind == EdgeKind::Tool;
    let known = ground.arguments.get(edge.from.as_str()).filter(|_| is_tool);
    let stand = if is_tool { Stand::Edge } else { Stand::Provider };
    let mut env = scopes::env(stand, known.cloned().unwrap_or(Type::Dyn), ground.given, ground.variables);
    let mut sound = true;
    let when = edge.when.as_ref().and_then(|when| {
        let compiled = faults.expression(Place::Policy, &place.key("when"), when, &env, Some(Type::Bool));
        sound &= compiled.is_some();
        compiled
    });
    // where the condition holds, what it asked for is there
    env.present(&when.as_ref().map(|when| when.tests().if_true).unwrap_or_default());
    let mut arguments = Vec::new();
    for (name, argument) in edge.arguments.iter().flat_map(|arguments| arguments.iter()) {
        let compiled = faults.expression(Place::Policy, &place.key("arguments").key(name), argument, &env, None);
        sound &= compiled.is_some();
        arguments.extend(compiled.map(|compiled| (shared(name), compiled)));
    }
    for (key, name) in [("from", &edge.from), ("to", &edge.to)] {
        if is_tool && !ground.tools.is_empty() && !ground.tools.contains_key(name.as_str()) {
            let message = format!("`{}` is no tool of the manifests in force", name.as_str());
            let known = spec::tool_names(ground.tools);
            faults.undeclared(Fault::value(codes::UNDECLARED_NAME, place.key(key), message), name.as_str(), &known);
        }
    }
    let to = shared(edge.to.as_str());
    sound.then(|| Edge {
        kind,
        from: shared(edge.from.as_str()),
        needs: fills(&to, is_tool, ground),
        to,
        when,
        arguments,
    })
}

/// The needs that a tool can fill, in any of its forms.
fn fills(tool: &Arc<str>, is_tool: bool, ground: &Ground<'_>) -> Box<[usize]> {
    let takes = |need: &Need| match (&need.from, ground.tools.get(&**tool)) {
        (Some(from), _) => from.contains(tool),
        (None, Some(entry)) => need.takes(&entry.base) || entry.forms.iter().any(|(_, form)| need.takes(form)),
        (None, None) => false,
    };
    let needs = ground.needs.iter().enumerate().filter(|(_, need)| is_tool && takes(need));
    needs.map(|(position, _)| position).collect()
}
