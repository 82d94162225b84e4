//! Fields and indices.
use super::{no_overload, Machine, Out, Watch};
use crate::ast::Id;
use crate::entries::Key;
use crate::error::{ErrorKind, EvalError, Fault};
use crate::library::lists::elements;
use crate::val::{Map, Val};

impl<'a, W: Watch> Machine<'a, '_, W> {
    #[inline(never)]
    pub(super) fn select(&mut self, operand: Id, field: &str, optional: bool) -> Out<'a> {
        let value = self.eval(operand)?;
        select(&value, field, optional)
    }

    #[inline(never)]
    pub(super) fn has(&mut self, operand: Id, field: &str) -> Out<'a> {
        let value = self.operand(operand)?;
        has(value.get(), field).map(Val::Bool)
    }

    #[inline(never)]
    pub(super) fn index(&mut self, operand: Id, index: Id, optional: bool) -> Out<'a> {
        let value = self.eval(operand)?;
        let index = self.operand(index)?;
        at(&value, index.get(), optional)
    }
}

/// `value.field`, or `value.?field` if `optional`.
pub(crate) fn select<'a>(value: &Val<'a>, field: &str, optional: bool) -> Out<'a> {
    match value {
        Val::Map(map) => found(map.field(field), optional, || no_field(field)),
        Val::Optional(None) => Ok(Val::Optional(None)),
        Val::Optional(Some(inner)) => chained(select(inner, field, true)?),
        other => Err(no_overload(&format!(".{field}"), &[other])),
    }
}

/// `value.field.field`
#[inline]
pub(super) fn walk<'a>(value: &Val<'a>, fields: &[Box<str>]) -> Out<'a> {
    let Some((first, rest)) = fields.split_first() else { return Ok(value.clone()) };
    let mut value = select(value, first, false)?;
    for field in rest {
        value = select(&value, field, false)?;
    }
    Ok(value)
}

fn has(value: &Val<'_>, field: &str) -> Result<bool, Fault> {
    match value {
        Val::Map(map) => Ok(map.field(field).is_some()),
        Val::Optional(None) => Ok(false),
        Val::Optional(Some(inner)) => has(inner, field),
        other => Err(no_overload("has", &[other])),
    }
}

/// `value[index]`, or `value[?index]` if `optional`.
pub(crate) fn at<'a>(value: &Val<'a>, index: &Val<'_>, optional: bool) -> Out<'a> {
    match value {
        Val::List(list) => {
            let position = position(index).ok_or_else(|| no_overload("[]", &[value, index]))?;
            let element = usize::try_from(position).ok().and_then(|position| list.get(position));
            found(element, optional, || {
                let message = format!("index {position} is out of range, the list has {}", elements(list.len()));
                EvalError::fault(ErrorKind::OutOfRange, message)
            })
        }
        Val::Map(map) => found(by_key(map, index)?, optional, || match index {
            Val::Str(key) => no_field(key),
            other => EvalError::fault(ErrorKind::NoSuchField, format!("the map has no such {} key", other.type_name())),
        }),
        Val::Optional(None) => Ok(Val::Optional(None)),
        Val::Optional(Some(inner)) => chained(at(inner, index, true)?),
        other => Err(no_overload("[]", &[other, index])),
    }
}

/// The value under a key of any type.
pub(crate) fn by_key<'a>(map: &Map<'a>, key: &Val<'_>) -> Result<Option<Val<'a>>, Fault> {
    if let (Val::Str(name), Map::Json(_)) = (key, map) {
        return Ok(map.field(name));
    }
    let found = match (Key::of(key, true), map) {
        (Some(_), Map::Json(_)) => None,
        (Some(key), Map::Owned(entries)) => entries.get(&key),
        (None, _) if matches!(key, Val::Double(_)) => None,
        (None, _) => return Err(no_overload("[]", &[key])),
    };
    Ok(found)
}

fn found<'a>(value: Option<Val<'a>>, optional: bool, missing: impl FnOnce() -> Fault) -> Out<'a> {
    match value {
        Some(value) if optional => Ok(Val::some(value)),
        Some(value) => Ok(value),
        None if optional => Ok(Val::Optional(None)),
        None => Err(missing()),
    }
}

/// What lies behind an optional is optional, once.
fn chained(value: Val<'_>) -> Out<'_> {
    Ok(match value {
        Val::Optional(Some(inner)) if matches!(*inner, Val::Optional(_)) => (*inner).clone(),
        other => other,
    })
}

fn position(index: &Val<'_>) -> Option<i128> {
    match index {
        Val::Int(value) => Some(i128::from(*value)),
        Val::Uint(value) => Some(i128::from(*value)),
        #[allow(clippy::cast_possible_truncation)] // whole and below 2^63
        Val::Double(value) if value.fract() == 0.0 && value.abs() < 9e18 => Some(*value as i128),
        _ => None,
    }
}

#[cold]
pub(crate) fn no_field(field: &str) -> Fault {
    EvalError::fault(ErrorKind::NoSuchField, format!("there is no field `{field:.60}`"))
}
