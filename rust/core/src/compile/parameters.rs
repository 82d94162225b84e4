//! `spec.parameters`: the values of `params`, each checked against its schema. A binding's value stands as the `default`.
use callgate_value::{Map, Value};

use super::{at, Faults, Place};
use crate::model::policy::PolicySpec;
use crate::model::{codes, Fault, Pointer};
use crate::schema::ArgumentSchema;

/// The values, by name.
pub(super) fn values(spec: &PolicySpec, faults: &mut Faults) -> Value {
    let mut values = Vec::new();
    for (name, schema) in spec.parameters.iter().flat_map(|parameters| parameters.iter()) {
        let place = at(&["spec", "parameters", name]);
        let compiled = match ArgumentSchema::compile(&schema.0) {
            Ok(compiled) => compiled,
            Err(error) => {
                let message = format!("the parameter `{name}` is no JSON Schema: {error}");
                faults.add(Place::Policy, Fault::value(codes::BAD_SCHEMA, place, message));
                continue;
            }
        };
        match schema.0.get("default") {
            Some(value) => {
                check(name, &compiled, value, &place.key("default"), faults);
                values.push((name.into(), value.clone()));
            }
            None => {
                let message = format!("nothing gives the parameter `{name}` a value");
                let fault = Fault::key(codes::UNSET_PARAMETER, place, message);
                faults.add(Place::Policy, fault.hint("give it a `default`, or a value in every binding of the policy"));
            }
        }
    }
    Map::new(values).map_or(Value::Null, Value::Map)
}

fn check(name: &str, schema: &ArgumentSchema, value: &Value, place: &Pointer, faults: &mut Faults) {
    for fault in schema.faults(value) {
        let inside = fault.path.trim_start_matches("arguments").trim_start_matches('.');
        let at = if inside.is_empty() { String::new() } else { format!(" (at `{inside}`)") };
        let message = format!("the parameter `{name}` does not take this value{at}: {}", fault.message);
        faults.add(Place::Policy, Fault::value(codes::BAD_PARAMETER, place.clone(), message));
    }
}
