//! Budgets of a task.
use rustc_hash::FxHashMap;

use super::Tool;

/// A limit: a number, or none.
pub type Limit = Option<f64>;

/// Budgets of a task.
#[derive(Clone, Debug, Default)]
pub struct Budgets {
    /// Model steps.
    pub steps: Limit,
    /// Tool calls.
    pub tool_calls: Limit,
    /// Calls of one tool; `*` for every other tool.
    pub calls_per_tool: FxHashMap<String, f64>,
    /// Calls of one group.
    pub calls_per_group: FxHashMap<String, f64>,
    /// Retries.
    pub retries: Limit,
    /// Tokens.
    pub tokens: Limit,
    /// Money.
    pub cost: Limit,
    /// Its currency.
    pub currency: Option<String>,
    /// Agents below agents.
    pub depth: Option<u64>,
    /// Shares at which a note comes, ascending.
    pub notes_at: Vec<f64>,
    /// Tool calls that only `reserve_for` may use.
    pub reserve: u64,
    /// Tools that may use the reserve, and run after a stop.
    pub reserve_for: Vec<String>,
    /// Whether a batch is all or nothing.
    pub all_or_nothing: bool,
    /// The share that a child owns; none: it shares.
    pub child_share: Option<f64>,
    /// Seconds for the task, one agent's session of it.
    pub task_time: Limit,
    /// Seconds for the whole tree.
    pub workflow_time: Limit,
    /// Seconds for one round.
    pub step_time: Limit,
    /// Seconds for one call of a server, before all that wait for that server fail.
    pub server_time: Limit,
    /// Seconds for one call.
    pub tool_time: Limit,
}

impl Budgets {
    /// Whether a tool may use the reserve, and run after a stop.
    pub(crate) fn may_finish(&self, tool: &Tool) -> bool {
        self.reserve_for.iter().any(|name| **name == *tool.name)
    }
}
