//! `spec.locked`: each entry names a key that the language has. The schema knows which those are.
use serde_json::Value;

use crate::model::codes;
use crate::model::fault::{Fault, Pointer};
use crate::model::policy::PolicySpec;
use crate::model::reader::Model;
use crate::model::schema::Defs;
use crate::model::spelling::did_you_mean;
use crate::model::texts::KeyPath;

pub(super) fn check(locked: &[KeyPath], at: &Pointer, faults: &mut Vec<Fault>) {
    if locked.is_empty() {
        return;
    }
    let mut defs = Defs::default();
    let root = <PolicySpec as Model>::schema(&mut defs);
    let schema = defs.document("", root);
    for (index, path) in locked.iter().enumerate() {
        if let Err((step, known)) = walk(&schema, path.as_str()) {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let fault = Fault::value(
                codes::UNKNOWN_KEY,
                at.index(index),
                format!("unknown key `{step}` in `{}`", path.as_str()),
            );
            faults.push(if known.is_empty() {
                fault.hint("there are no keys below that")
            } else {
                fault.hint(did_you_mean(step, &known))
            });
        }
    }
}

/// Follows a dotted key from the schema's root; else the step that is not there, and what is there instead.
fn walk<'p>(schema: &Value, path: &'p str) -> Result<(), (&'p str, Vec<String>)> {
    let mut places = objects(schema, schema);
    for step in path.split('.') {
        let mut inner = Vec::new();
        let mut known = Vec::new();
        for place in &places {
            if let Some(properties) = place.get("properties").and_then(Value::as_object) {
                known.extend(properties.keys().cloned());
                inner.extend(properties.get(step));
            }
            inner.extend(place.get("additionalProperties").filter(|entry| entry.is_object()));
        }
        if inner.is_empty() {
            return Err((step, known));
        }
        places = inner.into_iter().flat_map(|place| objects(schema, place)).collect();
    }
    Ok(())
}

/// The schemas that a schema stands for: itself, what it refers to, its alternatives.
fn objects<'s>(schema: &'s Value, place: &'s Value) -> Vec<&'s Value> {
    let mut found = vec![place];
    if let Some(name) = place.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix("#/$defs/")) {
        found.extend(
            schema.get("$defs").and_then(|defs| defs.get(name)).into_iter().flat_map(|def| objects(schema, def)),
        );
    }
    let alternatives = place.get("anyOf").and_then(Value::as_array);
    found.extend(alternatives.into_iter().flatten().flat_map(|alternative| objects(schema, alternative)));
    found
}
