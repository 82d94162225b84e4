//! Results as JSON-like values.
use crate::entries::Key;
use crate::error::{ErrorKind, EvalError, Fault};
use crate::library::encoding::encode;
use crate::time::{duration_text, timestamp_text};
use crate::val::{Map, Val};
use crate::Fuel;
use callgate_value::{Map as JsonMap, Text, Value};

impl Val<'_> {
    /// The value as data: times and durations as text, bytes as base64, an optional as its value or null.
    ///
    /// # Errors
    /// A bound that was hit, or a map with keys that become one text.
    pub fn to_value(&self, fuel: &mut Fuel) -> Result<Value, EvalError> {
        export(self, fuel, 0).map_err(|fault| *fault)
    }
}

fn export(value: &Val<'_>, fuel: &mut Fuel, depth: usize) -> Result<Value, Fault> {
    fuel.burn(1)?;
    if depth > fuel.depth() {
        return Err(fuel.too_deep());
    }
    let deeper = depth.saturating_add(1);
    Ok(match value {
        Val::Null | Val::Optional(None) => Value::Null,
        Val::Bool(value) => Value::Bool(*value),
        Val::Int(value) => Value::Int(*value),
        Val::Uint(value) => match i64::try_from(*value) {
            Ok(value) => Value::Int(value),
            Err(_) => Value::BigInt(value.to_string().into()),
        },
        Val::Double(value) => Value::Float(*value),
        Val::Str(text) => {
            fuel.allocate(text.len())?;
            Value::Str((&**text).into())
        }
        Val::Bytes(bytes) => {
            fuel.allocate(bytes.len().saturating_mul(2))?;
            Value::Str(encode(bytes).into())
        }
        Val::Duration(nanos) => Value::Str(duration_text(*nanos).into()),
        Val::Timestamp(at) => Value::Str(timestamp_text(*at).into()),
        Val::Type(name) => Value::Str((*name).into()),
        Val::Ip(address) => Value::Str(address.to_string().into()),
        Val::Cidr(cidr) => Value::Str(cidr.to_string().into()),
        Val::Optional(Some(inner)) => export(inner, fuel, deeper)?,
        Val::List(list) => {
            fuel.allocate(list.len().saturating_mul(size_of::<Value>()))?;
            Value::List(list.iter().map(|value| export(&value, fuel, deeper)).collect::<Result<_, _>>()?)
        }
        Val::Map(map) => {
            fuel.allocate(map.len().saturating_mul(size_of::<(Text, Value)>()))?;
            let entries: Vec<(Text, Value)> = match map {
                Map::Json(map) => map
                    .iter()
                    .map(|(key, value)| Ok((key.clone(), export(&Val::from(value), fuel, deeper)?)))
                    .collect::<Result<_, Fault>>()?,
                Map::Owned(map) => map
                    .iter()
                    .map(|(key, value)| Ok((text_of(key), export(value, fuel, deeper)?)))
                    .collect::<Result<_, Fault>>()?,
            };
            let twice = |_| EvalError::fault(ErrorKind::BadKey, "two keys of the map become one text");
            Value::Map(JsonMap::new(entries).map_err(twice)?)
        }
        Val::Raw(value) => (*value).clone(),
    })
}

fn text_of(key: &Key<'_>) -> Text {
    match key {
        Key::Bool(value) => value.to_string().into(),
        Key::Number(value, _) => value.to_string().into(),
        Key::Str(text) => Text::from(&**text),
    }
}
