//! Arguments that a manifest names and that the tool's `parameters` do not declare: slips of the pen, most often.
use callgate_value::Value;

use crate::model::codes;
use crate::model::fault::{Fault, Pointer};
use crate::model::manifest::{Identity, Tool, Trim};
use crate::model::spelling::near_name;

/// How deep schemas inside of schemas are looked at, and how many of them for one place: a larger one is let pass.
const DEPTH: usize = 16;
const MOST: usize = 10_000;
/// Faults for which the nearest name is looked for: as many as a report shows.
const HINTED: usize = 101;

/// Keys of a schema whose schemas are about the same object: what one of them declares, the others may require.
const LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const SINGLE: [&str; 3] = ["if", "then", "else"];

/// Looks at the `parameters` and the `identity` that are `written` at a place, for calls that take what one of `schemas`
/// says.
pub(super) fn check(written: &Tool, schemas: &[&Value], at: &Pointer, faults: &mut Vec<Fault>) {
    if let Some(schema) = &written.parameters {
        let place = at.key("parameters");
        let known = Known { root: &schema.0, left: MOST };
        let here = Here { at: &place, around: &[], binding: true, depth: 0 };
        Required { known, faults }.within(&schema.0, &here);
    }
    let Some(identity) = &written.identity else { return };
    // where one of them leaves open what else is given, nothing can be said
    if schemas.is_empty() || schemas.iter().any(|schema| takes_others(schema)) {
        return;
    }
    let mut known: Vec<&str> = Vec::new();
    for schema in schemas {
        let Some(names) = (Known { root: schema, left: MOST }).declared(schema, &known) else { return };
        known = names;
    }
    if known.is_empty() {
        return;
    }
    for (name, place, is_key) in named(identity, &at.key("identity")) {
        if known.binary_search(&name).is_err() {
            let message = format!("`{name}` is no argument that `parameters` declares");
            let make = if is_key { Fault::key } else { Fault::value };
            add(faults, make(codes::UNDECLARED_ARGUMENT, place, message).warning(), name, &known);
        }
    }
}

/// Adds a fault with the name that is nearest to the wrong one.
fn add(faults: &mut Vec<Fault>, fault: Fault, name: &str, known: &[&str]) {
    let hinted = faults.len() < HINTED;
    faults.push(if hinted { fault.hint(near_name(name, known)) } else { fault });
}

/// The arguments that `identity` names, each with its place, and whether it is a key there.
fn named<'i>(identity: &'i Identity, at: &Pointer) -> Vec<(&'i str, Pointer, bool)> {
    let trim = match &identity.trim {
        Some(Trim::Arguments(names)) => Some(names),
        Some(Trim::All(_)) | None => None,
    };
    let lists = [
        ("ignore", identity.ignore.as_ref()),
        ("trim", trim),
        ("casefold", identity.casefold.as_ref()),
        ("paths", identity.paths.as_ref()),
        ("unordered", identity.unordered.as_ref()),
        ("target", identity.target.as_ref()),
    ];
    let mut found = Vec::new();
    for (list, names) in lists {
        let place = at.key(list);
        let names = names.into_iter().flatten().enumerate();
        found.extend(names.map(|(index, name)| (name.as_str(), place.index(index), false)));
    }
    let defaults = identity.defaults.iter().flat_map(|defaults| defaults.iter());
    found.extend(defaults.map(|(name, _)| (name, at.key("defaults").key(name), true)));
    found
}

/// Whether the author of an object's schema says that others than its `properties` may be given.
fn takes_others(schema: &Value) -> bool {
    let says = |key: &str| matches!(schema.get(key), Some(Value::Bool(true) | Value::Map(_)));
    says("additionalProperties") || says("unevaluatedProperties") || schema.get("patternProperties").is_some()
}

/// The names that the schemas of a document declare, for as long as there are not too many of them.
struct Known<'s> {
    root: &'s Value,
    left: usize,
}

impl<'s> Known<'s> {
    /// The properties that a schema declares, in itself or in what it is put together from, and those `around` it; sorted.
    /// None where it is too large.
    fn declared(&mut self, schema: &'s Value, around: &[&'s str]) -> Option<Vec<&'s str>> {
        let mut names = around.to_vec();
        self.collect(schema, 0, &mut names)?;
        names.sort_unstable();
        names.dedup();
        Some(names)
    }

    fn collect(&mut self, schema: &'s Value, depth: usize, names: &mut Vec<&'s str>) -> Option<()> {
        let deeper = Some(depth.saturating_add(1)).filter(|depth| *depth < DEPTH)?;
        let before = names.len();
        names.extend(property_names(schema));
        let taken = names.len().saturating_sub(before).saturating_add(1);
        self.left = self.left.checked_sub(taken)?;
        for (_, part) in parts(schema) {
            self.collect(part, deeper, names)?;
        }
        let pointer = schema.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix('#'));
        if let Some(target) = pointer.and_then(|steps| at_steps(self.root, steps)) {
            self.collect(target, deeper, names)?;
        }
        Some(())
    }
}

fn property_names(schema: &Value) -> impl Iterator<Item = &str> {
    let properties = schema.get("properties").and_then(Value::as_map);
    properties.into_iter().flat_map(callgate_value::Map::iter).filter_map(|(name, _)| name.as_str())
}

/// The schemas that a schema is put together from, with the steps to each.
fn parts(schema: &Value) -> Vec<(Vec<Step<'_>>, &Value)> {
    let mut found: Vec<(Vec<Step<'_>>, &Value)> = Vec::new();
    for key in LISTS {
        let list = schema.get(key).and_then(Value::as_list).unwrap_or_default();
        found.extend(list.iter().enumerate().map(|(index, part)| (vec![Step::Key(key), Step::Index(index)], part)));
    }
    found.extend(SINGLE.into_iter().filter_map(|key| Some((vec![Step::Key(key)], schema.get(key)?))));
    let dependent = schema.get("dependentSchemas").and_then(Value::as_map);
    let dependent = dependent.into_iter().flat_map(callgate_value::Map::iter);
    found.extend(
        dependent
            .filter_map(|(name, part)| Some((vec![Step::Key("dependentSchemas"), Step::Key(name.as_str()?)], part))),
    );
    found
}

#[derive(Clone, Copy)]
enum Step<'s> {
    Key(&'s str),
    Index(usize),
}

fn step_on(at: &Pointer, steps: &[Step<'_>]) -> Pointer {
    steps.iter().fold(at.clone(), |at, step| match step {
        Step::Key(key) => at.key(key),
        Step::Index(index) => at.index(*index),
    })
}

/// What stands at a JSON Pointer of maps.
fn at_steps<'v>(root: &'v Value, steps: &str) -> Option<&'v Value> {
    let names = steps.split('/').skip(1);
    names.into_iter().try_fold(root, |here, step| here.get(&step.replace("~1", "/").replace("~0", "~")))
}

/// A walk over a schema, for `required` of each object in it.
struct Required<'r, 'f> {
    known: Known<'r>,
    faults: &'f mut Vec<Fault>,
}

/// Where the walk is.
struct Here<'h, 'r> {
    at: &'h Pointer,
    /// The properties that the schemas declare of which this one is a part.
    around: &'h [&'r str],
    /// Whether nothing fits that does not fit here: no other branch, and no condition.
    binding: bool,
    depth: usize,
}

impl<'r> Required<'r, '_> {
    fn within(&mut self, schema: &'r Value, here: &Here<'_, 'r>) {
        if here.depth > DEPTH || schema.as_map().is_none() {
            return;
        }
        let depth = here.depth.saturating_add(1);
        let Some(known) = self.known.declared(schema, here.around) else { return };
        if !takes_others(schema) && !known.is_empty() {
            self.required(schema, &known, here);
        }
        for (steps, part) in parts(schema) {
            let key = match steps.first() {
                Some(Step::Key(key)) => *key,
                _ => "",
            };
            // what it takes to be `if` may name what nobody declares
            if key != "if" && !takes_others(schema) {
                let binding = here.binding && key == "allOf";
                self.within(part, &Here { at: &step_on(here.at, &steps), around: &known, binding, depth });
            }
        }
        for key in ["properties", "$defs"] {
            let binding = here.binding && key == "properties";
            let inner = schema.get(key).and_then(Value::as_map);
            for (name, part) in inner.into_iter().flat_map(callgate_value::Map::iter) {
                let Some(name) = name.as_str() else { continue };
                self.within(part, &Here { at: &here.at.key(key).key(name), around: &[], binding, depth });
            }
        }
        if let Some(items) = schema.get("items") {
            self.within(items, &Here { at: &here.at.key("items"), around: &[], binding: here.binding, depth });
        }
    }

    fn required(&mut self, schema: &Value, known: &[&str], here: &Here<'_, 'r>) {
        let is_closed = matches!(schema.get("additionalProperties"), Some(Value::Bool(false)));
        let own: Vec<&str> = property_names(schema).collect();
        let names = schema.get("required").and_then(Value::as_list).unwrap_or_default();
        for (index, name) in names.iter().enumerate() {
            let Some(name) = name.as_str() else { continue };
            let place = here.at.key("required").index(index);
            let fault = |message: String| Fault::value(codes::UNDECLARED_ARGUMENT, place.clone(), message);
            if is_closed && !own.contains(&name) {
                let message = format!("`{name}` is required and must not be given: `properties` lacks it");
                let fault = if here.binding { fault(message) } else { fault(message).warning() };
                add(self.faults, fault, name, if own.is_empty() { known } else { &own });
            } else if known.binary_search(&name).is_err() {
                let message = format!("`{name}` is required, and `properties` does not declare it");
                add(self.faults, fault(message).warning(), name, known);
            }
        }
    }
}
