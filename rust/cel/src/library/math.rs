//! The functions named `math.…`: rounding, extremes, signs, bits.
use super::Found;
use crate::error::{ErrorKind, EvalError};
use crate::eval::arithmetic::too_large;
use crate::eval::compare::order;
use crate::eval::no_overload;
use crate::functions::Func;
use crate::val::Val;
use crate::Fuel;
use std::cmp::Ordering;

pub(super) fn call<'a>(func: Func, args: &[Val<'a>], fuel: &mut Fuel) -> Found<'a> {
    let found = match (func, args) {
        (Func::Greatest | Func::Least, [Val::List(list)]) => {
            fuel.burn(list.len() as u64)?;
            return extreme(func, &mut list.iter(), fuel);
        }
        (Func::Greatest | Func::Least, values) => return extreme(func, &mut values.iter().cloned(), fuel),
        (Func::Ceil, [Val::Double(value)]) => Val::Double(value.ceil()),
        (Func::Floor, [Val::Double(value)]) => Val::Double(value.floor()),
        // halves go away from zero
        (Func::Round, [Val::Double(value)]) => Val::Double(value.round()),
        (Func::Trunc, [Val::Double(value)]) => Val::Double(value.trunc()),
        (Func::Abs, [Val::Double(value)]) => Val::Double(value.abs()),
        (Func::Abs, [Val::Uint(value)]) => Val::Uint(*value),
        (Func::Abs, [Val::Int(value)]) => Val::Int(value.checked_abs().ok_or_else(too_large)?),
        (Func::Sign, [Val::Int(value)]) => Val::Int(value.signum()),
        (Func::Sign, [Val::Uint(value)]) => Val::Uint((*value).min(1)),
        (Func::Sign, [Val::Double(value)]) => {
            Val::Double(if *value == 0.0 || value.is_nan() { *value } else { value.signum() })
        }
        (Func::Sqrt, [value @ (Val::Int(_) | Val::Uint(_) | Val::Double(_))]) => {
            Val::Double(super::convert::to_double(value)?.unwrap_or(f64::NAN).sqrt())
        }
        (Func::IsNan, [Val::Double(value)]) => Val::Bool(value.is_nan()),
        (Func::IsInf, [Val::Double(value)]) => Val::Bool(value.is_infinite()),
        (Func::IsFinite, [Val::Double(value)]) => Val::Bool(value.is_finite()),
        (Func::BitAnd, [Val::Int(a), Val::Int(b)]) => Val::Int(a & b),
        (Func::BitAnd, [Val::Uint(a), Val::Uint(b)]) => Val::Uint(a & b),
        (Func::BitOr, [Val::Int(a), Val::Int(b)]) => Val::Int(a | b),
        (Func::BitOr, [Val::Uint(a), Val::Uint(b)]) => Val::Uint(a | b),
        (Func::BitXor, [Val::Int(a), Val::Int(b)]) => Val::Int(a ^ b),
        (Func::BitXor, [Val::Uint(a), Val::Uint(b)]) => Val::Uint(a ^ b),
        (Func::BitNot, [Val::Int(value)]) => Val::Int(!value),
        (Func::BitNot, [Val::Uint(value)]) => Val::Uint(!value),
        (Func::BitShiftLeft | Func::BitShiftRight, [_, Val::Int(by)]) if *by < 0 => {
            return Err(EvalError::fault(ErrorKind::BadArgument, "a shift by a negative number of bits"));
        }
        // a right shift of a negative int brings zeros in from the left
        (Func::BitShiftLeft, [Val::Int(value), Val::Int(by)]) => {
            Val::Int(shift(value.cast_unsigned(), *by, true).cast_signed())
        }
        (Func::BitShiftRight, [Val::Int(value), Val::Int(by)]) => {
            Val::Int(shift(value.cast_unsigned(), *by, false).cast_signed())
        }
        (Func::BitShiftLeft, [Val::Uint(value), Val::Int(by)]) => Val::Uint(shift(*value, *by, true)),
        (Func::BitShiftRight, [Val::Uint(value), Val::Int(by)]) => Val::Uint(shift(*value, *by, false)),
        _ => return Ok(None),
    };
    Ok(Some(found))
}

fn shift(value: u64, by: i64, left: bool) -> u64 {
    let by = u32::try_from(by).unwrap_or(u32::MAX);
    let shifted = if left { value.checked_shl(by) } else { value.checked_shr(by) };
    shifted.unwrap_or(0)
}

/// The greatest or least of numbers of any kind; the first of equal ones.
fn extreme<'a>(func: Func, values: &mut dyn Iterator<Item = Val<'a>>, fuel: &mut Fuel) -> Found<'a> {
    let wanted = if func == Func::Greatest { Ordering::Greater } else { Ordering::Less };
    let mut best: Option<Val<'a>> = None;
    for value in values {
        if !matches!(value, Val::Int(_) | Val::Uint(_) | Val::Double(_)) {
            return Err(no_overload(func.name(), &[&value]));
        }
        let better = match &best {
            Some(best) => order(&value, best, fuel) == Some(Some(wanted)),
            None => true,
        };
        if better {
            best = Some(value);
        }
    }
    match best {
        Some(best) => Ok(Some(best)),
        None => Err(EvalError::fault(ErrorKind::BadArgument, format!("`{}` needs at least one number", func.name()))),
    }
}
