//! What to do when a tool does not deliver: the compiled `fallback`.
use std::sync::Arc;

use crate::expression::Expression;
use crate::verdict::ExitDecision;

/// A way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FallbackStep {
    /// An earlier success of the same read.
    Cache,
    /// Another tool.
    Substitute,
    /// Another provider of the model.
    Provider,
    /// Do without, and say so.
    Skip,
}

/// What an edge leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeKind {
    /// Another tool.
    Tool,
    /// Another model, or provider of one.
    Provider,
}

/// A way from one tool or provider to another.
#[derive(Clone, Debug)]
pub struct Edge {
    /// What it leads to.
    pub kind: EdgeKind,
    /// Where it starts.
    pub from: Arc<str>,
    /// Where it leads.
    pub to: Arc<str>,
    /// When it is offered; none: when `from` does not deliver.
    pub when: Option<Expression>,
    /// The arguments of the proposed call.
    pub arguments: Vec<(Arc<str>, Expression)>,
    /// The needs that `to` can fill, by position; empty: it is a way out of the task as a whole.
    pub needs: Box<[usize]>,
}

/// How a run ends that does not find all it needs.
#[derive(Clone, Debug)]
pub struct End {
    /// The essential is there, other fields are missing.
    pub partial: ExitDecision,
    /// Less than that.
    pub insufficient: ExitDecision,
    /// The queue in which a person finds it.
    pub queue: Option<Arc<str>>,
}

/// What to do when a tool does not deliver.
#[derive(Clone, Debug)]
pub struct Fallback {
    /// Which ways out are tried, in this order.
    pub order: Vec<FallbackStep>,
    /// How many hops a need may take.
    pub max_hops: u64,
    /// Whether tools that no edge names are refused while the need that they feed is open.
    pub closed: bool,
    /// The ways, in the order in which they are written.
    pub edges: Vec<Edge>,
    /// How the run ends where none is left.
    pub then: End,
}

impl End {
    /// The end of both that claims less.
    pub(crate) fn more_careful(&self, other: &Self) -> Self {
        let rank = |exit: ExitDecision| match exit {
            ExitDecision::Finish => 0,
            ExitDecision::FinishWithGaps => 1,
            ExitDecision::Escalate => 2,
        };
        let careful = |one, other| if rank(one) >= rank(other) { one } else { other };
        Self {
            partial: careful(self.partial, other.partial),
            insufficient: careful(self.insufficient, other.insufficient),
            queue: self.queue.clone().or_else(|| other.queue.clone()),
        }
    }
}

impl Default for Fallback {
    fn default() -> Self {
        let then = End { partial: ExitDecision::FinishWithGaps, insufficient: ExitDecision::Escalate, queue: None };
        Self { order: Vec::new(), max_hops: 0, closed: false, edges: Vec::new(), then }
    }
}

impl Fallback {
    /// The edges that start at a tool or provider.
    pub(crate) fn from<'f>(&'f self, kind: EdgeKind, name: &'f str) -> impl Iterator<Item = &'f Edge> {
        self.edges.iter().filter(move |edge| edge.kind == kind && *edge.from == *name)
    }
}
