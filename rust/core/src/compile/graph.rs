//! The graph of fallback edges: cycles, edges that are never taken, hops that cannot be used up, and substitutes that are
//! more dangerous or less guarded than what they stand in for.
use rustc_hash::{FxHashMap, FxHashSet};

use super::fallback::place_of;
use super::{at, Faults, Place, Tools};
use crate::model::policy::{PolicySpec, RuleAction};
use crate::model::{codes, Fault, Pointer};
use crate::policy::{Edge, EdgeKind, Effect, Fallback, FallbackStep};

/// A policy's fallback with what is known of its tools.
pub(super) struct Graph<'g> {
    pub(super) fallback: &'g Fallback,
    pub(super) tools: &'g Tools,
    pub(super) spec: &'g PolicySpec,
    /// For each edge, those that lead on from where it ends.
    next: Vec<Vec<usize>>,
}

/// How much a call of an effect may do.
fn strength(effect: Effect) -> u8 {
    match effect {
        Effect::Read | Effect::Control => 0,
        Effect::Write => 1,
        Effect::Ui => 2,
        Effect::External => 3,
        Effect::Unknown => 4,
    }
}

fn name_of(effect: Effect) -> &'static str {
    match effect {
        Effect::Read => "read",
        Effect::Control => "control",
        Effect::Write => "write",
        Effect::Ui => "ui",
        Effect::External => "external",
        Effect::Unknown => "unknown",
    }
}

/// The names of a path of edges.
fn shown(edges: &[Edge], path: &[usize]) -> String {
    let edges: Vec<&Edge> = path.iter().filter_map(|edge| edges.get(*edge)).collect();
    let first = edges.first().map(|edge| &*edge.from);
    let names: Vec<&str> = first.into_iter().chain(edges.iter().map(|edge| &*edge.to)).collect();
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" → ")
}

impl<'g> Graph<'g> {
    pub(super) fn new(fallback: &'g Fallback, tools: &'g Tools, spec: &'g PolicySpec) -> Self {
        let mut starts: FxHashMap<(bool, &str), Vec<usize>> = FxHashMap::default();
        for (index, edge) in fallback.edges.iter().enumerate() {
            starts.entry((edge.kind == EdgeKind::Tool, &edge.from)).or_default().push(index);
        }
        let after = |edge: &Edge| starts.get(&(edge.kind == EdgeKind::Tool, &*edge.to)).cloned().unwrap_or_default();
        Self { fallback, tools, spec, next: fallback.edges.iter().map(after).collect() }
    }

    /// Says all that is wrong with the graph. `written`: the author wrote `max_hops`.
    pub(super) fn check(&self, written: bool, faults: &mut Faults) {
        let cyclic = self.cycles(faults);
        self.never_tried(faults);
        if cyclic {
            return; // its paths have no end
        }
        let paths = self.paths();
        self.hops(&paths, written, faults);
        for path in &paths {
            self.effects(path, faults);
        }
        for (index, edge) in self.fallback.edges.iter().enumerate().filter(|(_, edge)| edge.kind == EdgeKind::Tool) {
            self.guards(index, edge, faults);
        }
    }

    fn after(&self, edge: usize) -> &[usize] {
        self.next.get(edge).map_or(&[], Vec::as_slice)
    }

    /// Edges that no other edge leads to.
    fn first(&self) -> Vec<usize> {
        let mut follows = vec![false; self.next.len()];
        for edge in self.next.iter().flatten() {
            if let Some(follows) = follows.get_mut(*edge) {
                *follows = true;
            }
        }
        follows.iter().enumerate().filter(|(_, follows)| !**follows).map(|(edge, _)| edge).collect()
    }

    /// Each cycle once, at the edge that closes it. True if there is one.
    fn cycles(&self, faults: &mut Faults) -> bool {
        let mut told: Vec<Vec<usize>> = Vec::new();
        for start in 0..self.fallback.edges.len() {
            let Some(cycle) = self.way_back(start) else { continue };
            let mut members = cycle.clone();
            members.sort_unstable();
            if told.contains(&members) {
                continue;
            }
            let last = cycle.last().copied().unwrap_or(start);
            let message = format!("the edges go round: {}", shown(&self.fallback.edges, &cycle));
            let mut fault = Fault::value(codes::FALLBACK_CYCLE, place_of(last).key("to"), message).hint(
                "take one of them out: a tool that was left is not gone back to before a missing cell was filled",
            );
            for edge in cycle.iter().filter(|edge| **edge != last) {
                fault = fault.related(place_of(*edge), "a part of it");
            }
            faults.add(Place::Policy, fault);
            told.push(members);
        }
        !told.is_empty()
    }

    /// The shortest way along edges from an edge back to where it starts, that edge included.
    fn way_back(&self, start: usize) -> Option<Vec<usize>> {
        let edge = self.fallback.edges.get(start)?;
        let mut paths = vec![vec![start]];
        let mut seen: FxHashSet<usize> = [start].into_iter().collect();
        while !paths.is_empty() {
            let mut longer = Vec::new();
            for path in paths {
                let last = path.last().copied()?;
                let end = self.fallback.edges.get(last)?;
                if end.to == edge.from && end.kind == edge.kind {
                    return Some(path);
                }
                for next in self.after(last) {
                    if seen.insert(*next) {
                        let mut path = path.clone();
                        path.push(*next);
                        longer.push(path);
                    }
                }
            }
            paths = longer;
        }
        None
    }

    /// Edges of a kind that `order` does not try.
    fn never_tried(&self, faults: &mut Faults) {
        for (index, edge) in self.fallback.edges.iter().enumerate() {
            let (step, word) = match edge.kind {
                EdgeKind::Tool => (FallbackStep::Substitute, "substitute"),
                EdgeKind::Provider => (FallbackStep::Provider, "provider"),
            };
            if !self.fallback.order.contains(&step) {
                let message = format!("this edge is never tried: `order` has no `{word}`");
                let fault = Fault::value(codes::UNREACHABLE_EDGE, place_of(index), message);
                let fault = fault.related(at(&["spec", "fallback", "order"]), "what is tried");
                faults.add(Place::Policy, fault.hint(format!("add `{word}` to `order`, or take the edge out")));
            }
        }
    }

    /// Every path of the graph from where none leads to; it has no cycles. The first thousand are enough to judge by.
    fn paths(&self) -> Vec<Vec<usize>> {
        const MOST: usize = 1_000;
        let mut open: Vec<Vec<usize>> = self.first().into_iter().map(|edge| vec![edge]).collect();
        let mut whole = Vec::new();
        while let Some(path) = open.pop() {
            let next = path.last().map_or(&[][..], |last| self.after(*last));
            if next.is_empty() || whole.len() >= MOST {
                whole.push(path);
                continue;
            }
            for edge in next {
                let mut longer = path.clone();
                longer.push(*edge);
                open.push(longer);
            }
        }
        whole.sort();
        whole
    }

    fn hops(&self, paths: &[Vec<usize>], written: bool, faults: &mut Faults) {
        let kind_of =
            |path: &[usize]| path.first().and_then(|edge| self.fallback.edges.get(*edge)).map(|edge| edge.kind);
        let of_tools: Vec<&Vec<usize>> = paths.iter().filter(|path| kind_of(path) == Some(EdgeKind::Tool)).collect();
        let length = |path: &[usize]| u64::try_from(path.len()).unwrap_or(u64::MAX);
        let longest = of_tools.iter().max_by_key(|path| path.len());
        let place = at(&["spec", "fallback", "max_hops"]);
        let most = self.fallback.max_hops;
        let tools: u64 = u64::try_from(self.fallback.edges.iter().filter(|edge| edge.kind == EdgeKind::Tool).count())
            .unwrap_or(u64::MAX);
        if let Some(longest) = longest.filter(|_| written && tools < most) {
            let edges = if tools == 1 { "is 1 edge".to_owned() } else { format!("are {tools} edges") };
            let way = shown(&self.fallback.edges, longest);
            let message = format!("{most} hops cannot be used up: there {edges}, and the longest path is {way}");
            let fault = Fault::value(codes::UNUSABLE_HOPS, place.clone(), message).warning();
            faults.add(Place::Policy, fault.hint(format!("write `max_hops: {}`", length(longest))));
        }
        // without `closed` the model may begin anywhere, and only a limit of none keeps it from every edge
        if !self.fallback.closed && most > 0 {
            return;
        }
        let mut told: FxHashSet<usize> = FxHashSet::default();
        let depths = self.depths();
        for path in of_tools {
            for (place, edge) in path.iter().enumerate() {
                let depth = depths.get(*edge).copied().unwrap_or(0);
                if depth < most || told.contains(edge) {
                    continue;
                }
                told.insert(*edge);
                let way = shown(&self.fallback.edges, path.get(..=place).unwrap_or(path));
                let message = format!("this edge is never reached within `max_hops: {most}`: {way}");
                let at = at(&["spec", "fallback", "max_hops"]);
                let fault = Fault::value(codes::UNREACHABLE_EDGE, place_of(*edge), message).related(at, "the limit");
                faults.add(Place::Policy, fault.hint("raise `max_hops`, or take the edge out"));
            }
        }
    }

    /// After how many hops each edge is come to at the soonest.
    fn depths(&self) -> Vec<u64> {
        let mut depths = vec![u64::MAX; self.next.len()];
        let (mut open, mut depth) = (self.first(), 0_u64);
        while !open.is_empty() {
            let mut further = Vec::new();
            for edge in open {
                if let Some(known) = depths.get_mut(edge).filter(|known| **known == u64::MAX) {
                    *known = depth;
                    further.extend_from_slice(self.after(edge));
                }
            }
            (open, depth) = (further, depth.saturating_add(1));
        }
        depths
    }

    /// A substitute that may do more than any tool before it on the path.
    fn effects(&self, path: &[usize], faults: &mut Faults) {
        for (index, position) in path.iter().enumerate() {
            let Some(edge) = self.fallback.edges.get(*position).filter(|edge| edge.kind == EdgeKind::Tool) else {
                continue;
            };
            let start =
                path.first().and_then(|first| self.fallback.edges.get(*first)).map_or(&edge.from, |it| &it.from);
            let (Some(original), Some(substitute)) = (self.tools.get(&**start), self.tools.get(&*edge.to)) else {
                continue;
            };
            let strongest = |entry: &crate::policy::ToolEntry| {
                let forms = entry.forms.iter().map(|(_, tool)| tool.effect);
                forms.chain([entry.base.effect]).max_by_key(|effect| strength(*effect)).unwrap_or(Effect::Unknown)
            };
            let (was, is) = (strongest(original), strongest(substitute));
            if strength(is) <= strength(was) {
                continue;
            }
            let upto = path.get(..=index).unwrap_or(path);
            let message = format!(
                "`{}` has effect `{}`, and `{start}`, for which it stands in, only `{}`: {}",
                edge.to,
                name_of(is),
                name_of(was),
                shown(&self.fallback.edges, upto)
            );
            let fault = Fault::value(codes::STRONGER_SUBSTITUTE, place_of(*position).key("to"), message);
            let told = faults.has(&fault);
            if !told {
                faults.add(
                    Place::Policy,
                    fault.hint("propose a tool that does no more than the one that did not deliver"),
                );
            }
        }
    }

    /// Guards that hold for a tool and not for its substitute.
    fn guards(&self, index: usize, edge: &Edge, faults: &mut Faults) {
        let mut report = |guard: String, at: Pointer| {
            let path = shown(&self.fallback.edges, &[index]);
            let message = format!("{guard} holds for `{}`, and not for its substitute: {path}", edge.from);
            let fault = Fault::value(codes::WEAKER_SUBSTITUTE, place_of(index).key("to"), message).warning();
            faults
                .add(Place::Policy, fault.related(at, "the guard").hint(format!("let it hold for `{}` too", edge.to)));
        };
        for (position, rule) in self.spec.rules.iter().flatten().enumerate() {
            let holds = matches!(rule.action, Some(RuleAction::Ask | RuleAction::Refuse | RuleAction::Stop));
            let names = |name: &str| rule.tools.iter().flatten().any(|tool| tool.as_str() == name);
            if holds && names(&edge.from) && !names(&edge.to) {
                report(format!("the rule `{}`", rule.id.as_str()), at(&["spec", "rules"]).index(position));
            }
        }
        let limits = self.spec.budgets.as_ref().and_then(|budgets| budgets.calls_per_tool.as_ref());
        if let Some(limits) = limits {
            let has = |name: &str| limits.iter().any(|(limited, _)| limited == name || limited == "*");
            let own = limits.iter().any(|(limited, _)| *limited == *edge.from);
            if own && !has(&edge.to) {
                let place = at(&["spec", "budgets", "calls_per_tool", &edge.from]);
                report("a limit of `calls_per_tool`".to_owned(), place);
            }
        }
    }
}
