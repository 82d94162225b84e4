//! The trace format: one record a line, a call with its outcome or an event.
use std::collections::BTreeMap;
use std::sync::Arc;

use callgate_value::{read_json, Value};

use crate::call::Request;
use crate::model::times::Moment;
use crate::outcome::{Outcome, Reported};

/// One line of a trace.
#[derive(Clone, Debug)]
pub struct Record {
    /// The session that it belongs to.
    pub session: Arc<str>,
    /// The task; by default the session is one of its own.
    pub task: Arc<str>,
    /// The agent whose session it is.
    pub agent: Arc<str>,
    /// Its place in the session.
    pub seq: Option<i64>,
    /// The round that it belongs to; by default one of its own.
    pub round: Option<i64>,
    /// Seconds since the session's first record, at completion.
    pub time: Option<f64>,
    /// Seconds that it took.
    pub duration: f64,
    /// Whom the task is done for; of a task's first record.
    pub tenant: Option<Arc<str>>,
    /// The host's marks of the task; of a task's first record.
    pub labels: BTreeMap<String, String>,
    /// When the task's clock stood at 0, in seconds since 1970-01-01T00:00:00Z; of a task's first record.
    pub began: Option<f64>,
    /// What it is.
    pub what: What,
}

/// What a record is.
#[derive(Clone, Debug)]
pub enum What {
    /// A call and what came back.
    Call(Box<CallRecord>),
    /// Something that happened.
    Event(TraceEvent),
}

/// A recorded call.
#[derive(Clone, Debug)]
pub struct CallRecord {
    /// The call.
    pub request: Request,
    /// What came back.
    pub outcome: Outcome,
    /// Whether anything is known of an answer: a result, an error, a flag.
    pub answered: bool,
}

/// A recorded event.
#[derive(Clone, Debug, PartialEq)]
pub enum TraceEvent {
    /// Somebody spoke.
    UserTurn {
        /// Whether it was a person.
        by_human: bool,
    },
    /// The conversation was compacted.
    Compaction,
    /// The task's state was saved.
    Snapshot,
    /// The task went on from the state that was saved last.
    Restore,
    /// The model used tokens or money.
    Usage {
        /// Tokens.
        tokens: f64,
        /// Money.
        cost: f64,
    },
    /// A person said yes to a call.
    Approved {
        /// Its id.
        call_id: Arc<str>,
    },
    /// A person said no to a call.
    Denied {
        /// Its id.
        call_id: Arc<str>,
    },
}

impl Record {
    /// Reads one line.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the line.
    pub fn from_line(line: &[u8]) -> Result<Self, String> {
        // the reader's own "line 1" would read as the file's: whoever has the line knows its number
        Self::from_value(
            read_json(line).map_err(|error| format!("{} (column {})", error.kind.message(), error.column))?,
        )
    }

    /// Reads a record from its value.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the record.
    pub fn from_value(value: Value) -> Result<Self, String> {
        if value.as_map().is_none() {
            return Err("a record is a JSON object".to_owned());
        }
        let session = text(&value, "session")?.ok_or("`session` is missing")?;
        let task = text(&value, "task")?.unwrap_or_else(|| Arc::clone(&session));
        let agent = text(&value, "agent")?.unwrap_or_else(|| "root".into());
        let (seq, round) = (integer(&value, "seq")?, integer(&value, "round")?);
        let time = number(&value, "time")?;
        let duration = number(&value, "duration")?.unwrap_or(0.0);
        if duration < 0.0 {
            return Err("`duration` is negative".to_owned());
        }
        let (tenant, labels, began) = (text(&value, "tenant")?, labels(&value)?, moment(&value, "began")?);
        let what = match text(&value, "event")? {
            Some(event) => What::Event(event_of(&value, &event)?),
            None => What::Call(Box::new(call_of(value)?)),
        };
        Ok(Self { session, task, agent, seq, round, time, duration, tenant, labels, began, what })
    }
}

fn field<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    value.get(name).filter(|value| !matches!(value, Value::Null))
}

fn text(value: &Value, name: &str) -> Result<Option<Arc<str>>, String> {
    match field(value, name) {
        None => Ok(None),
        Some(value) => value.as_str().map(|text| Some(text.into())).ok_or_else(|| format!("`{name}` is no text")),
    }
}

fn number(value: &Value, name: &str) -> Result<Option<f64>, String> {
    let Some(value) = field(value, name) else { return Ok(None) };
    let number = value.as_f64().filter(|number| number.is_finite());
    number.map(Some).ok_or_else(|| format!("`{name}` is no finite number"))
}

fn integer(value: &Value, name: &str) -> Result<Option<i64>, String> {
    match field(value, name) {
        None => Ok(None),
        Some(Value::Int(number)) => Ok(Some(*number)),
        Some(_) => Err(format!("`{name}` is no integer")),
    }
}

fn labels(value: &Value) -> Result<BTreeMap<String, String>, String> {
    let Some(labels) = field(value, "labels") else { return Ok(BTreeMap::new()) };
    let wrong = || "`labels` is no JSON object of texts".to_owned();
    let entries = labels.as_map().ok_or_else(wrong)?.iter();
    entries
        .map(|(name, value)| Some((name.as_str()?.to_owned(), value.as_str()?.to_owned())))
        .map(|it| it.ok_or_else(wrong))
        .collect()
}

/// A moment as text in UTC, or as seconds since 1970-01-01T00:00:00Z.
fn moment(value: &Value, name: &str) -> Result<Option<f64>, String> {
    let wrong = || format!("`{name}` is no moment such as `2027-01-31T18:00:00Z`");
    match field(value, name) {
        Some(Value::Str(text)) => {
            let text = text.as_str().filter(|text| text.contains('T')).ok_or_else(wrong)?;
            #[allow(clippy::cast_precision_loss)]
            let seconds = Moment(text.to_owned()).unix_seconds().ok_or_else(wrong)? as f64;
            Ok(Some(seconds))
        }
        Some(_) => number(value, name),
        None => Ok(None),
    }
}

fn flag(value: &Value, name: &str) -> Result<bool, String> {
    match field(value, name) {
        None => Ok(false),
        Some(value) => value.as_bool().ok_or_else(|| format!("`{name}` is neither true nor false")),
    }
}

fn call_of(value: Value) -> Result<CallRecord, String> {
    let tool = text(&value, "tool")?.ok_or("`tool` is missing")?;
    match value.get("arguments") {
        None => return Err("`arguments` is missing".to_owned()),
        Some(arguments) if arguments.as_map().is_none() => return Err("`arguments` is no JSON object".to_owned()),
        Some(_) => {}
    }
    let error = match field(&value, "error") {
        None => None,
        Some(error @ Value::Map(_)) => Some(Reported {
            kind: text(error, "type")?,
            status: integer(error, "status")?,
            message: text(error, "message")?,
        }),
        Some(_) => return Err("`error` is no JSON object".to_owned()),
    };
    let call_id = text(&value, "call_id")?;
    let digest = text(&value, "result_digest")?;
    let (is_error, tokens) = (flag(&value, "is_error")?, number(&value, "tokens")?);
    // the three that may be large are moved out, not copied; a result that is there and null is a result
    let (mut arguments, mut result, mut hints) = (Value::Null, None, None);
    let Value::Map(map) = value else { return Err("a record is a JSON object".to_owned()) };
    for (key, value) in map.into_entries() {
        match key.as_str() {
            Some("arguments") => arguments = value,
            Some("result") => result = Some(Arc::new(value)),
            Some("hints") if !matches!(value, Value::Null) => hints = Some(Arc::new(value)),
            _ => {}
        }
    }
    let request = Request { tool, arguments: Arc::new(arguments), call_id, hints, fault: None, again: false };
    let answered = result.is_some() || error.is_some() || is_error || digest.is_some();
    Ok(CallRecord {
        request,
        outcome: Outcome { result, digest, is_error, error, tokens, cached: None, said: None },
        answered,
    })
}

fn event_of(value: &Value, event: &str) -> Result<TraceEvent, String> {
    let call_id = || text(value, "call_id")?.ok_or_else(|| "`call_id` is missing".to_owned());
    Ok(match event {
        "user_turn" => TraceEvent::UserTurn { by_human: text(value, "by")?.as_deref() == Some("human") },
        "compaction" => TraceEvent::Compaction,
        "snapshot" => TraceEvent::Snapshot,
        "restore" => TraceEvent::Restore,
        "model_usage" => TraceEvent::Usage {
            tokens: number(value, "tokens")?.unwrap_or(0.0),
            cost: number(value, "cost")?.unwrap_or(0.0),
        },
        "approved" => TraceEvent::Approved { call_id: call_id()? },
        "denied" => TraceEvent::Denied { call_id: call_id()? },
        _ => return Err(format!("`{event}` is no event")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(line: &str) -> String {
        Record::from_line(line.as_bytes()).unwrap_err()
    }

    #[test]
    fn a_record_needs_a_session_a_tool_and_arguments() {
        assert_eq!(fault("[]"), "a record is a JSON object");
        assert_eq!(fault(r#"{"tool":"t","arguments":{}}"#), "`session` is missing");
        assert_eq!(fault(r#"{"session":"s","arguments":{}}"#), "`tool` is missing");
        assert_eq!(fault(r#"{"session":"s","tool":"t"}"#), "`arguments` is missing");
        assert_eq!(fault(r#"{"session":"s","tool":"t","arguments":[]}"#), "`arguments` is no JSON object");
        assert_eq!(fault(r#"{"session":"s","event":"nap"}"#), "`nap` is no event");
    }

    #[test]
    fn a_null_result_is_a_result_and_no_result_is_none() {
        let outcome = |line: &str| match Record::from_line(line.as_bytes()).unwrap().what {
            What::Call(call) => call.outcome,
            What::Event(_) => unreachable!(),
        };
        assert!(outcome(r#"{"session":"s","tool":"t","arguments":{},"result":null}"#).result.is_some());
        assert!(outcome(r#"{"session":"s","tool":"t","arguments":{}}"#).result.is_none());
    }
}
