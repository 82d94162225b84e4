//! Values that may be missing.
use super::lists::pay;
use super::Found;
use crate::error::{ErrorKind, EvalError};
use crate::eval::no_overload;
use crate::functions::Func;
use crate::val::{List, Val};
use crate::Fuel;

pub(super) fn call<'a>(func: Func, args: &[Val<'a>], fuel: &mut Fuel) -> Found<'a> {
    let found = match (func, args) {
        (Func::OptionalNone, []) => Val::Optional(None),
        (Func::OptionalOf, [value]) => Val::some(value.clone()),
        (Func::OptionalOfNonZero, [value]) if is_zero(value) => Val::Optional(None),
        (Func::OptionalOfNonZero, [value]) => Val::some(value.clone()),
        (Func::HasValue, [Val::Optional(inner)]) => Val::Bool(inner.is_some()),
        (Func::GetValue, [Val::Optional(Some(inner))]) => (**inner).clone(),
        (Func::GetValue, [Val::Optional(None)]) => {
            return Err(EvalError::fault(ErrorKind::BadArgument, "the optional has no value"));
        }
        (Func::Or, [Val::Optional(None), other @ Val::Optional(_)]) => other.clone(),
        (Func::Or, [some @ Val::Optional(Some(_)), Val::Optional(_)]) => some.clone(),
        (Func::OrValue, [Val::Optional(None), other]) => other.clone(),
        (Func::OrValue, [Val::Optional(Some(inner)), _]) => (**inner).clone(),
        (Func::OptionalUnwrap | Func::UnwrapOpt, [Val::List(list)]) => {
            pay(list.len(), fuel)?;
            let mut values = Vec::new();
            for value in list.iter() {
                match value {
                    Val::Optional(inner) => values.extend(inner.map(|inner| (*inner).clone())),
                    other => return Err(no_overload(func.name(), &[&other])),
                }
            }
            Val::List(List::owned(values))
        }
        _ => return Ok(None),
    };
    Ok(Some(found))
}

/// Whether a value is the empty one of its type.
fn is_zero(value: &Val<'_>) -> bool {
    match value {
        Val::Null | Val::Optional(None) => true,
        Val::Bool(value) => !value,
        Val::Int(value) => *value == 0,
        Val::Uint(value) => *value == 0,
        Val::Double(value) => *value == 0.0,
        Val::Str(text) => text.is_empty(),
        Val::Bytes(bytes) => bytes.is_empty(),
        Val::List(list) => list.is_empty(),
        Val::Map(map) => map.is_empty(),
        Val::Duration(nanos) => *nanos == 0,
        Val::Timestamp(at) => at.seconds == 0 && at.nanos == 0,
        Val::Type(_) | Val::Ip(_) | Val::Cidr(_) | Val::Optional(Some(_)) | Val::Raw(_) => false,
    }
}
