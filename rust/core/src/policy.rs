//! The compiled policy: what a decision reads. Immutable, shared between tasks and threads.
use std::sync::Arc;

use callgate_value::{Symbol, Value};
use regex::Regex;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::expression::Expression;
use crate::verdict::Action;

/// What a call does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Effect {
    /// Looks, changes nothing.
    Read,
    /// Changes something inside the task's workspace that can be undone.
    Write,
    /// Leaves the workspace: a mail, a payment.
    External,
    /// Acts on a user interface.
    Ui,
    /// Steers the agents themselves.
    Control,
    /// Nobody said.
    Unknown,
}

impl Effect {
    /// Whether dispatching or ending such a call may change what reads return.
    #[must_use]
    pub fn may_change(self) -> bool {
        matches!(self, Self::Write | Self::External | Self::Ui | Self::Unknown)
    }
}

/// What kind of failure an outcome is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ErrorClass {
    /// Passes by itself: retry.
    Transient,
    /// Will fail again.
    Permanent,
    /// Nobody knows whether it happened.
    Ambiguous,
    /// The call itself is malformed.
    Format,
    /// A person or a rule said no.
    Denied,
}

impl ErrorClass {
    /// The name in policies and logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Permanent => "permanent",
            Self::Ambiguous => "ambiguous",
            Self::Format => "format",
            Self::Denied => "denied",
        }
    }
}

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

/// How far a detector has to count for what. A rung that is absent is off.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rungs {
    /// Note at every observation at or above.
    pub note_after: Option<u64>,
    /// Refuse once reached.
    pub refuse_after: Option<u64>,
    /// Stop at the observation that reaches this.
    pub exit_after: Option<u64>,
    /// Seconds after the last observation after which one call is let through.
    pub cool_down: Option<f64>,
}

impl Rungs {
    /// Whether an observation with this count is noted.
    #[must_use]
    pub fn notes(&self, count: u64) -> bool {
        self.note_after.is_some_and(|after| count >= after)
    }

    /// Whether the count is high enough to refuse the next call, cool-down aside.
    #[must_use]
    pub fn reached(&self, count: u64) -> bool {
        self.refuse_after.is_some_and(|after| count >= after)
    }

    /// Whether the cool-down after the last observation is over.
    #[must_use]
    pub fn cooled(&self, last: f64, now: f64) -> bool {
        self.cool_down.is_some_and(|pause| now >= last + pause)
    }
}

/// `exact_repeat`
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ExactRepeat {
    /// For every call.
    pub rungs: Rungs,
    /// Instead, for reads whose last result was sufficient.
    pub sufficient_reads: Option<u64>,
}

/// `cycle`, and the periods of `transfer_cycle`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cycle {
    /// The longest period looked for.
    pub max_period: usize,
    /// How many laps make a cycle.
    pub laps: u64,
    /// How many comparisons may fail.
    pub mismatches: usize,
    /// Seconds after the last observation after which one member is let through.
    pub cool_down: Option<f64>,
}

/// `oscillation`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Oscillation {
    /// Largest share of arguments that differ.
    pub arguments_at_most: f64,
    /// Smallest share of items that were known.
    pub known_records: f64,
    /// Counts.
    pub rungs: Rungs,
}

/// `no_gain`
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NoGain {
    /// For one tool's reads.
    pub rungs: Rungs,
    /// For the whole task.
    pub exit_after: Option<u64>,
}

/// `diversity`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Diversity {
    /// Calls that the window must hold.
    pub min_calls: usize,
    /// Note below this share of distinct calls.
    pub note_below: Option<f64>,
    /// Refuse below this share of distinct calls.
    pub refuse_below: Option<f64>,
    /// Note below this entropy, in bits.
    pub entropy_note_below: Option<f64>,
}

/// Thresholds of all detectors, for one tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Detectors {
    /// `consecutive`
    pub consecutive: Option<Rungs>,
    /// `exact_repeat`
    pub exact_repeat: Option<ExactRepeat>,
    /// `frequency`
    pub frequency: Option<Rungs>,
    /// `cycle`
    pub cycle: Option<Cycle>,
    /// `oscillation`
    pub oscillation: Option<Oscillation>,
    /// `same_error`
    pub same_error: Option<Rungs>,
    /// `same_result`
    pub same_result: Option<Rungs>,
    /// `no_gain`
    pub no_gain: Option<NoGain>,
    /// `empty_streak`
    pub empty_streak: Option<Rungs>,
    /// `state_oscillation`
    pub state_oscillation: Option<Rungs>,
    /// `transfer_streak`
    pub transfer_streak: Option<Rungs>,
    /// `transfer_cycle`
    pub transfer_cycle: Option<Cycle>,
    /// `diversity`
    pub diversity: Option<Diversity>,
    /// `unknown_tool`
    pub unknown_tool: Option<Rungs>,
    /// `invalid_arguments`
    pub invalid_arguments: Option<Rungs>,
    /// `repeated_effect`
    pub repeated_effect: Option<Rungs>,
    /// `denied`
    pub denied: Option<Rungs>,
}

impl Detectors {
    /// What of these may be held against a tool of which nothing is declared: notes, and refusals only where they are
    /// safe blind.
    #[must_use]
    pub fn blind(&self) -> Self {
        let notes = |rungs: Rungs| Rungs { refuse_after: None, exit_after: None, ..rungs };
        let soft = |rungs: Option<Rungs>| rungs.map(notes);
        let mut blind = self.clone();
        blind.consecutive = soft(blind.consecutive);
        blind.frequency = soft(blind.frequency);
        blind.oscillation = blind.oscillation.map(|it| Oscillation { rungs: notes(it.rungs), ..it });
        blind.same_error = soft(blind.same_error);
        blind.same_result = soft(blind.same_result);
        blind.no_gain = blind.no_gain.map(|it| NoGain { rungs: notes(it.rungs), ..it });
        blind.empty_streak = soft(blind.empty_streak);
        blind.state_oscillation = soft(blind.state_oscillation);
        blind.transfer_streak = soft(blind.transfer_streak);
        blind.repeated_effect = soft(blind.repeated_effect);
        blind.diversity = blind.diversity.map(|it| Diversity { refuse_below: None, ..it });
        blind
    }
}

/// Which strings of the arguments are trimmed.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Trim {
    /// None.
    #[default]
    None,
    /// Every top-level string.
    All,
    /// These.
    Names(Vec<String>),
}

/// What makes two calls of a tool the same call.
#[derive(Clone, Debug, Default)]
pub struct Identity {
    /// Arguments left out.
    pub ignore: Vec<String>,
    /// Strings trimmed.
    pub trim: Trim,
    /// Strings in lower case.
    pub casefold: Vec<String>,
    /// Strings that are paths.
    pub paths: Vec<String>,
    /// Lists without order.
    pub unordered: Vec<String>,
    /// Arguments filled in.
    pub defaults: Vec<(String, Value)>,
    /// Arguments that name what is acted upon.
    pub target: Vec<String>,
    /// A key that replaces the arguments.
    pub group: Option<Expression>,
}

impl Identity {
    /// Whether the loose identity always equals the exact one.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.ignore.is_empty()
            && self.trim == Trim::None
            && self.casefold.is_empty()
            && self.paths.is_empty()
            && self.unordered.is_empty()
            && self.defaults.is_empty()
            && self.group.is_none()
    }
}

/// How a result is read.
#[derive(Clone, Debug, Default)]
pub struct ResultContract {
    /// Whether it is a failure.
    pub failed_when: Option<Expression>,
    /// Whether there is nothing in it.
    pub empty_when: Option<Expression>,
    /// The list of records.
    pub records: Option<Expression>,
    /// Fields that identify a record.
    pub key: Vec<String>,
    /// Fields that a record must carry.
    pub required_fields: Vec<String>,
    /// Fields that it should carry.
    pub wanted_fields: Vec<String>,
    /// Records that must carry the required fields.
    pub min_records: u64,
    /// Top-level fields left out of comparisons.
    pub ignore: Vec<String>,
    /// Text left out of comparisons.
    pub ignore_text: Vec<Regex>,
    /// A field that says whether this is new.
    pub version: Option<Expression>,
    /// The state that the target is left in.
    pub state: Option<Expression>,
}

/// A declared poll.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waiting {
    /// Equal answers at which it is stale.
    pub max_unchanged: Option<u64>,
    /// Seconds without a change at which it is stale.
    pub max_stale: Option<f64>,
    /// Shortest pause between two polls, in seconds.
    pub min_interval: Option<f64>,
}

/// What part of something a read covers.
#[derive(Clone, Debug)]
pub enum Coverage {
    /// A range of a target.
    Range {
        /// What is read.
        target: Option<Expression>,
        /// Where the range begins.
        offset: Option<Expression>,
        /// How long it is.
        length: Option<Expression>,
    },
    /// A page after a cursor.
    Cursor {
        /// The page asked for.
        cursor: Expression,
        /// The next page, in the result.
        next: Expression,
    },
}

/// A line of `errors`.
#[derive(Clone, Debug)]
pub struct ErrorRule {
    /// When it matches; none: always.
    pub when: Option<Expression>,
    /// The class it gives.
    pub class: ErrorClass,
    /// The type it gives.
    pub kind: Option<Arc<str>>,
}

/// `retry`
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    /// Classes that are retried.
    pub classes: Vec<ErrorClass>,
    /// Further attempts.
    pub max: u64,
    /// First pause, in seconds.
    pub initial: f64,
    /// Growth per attempt.
    pub factor: f64,
    /// Longest pause, in seconds.
    pub longest: f64,
}

/// One tool, or one form of it.
#[derive(Clone, Debug)]
pub struct Tool {
    /// Its name.
    pub name: Arc<str>,
    /// Whether a manifest declares it.
    pub declared: bool,
    /// What it does to the world.
    pub effect: Effect,
    /// Whether doing it twice is the same as once.
    pub idempotent: bool,
    /// Groups, for budgets.
    pub groups: Vec<Arc<str>>,
    /// Tags of the world that it reads.
    pub reads: Box<[u32]>,
    /// Tags of the world that it changes.
    pub touches: Box<[u32]>,
    /// What its arguments must be.
    pub parameters: Option<Arc<crate::schema::ArgumentSchema>>,
    /// What makes two calls the same.
    pub identity: Identity,
    /// How its result is read.
    pub result: ResultContract,
    /// Whether it waits.
    pub waiting: Option<Waiting>,
    /// What part of something it covers.
    pub coverage: Option<Coverage>,
    /// Whether it hands control to another agent.
    pub transfer: bool,
    /// Classes of its errors.
    pub errors: Vec<ErrorRule>,
    /// Retries.
    pub retry: Option<Retry>,
    /// How long a call may take, in seconds.
    pub timeout: Option<f64>,
    /// How long a result may be reused, in seconds.
    pub cache_ttl: f64,
    /// Thresholds for this tool.
    pub detectors: Arc<Detectors>,
}

impl Tool {
    /// A tool of which nothing is declared.
    #[must_use]
    pub fn undeclared(name: &str, detectors: Arc<Detectors>) -> Self {
        Self {
            name: name.into(),
            declared: false,
            effect: Effect::Unknown,
            idempotent: false,
            groups: Vec::new(),
            reads: Box::default(),
            touches: Box::default(),
            parameters: None,
            identity: Identity::default(),
            result: ResultContract { min_records: 1, ..ResultContract::default() },
            waiting: None,
            coverage: None,
            transfer: false,
            errors: Vec::new(),
            retry: None,
            timeout: None,
            cache_ttl: 300.0,
            detectors,
        }
    }
}

/// A declared tool with its forms.
#[derive(Clone, Debug)]
pub struct ToolEntry {
    /// Used when no form matches.
    pub base: Arc<Tool>,
    /// Used when a condition of a form fails to evaluate: the tool's own keys, effect unknown.
    pub undecided: Arc<Tool>,
    /// First match wins.
    pub forms: Vec<(Option<Expression>, Arc<Tool>)>,
}

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
    /// Seconds for one call.
    pub tool_time: Limit,
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

/// When a rule is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Before a call.
    Admit,
    /// After it.
    Observe,
}

/// What a rule does when it fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleEffect {
    /// It adds a note.
    Note,
    /// Before a call: it asks, refuses or stops.
    Hold(Action),
    /// After a call: it proposes to try again.
    Retry,
    /// After a call: it ends the task.
    Exit,
}

/// A rule of the policy's author.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its stable name.
    pub id: Arc<str>,
    /// When it is asked.
    pub phase: Phase,
    /// The tools that it is about; empty: all.
    pub tools: Vec<String>,
    /// Its condition.
    pub when: Expression,
    /// What it does.
    pub action: RuleEffect,
    /// Its observation code.
    pub code: Option<Arc<str>>,
    /// Its sentence.
    pub message: Option<Expression>,
}

impl Rule {
    /// Whether it is asked about this call.
    pub(crate) fn is_about(&self, call: &crate::call::Call) -> bool {
        self.tools.is_empty() || self.tools.iter().any(|name| **name == *call.tool.name)
    }

    /// Its sentence; none without one, or where it fails.
    pub(crate) fn words(&self, scope: &dyn crate::expression::Scope) -> Option<String> {
        let text = self.message.as_ref()?.evaluate(scope).ok()?;
        text.as_str().map(str::to_owned)
    }
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
    /// Whether undeclared tools are refused.
    pub refuse_undeclared: bool,
    /// Whether an error inside a decision lets reads through.
    pub on_error_allow_reads: bool,
    /// Whether the model gets one more turn after a stop.
    pub final_answer: bool,
    /// Calls that the windows hold.
    pub window: usize,
    /// The longest period and laps of the cycle streams.
    pub cycle: Option<Cycle>,
    /// The same for transfers.
    pub transfer_cycle: Option<Cycle>,
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
    /// `params`, `constants` and `variables` for expressions.
    pub params: Value,
    /// `constants`
    pub constants: Value,
    /// `variables`, in order.
    pub variables: Vec<(Arc<str>, Expression)>,
}

impl Policy {
    /// Whether a rule looks at outcomes.
    #[must_use]
    pub fn observes(&self) -> bool {
        self.rules.iter().any(|rule| rule.phase == Phase::Observe)
    }

    /// The declared tool, if it is.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&ToolEntry> {
        self.tools.get(name)
    }
}

/// The symbol of nothing, for joins.
pub(crate) const NOTHING: Symbol = Symbol(0);
