//! Idempotency keys against `identity`: what is the same call has to have the same key, or it is done once for each.
use super::{Faults, Place};
use crate::expression::Expression;
use crate::model::manifest::{self as written, Trim};
use crate::model::{codes, Fault, Pointer};

/// Reports the first argument that goes into a key as the model wrote it, though `identity` takes several spellings of it
/// for the same call. One that is passed on to a method (`args.ref.lowerAscii()`) is left to the author.
pub(crate) fn check_tool(place: Place, at: &Pointer, tool: &written::Tool, key: &Expression, faults: &mut Faults) {
    let Some(identity) = &tool.identity else { return };
    let bare = |argument: &str| key.reads_bare("args", argument);
    let Some((argument, list)) = respelled(tool, identity).into_iter().find_map(|(argument, list)| {
        let span = bare(argument)?;
        Some(((argument, span), list))
    }) else {
        return;
    };
    let ((name, span), why) = (
        argument,
        match list {
            "ignore" => "calls that differ in it alone are the same call",
            _ => "other spellings of it are the same call",
        },
    );
    let message = format!("the key has `args.{name}` as the model writes it, but by `identity.{list}` {why}");
    let mut fault = Fault::value(codes::RESPELLED_KEY, at.key("idempotency").key("key"), message).warning();
    fault.span = Some(span);
    let hint = match list {
        "ignore" => format!("take it out of the key, or `{name}` out of `ignore`"),
        "trim" => format!("spell it in one way, `args.{name}.trim()`, or let `parameters` take one spelling alone"),
        "casefold" => format!("spell it in one way, `args.{name}.lowerAscii()`, or take it out of `casefold`"),
        _ => format!("take it out of the key, or `{name}` out of `{list}`"),
    };
    faults.add(place, fault.hint(hint));
}

/// The arguments of which several values are the same call, each with the key that says so.
fn respelled<'t>(tool: &'t written::Tool, identity: &'t written::Identity) -> Vec<(&'t str, &'static str)> {
    let trimmed: Vec<&str> = match &identity.trim {
        Some(Trim::Arguments(names)) => names.iter().map(|name| name.as_str()).collect(),
        Some(Trim::All(true)) => texts(tool),
        Some(Trim::All(false)) | None => Vec::new(),
    };
    let listed = [
        ("ignore", &identity.ignore),
        ("casefold", &identity.casefold),
        ("paths", &identity.paths),
        ("unordered", &identity.unordered),
    ];
    let listed =
        listed.into_iter().flat_map(|(list, names)| names.iter().flatten().map(move |name| (name.as_str(), list)));
    trimmed.into_iter().map(|name| (name, "trim")).chain(listed).collect()
}

/// The arguments that are declared as text.
fn texts(tool: &written::Tool) -> Vec<&str> {
    let properties = tool.parameters.as_ref().and_then(|schema| schema.0.get("properties"));
    let properties = properties.and_then(|properties| properties.as_map());
    let is_text = |schema: &callgate_value::Value| {
        let kind = schema.as_map().and_then(|schema| schema.get("type"));
        kind.and_then(callgate_value::Value::as_str) == Some("string")
    };
    let named = properties.into_iter().flat_map(callgate_value::Map::iter);
    named.filter(|(_, schema)| is_text(schema)).filter_map(|(name, _)| name.as_str()).collect()
}
