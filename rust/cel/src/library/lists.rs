//! Lists and lists as sets.
use super::strings::{bad, length};
use super::Found;
use crate::error::{ErrorKind, EvalError, Fault};
use crate::eval::compare::{contains, order};
use crate::eval::{no_overload, Out};
use crate::functions::Func;
use crate::val::{List, Val};
use crate::Fuel;
use std::cmp::Ordering;

pub(super) fn call<'a>(func: Func, args: &[Val<'a>], fuel: &mut Fuel) -> Found<'a> {
    let found = match (func, args) {
        (Func::Slice, [Val::List(list), Val::Int(start), Val::Int(end)]) => slice(list, *start, *end, fuel)?,
        (Func::Flatten, [Val::List(list)]) => flatten(list, 1, fuel)?,
        (Func::Flatten, [Val::List(list), Val::Int(levels)]) => {
            let levels = usize::try_from(*levels).map_err(|_| bad("the number of levels is negative"))?;
            flatten(list, levels, fuel)?
        }
        (Func::Distinct, [Val::List(list)]) => distinct(list, fuel)?,
        (Func::Reverse, [Val::List(list)]) => {
            pay(list.len(), fuel)?;
            let mut values: Vec<Val<'a>> = list.iter().collect();
            values.reverse();
            Val::List(List::owned(values))
        }
        (Func::Sort, [Val::List(list)]) => {
            pay(list.len().saturating_mul(2), fuel)?;
            sort_by_keys(list.iter().map(|value| (value.clone(), value)).collect(), fuel)?
        }
        (Func::First, [Val::List(list)]) => list.get(0).map_or(Val::Optional(None), Val::some),
        (Func::Last, [Val::List(list)]) => {
            list.len().checked_sub(1).and_then(|at| list.get(at)).map_or(Val::Optional(None), Val::some)
        }
        (Func::Range, [Val::Int(count)]) => {
            let len = usize::try_from(*count).unwrap_or(0);
            pay(len, fuel)?;
            Val::List(List::owned((0..*count).map(Val::Int).collect()))
        }
        (Func::SetsContains, [Val::List(a), Val::List(b)]) => Val::Bool(contains_all(a, b, fuel)?),
        (Func::SetsEquivalent, [Val::List(a), Val::List(b)]) => {
            Val::Bool(contains_all(a, b, fuel)? && contains_all(b, a, fuel)?)
        }
        (Func::SetsIntersects, [Val::List(a), Val::List(b)]) => {
            let a = Val::List(a.clone());
            let mut found = false;
            for value in b.iter() {
                if contains(&a, &value, fuel)? {
                    found = true;
                    break;
                }
            }
            Val::Bool(found)
        }
        _ => return Ok(None),
    };
    Ok(Some(found))
}

/// Pays for a list of that length.
pub(super) fn pay(len: usize, fuel: &mut Fuel) -> Result<(), Fault> {
    fuel.burn(len as u64)?;
    fuel.allocate(len.saturating_mul(size_of::<Val>()))
}

/// A number of elements, in words.
pub(crate) fn elements(number: impl std::fmt::Display) -> String {
    let number = number.to_string();
    let noun = if number == "1" { "element" } else { "elements" };
    format!("{number} {noun}")
}

fn slice<'a>(list: &List<'a>, start: i64, end: i64, fuel: &mut Fuel) -> Out<'a> {
    let bounds = usize::try_from(start).ok().zip(usize::try_from(end).ok());
    let Some((start, end)) = bounds.filter(|(start, end)| start <= end && *end <= list.len()) else {
        let message = format!("{start} to {end} is no part of a list of {}", elements(length(list.len())));
        return Err(EvalError::fault(ErrorKind::OutOfRange, message));
    };
    if let List::Json(values) = list {
        return Ok(Val::List(List::Json(values.get(start..end).unwrap_or_default())));
    }
    pay(end.saturating_sub(start), fuel)?;
    Ok(Val::List(List::owned((start..end).filter_map(|at| list.get(at)).collect())))
}

/// Lists inside the list are replaced by their elements, `levels` deep. No recursion: what is still to do stands on a stack.
fn flatten<'a>(list: &List<'a>, levels: usize, fuel: &mut Fuel) -> Out<'a> {
    let mut values = Vec::new();
    let mut open: Vec<(List<'a>, usize)> = vec![(list.clone(), 0)];
    while let Some((list, at)) = open.pop() {
        let Some(value) = list.get(at) else { continue };
        fuel.burn(1)?;
        open.push((list, at.saturating_add(1)));
        match value {
            Val::List(inner) if open.len() <= levels => {
                if open.len() > fuel.depth() {
                    return Err(fuel.too_deep());
                }
                open.push((inner, 0));
            }
            other => {
                fuel.allocate(size_of::<Val>())?;
                values.push(other);
            }
        }
    }
    Ok(Val::List(List::owned(values)))
}

fn distinct<'a>(list: &List<'a>, fuel: &mut Fuel) -> Out<'a> {
    let mut values: Vec<Val<'a>> = Vec::new();
    for value in list.iter() {
        let mut known = false;
        for earlier in &values {
            fuel.burn(1)?;
            if crate::eval::compare::equal(earlier, &value, fuel, 0)? {
                known = true;
                break;
            }
        }
        if !known {
            fuel.allocate(size_of::<Val>())?;
            values.push(value);
        }
    }
    Ok(Val::List(List::owned(values)))
}

fn contains_all(all: &List<'_>, some: &List<'_>, fuel: &mut Fuel) -> Result<bool, Fault> {
    let all = Val::List(all.clone());
    for value in some.iter() {
        if !contains(&all, &value, fuel)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The second parts, sorted by the first, which must be of one kind that has an order.
pub(crate) fn sort_by_keys<'a>(mut keyed: Vec<(Val<'a>, Val<'a>)>, fuel: &mut Fuel) -> Out<'a> {
    if let Some((first, _)) = keyed.first() {
        for (key, _) in &keyed {
            fuel.burn(1)?;
            if matches!(key, Val::Raw(_)) || order(first, key, fuel).is_none() {
                return Err(no_overload("sort", &[first, key]));
            }
        }
    }
    let levels = u64::from(keyed.len().checked_ilog2().unwrap_or(0)).saturating_add(1);
    fuel.burn(levels.saturating_mul(keyed.len() as u64))?;
    keyed.sort_by(|(a, _), (b, _)| total_order(a, b, fuel));
    fuel.burn(1)?;
    Ok(Val::List(List::owned(keyed.into_iter().map(|(_, value)| value).collect())))
}

/// An order without contradictions, which sorting must have: the comparison of the language rounds integers to doubles, so that
/// two different integers may both equal one double. NaN stands behind every number.
fn total_order(a: &Val<'_>, b: &Val<'_>, fuel: &mut Fuel) -> Ordering {
    let whole = |value: &Val<'_>| match value {
        Val::Int(value) => Some(i128::from(*value)),
        Val::Uint(value) => Some(i128::from(*value)),
        _ => None,
    };
    match (a, b) {
        (Val::Double(a), Val::Double(b)) => a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan())),
        (Val::Double(a), b) => whole(b).map_or(Ordering::Equal, |b| exact(b, *a).reverse()),
        (a, Val::Double(b)) => whole(a).map_or(Ordering::Equal, |a| exact(a, *b)),
        _ => order(a, b, fuel).flatten().unwrap_or(Ordering::Equal),
    }
}

/// The order of a 64-bit integer and a double, nothing rounded.
fn exact(a: i128, b: f64) -> Ordering {
    // NaN stands last, as does what is greater than every 64-bit integer
    if b.is_nan() || b >= 1e20 {
        return Ordering::Less;
    }
    if b <= -1e20 {
        return Ordering::Greater;
    }
    #[allow(clippy::cast_possible_truncation)] // whole and within 1e20
    let whole = b.trunc() as i128;
    let fraction = if b > b.trunc() {
        Ordering::Less
    } else if b < b.trunc() {
        Ordering::Greater
    } else {
        Ordering::Equal
    };
    a.cmp(&whole).then(fraction)
}
