//! `GuardTest`: a run, and what the policy has to make of it.
use super::data::{Data, DataMap, Given};
use super::declare::{model, union, words};
use super::fallback::ExitAction;
use super::manifest::ManifestSpec;
use super::numbers::{Amount, Count};
use super::policy::PolicySpec;
use super::reader::Named;
use super::texts::{Name, ReasonName, Text};
use super::times::{Moment, Seconds};

model! {
    /// A run, and what the policy has to make of it. The run is a `trace`, or inline `steps`. With `fixtures` alone it is
    /// no test, and gives them to the tests of its file.
    pub struct TestSpec {
        /// The policy: a name, or what it says. Left out: what the bindings of the nearest folder around say.
        pub policy: Option<PolicyRef>,
        /// The manifests: names, or their `tools`.
        pub manifests: Option<Vec<ManifestRef>>,
        /// Whom the task is done for, as bindings and exceptions name it.
        pub tenant: Option<Text>,
        /// The task's labels, as bindings and exceptions name them.
        pub labels: Option<Named<Text>>,
        /// When the run began, in UTC: second 0 of its times. Left out, no exception stands.
        pub began: Option<Moment>,
        /// The run as a file in the trace format, relative to this one.
        pub trace: Option<Text>,
        /// Steps by name, for all tests of this file: a step with `use` stands for them.
        pub fixtures: Option<Named<Vec<Step>>>,
        /// The run written out.
        pub steps: Option<Vec<Step>>,
        /// What the whole run has to show.
        pub expect: Option<RunExpectation>,
    }
}

union! {
    /// A policy: its name, or what it says.
    pub enum PolicyRef {
        /// By name.
        Named(Name),
        /// Written out, as under `spec` of a GuardPolicy.
        Inline(PolicySpec),
    }
}

union! {
    /// A manifest: its name, or what it says.
    pub enum ManifestRef {
        /// By name.
        Named(Name),
        /// Written out, as under `spec` of a ToolManifest.
        Inline(ManifestSpec),
    }
}

words! {
    /// Something that happens beside calls.
    pub enum StepEvent {
        /// Somebody said something.
        UserTurn = "user_turn",
        /// The conversation was compacted.
        Compaction = "compaction",
        /// The task was saved.
        Snapshot = "snapshot",
        /// The task was resumed from its last snapshot.
        Restore = "restore",
        /// The model used tokens or money.
        ModelUsage = "model_usage",
        /// A person approved a call.
        Approved = "approved",
        /// A person denied a call.
        Denied = "denied",
    }
}

model! {
    /// A call and what came back, an event, or the steps of a fixture.
    #[derive(Default)]
    pub struct Step {
        /// The fixture whose steps stand here, beside nothing but `times`.
        pub r#use: Option<Name>,
        /// The tool that is called.
        pub tool: Option<Name>,
        /// Its arguments. Left out: none.
        pub arguments: Option<DataMap>,
        /// What came back. Null is a result too.
        pub result: Given,
        /// The error that came back.
        pub error: Option<StepError>,
        /// Whether the host called it an error.
        pub is_error: Option<bool>,
        /// A digest of the whole result, where only a part of it is written.
        pub result_digest: Option<Text>,
        /// Whether only a part of the result is written.
        pub result_truncated: Option<bool>,
        /// How often this step happens, one after the other. Default: once.
        pub times: Option<Count<1, 1_000_000>>,
        /// Steps with the same round are one parallel batch. Left out, each is its own.
        pub round: Option<Count>,
        /// Seconds since the run began, at completion.
        pub time: Option<Seconds>,
        /// Seconds from the end of the step before to the beginning of this one, instead of `time`.
        pub wait: Option<Seconds>,
        /// How long it took, in seconds.
        pub duration: Option<Seconds>,
        /// The session, where there are several.
        pub session: Option<Text>,
        /// The task, where there are several.
        pub task: Option<Text>,
        /// The agent that calls.
        pub agent: Option<Text>,
        /// Tokens used.
        pub tokens: Option<Count>,
        /// Money used.
        pub cost: Option<Amount>,
        /// The call's id; of an approval or denial, the call that it is about.
        pub call_id: Option<Text>,
        /// What the host computed about the call.
        pub hints: Option<DataMap>,
        /// Something that happens instead of a call.
        pub event: Option<StepEvent>,
        /// Who: of a user turn, `human` or another.
        pub by: Option<Text>,
        /// What this step has to show.
        pub expect: Option<StepExpectation>,
    }
}

model! {
    /// An error as the host reports it.
    #[derive(Default)]
    pub struct StepError {
        /// Its type, such as `timeout`.
        pub r#type: Option<Text>,
        /// Its HTTP status.
        pub status: Option<Count<0, 999>>,
        /// Its text.
        pub message: Option<Text>,
    }
}

words! {
    /// What a verdict does.
    pub enum ExpectedAction {
        /// The call runs.
        Allow = "allow",
        /// It is answered with an earlier result.
        Reuse = "reuse",
        /// A person is asked.
        Ask = "ask",
        /// It is refused.
        Refuse = "refuse",
        /// The run is stopped.
        Stop = "stop",
    }
}

words! {
    /// What a result is worth.
    pub enum ExpectedGrade {
        /// Enough records carry all required fields.
        Sufficient = "sufficient",
        /// Some do.
        Partial = "partial",
        /// There is nothing in it.
        Empty = "empty",
        /// It is a failure.
        Failed = "failed",
        /// It could not be told.
        Ungraded = "ungraded",
    }
}

union! {
    /// How many notes, or which.
    pub enum ExpectedNotes {
        /// How many.
        Count(Count),
        /// Their reasons.
        Reasons(Vec<ReasonName>),
    }
}

union! {
    /// What comes next.
    pub enum ExpectedNext {
        /// Only its kind.
        Kind(NextKind),
        /// Its kind and details, as a map such as `{substitute: quote_search}`.
        Details(DataMap),
    }
}

words! {
    /// What comes next.
    pub enum NextKind {
        /// The run goes on.
        Continue = "continue",
        /// The same call again.
        Retry = "retry",
        /// A call that finds out what became of this one.
        Verify = "verify",
        /// Another tool.
        Substitute = "substitute",
        /// The run ends.
        Exit = "exit",
    }
}

model! {
    /// What one step has to show.
    #[derive(Default)]
    pub struct StepExpectation {
        /// What the verdict does.
        pub action: Option<ExpectedAction>,
        /// Reasons of the verdict: each of them must be among them.
        pub reasons: Option<Vec<ReasonName>>,
        /// The verdict's observation code.
        pub code: Option<Text>,
        /// What the result is worth.
        pub grade: Option<ExpectedGrade>,
        /// Wanted fields that are missing, each as [record key, field].
        pub gaps: Option<Vec<Data>>,
        /// What comes next.
        pub next: Option<ExpectedNext>,
        /// Budgets after this step.
        pub budget: Option<Named<ExpectedBudget>>,
        /// How many notes, or which.
        pub notes: Option<ExpectedNotes>,
    }
}

model! {
    /// A budget after a step.
    #[derive(Default)]
    pub struct ExpectedBudget {
        /// What is used.
        pub used: Option<Amount>,
        /// What is left.
        pub left: Option<Amount>,
        /// The share that is used.
        pub share: Option<Amount>,
    }
}

model! {
    /// Where something has to happen, by `seq`, both ends included.
    #[derive(Default)]
    pub struct Span {
        /// Not before this.
        pub from: Option<Count>,
        /// At this or before.
        pub by: Option<Count>,
    }
}

words! {
    /// How far a run got.
    pub enum RunStatus {
        /// It found all that it needed.
        Complete = "complete",
        /// It found what is essential.
        Partial = "partial",
        /// It did not.
        Incomplete = "incomplete",
    }
}

model! {
    /// What a whole run has to show. A healthy one: `{refusals: 0, reuses: 0, notes: 0}`.
    #[derive(Default)]
    pub struct RunExpectation {
        /// Where the first note comes.
        pub first_note: Option<Span>,
        /// Where the first ask, refusal, reuse or stop comes.
        pub first_intervention: Option<Span>,
        /// Where the run is stopped.
        pub stop: Option<Span>,
        /// Reasons of the first intervention: one of them must be among them.
        pub reasons: Option<Vec<ReasonName>>,
        /// How many refusals and stops there are.
        pub refusals: Option<Count>,
        /// How many calls are answered with an earlier result.
        pub reuses: Option<Count>,
        /// How many notes there are.
        pub notes: Option<Count>,
        /// How far the run got.
        pub status: Option<RunStatus>,
        /// How it ended.
        pub exit: Option<ExitAction>,
        /// The cells that are missing at the end, each as [record key, field].
        pub missing: Option<Vec<Data>>,
    }
}
