//! `spec.needs` and `spec.fallback`: what a task has to find out, and what to do when a tool does not deliver.
use super::cel::Cel;
use super::declare::{model, words};
use super::numbers::Count;
use super::reader::Named;
use super::texts::Name;

words! {
    /// Which value a cell keeps when several calls fill it.
    pub enum Resolve {
        /// The first one.
        First = "first",
        /// The last one.
        Last = "last",
    }
}

model! {
    /// What the task has to find out: `min_records` records with `fields` each.
    pub struct Need {
        /// A stable name.
        pub id: Name,
        /// The tools whose records count. Left out: every tool that declares `result.records`.
        pub from: Option<Vec<Name>>,
        /// How many records are needed. Default: one.
        pub min_records: Option<Count<1, 1_000>>,
        /// The fields that identify a record. Left out, there is one record, and everything belongs to it.
        pub key: Option<Vec<Name>>,
        /// Which value a cell keeps when several calls fill it, in the order in which they were asked for. Default: `first`.
        pub resolve: Option<Resolve>,
        /// The fields that each record should carry.
        pub fields: Vec<Name>,
        /// Those of them without which the record is worth nothing. Left out: all of them.
        pub essential: Option<Vec<Name>>,
    }
}

words! {
    /// A way out when a tool does not deliver.
    pub enum FallbackStep {
        /// An earlier success of the same call, reads only.
        Cache = "cache",
        /// Another tool.
        Substitute = "substitute",
        /// Another provider.
        Provider = "provider",
        /// Do without, and say so.
        Skip = "skip",
    }
}

words! {
    /// What an edge leads to.
    pub enum EdgeKind {
        /// Another tool.
        Tool = "tool",
        /// Another model.
        Model = "model",
        /// Another provider.
        Provider = "provider",
    }
}

model! {
    /// A way from one tool or provider to another.
    pub struct Edge {
        /// What it leads to. Default: a tool.
        pub kind: Option<EdgeKind>,
        /// Where it starts.
        pub from: Name,
        /// Where it leads.
        pub to: Name,
        /// When it is offered.
        pub when: Option<Cel>,
        /// The arguments of the proposed call. An edge whose arguments cannot be computed is not offered.
        pub arguments: Option<Named<Cel>>,
    }
}

words! {
    /// How a run ends.
    pub enum ExitAction {
        /// With all that was asked for.
        Finish = "finish",
        /// With what there is, the gaps named.
        FinishWithGaps = "finish_with_gaps",
        /// In the hands of a person.
        Escalate = "escalate",
    }
}

model! {
    /// How a run ends that does not find all it needs.
    #[derive(Default)]
    pub struct FallbackEnd {
        /// Essential fields are there, others are missing. Default: `finish_with_gaps`.
        pub partial: Option<ExitAction>,
        /// Less than that. Default: `escalate`.
        pub insufficient: Option<ExitAction>,
        /// The queue in which a person finds it.
        pub queue: Option<Name>,
    }
}

model! {
    /// What to do when a tool does not deliver.
    #[derive(Default)]
    pub struct Fallback {
        /// Which ways out are tried, in this order. Default: all, as they are listed here.
        pub order: Option<Vec<FallbackStep>>,
        /// How many hops a need may take. Default: 2.
        pub max_hops: Option<Count>,
        /// Whether tools without an edge that feed an open need are refused.
        pub closed: Option<bool>,
        /// The ways from one tool or provider to another.
        pub edges: Option<Vec<Edge>>,
        /// How the run ends where none is left.
        pub then: Option<FallbackEnd>,
    }
}
