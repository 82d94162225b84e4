//! Data that the model carries as it is: constants, arguments, results, JSON Schemas of the author's.
use callgate_value::{Map, Value};
use serde_json::json;

use super::reader::{Field, Model, Reader};
use super::schema::Defs;

/// Any value.
#[derive(Clone, Debug)]
pub struct Data(pub Value);

impl Model for Data {
    fn wanted() -> String {
        "any value".to_owned()
    }

    fn accepts(_: &Value) -> bool {
        true
    }

    fn read(value: &Value, _: &mut Reader) -> Option<Self> {
        Some(Self(value.clone()))
    }

    fn schema(_: &mut Defs) -> serde_json::Value {
        json!({})
    }
}

/// Any map.
#[derive(Clone, Debug)]
pub struct DataMap(pub Value);

impl Model for DataMap {
    fn wanted() -> String {
        "a map".to_owned()
    }

    fn accepts(value: &Value) -> bool {
        matches!(value, Value::Map(_))
    }

    fn read(value: &Value, reader: &mut Reader) -> Option<Self> {
        if Self::accepts(value) {
            return Some(Self(value.clone()));
        }
        reader.wrong_type(value, "a map");
        None
    }

    fn schema(_: &mut Defs) -> serde_json::Value {
        json!({"type": "object"})
    }
}

/// Any value under a key where null is a value too: a tool may return null, which is not the same as no result.
#[derive(Clone, Debug, Default)]
pub struct Given(pub Option<Value>);

impl Field for Given {
    const REQUIRED: bool = false;

    fn take(map: &Map, key: &'static str, _: &mut Reader) -> Option<Self> {
        Some(Self(map.get(key).cloned()))
    }

    fn schema(_: &mut Defs) -> serde_json::Value {
        json!({})
    }
}

impl Model for bool {
    fn wanted() -> String {
        "true or false".to_owned()
    }

    fn accepts(value: &Value) -> bool {
        matches!(value, Value::Bool(_))
    }

    fn read(value: &Value, reader: &mut Reader) -> Option<Self> {
        if value.as_bool().is_none() {
            reader.wrong_type(value, &Self::wanted());
        }
        value.as_bool()
    }

    fn schema(_: &mut Defs) -> serde_json::Value {
        json!({"type": "boolean"})
    }
}
