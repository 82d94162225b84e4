//! `GuardPolicy`: what an agent may do with its tools.
use super::budgets::{Budgets, TimeLimits};
use super::cel::Cel;
use super::data::{Data, DataMap};
use super::declare::{model, union, words};
use super::detectors::Detectors;
use super::fallback::{Fallback, Need};
use super::numbers::Count;
use super::reader::Named;
use super::texts::{KeyPath, Name, ObservationCode, Text};

model! {
    /// What a policy says. Anything may be left out where `extends` supplies it.
    #[derive(Default)]
    pub struct PolicySpec {
        /// Policies that this one builds on, later ones over earlier ones. Maps merge by key, rules by id, lists replace,
        /// and null takes back what is inherited.
        pub extends: Option<Vec<Name>>,
        /// Keys that a policy building on this one may not loosen, such as `budgets.tool_calls`.
        pub locked: Option<Vec<KeyPath>>,
        /// Whether verdicts are acted upon. Default: `enforce`.
        pub mode: Option<Mode>,
        /// The manifests that this policy is written against, by name.
        pub tools: Option<Vec<Name>>,
        /// Whether tools that no manifest declares may be called.
        pub undeclared_tools: Option<Permission>,
        /// What becomes of a call when something inside its decision fails. It is flagged either way.
        pub on_error: Option<OnError>,
        /// What becomes of a call when a part of the guard itself fails.
        pub on_failure: Option<OnFailure>,
        /// How a run ends when it is stopped.
        pub on_stop: Option<OnStop>,
        /// Values that bindings set, each a JSON Schema; read as `params.<name>`.
        pub parameters: Option<Named<DataMap>>,
        /// Values that never change; read as `constants.<name>`.
        pub constants: Option<Named<Data>>,
        /// Named expressions, computed at most once a decision; read as `variables.<name>`.
        pub variables: Option<Named<Cel>>,
        /// What the whole task may use.
        pub budgets: Option<Budgets>,
        /// How long things may take.
        pub time: Option<TimeLimits>,
        /// The thresholds of everything that recognises a loop.
        pub detectors: Option<Detectors>,
        /// How refusals lead to a stop.
        pub ladder: Option<Ladder>,
        /// What events outside the run make the detectors forget.
        pub resets: Option<Resets>,
        /// The author's own rules.
        pub rules: Option<Vec<Rule>>,
        /// What the task has to find out.
        pub needs: Option<Vec<Need>>,
        /// What to do when a tool does not deliver.
        pub fallback: Option<Fallback>,
    }
}

words! {
    /// Whether verdicts are acted upon.
    pub enum Mode {
        /// They are.
        Enforce = "enforce",
        /// Calls run, and the model gets a note instead of a refusal.
        Warn = "warn",
        /// Calls run, and only the log says what would have happened.
        Audit = "audit",
    }
}

words! {
    /// Whether something is let through.
    pub enum Permission {
        /// It is not.
        Refuse = "refuse",
        /// It is.
        Allow = "allow",
    }
}

union! {
    /// What becomes of a call when something inside its decision fails.
    pub enum OnError {
        /// The same for every call.
        Always(Permission),
        /// Reads and other calls apart.
        ByEffect(OnErrorByEffect),
    }
}

model! {
    /// What becomes of reads and of other calls.
    #[derive(Default)]
    pub struct OnErrorByEffect {
        /// Calls of effect `read`.
        pub reads: Option<Permission>,
        /// All other calls.
        pub r#else: Option<Permission>,
    }
}

model! {
    /// What becomes of a call when a part of the guard itself fails.
    #[derive(Default)]
    pub struct OnFailure {
        /// The store of budgets and effects cannot be reached.
        pub store: Option<Permission>,
        /// The decision log cannot be written.
        pub audit: Option<Permission>,
    }
}

words! {
    /// How a run ends when it is stopped.
    pub enum OnStop {
        /// The model gets one more turn without tools, told why and what is missing.
        FinalAnswer = "final_answer",
        /// At once.
        End = "end",
    }
}

model! {
    /// How refusals lead to a stop. They are counted per incident.
    #[derive(Default)]
    pub struct Ladder {
        /// How often in an incident a read is answered from its last equal result instead of being refused.
        pub reuse_reads: Option<Count>,
        /// After this many refusals of an incident the next one is a stop.
        pub stop_after_refusals: Option<Count>,
        /// The same for `unknown_tool` and `invalid_arguments`, which cannot end otherwise.
        pub deterministic_stop_after: Option<Count>,
    }
}

words! {
    /// A part of what the detectors remember.
    pub enum ResetPart {
        /// consecutive, exact_repeat, frequency, cycle.
        Repeats = "repeats",
        /// same_error, unknown_tool, invalid_arguments.
        Errors = "errors",
        /// same_result, empty_streak, oscillation, state_oscillation, transfers.
        Results = "results",
        /// no_gain.
        Gain = "gain",
        /// Refusals counted towards a stop.
        Incidents = "incidents",
    }
}

model! {
    /// What events outside the run make the detectors forget. A stop stays.
    #[derive(Default)]
    pub struct Resets {
        /// A person said something. A turn that is not marked `by: human` resets nothing.
        pub user_turn: Option<Vec<ResetPart>>,
        /// The conversation was compacted.
        pub compaction: Option<Vec<ResetPart>>,
    }
}

words! {
    /// When a rule is looked at; this decides which variables it can read.
    pub enum Phase {
        /// Before the call runs.
        Admit = "admit",
        /// After it ended: `result`, `error`, `grade`, `gaps`, `gain` and `records` are there too.
        Observe = "observe",
    }
}

words! {
    /// What a rule does.
    pub enum RuleAction {
        /// Adds a note. In both phases.
        Note = "note",
        /// Asks a person. Phase `admit`.
        Ask = "ask",
        /// Refuses the call. Phase `admit`.
        Refuse = "refuse",
        /// Stops the run. Phase `admit`.
        Stop = "stop",
        /// Proposes to try again. Phase `observe`.
        Retry = "retry",
        /// Ends the run with its exit decision. Phase `observe`.
        Exit = "exit",
    }
}

words! {
    /// How much it matters, for reports.
    pub enum RuleSeverity {
        /// Good to know.
        Info = "info",
        /// A little.
        Low = "low",
        /// Somewhat.
        Medium = "medium",
        /// Much.
        High = "high",
        /// Very much.
        Critical = "critical",
    }
}

model! {
    /// A rule of the author's. A layer may write only the keys that it changes of an inherited rule with the same id.
    pub struct Rule {
        /// A stable name: logs, reports and exceptions call the rule by it.
        pub id: Name,
        /// When the rule is looked at. Default: `admit`.
        pub phase: Option<Phase>,
        /// The tools that it is about. Left out: all.
        pub tools: Option<Vec<Name>>,
        /// When it fires.
        pub when: Option<Cel>,
        /// What it does then.
        pub action: Option<RuleAction>,
        /// The observation code that the model gets. Left out, it is made from the id.
        pub code: Option<ObservationCode>,
        /// What the model and people are told: CEL that gives a text.
        pub message: Option<Cel>,
        /// How much it matters, for reports.
        pub severity: Option<RuleSeverity>,
    }
}

model! {
    /// What `callgate verify` has to show about this policy.
    #[derive(Default)]
    pub struct Verification {
        /// Sentences that must hold for every run.
        pub invariants: Option<Vec<Invariant>>,
    }
}

model! {
    /// A sentence that must hold for every run.
    pub struct Invariant {
        /// A stable name.
        pub id: Name,
        /// What it is for.
        pub description: Option<Text>,
        /// The situations that it is about. Left out: all.
        pub assume: Option<Cel>,
        /// What must hold in them.
        pub assert: Cel,
    }
}
