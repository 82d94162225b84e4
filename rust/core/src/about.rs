//! What the host says about a task when it begins: never judged by itself, read by rules and shown in reports.
use std::collections::BTreeMap;

use callgate_value::{Map, Value};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What is known of a task beside its id.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct About {
    /// The host's own data, `task.context` in expressions: a map, empty where nothing was said.
    #[serde(with = "as_json")]
    pub context: Value,
    /// The trace that the task is a part of.
    pub trace_id: Option<String>,
    /// The conversation that it belongs to.
    pub conversation_id: Option<String>,
    /// Whom it is done for.
    pub tenant: Option<String>,
    /// Marks of the host, by name.
    pub labels: BTreeMap<String, String>,
    /// When the task's clock stood at 0, in seconds since 1970-01-01T00:00:00Z. Where it is not known, no exception stands.
    pub began: Option<f64>,
}

impl Default for About {
    fn default() -> Self {
        let context = Value::Map(Map::default());
        Self { context, trace_id: None, conversation_id: None, tenant: None, labels: BTreeMap::new(), began: None }
    }
}

/// Data as the JSON text of it, which keeps `1` and `1.0` apart. What we have written is read back whatever its size: what
/// a limit keeps out never came in, and some levels are ours.
pub(crate) mod as_json {
    use callgate_value::{read_json_with, to_json_with_non_finite, ReadLimits};

    use super::{Deserialize, Deserializer, Serialize, Serializer, Value};

    pub(crate) fn serialize<S: Serializer>(value: &Value, serializer: S) -> Result<S::Ok, S::Error> {
        to_json_with_non_finite(value).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        let text = String::deserialize(deserializer)?;
        let limits = ReadLimits {
            depth: usize::MAX,
            bytes: usize::MAX,
            values: usize::MAX,
            digits: usize::MAX,
            non_finite: true,
        };
        read_json_with(text.as_bytes(), limits).map_err(serde::de::Error::custom)
    }
}
