//! Hops: calls of a substitute after it was offered. They are counted for each need, and a tool that was left is not gone
//! back to until a missing cell was filled.
use std::collections::BTreeMap;
use std::sync::Arc;

use callgate_value::Value;
use serde::{Deserialize, Serialize};

use super::Offer;
use crate::about::as_json;
use crate::call::Call;
use crate::needs::Needs;
use crate::policy::{Edge, EdgeKind, Need, Policy};
use crate::verdict::{Evidence, Finding, IncidentKey};
use crate::Reason;

/// Hops that reports tell of.
const MOST_TOLD: usize = 256;
/// The way of the task as a whole, for edges that fill no need; no need has an empty id.
const WHOLE: &str = "";

/// The way of one need.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Way {
    hops: u64,
    /// Tools that were left since a missing cell was filled.
    left: Vec<String>,
    /// What was offered and not taken yet.
    offered: Vec<Standing>,
    /// Tools that were hopped to.
    reached: Vec<String>,
}

/// An offer that stands, with the arguments that were proposed last.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Standing {
    from: String,
    to: String,
    call_id: String,
    #[serde(with = "as_json")]
    arguments: Value,
}

/// A hop, as reports tell of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Hop {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) need: Option<String>,
    pub(crate) call_id: String,
    pub(crate) at: f64,
}

/// What was offered, taken and left, by the ids of needs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Hops {
    ways: BTreeMap<String, Way>,
    told: Vec<Hop>,
}

impl Hops {
    /// Whether a further hop may be proposed for a need.
    pub(crate) fn may_hop(&self, policy: &Policy, need: Option<&Need>, to: &str) -> bool {
        let fresh = Way::default();
        let way = self.ways.get(id(need)).unwrap_or(&fresh);
        way.hops < policy.fallback.max_hops && !way.has_left(to)
    }

    pub(crate) fn offer(&mut self, need: Option<&Need>, edge: &Edge, call_id: &str, arguments: &Value) {
        let way = self.ways.entry(id(need).to_owned()).or_default();
        way.offered.retain(|offer| offer.from != *edge.from || offer.to != *edge.to);
        way.offered.push(Standing {
            from: edge.from.to_string(),
            to: edge.to.to_string(),
            call_id: call_id.to_owned(),
            arguments: arguments.clone(),
        });
    }

    /// The offers that stand for whoever calls this tool, and that may be taken.
    pub(crate) fn standing(&self, policy: &Policy, tool: &str) -> Vec<Offer> {
        let mut standing = Vec::new();
        for (id, way) in &self.ways {
            let need = policy.needs.iter().find(|need| *need.id == **id);
            for offer in way.offered.iter().filter(|offer| offer.from == tool) {
                if self.may_hop(policy, need, &offer.to) {
                    standing.push(Offer {
                        call_id: offer.call_id.as_str().into(),
                        from: offer.from.as_str().into(),
                        tool: offer.to.as_str().into(),
                        arguments: Arc::new(offer.arguments.clone()),
                        need: need.map(|need| Arc::clone(&need.id)),
                    });
                }
            }
        }
        standing
    }

    /// What speaks against a call because of the hops before it.
    pub(crate) fn findings(&self, policy: &Policy, needs: &Needs, call: &Call) -> Option<Finding> {
        if policy.fallback.edges.is_empty() {
            return None;
        }
        let tool = &*call.tool.name;
        let incident = IncidentKey::Tool { session: call.session, tool: call.tool_symbol };
        let refuse = |reason, evidence| Some(Finding::refuse(reason, evidence).within(incident.clone()));
        let fresh = Way::default();
        let serves: Vec<(Option<&Need>, &Way)> =
            served(policy, needs, call).map(|need| (need, self.ways.get(id(need)).unwrap_or(&fresh))).collect();
        let over = |way: &Way| way.hops >= policy.fallback.max_hops;
        let offered: Vec<_> = serves.iter().filter(|(_, way)| way.offers(tool)).collect();
        if let Some((need, way)) = offered.first().filter(|_| offered.iter().all(|(_, way)| over(way))) {
            return refuse(Reason::HopLimit, way.evidence(policy, *need));
        }
        if let Some((need, way)) = serves.first().filter(|_| serves.iter().all(|(_, way)| way.has_left(tool))) {
            return refuse(Reason::NoReturn, way.evidence(policy, *need));
        }
        let outside = |(need, way): &&(Option<&Need>, &Way)| is_outside(policy, *need, way, tool);
        let (need, way) = serves.iter().find(outside).filter(|_| policy.fallback.closed)?;
        let mut evidence = way.evidence(policy, *need);
        evidence.push(("closed", Value::Bool(true)));
        refuse(Reason::HopLimit, evidence)
    }

    /// Whether the call's tool stands in for another one.
    pub(crate) fn is_substitute(&self, tool: &str) -> bool {
        self.ways.values().any(|way| way.reached.iter().any(|reached| reached == tool))
    }

    /// A call was let through: it may be a hop. Answers with whether its tool stands in for another one.
    pub(crate) fn dispatched(&mut self, policy: &Policy, needs: &Needs, call: &Call, call_id: &str, now: f64) -> bool {
        if self.ways.is_empty() {
            return false;
        }
        let tool = &*call.tool.name;
        let serves: Vec<Option<&Need>> = served(policy, needs, call).collect();
        for need in serves {
            let Some(way) = self.ways.get_mut(id(need)) else { continue };
            let Some(from) = way.take(tool) else { continue };
            let need = need.map(|need| need.id.to_string());
            if self.told.len() < MOST_TOLD {
                self.told.push(Hop { from, to: tool.to_owned(), need, call_id: call_id.to_owned(), at: now });
            }
        }
        self.is_substitute(tool)
    }

    /// Missing cells of a need were filled: whoever was left for it may be gone back to.
    pub(crate) fn filled(&mut self, need: &str) {
        if let Some(way) = self.ways.get_mut(need) {
            way.left.clear();
        }
    }

    /// Something new came: for edges that fill no need, this is what a filled cell is for the others.
    pub(crate) fn gained(&mut self) {
        self.filled(WHOLE);
    }

    /// The hops so far, for reports.
    pub(crate) fn told(&self) -> &[Hop] {
        &self.told
    }
}

impl Way {
    fn has_left(&self, tool: &str) -> bool {
        self.left.iter().any(|left| left == tool)
    }

    fn offers(&self, tool: &str) -> bool {
        self.offered.iter().any(|offer| offer.to == tool)
    }

    /// Takes every offer of a tool: a hop. Answers with the tool that it leaves.
    fn take(&mut self, tool: &str) -> Option<String> {
        let froms: Vec<String> =
            self.offered.iter().filter(|offer| offer.to == tool).map(|offer| offer.from.clone()).collect();
        let first = froms.first().cloned()?;
        self.hops = self.hops.saturating_add(1);
        self.offered.retain(|offer| offer.to != tool);
        for from in froms {
            if !self.has_left(&from) {
                self.left.push(from);
            }
        }
        if !self.reached.iter().any(|reached| reached == tool) {
            self.reached.push(tool.to_owned());
        }
        Some(first)
    }

    fn evidence(&self, policy: &Policy, need: Option<&Need>) -> Evidence {
        let count = |number: u64| Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
        let mut evidence = vec![("hops", count(self.hops)), ("max_hops", count(policy.fallback.max_hops))];
        evidence.extend(need.map(|need| ("need", Value::from(&*need.id))));
        if !self.left.is_empty() {
            let names = self.left.iter().map(|tool| Value::from(tool.as_str())).collect();
            evidence.push(("left", Value::List(names)));
        }
        evidence
    }
}

fn id(need: Option<&Need>) -> &str {
    need.map_or(WHOLE, |need| &need.id)
}

/// The open needs that a call's tool can fill; none for the task as a whole, where edges that fill no need name the tool.
fn served<'p>(policy: &'p Policy, needs: &'p Needs, call: &'p Call) -> impl Iterator<Item = Option<&'p Need>> + 'p {
    let tool = &*call.tool.name;
    let names = |edge: &Edge| {
        edge.needs.is_empty() && edge.kind == EdgeKind::Tool && (*edge.to == *tool || *edge.from == *tool)
    };
    let whole = policy.fallback.edges.iter().any(names).then_some(None);
    let open = policy.needs.iter().filter(|need| need.takes(&call.tool) && needs.is_open(need));
    open.map(Some).chain(whole)
}

/// The needs that an edge is offered for: those that its end can fill and that are open, or the task as a whole.
pub(super) fn open_for<'p>(policy: &'p Policy, needs: &Needs, edge: &Edge) -> Vec<Option<&'p Need>> {
    if edge.needs.is_empty() {
        return vec![None];
    }
    let fills = edge.needs.iter().filter_map(|need| policy.needs.get(*need));
    fills.filter(|need| needs.is_open(need)).map(Some).collect()
}

/// With `closed`: whether no edge of the need leads to the tool now, and it is no tool to begin with either.
fn is_outside(policy: &Policy, need: Option<&Need>, way: &Way, tool: &str) -> bool {
    let place = need.and_then(|need| policy.needs.iter().position(|it| it == need));
    let concerns = |edge: &&Edge| match place {
        Some(place) => edge.needs.contains(&place),
        None => edge.needs.is_empty(),
    };
    let mut edges = policy.fallback.edges.iter().filter(|edge| edge.kind == EdgeKind::Tool).filter(concerns).peekable();
    if edges.peek().is_none() {
        return false;
    }
    let (mut starts, mut ends) = (false, false);
    for edge in edges {
        starts |= *edge.from == *tool;
        ends |= *edge.to == *tool;
    }
    let reached = way.reached.iter().any(|reached| reached == tool);
    !(way.offers(tool) || reached || (starts && !ends))
}
