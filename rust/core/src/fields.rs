//! A map made of named fields.
use callgate_value::{Map, Value};

/// The fields as a map value. Their names differ.
pub(crate) fn map(fields: Vec<(&str, Value)>) -> Value {
    Map::new(fields.into_iter().map(|(name, value)| (name.into(), value)).collect()).map_or(Value::Null, Value::Map)
}
