//! Values that a JSON Schema takes, as plain as can be.
use callgate_value::{Map, Value};

use crate::domain::followed;
use crate::text;

const DEPTH: usize = 8;

/// A value for a schema; a text where nothing is said. `seed` makes texts and numbers differ.
pub(crate) fn sample(schema: &Value, root: &Value, seed: u64) -> Value {
    read(schema, root, seed, 0)
}

fn read(schema: &Value, root: &Value, seed: u64, depth: usize) -> Value {
    let deeper = depth.saturating_add(1);
    let Some(schema) = followed(schema, root).filter(|_| depth <= DEPTH) else { return Value::from("x") };
    let given = schema.get("const").or_else(|| {
        let listed = ["enum", "examples"].iter().find_map(|key| schema.get(key).and_then(Value::as_list));
        let count = listed.map_or(0, <[Value]>::len);
        let at = usize::try_from(seed).unwrap_or(0).checked_rem(count).unwrap_or(0);
        listed.and_then(|values| values.get(at)).or_else(|| schema.get("default").filter(|_| seed == 0))
    });
    if let Some(given) = given {
        return given.clone();
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(first) = schema.get(key).and_then(Value::as_list).and_then(<[Value]>::first) {
            return read(first, root, seed, deeper);
        }
    }
    let name = match schema.get("type") {
        Some(Value::List(names)) => names.iter().filter_map(Value::as_str).find(|name| *name != "null"),
        Some(name) => name.as_str(),
        None if schema.get("properties").is_some() => Some("object"),
        None => None,
    };
    match name {
        Some("object") => {
            let needed = schema.get("required").and_then(Value::as_list).unwrap_or_default();
            let property = |name: &str| schema.get("properties").and_then(|properties| properties.get(name));
            let entries = needed.iter().filter_map(Value::as_str).map(|name| {
                let value = property(name).map_or_else(|| word(seed, schema), |it| read(it, root, seed, deeper));
                (name.into(), value)
            });
            Map::new(entries.collect()).map_or(Value::Null, Value::Map)
        }
        Some("array") => {
            let least = schema.get("minItems").and_then(Value::as_f64).unwrap_or(1.0).clamp(1.0, 64.0);
            let item = schema.get("items").map_or_else(|| word(seed, schema), |it| read(it, root, seed, deeper));
            let mut items = Vec::new();
            while (items.len() as f64) < least {
                items.push(item.clone());
            }
            Value::List(items)
        }
        Some("integer" | "number") => number(schema, seed),
        Some("boolean") => Value::Bool(seed.is_multiple_of(2)),
        Some("null") => Value::Null,
        _ => word(seed, schema),
    }
}

fn number(schema: &Value, seed: u64) -> Value {
    let of = |key: &str| schema.get(key).and_then(Value::as_f64);
    let step = of("multipleOf").unwrap_or(1.0);
    let least = of("minimum").or_else(|| of("exclusiveMinimum").map(|value| value + step));
    let most = of("maximum").or_else(|| of("exclusiveMaximum").map(|value| value - step));
    let start = match (least, most) {
        (Some(least), _) => (least / step).ceil() * step,
        (None, Some(most)) => most.min(1.0),
        (None, None) => step,
    };
    #[allow(clippy::cast_precision_loss)] // seeds are small
    let value = start + seed as f64 * step;
    let value = if most.is_some_and(|most| value > most) { start } else { value };
    #[allow(clippy::cast_possible_truncation)] // whole, and far below 2^53
    if value.fract() == 0.0 && value.abs() < 9e15 {
        Value::Int(value as i64)
    } else {
        Value::Float(value)
    }
}

/// A text of the length and form that the schema asks for.
fn word(seed: u64, schema: &Value) -> Value {
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
        let found = text::matching(pattern);
        let at = usize::try_from(seed).unwrap_or(0).checked_rem(found.len()).unwrap_or(0);
        if let Some(fits) = found.get(at) {
            return Value::from(fits.as_str());
        }
    }
    let mut word = format!("word {seed}");
    let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
    #[allow(clippy::cast_precision_loss)] // lengths of a few characters
    while bound("minLength").is_some_and(|least| (word.chars().count() as f64) < least.min(4_096.0)) {
        word.push('x');
    }
    #[allow(clippy::cast_precision_loss)]
    while bound("maxLength").is_some_and(|most| word.chars().count() as f64 > most) && word.pop().is_some() {}
    Value::from(word.as_str())
}
