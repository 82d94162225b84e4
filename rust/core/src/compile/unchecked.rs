//! Tools whose arguments are read by expressions although nothing is known of them: slips of the pen pass unseen there.
use super::{at, Faults, Place};
use crate::expression::Expression;
use crate::model::{codes, Fault};
use crate::policy::{Coverage, Policy, Tool, ToolEntry};

/// Reports each declared tool without `parameters` of which an expression reads an argument, once.
pub(crate) fn check(policy: &Policy, manifests: &[(usize, &str)], faults: &mut Faults) {
    for (position, name) in manifests {
        let Some(entry) = policy.tools.get(*name).filter(|entry| is_open(entry)) else { continue };
        let read = of_tool(entry).or_else(|| of_rules(policy, name));
        let Some(argument) = read else { continue };
        let message = format!("`{name}` declares no `parameters`, so `args.{argument}` cannot be checked");
        let fault = Fault::key(codes::UNCHECKED_ARGUMENTS, at(&["spec", "tools", name]), message).warning();
        let hint = "declare them as JSON Schema, or write `parameters: {type: object}` if they are not known";
        faults.add(Place::Manifest(*position), fault.hint(hint));
    }
}

/// Whether nothing says what the tool takes, in any of its forms.
fn is_open(entry: &ToolEntry) -> bool {
    entry.base.parameters.is_none() && entry.forms.iter().all(|(_, form)| form.parameters.is_none())
}

fn argument(expression: &Expression) -> Option<String> {
    expression.reads_field_of("args").map(str::to_owned)
}

/// The first argument that the tool's own expressions read.
fn of_tool(entry: &ToolEntry) -> Option<String> {
    let conditions = entry.forms.iter().filter_map(|(when, _)| when.as_ref());
    let tools = std::iter::once(&entry.base).chain(entry.forms.iter().map(|(_, form)| form));
    conditions.chain(tools.flat_map(|tool| expressions(tool))).find_map(argument)
}

fn expressions(tool: &Tool) -> Vec<&Expression> {
    let contract = &tool.result;
    let mut found: Vec<&Expression> = Vec::new();
    found.extend(tool.identity.group.as_ref());
    let results = [&contract.failed_when, &contract.empty_when, &contract.records, &contract.version, &contract.state];
    found.extend(results.into_iter().flatten());
    match &tool.coverage {
        Some(Coverage::Range { target, offset, length }) => {
            found.extend([target, offset, length].into_iter().flatten());
        }
        Some(Coverage::Cursor { cursor, next }) => found.extend([cursor, next]),
        None => {}
    }
    found.extend(tool.errors.iter().filter_map(|rule| rule.when.as_ref()));
    found.extend(tool.idempotency.as_ref().map(|it| &it.key));
    if let Some(verify) = &tool.verify {
        found.extend(verify.arguments.iter().map(|(_, argument)| argument));
        found.extend([&verify.landed_when, &verify.absent_when].into_iter().flatten());
    }
    found
}

/// The first argument that a rule about this tool reads; a rule about all tools says nothing of any one of them.
fn of_rules(policy: &Policy, name: &str) -> Option<String> {
    let about = policy.rules.iter().filter(|rule| rule.tools.iter().any(|tool| tool == name));
    about.flat_map(|rule| std::iter::once(&rule.when).chain(rule.message.as_ref())).find_map(argument)
}
