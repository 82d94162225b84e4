//! From a request to a call: which form of the tool it is, and what makes it the same call as another.
use std::borrow::Cow;
use std::sync::Arc;

use callgate_value::{canonical_json, digest, fingerprint, Map, Symbol, SymbolKey, Text, Value};

use crate::call::{Asked, Call, Request};
use crate::expression::{Expression, Scope};
use crate::policy::{Coverage, Identity, Policy, Tool, Trim};

/// The variables of `admit` as far as a call alone gives them.
pub(crate) struct CallScope<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) arguments: &'a Value,
    pub(crate) hints: Option<&'a Value>,
}

impl Scope for CallScope<'_> {
    fn data(&self, name: &str) -> Option<&Value> {
        match name {
            "args" => Some(self.arguments),
            "hints" => self.hints,
            "params" => Some(&self.policy.params),
            "constants" => Some(&self.policy.constants),
            _ => None,
        }
    }
}

/// Identifies a call that belongs to no task, as in a recorded conversation.
#[must_use]
pub fn identify_alone(policy: &Policy, key: &SymbolKey, request: &Request) -> Call {
    identify(policy, key, request, 0, (0, 0))
}

/// Identifies a call of the agent with this session and symbol; `number` tells it apart from equal ones.
pub(crate) fn identify(
    policy: &Policy,
    key: &SymbolKey,
    request: &Request,
    session: usize,
    (agent, number): (u64, u64),
) -> Call {
    let scope = CallScope { policy, arguments: &request.arguments, hints: request.hints.as_deref() };
    let (tool, form_error) = form(policy, &request.tool, &scope);
    let arguments = without_key(&tool, &request.arguments);
    let scope = CallScope { arguments: &arguments, ..scope };
    let tool_symbol = key.bytes(tool.name.as_bytes()).0;
    // lifted arguments always have a canonical form; an opaque part can only stem from a defect upstream, and then the
    // call is judged by its tool alone, which is the stricter reading
    let exact = key.call(&tool.name, &arguments).unwrap_or(key.bytes(tool.name.as_bytes()));
    let identity = &tool.identity;
    let normalised = (!identity.is_exact()).then(|| normalise(identity, &arguments));
    let loose_arguments: &Value = normalised.as_ref().unwrap_or(&arguments);
    let group = identity.group.as_ref().and_then(|group| group.optional(&scope));
    let loose = match group {
        Some(group) => key.join(&[key.bytes(b"group"), key.bytes(tool.name.as_bytes()), symbol(key, &group)]).0,
        None if normalised.is_some() => key.call(&tool.name, loose_arguments).map_or(exact.0, |symbol| symbol.0),
        None => exact.0,
    };
    // arguments without a JSON form stand as none at all: such a call is no call without arguments, nor one with another fault
    let (exact, loose) = match &request.fault {
        None => (exact, loose),
        Some(fault) => {
            let tag = key.bytes(b"fault");
            (key.join(&[exact, tag, key.bytes(fault.as_bytes())]), key.join(&[Symbol(loose), tag]).0)
        }
    };
    let target = (!identity.target.is_empty()).then(|| {
        let parts = identity.target.iter().map(|name| loose_arguments.get(name).map_or(Value::Null, Clone::clone));
        symbol(key, &Value::List(parts.collect())).0
    });
    let needs_fields = tool.detectors.oscillation.is_some() && tool.effect == crate::policy::Effect::Read;
    let fields = match loose_arguments {
        Value::Map(map) if needs_fields => {
            map.iter().map(|(name, value)| (key.bytes(name.as_bytes()).0, symbol(key, value).0)).collect()
        }
        _ => Vec::new(),
    };
    let asked = tool.coverage.as_ref().and_then(|coverage| asked(coverage, key, &scope, tool_symbol, loose_arguments));
    Call {
        arguments,
        hints: request.hints.clone(),
        tool,
        number,
        tool_symbol,
        exact,
        loose,
        target,
        session,
        agent,
        fields,
        asked,
        fault: request.fault.clone(),
        form_error,
    }
}

fn symbol(key: &SymbolKey, value: &Value) -> Symbol {
    key.value(value, callgate_value::Loosening::default()).unwrap_or(crate::policy::NOTHING)
}

/// The form of the tool that the call is, and what went wrong while looking.
fn form(policy: &Policy, name: &str, scope: &CallScope<'_>) -> (Arc<Tool>, Option<String>) {
    let Some(entry) = policy.tool(name) else {
        let detectors = policy.undeclared_special.get(name).unwrap_or(&policy.undeclared);
        return (Arc::new(Tool::undeclared(name, Arc::clone(detectors))), None);
    };
    for (when, tool) in &entry.forms {
        match when.as_ref().map_or(Ok(true), |when| when.test(scope)) {
            Ok(true) => return (Arc::clone(tool), None),
            Ok(false) => {}
            Err(error) => {
                let source = when.as_ref().map_or("", Expression::source);
                return (Arc::clone(&entry.undecided), Some(format!("`{source}`: {error}")));
            }
        }
    }
    (Arc::clone(&entry.base), None)
}

/// The arguments without the one that takes the tool's key: what a model writes there is neither passed on nor judged.
fn without_key(tool: &Tool, arguments: &Arc<Value>) -> Arc<Value> {
    let pass_as = tool.idempotency.as_ref().and_then(|it| it.pass_as.as_ref());
    let (Some(pass_as), Value::Map(map)) = (pass_as, &**arguments) else { return Arc::clone(arguments) };
    if map.get(&pass_as.name).is_none() {
        return Arc::clone(arguments);
    }
    let others = map.iter().filter(|(name, _)| name.as_str() != Some(&*pass_as.name));
    let others = others.map(|(name, value)| (name.clone(), value.clone()));
    Map::new(others.collect()).map_or_else(|_| Arc::clone(arguments), |map| Arc::new(Value::Map(map)))
}

/// The form of a tool that a call with these arguments is.
pub(crate) fn tool_of(policy: &Policy, tool: &Arc<Tool>, arguments: &Value) -> Arc<Tool> {
    if policy.tool(&tool.name).is_none() {
        return Arc::clone(tool);
    }
    form(policy, &tool.name, &CallScope { policy, arguments, hints: None }).0
}

/// SHA-256 of the loose identity, in hex: the same in every process, which its symbol is not.
pub(crate) fn loose_digest(policy: &Policy, call: &Call) -> String {
    let identity = &call.tool.identity;
    let scope = CallScope { policy, arguments: &call.arguments, hints: call.hints.as_deref() };
    let group = identity.group.as_ref().and_then(|group| group.optional(&scope));
    let whole = match group {
        Some(group) => {
            digest(&Value::List(vec![Value::from("group"), Value::from(&*call.tool.name), group.into_owned()]))
        }
        None if identity.is_exact() => fingerprint(&call.tool.name, &call.arguments),
        None => fingerprint(&call.tool.name, &normalise(identity, &call.arguments)),
    };
    whole.map_or_else(|_| String::new(), |digest| digest.to_hex())
}

/// The same of what it acts upon, where that is declared.
pub(crate) fn target_digest(call: &Call) -> Option<String> {
    let identity = &call.tool.identity;
    call.target?;
    let normalised = normalise(identity, &call.arguments);
    let parts = identity.target.iter().map(|name| normalised.get(name).map_or(Value::Null, Clone::clone));
    digest(&Value::List(parts.collect())).ok().map(|digest| digest.to_hex())
}

fn asked(
    coverage: &Coverage,
    key: &SymbolKey,
    scope: &CallScope<'_>,
    tool: u64,
    loose_arguments: &Value,
) -> Option<Asked> {
    let tool = Symbol(tool);
    match coverage {
        Coverage::Range { target, offset, length } => {
            let value = |expression: &Option<Expression>| expression.as_ref().and_then(|it| it.optional(scope));
            let read = [target, offset, length].into_iter().flatten().flat_map(|it| it.fields_of("args"));
            let others = symbol(key, &without(loose_arguments, &read.collect::<Vec<&str>>()));
            let target = value(target).map_or(crate::policy::NOTHING, |target| symbol(key, &target));
            let from = value(offset).map_or(Some(0), |offset| whole(&offset))?;
            let to = match value(length) {
                Some(length) => Some(from.saturating_add(whole(&length)?)),
                None => None,
            };
            let target = key.join(&[tool, target]);
            Some(Asked::Range { target: target.0, list: key.join(&[target, others]).0, from, to })
        }
        Coverage::Cursor { cursor, .. } => {
            let list = key.join(&[tool, symbol(key, &without(loose_arguments, &cursor.fields_of("args")))]);
            let page = cursor.optional(scope).map_or(crate::policy::NOTHING, |cursor| symbol(key, &cursor));
            Some(Asked::Cursor { list: list.0, page: key.join(&[tool, page]).0 })
        }
    }
}

/// The arguments without some of them.
fn without(arguments: &Value, names: &[&str]) -> Value {
    let Value::Map(map) = arguments else { return arguments.clone() };
    let others = map.iter().filter(|(name, _)| !name.as_str().is_some_and(|name| names.contains(&name)));
    let others = others.map(|(name, value)| (name.clone(), value.clone())).collect();
    Map::new(others).map_or_else(|_| arguments.clone(), Value::Map)
}

#[allow(clippy::cast_possible_truncation)]
fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        Value::Float(number) if number.fract() == 0.0 && number.abs() < 9e15 => Some(*number as i64),
        _ => None,
    }
}

/// The arguments as the tool's `identity` block sees them.
fn normalise(identity: &Identity, arguments: &Value) -> Value {
    let Value::Map(map) = arguments else { return arguments.clone() };
    let mut entries: Vec<(Text, Value)> = map
        .iter()
        .filter(|(name, _)| !name.as_str().is_some_and(|name| contains(&identity.ignore, name)))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    for (name, value) in &identity.defaults {
        if map.get(name).is_none() && !contains(&identity.ignore, name) {
            entries.push((Text::from(name.as_str()), value.clone()));
        }
    }
    for (name, value) in &mut entries {
        let Some(name) = name.as_str() else { continue };
        let trim = match &identity.trim {
            Trim::None => false,
            Trim::All => true,
            Trim::Names(names) => contains(names, name),
        };
        let (fold, path) = (contains(&identity.casefold, name), contains(&identity.paths, name));
        if trim || fold || path {
            each_string(value, &|text| respell(text, trim, fold, path));
        }
        if contains(&identity.unordered, name) {
            if let Value::List(items) = value {
                items.sort_by_cached_key(|item| canonical_json(item).unwrap_or_default());
            }
        }
    }
    Map::new(entries).map_or_else(|_| arguments.clone(), Value::Map)
}

fn contains(names: &[String], name: &str) -> bool {
    names.iter().any(|have| have == name)
}

/// A declared argument is a string or a list of strings; the change goes to each.
fn each_string(value: &mut Value, change: &dyn Fn(&str) -> String) {
    match value {
        Value::Str(text) => {
            if let Some(changed) = text.as_str().map(change) {
                *value = Value::Str(changed.into());
            }
        }
        Value::List(items) => {
            for item in items {
                if let Value::Str(_) = item {
                    each_string(item, change);
                }
            }
        }
        _ => {}
    }
}

fn respell(text: &str, trim: bool, fold: bool, path: bool) -> String {
    let mut text: Cow<'_, str> = Cow::Borrowed(text);
    if trim {
        text = Cow::Owned(text.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    if fold {
        text = Cow::Owned(text.to_lowercase());
    }
    if path {
        text = Cow::Owned(one_spelling(&text));
    }
    text.into_owned()
}

/// One spelling of a path: `\` is a separator after a drive letter or `\\`; `.` and `//` fold, a trailing slash goes. `..`
/// stays: what stands before it may be a link, and then folding would name another file. Case is kept.
fn one_spelling(path: &str) -> String {
    let mut letters = path.chars();
    let drive = matches!((letters.next(), letters.next()), (Some(letter), Some(':')) if letter.is_ascii_alphabetic());
    let share = path.starts_with("\\\\");
    let path: Cow<'_, str> = if drive || share { Cow::Owned(path.replace('\\', "/")) } else { Cow::Borrowed(path) };
    let root = if share {
        "//"
    } else if path.starts_with('/') {
        "/"
    } else {
        ""
    };
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let folded = format!("{root}{}", parts.join("/"));
    if folded.is_empty() && !path.is_empty() {
        ".".to_owned()
    } else {
        folded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_one_spelling() {
        for (written, read) in [
            ("src//a.py", "src/a.py"),
            ("./src/./a.py/", "src/a.py"),
            ("C:\\w\\AGENTS.md", "C:/w/AGENTS.md"),
            ("C:/w/AGENTS.md", "C:/w/AGENTS.md"),
            ("\\\\host\\share\\x", "//host/share/x"),
            ("a\\b", "a\\b"),
            ("/", "/"),
            ("./", "."),
            ("a/../b", "a/../b"),
            ("", ""),
        ] {
            assert_eq!(one_spelling(written), read, "{written}");
        }
    }
}
