//! The one envelope in which every outcome can be told: `success, code, retryable, data, message`.
use std::sync::Arc;

use callgate_value::{to_json, Value};

use crate::fields::map;
use crate::outcome::{Judged, Outcome};
use crate::verdict::Grade;

/// An outcome, told in one form whatever it came in.
#[derive(Clone, Debug)]
pub struct Envelope {
    /// Whether the call did what it was asked for. Nothing found is a success.
    pub success: bool,
    /// `OK`, `NO_DATA`, `PARTIAL`, `UNGRADED`, `FROM_CACHE`, `HTTP_<status>`, the error's type in capitals, or what the
    /// result says itself.
    pub code: Arc<str>,
    /// Whether the same call may help.
    pub retryable: bool,
    /// What came back.
    pub data: Arc<Value>,
    /// A sentence; empty where there is nothing to say.
    pub message: Arc<str>,
}

impl Envelope {
    pub(crate) fn of(judged: &Judged, outcome: &Outcome, retryable: bool) -> Self {
        let said = outcome.said.as_ref();
        let data = said.and_then(|said| said.data.clone()).or_else(|| outcome.result.clone());
        let said_code = said.and_then(|said| said.code.clone());
        let code = match judged.grade {
            _ if judged.failed => said_code.unwrap_or_else(|| code_of(judged, outcome)),
            Grade::Empty => "NO_DATA".into(),
            Grade::Partial => "PARTIAL".into(),
            Grade::Ungraded => "UNGRADED".into(),
            Grade::Sufficient | Grade::Failed => said_code.unwrap_or_else(|| "OK".into()),
        };
        let told = said.and_then(|said| said.message.clone());
        let message = judged.error.as_ref().and_then(|error| error.get("message")?.as_str()).map(Arc::from);
        Self {
            success: !judged.failed,
            code,
            retryable: judged.failed && retryable,
            data: data.unwrap_or_else(|| Arc::new(Value::Null)),
            message: message.filter(|_| judged.failed).or(told).unwrap_or_else(|| "".into()),
        }
    }

    /// An earlier success of the same call, handed out because it failed now.
    pub(crate) fn from_cache(result: &Arc<Value>, age: f64, failure: &Self) -> Self {
        let message = format!(
            "The call failed now ({}). This is what the same call returned {age:.0} s ago; it may be out of date.",
            failure.code
        );
        Self {
            success: true,
            code: "FROM_CACHE".into(),
            retryable: false,
            data: Arc::new(map(vec![
                ("result", (**result).clone()),
                ("age_seconds", Value::Float(age)),
                ("from_cache", Value::Bool(true)),
            ])),
            message: message.as_str().into(),
        }
    }

    /// The envelope as a value, its keys in their order.
    #[must_use]
    pub fn to_value(&self) -> Value {
        map(vec![
            ("success", Value::Bool(self.success)),
            ("code", Value::from(&*self.code)),
            ("retryable", Value::Bool(self.retryable)),
            ("data", (*self.data).clone()),
            ("message", Value::from(&*self.message)),
        ])
    }

    /// The same as JSON text.
    #[must_use]
    pub fn to_json(&self) -> String {
        to_json(&self.to_value())
    }
}

fn code_of(judged: &Judged, outcome: &Outcome) -> Arc<str> {
    let status = outcome.error.as_ref().and_then(|error| error.status);
    match (&*judged.kind, status) {
        ("http", Some(status)) => format!("HTTP_{status}").into(),
        (kind, _) => kind
            .chars()
            .map(|letter| if letter.is_alphanumeric() { letter.to_ascii_uppercase() } else { '_' })
            .collect::<String>()
            .into(),
    }
}
