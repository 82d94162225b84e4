//! Expressions about a result that read `error` where none was reported, and so err.
use callgate_cel::Type;

use super::text_results::in_points;
use super::{Faults, Place};
use crate::expression::Expression;
use crate::model::{codes, Fault, Pointer};

/// Reports an expression under `key` of a tool's `result` that errs on every outcome without a reported failure: for all keys
/// but `failed_when`, which alone is asked of failures too, that is on every outcome.
pub(crate) fn check(place: Place, at: &Pointer, key: &str, expression: &Expression, faults: &mut Faults) {
    if expression.reads_field_of("error").is_none() || expression.prospect(&|_| None).always_errs() {
        return;
    }
    let without = expression.prospect(&|name| (name == "error").then_some(Type::Null));
    let Some((span, _)) = without.blame else { return };
    let (message, hint) = if key == "failed_when" {
        (
            "this errs whenever the host reports no failure: `error` is null then",
            "test for it first, `error != null && …`",
        )
    } else {
        (
            "this always errs: `error` is null, since only a success is asked",
            "failures are told apart by `failed_when`, and in `errors`",
        )
    };
    let mut fault = Fault::value(codes::CEL_ABSENT_FIELD, at.key(key), message);
    fault.span = Some(in_points(expression, span));
    faults.add(place, fault.hint(hint));
}
