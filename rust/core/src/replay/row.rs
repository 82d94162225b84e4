//! A recorded call with what was decided of it: as counts, decision logs and explanations take it in.
use std::sync::Arc;

use callgate_value::{Map, Value};

use crate::budget::Spent;
use crate::fields::map;
use crate::policy::{ErrorClass, Tool};
use crate::reply;
use crate::verdict::{reason_name, Action, Assessment, Next, Note, Stop, Verdict};

/// What was decided of one recorded call.
#[derive(Clone, Debug)]
pub struct Row {
    /// The session.
    pub session: Arc<str>,
    /// The task.
    pub task: Arc<str>,
    /// The agent.
    pub agent: Arc<str>,
    /// The record's `seq`, or its position in the session from 1.
    pub seq: i64,
    /// The recorded call id.
    pub call_id: Option<Arc<str>>,
    /// The verdict. For an `ask` that the record answers: the `ask`.
    pub verdict: Verdict,
    /// Notes of the verdict and of the observation.
    pub notes: Vec<Note>,
    /// What the engine made of the outcome, where it was observed.
    pub assessment: Option<Assessment>,
    /// The task was stopped at this record, by the verdict or by the observation.
    pub stop: Option<Stop>,
    /// What the task had used once the round of this record was over.
    pub spent: Spent,
    /// Seconds, as recorded.
    pub time: Option<f64>,
    /// Seconds that the call took, as recorded.
    pub duration: f64,
    /// The recorded round.
    pub round: Option<i64>,
    /// The form of the tool that the call has, where the policy is watched.
    pub form: Option<Arc<Tool>>,
    /// Whether the recording knows anything of an outcome.
    pub answered: bool,
}

impl Row {
    /// Whether there is more to say of it than that the call ran.
    #[must_use]
    pub fn says_something(&self) -> bool {
        let touched = self.verdict.action != Action::Allow || self.verdict.would.is_some();
        touched || !self.notes.is_empty() || self.stop.is_some()
    }

    /// The row as a value, for decision logs and tests.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let text = |text: &str| Value::from(text);
        let optional = |value: Option<&str>| value.map_or(Value::Null, Value::from);
        let notes = self.notes.iter().map(|note| {
            let reason = reason_name(note.reason, note.rule.as_deref());
            map(vec![("reason", text(&reason)), ("message", text(&note.message))])
        });
        let reasons = self.verdict.findings.iter().map(|finding| text(&finding.name()));
        let evidence = self.verdict.decisive().map_or_else(Vec::new, |finding| finding.evidence.clone());
        let assessed = self.assessment.as_ref();
        let class = assessed.and_then(|it| it.class);
        let gaps = assessed.map_or_else(Vec::new, |it| it.gaps.clone());
        let gaps = gaps.into_iter().map(|(record, field)| Value::List(vec![record, text(&field)]));
        let stop = self.stop.as_ref().map_or(Value::Null, |stop| {
            let reason = reason_name(stop.reason, stop.rule.as_deref());
            map(vec![("reason", text(&reason)), ("at", Value::Float(stop.at)), ("exit", text(stop.exit.name()))])
        });
        let bindings = self.verdict.bindings.iter().map(|it| {
            map(vec![
                ("binding", text(&it.name)),
                ("policy", text(&it.policy)),
                ("mode", text(it.mode.name())),
                ("rollout", Value::Bool(it.rollout)),
            ])
        });
        let lifted = self
            .verdict
            .lifted
            .iter()
            .map(|it| map(vec![("exception", text(&it.exception)), ("reason", text(&it.reason))]));
        let used = &self.spent;
        let spent = [
            ("steps", used.steps),
            ("tool_calls", used.tool_calls),
            ("retries", used.retries),
            ("tokens", used.tokens),
            ("cost", used.cost),
        ];
        map(vec![
            ("session", text(&self.session)),
            ("task", text(&self.task)),
            ("agent", text(&self.agent)),
            ("seq", Value::Int(self.seq)),
            ("round", self.round.map_or(Value::Null, Value::Int)),
            ("call_id", optional(self.call_id.as_deref())),
            ("tool", text(&self.verdict.tool)),
            ("fingerprint", text(&self.verdict.fingerprint())),
            ("time", self.time.map_or(Value::Null, Value::Float)),
            ("duration", Value::Float(self.duration)),
            ("action", text(self.verdict.action.name())),
            ("would", optional(self.verdict.would.map(Action::name))),
            ("code", optional(self.verdict.code())),
            ("reasons", Value::List(reasons.collect())),
            ("evidence", map(evidence)),
            ("bindings", Value::List(bindings.collect())),
            ("lifted", Value::List(lifted.collect())),
            ("key", optional(self.verdict.idempotency_key.as_deref())),
            ("notes", Value::List(notes.collect())),
            ("grade", optional(assessed.map(|it| it.grade.name()))),
            ("class", optional(class.map(ErrorClass::name))),
            ("gaps", Value::List(gaps.collect())),
            ("gain", assessed.map_or(Value::Null, |it| Value::Int(i64::from(it.gain)))),
            ("cells", assessed.map_or(Value::Null, |it| Value::Int(i64::from(it.cells)))),
            ("next", optional(assessed.map(|it| it.next.name()))),
            ("proposals", Value::List(assessed.map_or_else(Vec::new, proposals))),
            ("from_cache", Value::Bool(assessed.is_some_and(|it| it.cached.is_some()))),
            ("stop", stop),
            ("spent", map(spent.into_iter().map(|(name, used)| (name, Value::Float(used))).collect())),
        ])
    }
}

impl Row {
    /// The decision as [`Row::to_value`] tells it, with all that it rests on: `findings`, each with `reason`, `action`,
    /// `message` and `evidence`; `reply`, what the model reads instead of a result; and `runs`, whether the call got through.
    #[must_use]
    pub fn to_explained_value(&self) -> Value {
        let findings = self.verdict.findings.iter().map(|finding| {
            map(vec![
                ("reason", Value::from(&*finding.name())),
                ("action", Value::from(finding.action.name())),
                ("message", Value::from(&*reply::explain(finding, &self.verdict.tool))),
                ("evidence", map(finding.evidence.clone())),
                ("retry_after", finding.retry_after.map_or(Value::Null, Value::Float)),
            ])
        });
        let more = vec![
            ("findings", Value::List(findings.collect())),
            ("reply", self.verdict.reply().map_or(Value::Null, |reply| Value::from(&*reply))),
            ("runs", Value::Bool(self.assessment.is_some())),
        ];
        let Value::Map(told) = self.to_value() else { return map(more) };
        let more = more.into_iter().map(|(name, value)| (name.into(), value));
        Map::new(told.into_entries().into_iter().chain(more).collect()).map_or(Value::Null, Value::Map)
    }
}

/// What is proposed after a call: the same again, or others instead.
fn proposals(assessment: &Assessment) -> Vec<Value> {
    if let Next::Retry(seconds) = assessment.next {
        return vec![map(vec![("kind", Value::from("retry")), ("after", Value::Float(seconds))])];
    }
    if let Next::Verify(verify) = &assessment.next {
        return vec![map(vec![
            ("kind", Value::from("verify")),
            ("tool", Value::from(&*verify.tool)),
            ("arguments", (*verify.arguments).clone()),
            ("after", Value::Float(verify.after)),
        ])];
    }
    let substitute = |offer: &crate::Offer| {
        map(vec![
            ("kind", Value::from("substitute")),
            ("tool", Value::from(&*offer.tool)),
            ("arguments", (*offer.arguments).clone()),
            ("need", offer.need.as_deref().map_or(Value::Null, Value::from)),
        ])
    };
    let skip =
        |skipped: &crate::Skipped| map(vec![("kind", Value::from("skip")), ("tool", Value::from(&*skipped.tool))]);
    assessment.offers.iter().map(substitute).chain(assessment.skipped.iter().map(skip)).collect()
}
