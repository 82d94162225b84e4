//! What the engine answers: verdicts before a call, assessments after it, and what they are made of.
use callgate_value::{Symbol, Value};
use serde::{Deserialize, Serialize};

use crate::Reason;

/// What happens to a call, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Action {
    /// It runs.
    Allow,
    /// It does not run; it is answered with an earlier answer.
    Reuse,
    /// It waits for a person.
    Ask,
    /// It does not run; the model is told why.
    Refuse,
    /// It does not run, and neither does anything after it.
    Stop,
}

impl Action {
    /// The name in verdicts, tests and logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Reuse => "reuse",
            Self::Ask => "ask",
            Self::Refuse => "refuse",
            Self::Stop => "stop",
        }
    }
}

/// Named facts that show why: counts, thresholds, periods.
pub type Evidence = Vec<(&'static str, Value)>;

/// The calls that a finding names; refusals are counted per such set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IncidentKey {
    /// One call of one agent.
    Call {
        /// Index of the agent's session.
        session: usize,
        /// Loose identity.
        call: u64,
    },
    /// The members of a cycle, each (agent, loose identity), sorted.
    Members {
        /// The session, or none for the task's merged stream.
        session: Option<usize>,
        /// The members' symbols, sorted, without doubles.
        members: Vec<u64>,
    },
    /// All calls of one tool by one agent.
    Tool {
        /// Index of the agent's session.
        session: usize,
        /// The tool's symbol.
        tool: u64,
    },
    /// The reads of one tool by one agent, on one target where that is declared.
    Reads {
        /// Index of the agent's session.
        session: usize,
        /// The tool's symbol.
        tool: u64,
        /// The target's symbol.
        target: Option<u64>,
    },
    /// All calls of one target that leave a state.
    State {
        /// The target's symbol.
        target: u64,
    },
    /// All transfers of the task.
    Transfers,
    /// A rule that asks: denials under it, and refusals of what was denied under it.
    Rule(RuleKey),
    /// One call, by whichever agent.
    TaskCall {
        /// Loose identity.
        call: u64,
    },
}

/// A rule, told apart from one of the same id in another policy that applies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleKey {
    /// The binding that its policy applies under; empty without one.
    pub binding: String,
    /// Its id.
    pub rule: String,
}

/// One reason that fired on a call before it ran.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Why.
    pub reason: Reason,
    /// The author's rule, for [`Reason::Rule`].
    pub rule: Option<std::sync::Arc<str>>,
    /// What it asks for.
    pub action: Action,
    /// What shows it.
    pub evidence: Evidence,
    /// Which incidents it belongs to; budgets, waits and rules that do not ask belong to none.
    pub incidents: Vec<IncidentKey>,
    /// Seconds after which trying again makes sense.
    pub retry_after: Option<f64>,
    /// The observation code, where an author gave one.
    pub code: Option<std::sync::Arc<str>>,
    /// A sentence, where an author gave one.
    pub message: Option<String>,
    /// Whether it holds; one of a policy in mode `warn` or `audit` beside others does not.
    pub holds: bool,
}

/// A finding that an exception lifted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lifted {
    /// The exception's name.
    pub exception: std::sync::Arc<str>,
    /// The reason, `rule:<id>` for rules.
    pub reason: String,
}

impl Finding {
    /// A refusal for `reason`.
    #[must_use]
    pub fn refuse(reason: Reason, evidence: Evidence) -> Self {
        let (rule, retry_after, code, message) = (None, None, None, None);
        let (action, incidents, holds) = (Action::Refuse, Vec::new(), true);
        Self { reason, rule, action, evidence, incidents, retry_after, code, message, holds }
    }

    /// The same, counted in an incident.
    #[must_use]
    pub fn within(mut self, incident: IncidentKey) -> Self {
        self.incidents.push(incident);
        self
    }

    /// What a person is told who is asked: the reason, and which rule.
    pub(crate) fn told(&self) -> AskedBy {
        (self.reason, self.rule.clone())
    }

    /// The reason as logs and tests name it: `rule:<id>` for rules.
    #[must_use]
    pub fn name(&self) -> String {
        reason_name(self.reason, self.rule.as_deref())
    }
}

/// A reason that asked, and which rule it was.
pub(crate) type AskedBy = (Reason, Option<std::sync::Arc<str>>);

/// `rule:<id>` for a rule, else the reason's name.
#[must_use]
pub fn reason_name(reason: Reason, rule: Option<&str>) -> String {
    match rule {
        Some(id) => format!("rule:{id}"),
        None => reason.name().to_owned(),
    }
}

/// Something the model should read beside a result, or before it.
#[derive(Clone, Debug)]
pub struct Note {
    /// Why.
    pub reason: Reason,
    /// The author's rule, for [`Reason::Rule`].
    pub rule: Option<std::sync::Arc<str>>,
    /// The call that it is about.
    pub call_id: std::sync::Arc<str>,
    /// A sentence for the model.
    pub message: String,
    /// What shows it.
    pub evidence: Evidence,
}

/// How a stopped task should end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExitDecision {
    /// There is enough: answer.
    Finish,
    /// The essential is there: answer, and say what is missing.
    FinishWithGaps,
    /// Hand over to a person, with the evidence.
    Escalate,
}

impl ExitDecision {
    /// The name in verdicts, tests and logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Finish => "finish",
            Self::FinishWithGaps => "finish_with_gaps",
            Self::Escalate => "escalate",
        }
    }
}

/// How far a run got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It found all that it needs.
    Complete,
    /// It found what is essential.
    Partial,
    /// It did not.
    Incomplete,
}

impl Status {
    /// The name in reports, tests and logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Partial => "partial",
            Self::Incomplete => "incomplete",
        }
    }
}

/// Why and when a task was stopped, and how it should end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Stop {
    /// The finding that stopped it.
    pub reason: Reason,
    /// The author's rule, for [`Reason::Rule`].
    pub rule: Option<String>,
    /// The call that met it.
    pub call_id: String,
    /// Seconds, on the task's clock.
    pub at: f64,
    /// How it should end.
    pub exit: ExitDecision,
    /// What shows that it had to be stopped: counters and thresholds.
    #[serde(with = "crate::about::as_json")]
    pub evidence: Value,
}

/// Seconds that the layers above a call leave it, as far as the policy says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimeLeft {
    /// For an answer of the tool's server.
    pub server: Option<f64>,
    /// Of the step of the model.
    pub step: Option<f64>,
    /// Of the agent's part of the task.
    pub task: Option<f64>,
    /// Of the whole task.
    pub workflow: Option<f64>,
}

/// How pauses between attempts grow and are spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backoff {
    /// The first pause, in seconds.
    pub initial: f64,
    /// What it is multiplied by each time.
    pub factor: f64,
    /// The longest pause, in seconds.
    pub longest: f64,
    /// How pauses are spread.
    pub jitter: crate::policy::Jitter,
}

/// May this call run?
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The call's id; made by the engine where the host gave none.
    pub call_id: std::sync::Arc<str>,
    /// The tool's name.
    pub tool: std::sync::Arc<str>,
    /// The arguments as they were judged: what the tool gets.
    pub arguments: std::sync::Arc<Value>,
    /// What happens to the call.
    pub action: Action,
    /// In `warn` and `audit`, what would have happened.
    pub would: Option<Action>,
    /// Everything that fired, in the fixed order of reasons.
    pub findings: Vec<Finding>,
    /// For the model: budgets at their shares, softened refusals.
    pub notes: Vec<Note>,
    /// `reuse` inside a batch: the call whose answer serves this one too.
    pub reuse_of: Option<std::sync::Arc<str>>,
    /// `reuse` of an earlier result: the result and its age in seconds.
    pub reused: Option<(std::sync::Arc<Value>, f64)>,
    /// How long the call may take, in seconds, as far as the policy says.
    pub timeout: Option<f64>,
    /// The server that the tool lives on.
    pub server: Option<std::sync::Arc<str>>,
    /// How long what is above the call may still take.
    pub time_left: TimeLeft,
    /// How pauses between attempts grow and are spread, where the tool is tried again.
    pub backoff: Option<Backoff>,
    /// `stop`: how the task should end.
    pub stop: Option<Stop>,
    /// The bindings of the policies that applied; none where one policy applies to everyone.
    pub bindings: std::sync::Arc<[crate::policy::Binding]>,
    /// What exceptions lifted of it.
    pub lifted: Vec<Lifted>,
    /// `stop`: cells of the task's needs that are missing.
    pub missing: Vec<(Value, String)>,
    /// What to call instead, where the call did not run: substitutes that stand offered.
    pub instead: Vec<crate::Offer>,
    /// The exact identity inside the task.
    pub symbol: Symbol,
    /// The key that tells its effect from others, in hex, where the manifest declares one.
    pub idempotency_key: Option<std::sync::Arc<str>>,
    /// What the tool gets, where that is more than what was judged: its key among the arguments.
    pub handed: Option<std::sync::Arc<Value>>,
    /// An effect is in doubt, and this call would tell what became of it.
    pub verify: Option<crate::Verification>,
}

impl Verdict {
    /// The finding that decides: the first one with the strongest action.
    #[must_use]
    pub fn decisive(&self) -> Option<&Finding> {
        // what does not hold decides only where nothing else does
        let rank = |finding: &Finding| (finding.holds || self.action == Action::Allow, finding.action);
        let strongest = self.findings.iter().map(rank).max()?;
        self.findings.iter().find(|finding| rank(finding) == strongest)
    }

    /// The observation code of the decisive finding.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.decisive().map(|finding| finding.code.as_deref().unwrap_or_else(|| finding.reason.code()))
    }

    /// The fingerprint, in hex.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        callgate_value::fingerprint(&self.tool, &self.arguments)
            .map_or_else(|_| String::new(), |digest| digest.to_hex())
    }

    /// What the model reads instead of a result; none where the call runs.
    #[must_use]
    pub fn reply(&self) -> Option<String> {
        crate::reply::reply(self)
    }
}

/// How much of what a call should bring it brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Grade {
    /// At least the smallest number of records carry all required fields.
    Sufficient,
    /// Some records, but fewer.
    Partial,
    /// A successful answer with nothing in it.
    Empty,
    /// The call failed.
    Failed,
    /// Not told: no result is known, or an expression of the manifest failed on it.
    Ungraded,
}

impl Grade {
    /// The name in assessments, tests and logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sufficient => "sufficient",
            Self::Partial => "partial",
            Self::Empty => "empty",
            Self::Failed => "failed",
            Self::Ungraded => "ungraded",
        }
    }
}

/// What should happen next.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Carry on.
    Continue,
    /// Try the same call again after so many seconds.
    Retry(f64),
    /// Find out what became of the effect.
    Verify(crate::Verification),
    /// Call another tool instead: see the proposals.
    Substitute,
    /// The task is over.
    Exit,
}

impl Next {
    /// The name in assessments, tests and logs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Continue => "continue",
            Self::Retry(_) => "retry",
            Self::Verify(_) => "verify",
            Self::Substitute => "substitute",
            Self::Exit => "exit",
        }
    }
}

/// What the engine makes of an outcome.
#[derive(Clone, Debug)]
pub struct Assessment {
    /// The call.
    pub call_id: std::sync::Arc<str>,
    /// How much it brought.
    pub grade: Grade,
    /// The class of its failure, if it failed.
    pub class: Option<crate::policy::ErrorClass>,
    /// Wanted fields that are missing: (record key, field).
    pub gaps: Vec<(Value, String)>,
    /// Items that were new to the task; known once the round has closed.
    pub gain: u32,
    /// For the model; of all members when the round has closed with this observation.
    pub notes: Vec<Note>,
    /// Missing cells of the task's needs that it filled; known once the round has closed.
    pub cells: u32,
    /// What should happen next.
    pub next: Next,
    /// Calls that are proposed instead, for all calls of the round once it has closed.
    pub offers: Vec<crate::Offer>,
    /// Capabilities that are done without, likewise.
    pub skipped: Vec<crate::Skipped>,
    /// The call failed, and this is what it returned before, with its age in seconds.
    pub cached: Option<(std::sync::Arc<Value>, f64)>,
    /// The outcome in one form.
    pub envelope: crate::Envelope,
    /// The task was stopped by this observation.
    pub stop: Option<Stop>,
}
