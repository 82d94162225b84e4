//! The reasons that a verdict or a note can have, with their names and observation codes.
use serde::{Deserialize, Serialize};

macro_rules! reasons {
    ($($(#[doc = $doc:literal])* $variant:ident = $name:literal, $code:literal;)*) => {
        /// Why a verdict or a note came. The order is the order in which a verdict lists them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Reason {
            $($(#[doc = $doc])* $variant,)*
        }

        impl Reason {
            /// All of them, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name that policies, traces and logs use, such as `exact_repeat`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// The code that the model reads, such as `DUPLICATE_TOOL_CALL_BLOCKED`.
            #[must_use]
            pub fn code(self) -> &'static str {
                match self {
                    $(Self::$variant => $code,)*
                }
            }
        }
    };
}

reasons! {
    /// The task was stopped earlier.
    Stopped = "stopped", "STOPPED_NO_PROGRESS";
    /// A call id that is still out, or twice in one batch.
    BadCallId = "bad_call_id", "BAD_CALL_ID";
    /// No binding says which policy applies.
    Unbound = "unbound", "NO_POLICY_APPLIES";
    /// A tool that does not exist.
    UnknownTool = "unknown_tool", "UNKNOWN_TOOL";
    /// Arguments that the tool does not take.
    InvalidArguments = "invalid_arguments", "INVALID_ARGUMENTS";
    /// A call that was denied before.
    Denied = "denied", "DENIED";
    /// Model steps are used up.
    BudgetSteps = "budget_steps", "BUDGET_STEPS";
    /// Tool calls are used up.
    BudgetToolCalls = "budget_tool_calls", "BUDGET_TOOL_CALLS";
    /// What is left is reserved for other tools.
    BudgetReserved = "budget_reserved", "BUDGET_RESERVED";
    /// The calls of this tool are used up.
    BudgetCallsPerTool = "budget_calls_per_tool", "BUDGET_CALLS_PER_TOOL";
    /// The calls of a group of tools are used up.
    BudgetCallsPerGroup = "budget_calls_per_group", "BUDGET_CALLS_PER_GROUP";
    /// Retries are used up.
    BudgetRetries = "budget_retries", "BUDGET_RETRIES";
    /// Tokens are used up.
    BudgetTokens = "budget_tokens", "BUDGET_TOKENS";
    /// Money is used up.
    BudgetCost = "budget_cost", "BUDGET_COST";
    /// Time is used up.
    BudgetTime = "budget_time", "BUDGET_TIME";
    /// No further agents below this one.
    BudgetDepth = "budget_depth", "BUDGET_DEPTH";
    /// The shared state of budgets and effects cannot be reached.
    StoreFailure = "store_failure", "STORE_FAILURE";
    /// A tool that is left alone after failures.
    BreakerOpen = "breaker_open", "BREAKER_OPEN";
    /// A side effect that has happened already.
    DuplicateEffect = "duplicate_effect", "DUPLICATE_TOOL_CALL_BLOCKED";
    /// A side effect that another call is bringing about.
    EffectInFlight = "effect_in_flight", "EFFECT_IN_FLIGHT";
    /// A key that stands for a call with other arguments.
    IdempotencyConflict = "idempotency_conflict", "IDEMPOTENCY_CONFLICT";
    /// A side effect of which nobody knows whether it happened.
    AmbiguousEffect = "ambiguous_effect", "AMBIGUOUS_EFFECT";
    /// The same call earlier in the same round.
    DuplicateInBatch = "duplicate_in_batch", "DUPLICATE_TOOL_CALL_BLOCKED";
    /// The hops of a need are used up.
    HopLimit = "hop_limit", "HOP_LIMIT";
    /// A tool that was left for another one.
    NoReturn = "no_return", "NO_RETURN";
    /// The same call with the same result.
    ExactRepeat = "exact_repeat", "DUPLICATE_TOOL_CALL_BLOCKED";
    /// The same call in a row, results unknown.
    Consecutive = "consecutive", "DUPLICATE_TOOL_CALL_BLOCKED";
    /// The same fingerprint too often within the window.
    Frequency = "frequency", "FREQUENCY";
    /// A sequence of calls and results that goes round.
    Cycle = "cycle", "CYCLE";
    /// One tool, arguments varied a little, records known.
    Oscillation = "oscillation", "OSCILLATION";
    /// The same error under ever-new arguments.
    SameError = "same_error", "SAME_ERROR";
    /// The same result under ever-new arguments.
    SameResult = "same_result", "SAME_RESULT";
    /// Calls that bring nothing new.
    NoGain = "no_gain", "STOPPED_NO_PROGRESS";
    /// Searches that keep returning nothing.
    EmptyStreak = "empty_streak", "EMPTY_STREAK";
    /// A target that returns to earlier states.
    StateOscillation = "state_oscillation", "STATE_OSCILLATION";
    /// Control handed on and on without work in between.
    TransferStreak = "transfer_streak", "TRANSFER_STREAK";
    /// Control handed round.
    TransferCycle = "transfer_cycle", "TRANSFER_CYCLE";
    /// A poll whose answer does not change.
    StaleWait = "stale_wait", "STALE_WAIT";
    /// Few different calls in the window.
    LowDiversity = "low_diversity", "LOW_DIVERSITY";
    /// A rule of the policy's author.
    Rule = "rule", "RULE";
    /// An expression of the policy failed.
    PolicyError = "policy_error", "POLICY_ERROR";
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl Reason {
    /// Whether the ladder stops after fewer refusals, since the fault is the same every time.
    #[must_use]
    pub(crate) fn is_deterministic(self) -> bool {
        matches!(self, Self::UnknownTool | Self::InvalidArguments)
    }

    /// Whether a read that is refused for this may be answered from its last result instead.
    #[must_use]
    pub(crate) fn may_reuse(self) -> bool {
        self >= Self::ExactRepeat && self <= Self::LowDiversity
    }
}
