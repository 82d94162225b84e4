//! `spec.budgets` and `spec.time`: what a task may use.
use super::declare::{model, union, words};
use super::limit::{Cost, Limit};
use super::numbers::{Count, Share};
use super::reader::Named;
use super::texts::Name;
use super::times::Duration;

words! {
    /// Budgets that fit each other; single values override them.
    pub enum Preset {
        /// 10 steps, 50,000 tokens, 10 minutes.
        Simple = "simple",
        /// 32 steps, 200,000 tokens, 10 minutes.
        Medium = "medium",
        /// 100 steps, 1,000,000 tokens, 30 minutes.
        Complex = "complex",
    }
}

impl Preset {
    /// The budgets that it stands for: steps, tokens, seconds of the task.
    #[must_use]
    pub const fn values(self) -> (u64, u64, f64) {
        match self {
            Self::Simple => (10, 50_000, 600.0),
            Self::Medium => (32, 200_000, 600.0),
            Self::Complex => (100, 1_000_000, 1800.0),
        }
    }
}

model! {
    /// What the whole task may use, over all its tools and agents. Zero means zero; no limit is written `unlimited`.
    #[derive(Default)]
    pub struct Budgets {
        /// Budgets that fit each other; single values override them.
        pub preset: Option<Preset>,
        /// Steps of the model. Must be set, or `unlimited` with a reason.
        pub steps: Option<Limit<Count>>,
        /// Tool calls that run.
        pub tool_calls: Option<Limit<Count>>,
        /// Tool calls of single tools. `"*"` holds for every tool without a line of its own.
        pub calls_per_tool: Option<Named<Limit<Count>>>,
        /// Tool calls of groups of tools.
        pub calls_per_group: Option<Named<Limit<Count>>>,
        /// Further attempts of a call after a failure, whoever makes them.
        pub retries: Option<Limit<Count>>,
        /// Tokens, as the host reports them. Must be set, or `unlimited` with a reason.
        pub tokens: Option<Limit<Count>>,
        /// Money, as the host reports it: `{limit: 2.50, currency: USD}`.
        pub cost: Option<Cost>,
        /// Agents below agents.
        pub depth: Option<Limit<Count>>,
        /// The shares of a budget at which a note is given. Nothing is refused before the limit.
        pub notes_at: Option<Vec<Share>>,
        /// Tool calls that only some tools may spend, so that a task can always hand in what it has.
        pub reserve: Option<Reserve>,
        /// What happens to a batch that is larger than what is left.
        pub batch: Option<BatchAdmission>,
        /// What agents below an agent may use.
        pub children: Option<Children>,
        /// The layers that retry, so that they can be counted together.
        pub layers: Option<Layers>,
    }
}

model! {
    /// Tool calls that are kept back.
    #[derive(Default)]
    pub struct Reserve {
        /// How many.
        pub tool_calls: Option<Count>,
        /// The tools that may spend them.
        pub r#for: Option<Vec<Name>>,
    }
}

words! {
    /// What happens to a batch that is larger than what is left.
    pub enum BatchAdmission {
        /// As many of its calls as fit run, from the first on.
        AdmitPrefix = "admit_prefix",
        /// None of its calls runs.
        AllOrNothing = "all_or_nothing",
    }
}

words! {
    /// That agents below an agent use what it has.
    pub enum Shared {
        /// They use the same budgets.
        Share = "share",
    }
}

union! {
    /// What agents below an agent may use.
    pub enum Children {
        /// The same budgets.
        Shared(Shared),
        /// A part of them.
        Part(ChildrenPart),
    }
}

model! {
    /// A part of the budgets for agents below an agent.
    pub struct ChildrenPart {
        /// The share of what is left when such an agent starts. What it uses is used in the task as well.
        pub own: Share,
    }
}

words! {
    /// What a layer retries: a class of errors, or a type of error.
    pub enum RetryCause {
        /// Errors that may pass by themselves.
        Transient = "transient",
        /// Errors that will not.
        Permanent = "permanent",
        /// Errors after which it is not known whether the effect took place.
        Ambiguous = "ambiguous",
        /// Calls that were malformed.
        Format = "format",
        /// Calls that were denied.
        Denied = "denied",
        /// The network failed.
        Network = "network",
        /// The call took too long.
        Timeout = "timeout",
        /// The other side asked to slow down.
        Throttled = "throttled",
        /// An HTTP status.
        Http = "http",
        /// The call was given up.
        Cancelled = "cancelled",
        /// The answer did not come whole.
        ConnectionLost = "connection_lost",
        /// The tool reported an error.
        ToolError = "tool_error",
        /// A command ended with another code than zero.
        ExitNonzero = "exit_nonzero",
    }
}

model! {
    /// The layers that retry. Their numbers multiply: 3 × 3 × 3 attempts are 27.
    #[derive(Default)]
    pub struct Layers {
        /// The HTTP client.
        pub http: Option<RetryLayer>,
        /// The tool.
        pub tool: Option<RetryLayer>,
        /// The agent.
        pub agent: Option<RetryLayer>,
        /// The largest product that is accepted.
        pub at_most: Option<Count<1>>,
    }
}

model! {
    /// What one layer retries.
    #[derive(Default)]
    pub struct RetryLayer {
        /// How often.
        pub retries: Option<Count>,
        /// Which errors this layer owns. No other layer should own them too.
        pub r#for: Option<Vec<RetryCause>>,
    }
}

model! {
    /// How long things may take.
    #[derive(Default)]
    pub struct TimeLimits {
        /// A call of a tool.
        pub tool: Option<Limit<Duration>>,
        /// A call of a server; when it runs out, all pending calls of that server fail together.
        pub server: Option<Limit<Duration>>,
        /// A step of the model with its calls.
        pub step: Option<Limit<Duration>>,
        /// The task. Must be set, or `unlimited` with a reason.
        pub task: Option<Limit<Duration>>,
        /// The whole workflow, all its agents included. When it runs out, the state is saved.
        pub workflow: Option<Limit<Duration>>,
    }
}
