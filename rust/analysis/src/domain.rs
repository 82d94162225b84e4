//! What is known of a value before any test: from the schemas of the tools, and of what the engine itself provides.
use callgate_cel::{Place, Root, Scalar, Step};
use callgate_value::Value;

use crate::claims::scalar;

/// Schemas that refer to each other are followed so far.
const DEPTH: usize = 16;

/// The values that may stand in a place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Domain {
    /// All of them, where they are listed.
    pub(crate) listed: Option<Vec<Scalar>>,
    /// The smallest number, and whether it is left out itself.
    pub(crate) least: Option<(f64, bool)>,
    /// The largest number.
    pub(crate) most: Option<(f64, bool)>,
    /// Only whole numbers.
    pub(crate) whole: bool,
    /// The kinds that they have, as `type` names them, `number` for all numbers; none if it is not known.
    pub(crate) kinds: Option<Vec<&'static str>>,
}

impl Domain {
    fn words(words: &[&str]) -> Self {
        let listed = words.iter().map(|word| Scalar::String((*word).into())).collect();
        Self { listed: Some(listed), ..Self::default() }
    }

    fn from_zero(whole: bool) -> Self {
        Self { least: Some((0.0, false)), whole, kinds: Some(vec!["number"]), ..Self::default() }
    }
}

/// What is known of a place, given the schema of the arguments.
pub(crate) fn of(place: &Place, arguments: Option<&Value>) -> Domain {
    if !place.through.is_empty() {
        return Domain::default();
    }
    match (&place.root, place.steps.as_slice()) {
        (Root::Call(name, _), []) if **name == *"task.calls" => Domain::from_zero(true),
        (Root::Variable(name), steps) => match (&**name, steps) {
            ("args", steps) => arguments.and_then(|schema| at(schema, steps)).map(schema_domain).unwrap_or_default(),
            ("grade", []) => Domain::words(&["sufficient", "partial", "empty", "failed", "ungraded"]),
            ("tool.effect", []) => Domain::words(&["read", "write", "external", "ui", "control", "unknown"]),
            ("error", [Step::Field(field)]) if **field == *"class" => {
                Domain::words(&["transient", "permanent", "ambiguous", "format", "denied"])
            }
            ("gain" | "call.round" | "session.depth", []) => Domain::from_zero(true),
            ("task.elapsed" | "session.elapsed" | "now", []) => Domain::from_zero(false),
            ("task.confirmation", []) => Domain { least: Some((1.0, false)), ..Domain::from_zero(true) },
            (name, []) if name.starts_with("budget.") => Domain::from_zero(false),
            ("tool.declared" | "tool.idempotent", []) => {
                Domain { listed: Some(vec![Scalar::Bool(true), Scalar::Bool(false)]), ..Domain::default() }
            }
            _ => Domain::default(),
        },
        _ => Domain::default(),
    }
}

/// The schema of what stands there, where schemas say it in the plain way.
pub(crate) fn at<'s>(root: &'s Value, steps: &[Step]) -> Option<&'s Value> {
    let mut here = followed(root, root)?;
    for step in steps {
        let below = match step {
            Step::Field(name) => here.get("properties")?.get(name)?,
            Step::At(_) => here.get("items")?,
        };
        here = followed(below, root)?;
    }
    Some(here)
}

/// The schema itself, where it is a reference into the document: what that points at.
pub(crate) fn followed<'s>(schema: &'s Value, root: &'s Value) -> Option<&'s Value> {
    let mut here = schema;
    for _ in 0..DEPTH {
        let Some(to) = here.get("$ref").and_then(Value::as_str) else { return Some(here) };
        let mut target = root;
        for step in to.strip_prefix("#/")?.split('/') {
            target = target.get(&step.replace("~1", "/").replace("~0", "~"))?;
        }
        here = target;
    }
    None
}

fn schema_domain(schema: &Value) -> Domain {
    let single = schema.get("const").map(std::slice::from_ref);
    let listed = schema.get("enum").and_then(Value::as_list).or(single);
    let listed: Option<Vec<Scalar>> = listed.and_then(|values| values.iter().map(scalar).collect());
    let names: Vec<&str> = match schema.get("type") {
        Some(Value::List(names)) => names.iter().filter_map(Value::as_str).collect(),
        Some(name) => name.as_str().into_iter().collect(),
        None => Vec::new(),
    };
    let kind = |name: &&str| match *name {
        "string" => Some("string"),
        "boolean" => Some("bool"),
        "number" | "integer" => Some("number"),
        "null" => Some("null_type"),
        "array" => Some("list"),
        "object" => Some("map"),
        _ => None,
    };
    let kinds: Option<Vec<&'static str>> = names.iter().map(kind).collect();
    let bools = listed.is_none() && names == ["boolean"];
    let bound = |key: &str, open: &str| {
        let closed = schema.get(key).and_then(Value::as_f64).map(|value| (value, false));
        schema.get(open).and_then(Value::as_f64).map(|value| (value, true)).or(closed)
    };
    let numeric = names.iter().all(|name| matches!(*name, "number" | "integer"));
    Domain {
        listed: if bools { Some(vec![Scalar::Bool(true), Scalar::Bool(false)]) } else { listed },
        least: bound("minimum", "exclusiveMinimum").filter(|_| numeric),
        most: bound("maximum", "exclusiveMaximum").filter(|_| numeric),
        whole: names == ["integer"],
        kinds: kinds.filter(|kinds| !kinds.is_empty()),
    }
}
