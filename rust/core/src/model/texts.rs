//! The texts that policies are written in: names, plain text, regular expressions, key paths, codes.
use callgate_value::Value;
use serde_json::json;

use super::codes;
use super::reader::{shown, Model, Reader};
use super::schema::Defs;
use super::spelling::did_you_mean;

/// The text that the value is; anything else is reported as not being `wanted`.
pub(super) fn read_text<'v>(value: &'v Value, wanted: &str, reader: &mut Reader) -> Option<&'v str> {
    let text = value.as_str();
    match value {
        Value::Str(_) if text.is_none() => {
            reader.report(reader.fault(codes::WRONG_TYPE, "the text is not valid Unicode"));
        }
        Value::Str(_) => {}
        _ => reader.wrong_type(value, wanted),
    }
    text
}

/// A newtype over text: `check` gives the fault of a text that is not one of these.
macro_rules! text {
    ($(#[doc = $doc:literal])* $name:ident, $wanted:literal, $schema:expr, $check:expr) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub String);

        impl $name {
            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl Model for $name {
            fn wanted() -> String {
                $wanted.to_owned()
            }

            fn accepts(value: &Value) -> bool {
                matches!(value, Value::Str(_))
            }

            fn read(value: &Value, reader: &mut Reader) -> Option<Self> {
                let text = read_text(value, $wanted, reader)?;
                let check: fn(&str, &Value, &Reader) -> Option<$crate::model::Fault> = $check;
                if let Some(fault) = check(text, value, reader) {
                    reader.report(fault);
                    return None;
                }
                Some(Self(text.to_owned()))
            }

            fn schema(_: &mut Defs) -> serde_json::Value {
                $schema
            }
        }
    };
}
pub(super) use text;

text! {
    /// Any text.
    Text, "text", json!({"type": "string"}), |_, _, _| None
}

text! {
    /// The name of a tool, group, policy, argument or field: not empty, no blanks around it.
    Name, "text: a name", json!({"type": "string", "pattern": NAME}), |text, value, reader| {
        let odd = text.is_empty() || text.trim() != text || text.contains(['\n', '\r']);
        odd.then(|| reader.fault(codes::OUT_OF_RANGE, format!("{} is no name", shown(value)))
            .hint("a name is not empty and has no blanks around it"))
    }
}
const NAME: &str = r"^\S([^\n\r]*\S)?$";

text! {
    /// An observation code: upper-case letters, digits and underscores.
    ObservationCode, "text: an upper-case code", json!({"type": "string", "pattern": OBSERVATION_CODE}),
    |text, value, reader| {
        let upper = |rest: &str| rest.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
        let good = text.starts_with(|first: char| first.is_ascii_uppercase()) && upper(text);
        (!good).then(|| reader.fault(codes::OUT_OF_RANGE, format!("{} is no observation code", shown(value)))
            .hint("upper-case letters, digits and `_`, as in ORDER_ABOVE_CEILING"))
    }
}
const OBSERVATION_CODE: &str = r"^[A-Z][A-Z0-9_]*$";

text! {
    /// A regular expression (RE2 syntax: no look-around, no back-references), searched for anywhere in the text.
    Pattern, "text: a regular expression", json!({"type": "string"}), |text, _, reader| {
        let error = regex::Regex::new(text).err()?;
        let why = match &error {
            regex::Error::CompiledTooBig(_) => "it is too large".to_owned(),
            // the last line of the library's report says what is wrong; those before it draw the place
            error => error.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned(),
        };
        Some(reader.fault(codes::BAD_REGEX, format!("not a regular expression: {why}")))
    }
}

text! {
    /// Where a key stands in `spec`, its steps joined by dots: `budgets.tool_calls`.
    KeyPath, "text: a dotted key such as `budgets.tool_calls`", json!({"type": "string", "pattern": KEY_PATH}),
    |text, value, reader| {
        let good = text.split('.').all(|step| !step.is_empty() && !step.contains(char::is_whitespace));
        (!good).then(|| reader.fault(codes::OUT_OF_RANGE, format!("{} is no dotted key", shown(value)))
            .hint("write the keys below `spec`, joined by dots, as in budgets.tool_calls"))
    }
}
const KEY_PATH: &str = r"^[^.\s]+(\.[^.\s]+)*$";

/// The reasons that a verdict may carry, beside `rule:<id>`.
pub const REASONS: &[&str] = &[
    "unknown_tool",
    "invalid_arguments",
    "bad_call_id",
    "unbound",
    "duplicate_in_batch",
    "consecutive",
    "exact_repeat",
    "frequency",
    "cycle",
    "oscillation",
    "same_error",
    "same_result",
    "no_gain",
    "empty_streak",
    "state_oscillation",
    "transfer_streak",
    "transfer_cycle",
    "stale_wait",
    "low_diversity",
    "duplicate_effect",
    "effect_in_flight",
    "ambiguous_effect",
    "idempotency_conflict",
    "denied",
    "budget_steps",
    "budget_tool_calls",
    "budget_calls_per_tool",
    "budget_calls_per_group",
    "budget_retries",
    "budget_tokens",
    "budget_cost",
    "budget_time",
    "budget_depth",
    "budget_reserved",
    "breaker_open",
    "hop_limit",
    "no_return",
    "timeout",
    "stopped",
    "policy_error",
    "store_failure",
];

text! {
    /// A reason of a verdict: one of the language's words, or `rule:<id>` for a rule of the policy.
    ReasonName, "text: a reason", json!({"anyOf": [{"enum": REASONS}, {"type": "string", "pattern": "^rule:\\S"}]}),
    |text, _, reader| {
        let rule = text.strip_prefix("rule:").is_some_and(|id| id.starts_with(|first: char| !first.is_whitespace()));
        (!rule && !REASONS.contains(&text)).then(|| {
            reader.fault(codes::UNKNOWN_REASON, format!("unknown reason `{text}`")).hint(did_you_mean(text, REASONS))
        })
    }
}
