//! Equality and order. Numbers compare by value whatever their types; values of different kinds are unequal, and have no order.
use super::{no_overload, raw_fault, Machine, Out, Watch};
use crate::ast::{Compare, Id};
use crate::error::Fault;
use crate::eval::access::by_key;
use crate::val::{List, Map, Val};
use crate::Fuel;
use callgate_value::Value;
use std::cmp::Ordering;

impl<'a, W: Watch> Machine<'a, '_, W> {
    #[inline(never)]
    pub(super) fn compare(&mut self, op: Compare, left: Id, right: Id) -> Out<'a> {
        let (a, b) = (self.operand(left)?, self.operand(right)?);
        let (a, b) = (a.get(), b.get());
        let value = match op {
            Compare::Eq => equal(a, b, self.fuel, 0)?,
            Compare::Ne => !equal(a, b, self.fuel, 0)?,
            Compare::In => contains(b, a, self.fuel)?,
            _ => {
                let order = order(a, b, self.fuel).ok_or_else(|| no_overload(op.sign(), &[a, b]))?;
                match op {
                    Compare::Lt => order == Some(Ordering::Less),
                    Compare::Le => matches!(order, Some(Ordering::Less | Ordering::Equal)),
                    Compare::Gt => order == Some(Ordering::Greater),
                    _ => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
                }
            }
        };
        Ok(Val::Bool(value))
    }
}

/// Whether two values are equal. `depth` counts the lists and maps around them.
pub(crate) fn equal(a: &Val<'_>, b: &Val<'_>, fuel: &mut Fuel, depth: usize) -> Result<bool, Fault> {
    match (a, b) {
        (Val::Str(a), Val::Str(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            fuel.read(a.len())?;
            Ok(**a == **b)
        }
        (Val::Null, Val::Null) => Ok(true),
        (Val::Bool(a), Val::Bool(b)) => Ok(a == b),
        (Val::Bytes(a), Val::Bytes(b)) => {
            fuel.read(a.len())?;
            Ok(a == b)
        }
        (Val::List(a), Val::List(b)) => lists(a, b, fuel, depth),
        (Val::Map(a), Val::Map(b)) => maps(a, b, fuel, depth),
        (Val::Duration(a), Val::Duration(b)) => Ok(a == b),
        (Val::Timestamp(a), Val::Timestamp(b)) => Ok(a == b),
        (Val::Type(a), Val::Type(b)) => Ok(a == b),
        (Val::Ip(a), Val::Ip(b)) => Ok(a == b),
        (Val::Cidr(a), Val::Cidr(b)) => Ok(a == b),
        (Val::Optional(a), Val::Optional(b)) => match (a, b) {
            (Some(a), Some(b)) => equal(a, b, fuel, deeper(fuel, depth)?),
            (a, b) => Ok(a.is_none() && b.is_none()),
        },
        _ => match numbers(a, b) {
            Some(order) => Ok(order == Some(Ordering::Equal)),
            // an integer beyond 64 bits differs from whatever is no number; other raw data cannot be judged
            None => {
                match [a, b].into_iter().find(|val| matches!(val, Val::Raw(raw) if !matches!(raw, Value::BigInt(_)))) {
                    Some(raw) => Err(raw_fault(raw).unwrap_or_else(|| no_overload("==", &[a, b]))),
                    None => Ok(false),
                }
            }
        },
    }
}

fn deeper(fuel: &Fuel, depth: usize) -> Result<usize, Fault> {
    depth.checked_add(1).filter(|depth| *depth <= fuel.depth()).ok_or_else(|| fuel.too_deep())
}

fn lists(a: &List<'_>, b: &List<'_>, fuel: &mut Fuel, depth: usize) -> Result<bool, Fault> {
    let depth = deeper(fuel, depth)?;
    if a.len() != b.len() {
        return Ok(false);
    }
    for (a, b) in a.iter().zip(b.iter()) {
        fuel.burn(1)?;
        if !equal(&a, &b, fuel, depth)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn maps(a: &Map<'_>, b: &Map<'_>, fuel: &mut Fuel, depth: usize) -> Result<bool, Fault> {
    let depth = deeper(fuel, depth)?;
    if a.len() != b.len() {
        return Ok(false);
    }
    let mut same = |key: &Val<'_>, value: &Val<'_>| {
        fuel.burn(2)?;
        match by_key(b, key)? {
            Some(other) => equal(value, &other, fuel, depth),
            None => Ok(false),
        }
    };
    match a {
        Map::Json(map) => {
            for (key, value) in map.iter() {
                let key = super::folds::text_key(key)?;
                if !same(&key, &Val::from(value))? {
                    return Ok(false);
                }
            }
        }
        Map::Owned(entries) => {
            for (key, value) in entries.iter() {
                if !same(&key.to_val(), value)? {
                    return Ok(false);
                }
            }
        }
    }
    Ok(true)
}

/// `needle in hay`
pub(crate) fn contains(hay: &Val<'_>, needle: &Val<'_>, fuel: &mut Fuel) -> Result<bool, Fault> {
    match hay {
        Val::List(list) => {
            let mut failed = None;
            for element in list.iter() {
                fuel.burn(1)?;
                match equal(&element, needle, fuel, 0) {
                    Ok(true) => return Ok(true),
                    Ok(false) => {}
                    Err(fault) if fault.kind.is_limit() => return Err(fault),
                    Err(fault) => failed = failed.or(Some(fault)),
                }
            }
            failed.map_or(Ok(false), Err)
        }
        Val::Map(map) => match needle {
            Val::Raw(_) => Err(no_overload("in", &[needle])),
            _ => Ok(by_key(map, needle)?.is_some()),
        },
        other => Err(no_overload("in", &[other])),
    }
}

/// The order of two values, `Some(None)` if one is not a number (NaN), nothing if they have no order.
pub(crate) fn order(a: &Val<'_>, b: &Val<'_>, fuel: &mut Fuel) -> Option<Option<Ordering>> {
    match (a, b) {
        (Val::Str(a), Val::Str(b)) => {
            // fuel that is used up here ends the evaluation at the next step
            let _ = fuel.read(a.len().min(b.len()));
            Some(Some((**a).cmp(&**b)))
        }
        (Val::Bytes(a), Val::Bytes(b)) => {
            let _ = fuel.read(a.len().min(b.len()));
            Some(Some(a.cmp(b)))
        }
        (Val::Bool(a), Val::Bool(b)) => Some(Some(a.cmp(b))),
        (Val::Duration(a), Val::Duration(b)) => Some(Some(a.cmp(b))),
        (Val::Timestamp(a), Val::Timestamp(b)) => Some(Some(a.cmp(b))),
        _ => numbers(a, b),
    }
}

/// The order of two numbers by their values.
#[inline]
fn numbers(a: &Val<'_>, b: &Val<'_>) -> Option<Option<Ordering>> {
    match (a, b) {
        (Val::Double(a), Val::Double(b)) => Some(a.partial_cmp(b)),
        (Val::Int(a), Val::Int(b)) => Some(Some(a.cmp(b))),
        (Val::Int(a), Val::Double(b)) => Some(int_double(i128::from(*a), *b)),
        (Val::Double(a), Val::Int(b)) => Some(int_double(i128::from(*b), *a).map(Ordering::reverse)),
        (Val::Uint(a), Val::Uint(b)) => Some(Some(a.cmp(b))),
        (Val::Int(a), Val::Uint(b)) => Some(Some(i128::from(*a).cmp(&i128::from(*b)))),
        (Val::Uint(a), Val::Int(b)) => Some(Some(i128::from(*a).cmp(&i128::from(*b)))),
        (Val::Uint(a), Val::Double(b)) => Some(int_double(i128::from(*a), *b)),
        (Val::Double(a), Val::Uint(b)) => Some(int_double(i128::from(*b), *a).map(Ordering::reverse)),
        (Val::Raw(Value::BigInt(a)), b) => big(a, b),
        (a, Val::Raw(Value::BigInt(b))) => big(b, a).map(|order| order.map(Ordering::reverse)),
        _ => None,
    }
}

/// As the language defines it, the integer is rounded to the nearest double first.
#[inline]
#[allow(clippy::cast_precision_loss)]
fn int_double(a: i128, b: f64) -> Option<Ordering> {
    (a as f64).partial_cmp(&b)
}

/// The order of decimal digits beyond 64 bits and another number.
#[cold]
fn big(digits: &str, other: &Val<'_>) -> Option<Option<Ordering>> {
    let written = match other {
        Val::Int(value) => value.to_string(),
        Val::Uint(value) => value.to_string(),
        Val::Raw(Value::BigInt(other)) => other.to_string(),
        Val::Double(value) => return Some(digits.parse::<f64>().ok().and_then(|digits| digits.partial_cmp(value))),
        _ => return None,
    };
    Some(Some(decimal(digits, &written)))
}

/// The order of two whole numbers in decimal digits without leading zeros.
fn decimal(a: &str, b: &str) -> Ordering {
    let magnitude = |a: &str, b: &str| a.len().cmp(&b.len()).then_with(|| a.cmp(b));
    match (a.strip_prefix('-'), b.strip_prefix('-')) {
        (Some(a), Some(b)) => magnitude(b, a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => magnitude(a, b),
    }
}
