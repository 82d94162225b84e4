//! The compiled policy: what a decision reads. Immutable, shared between tasks and threads.
mod binding;
mod budgets;
mod combined;
mod contract;
mod detectors;
mod effects;
mod fallback;
mod identity;
mod needs;
mod rule;
mod tool;

use std::sync::Arc;

use callgate_value::{Symbol, Value};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::expression::Expression;

pub use binding::{Binding, Exception, Match};
pub use budgets::{Budgets, Limit};
pub use contract::{Coverage, ErrorClass, ErrorRule, Jitter, ResultContract, Retry, Waiting};
pub use detectors::{Cycle, Detectors, Diversity, ExactRepeat, NoGain, Oscillation, Rungs};
pub use effects::{Breaker, Idempotency, PassAs, Verify};
pub use fallback::{Edge, EdgeKind, End, Fallback, FallbackStep};
pub use identity::{Identity, Trim};
pub use needs::Need;
pub use rule::{Phase, Rule, RuleEffect};
pub use tool::{Effect, Tool, ToolEntry};

/// Whether verdicts hold or are only recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// They hold.
    Enforce,
    /// Every call runs; a note says what would have happened.
    Warn,
    /// Every call runs; only the record says what would have happened.
    Audit,
}

/// How refusals climb.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ladder {
    /// Reads answered from the last result, per incident.
    pub reuse_reads: u64,
    /// Counted refusals after which the next is a stop; none: never.
    pub stop_after_refusals: Option<u64>,
    /// The same for unknown tools and invalid arguments.
    pub deterministic_stop_after: Option<u64>,
}

/// What an event resets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resets {
    /// consecutive, exact_repeat, frequency, cycle
    pub repeats: bool,
    /// same_error, unknown_tool, invalid_arguments
    pub errors: bool,
    /// same_result, empty_streak, oscillation, state_oscillation, transfers
    pub results: bool,
    /// no_gain
    pub gain: bool,
    /// incidents
    pub incidents: bool,
}

/// A compiled policy.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Its name.
    pub name: String,
    /// The author's revision.
    pub revision: String,
    /// SHA-256 of the canonical resolved policy and manifests.
    pub digest: String,
    /// Whether verdicts hold.
    pub mode: Mode,
    /// The binding that it applies under, where the policies of a folder are bound.
    pub binding: Option<Binding>,
    /// The bindings of all policies that apply, as verdicts show them.
    pub bindings: Arc<[Binding]>,
    /// The policies that were combined, where several apply.
    pub combined_of: Vec<Arc<Self>>,
    /// No binding names whoever is judged by this: everything is refused.
    pub is_nobody: bool,
    /// What is lifted for a while.
    pub exceptions: Vec<Exception>,
    /// Whether undeclared tools are refused.
    pub refuse_undeclared: bool,
    /// Whether calls run although the shared state cannot be reached.
    pub on_store_failure_allow: bool,
    /// Whether an error inside a decision lets reads through.
    pub on_error_allow_reads: bool,
    /// Whether the model gets one more turn after a stop.
    pub final_answer: bool,
    /// Calls that the windows hold.
    pub window: usize,
    /// The longest period and laps of cycles.
    pub cycle: Option<Cycle>,
    /// What cycle streams keep: enough for every policy of the guard.
    pub stream_cycle: Option<Cycle>,
    /// The longest period and laps of transfers.
    pub transfer_cycle: Option<Cycle>,
    /// What the stream of transfers keeps.
    pub stream_transfer_cycle: Option<Cycle>,
    /// Thresholds for tools of which nothing is declared.
    pub undeclared: Arc<Detectors>,
    /// The same for those that `detectors.for` names.
    pub undeclared_special: FxHashMap<String, Arc<Detectors>>,
    /// Declared tools by name.
    pub tools: FxHashMap<String, ToolEntry>,
    /// Budgets.
    pub budgets: Budgets,
    /// Ladder.
    pub ladder: Ladder,
    /// What a person's turn resets.
    pub on_user_turn: Resets,
    /// What a compaction resets.
    pub on_compaction: Resets,
    /// The author's rules, in order.
    pub rules: Vec<Rule>,
    /// What the task has to find out.
    pub needs: Vec<Need>,
    /// What to do when a tool does not deliver.
    pub fallback: Fallback,
    /// `params`, `constants` and `variables` for expressions.
    pub params: Value,
    /// `constants`
    pub constants: Value,
    /// `variables`, in order.
    pub variables: Vec<(Arc<str>, Expression)>,
    /// Is told what comes of replays, where somebody wants to know.
    pub watch: Option<Arc<crate::watch::Watch>>,
}

impl Mode {
    /// The name in policies and logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::Warn => "warn",
            Self::Audit => "audit",
        }
    }
}

impl Policy {
    /// Whether a rule, or an edge of the fallback, looks at outcomes.
    #[must_use]
    pub fn looks_at_outcomes(&self) -> bool {
        let looks = |policy: &Self| policy.rules.iter().any(|rule| rule.phase == Phase::Observe);
        !self.fallback.edges.is_empty() || self.each().any(looks)
    }

    /// The declared tool, if it is.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&ToolEntry> {
        self.tools.get(name)
    }
}

/// The symbol of nothing, for joins.
pub(crate) const NOTHING: Symbol = Symbol(0);
