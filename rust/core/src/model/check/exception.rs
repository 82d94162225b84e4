//! What an exception would lift that no exception may.
use crate::model::codes;
use crate::model::exception::ExceptionSpec;
use crate::model::fault::{Fault, Pointer};

/// Findings that are no matter of judgement: hard limits, what is known of effects, a person's no, faults of the guard.
const FIXED: &[&str] = &[
    "bad_call_id",
    "unbound",
    "duplicate_effect",
    "effect_in_flight",
    "ambiguous_effect",
    "idempotency_conflict",
    "denied",
    "timeout",
    "stopped",
    "policy_error",
    "store_failure",
];

pub(super) fn check(spec: &ExceptionSpec, at: &Pointer, faults: &mut Vec<Fault>) {
    let place = at.key("lifts");
    if spec.lifts.is_empty() {
        let fault = Fault::value(codes::SENSELESS_VALUE, place.clone(), "the exception lifts nothing");
        faults.push(fault.hint("name a reason, or `rule:<id>`"));
    }
    for (index, reason) in spec.lifts.iter().enumerate() {
        let reason = reason.as_str();
        if reason.starts_with("budget_") || FIXED.contains(&reason) {
            let message = format!("no exception may lift `{reason}`");
            let fault = Fault::value(codes::NOT_LIFTABLE, place.index(index), message);
            faults.push(fault.hint("change the policy instead, where the change is reviewed"));
        }
    }
}
