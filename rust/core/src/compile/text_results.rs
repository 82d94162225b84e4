//! Expressions that err whenever a tool answers with text that is no JSON, and so leave its outcomes `ungraded`.
use callgate_cel::{Span, Type};

use super::{Faults, Place};
use crate::expression::{Expression, Prospect};
use crate::model::{codes, Fault, Pointer};
use crate::policy::{Coverage, Tool};

/// What a text as `result` makes of an expression; of all else is known that there is an `error`, or null in its place.
fn on_text(expression: &Expression) -> Prospect {
    expression.prospect(&|name| match name {
        "result" => Some(Type::String),
        "error" => Some(Type::Dyn),
        _ => None,
    })
}

/// Reports the first expression of a tool that errs on every text, and names the others. Text that `failed_when` counts as
/// a failure reaches none of the keys that read a success.
pub(crate) fn check_tool(place: Place, at: &Pointer, tool: &Tool, faults: &mut Faults) {
    let contract = &tool.result;
    let result = at.key("result");
    let mut read: Vec<(Pointer, &Expression)> = Vec::new();
    let failed = contract.failed_when.as_ref().map(|when| (when, on_text(when)));
    if let Some((when, _)) = failed {
        read.push((result.key("failed_when"), when));
    }
    let counts_as_failure =
        failed.as_ref().is_some_and(|(_, ways)| ways.may_be_true && !ways.may_be_false && !ways.may_err);
    if !counts_as_failure {
        let successes = [
            ("empty_when", &contract.empty_when),
            ("records", &contract.records),
            ("version", &contract.version),
            ("state", &contract.state),
        ];
        read.extend(successes.into_iter().filter_map(|(key, it)| Some((result.key(key), it.as_ref()?))));
        if let Some(Coverage::Cursor { next, .. }) = &tool.coverage {
            read.push((at.key("coverage").key("next"), next));
        }
    }
    for (index, rule) in tool.errors.iter().enumerate() {
        read.extend(rule.when.as_ref().map(|when| (at.key("errors").index(index).key("when"), when)));
    }
    let mut erring = read.into_iter().filter_map(|(at, expression)| Some((at, blame(expression)?)));
    let Some((first, (span, why))) = erring.next() else { return };
    let message = format!("this errs whenever `{}` answers with text that is no JSON: {why}", tool.name);
    let mut fault = Fault::value(codes::CEL_ERRS_ON_TEXT, first, message).warning();
    fault.span = Some(span);
    for (other, _) in erring {
        fault = fault.related(other, "this errs then, too");
    }
    let hint = "test for it, `type(result) == map ? … : …`, or say that text is a failure, `failed_when: error != null || type(result) == string`";
    faults.add(place, fault.hint(hint));
}

/// Reports a rule of `observe` whose condition errs on every text.
pub(crate) fn check_rule(at: &Pointer, when: &Expression, faults: &mut Faults) {
    let Some((span, why)) = blame(when) else { return };
    let message = format!("this errs whenever a tool answers with text that is no JSON: {why}");
    let mut fault = Fault::value(codes::CEL_ERRS_ON_TEXT, at.clone(), message).warning();
    fault.span = Some(span);
    faults.add(Place::Policy, fault.hint("test for it first, `type(result) == map && …`"));
}

/// The part that errs, in code points, and why.
fn blame(expression: &Expression) -> Option<((usize, usize), String)> {
    let (span, why) = on_text(expression).blame?;
    Some((in_points(expression, span), why))
}

/// A part of an expression, in code points of its text.
pub(super) fn in_points(expression: &Expression, span: Span) -> (usize, usize) {
    let points = |byte: u32| expression.written().get(..byte as usize).map_or(0, |text| text.chars().count());
    (points(span.start), points(span.end))
}
