//! Conversions between types, and values as text.
use super::strings::{bad, owned};
use super::Found;
use crate::error::{ErrorKind, EvalError, Fault};
use crate::eval::arithmetic::too_large;
use crate::functions::Func;
use crate::time::{duration_text, overflow, parse_duration, parse_timestamp, timestamp_text};
use crate::val::{Str, Timestamp, Val};
use crate::Fuel;
use callgate_value::{ForeignKind, Value};

pub(super) fn call<'a>(func: Func, args: &[Val<'a>], fuel: &mut Fuel) -> Found<'a> {
    let [value] = args else { return Ok(None) };
    if let Val::Str(text) = value {
        fuel.read(text.len())?;
    }
    let found = match (func, value) {
        (Func::TypeOf, Val::Raw(_)) => return Ok(None),
        (Func::TypeOf, value) => Val::Type(value.type_name()),
        (Func::ToDyn, value) => value.clone(),
        (Func::ToInt, value) => return to_int(value).map(|found| found.map(Val::Int)),
        (Func::ToUint, value) => return to_uint(value).map(|found| found.map(Val::Uint)),
        (Func::ToDouble, value) => return to_double(value).map(|found| found.map(Val::Double)),
        (Func::ToString, Val::Str(text)) => Val::Str(text.clone()),
        (Func::ToString, value) => return to_text(value, fuel),
        (Func::ToBytes, Val::Bytes(bytes)) => Val::Bytes(bytes.clone()),
        (Func::ToBytes, Val::Str(text)) => {
            fuel.allocate(text.len())?;
            Val::Bytes(text.as_bytes().into())
        }
        (Func::ToBool, Val::Bool(value)) => Val::Bool(*value),
        (Func::ToBool, Val::Str(text)) => Val::Bool(match &**text {
            "1" | "t" | "true" | "TRUE" | "True" => true,
            "0" | "f" | "false" | "FALSE" | "False" => false,
            other => return Err(unreadable(other, "bool")),
        }),
        (Func::ToTimestamp, Val::Timestamp(at)) => Val::Timestamp(*at),
        (Func::ToTimestamp, Val::Int(seconds)) => Val::Timestamp(Timestamp::new(*seconds, 0).ok_or_else(overflow)?),
        (Func::ToTimestamp, Val::Str(text)) => {
            Val::Timestamp(parse_timestamp(text).ok_or_else(|| unreadable(text, "timestamp"))?)
        }
        (Func::ToTimestamp, Val::Raw(Value::Foreign(host))) if host.kind == ForeignKind::DateTime => {
            Val::Timestamp(parse_timestamp(&host.text).ok_or_else(|| unreadable(&host.text, "timestamp"))?)
        }
        (Func::ToDuration, Val::Duration(nanos)) => Val::Duration(*nanos),
        (Func::ToDuration, Val::Str(text)) => {
            Val::Duration(parse_duration(text).ok_or_else(|| unreadable(text, "duration"))?)
        }
        _ => return Ok(None),
    };
    Ok(Some(found))
}

#[cold]
fn unreadable(text: &str, what: &str) -> Fault {
    bad(format!("`{text:.40}` cannot be read as a {what}"))
}

#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // the range is tested first
fn to_int(value: &Val<'_>) -> Result<Option<i64>, Fault> {
    Ok(Some(match value {
        Val::Int(value) => *value,
        Val::Uint(value) => i64::try_from(*value).map_err(|_| too_large())?,
        // both ends themselves are refused: doubles next to them stand for many integers
        Val::Double(value) if *value > i64::MIN as f64 && *value < i64::MAX as f64 => *value as i64,
        Val::Double(_) => return Err(too_large()),
        Val::Str(text) => text.parse().map_err(|_| unreadable(text, "int"))?,
        Val::Timestamp(at) => at.seconds,
        _ => return Ok(None),
    }))
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)] // the range is tested first
fn to_uint(value: &Val<'_>) -> Result<Option<u64>, Fault> {
    Ok(Some(match value {
        Val::Uint(value) => *value,
        Val::Int(value) => u64::try_from(*value).map_err(|_| too_large())?,
        Val::Double(value) if *value > -1.0 && *value < u64::MAX as f64 => *value as u64,
        Val::Double(_) => return Err(too_large()),
        Val::Str(text) => text.parse().map_err(|_| unreadable(text, "uint"))?,
        _ => return Ok(None),
    }))
}

#[allow(clippy::cast_precision_loss)] // the nearest double is what is asked for
pub(crate) fn to_double(value: &Val<'_>) -> Result<Option<f64>, Fault> {
    Ok(Some(match value {
        Val::Double(value) => *value,
        Val::Int(value) => *value as f64,
        Val::Uint(value) => *value as f64,
        Val::Raw(Value::BigInt(digits)) => digits.parse().map_err(|_| unreadable(digits, "double"))?,
        Val::Str(text) => text.parse().map_err(|_| unreadable(text, "double"))?,
        _ => return Ok(None),
    }))
}

fn to_text<'a>(value: &Val<'a>, fuel: &mut Fuel) -> Found<'a> {
    let text = match value {
        Val::Bool(value) => return Ok(Some(Val::Str(Str::Borrowed(if *value { "true" } else { "false" })))),
        Val::Int(value) => value.to_string(),
        Val::Uint(value) => value.to_string(),
        Val::Double(value) => double_text(*value),
        Val::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => return Err(EvalError::fault(ErrorKind::NotUnicode, "the bytes are no valid UTF-8")),
        },
        Val::Duration(nanos) => duration_text(*nanos),
        Val::Timestamp(at) => timestamp_text(*at),
        Val::Ip(address) => address.to_string(),
        Val::Cidr(cidr) => cidr.to_string(),
        Val::Raw(Value::BigInt(digits)) => digits.to_string(),
        Val::Raw(Value::Foreign(host)) if !matches!(host.kind, ForeignKind::Opaque | ForeignKind::Bytes) => {
            host.text.clone()
        }
        _ => return Ok(None),
    };
    owned(text, fuel).map(Some)
}

/// The shortest decimal that reads back as the same double, as ECMAScript writes it; without a point if it is whole.
pub(crate) fn double_text(value: f64) -> String {
    if value == 0.0 && value.is_sign_negative() {
        return "-0".to_owned();
    }
    ryu_js::Buffer::new().format(value).to_owned()
}
