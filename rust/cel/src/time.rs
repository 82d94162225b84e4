//! Timestamps and durations: text, calendar, time zones. The time-zone database is part of the program, the machine's is never read.
use crate::error::{ErrorKind, EvalError, Fault};
use crate::functions::Func;
use crate::val::{Timestamp, Val};
use jiff::tz::{TimeZone, TimeZoneDatabase};
use std::fmt::Write;
use std::sync::LazyLock;

const NANOS: i64 = 1_000_000_000;
const DAY: i64 = 86_400;
/// 0001-01-01T00:00:00Z
const FIRST: i64 = -62_135_596_800;
/// 9999-12-31T23:59:59Z
const LAST: i64 = 253_402_300_799;

static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

impl Timestamp {
    /// The point in time, if it lies in the years 1 to 9999.
    #[must_use]
    pub fn new(seconds: i64, nanos: u32) -> Option<Self> {
        ((FIRST..=LAST).contains(&seconds) && i64::from(nanos) < NANOS).then_some(Self { seconds, nanos })
    }

    fn from_nanos(nanos: i128) -> Option<Self> {
        let seconds = i64::try_from(nanos.checked_div_euclid(i128::from(NANOS))?).ok()?;
        Self::new(seconds, u32::try_from(nanos.checked_rem_euclid(i128::from(NANOS))?).ok()?)
    }

    fn to_nanos(self) -> i128 {
        i128::from(self.seconds).saturating_mul(i128::from(NANOS)).saturating_add(i128::from(self.nanos))
    }

    /// This much later, or earlier if negative.
    pub(crate) fn plus(self, duration: i64) -> Result<Self, Fault> {
        Self::from_nanos(self.to_nanos().saturating_add(i128::from(duration))).ok_or_else(overflow)
    }

    /// The time from `other` to this.
    pub(crate) fn since(self, other: Self) -> Result<i64, Fault> {
        i64::try_from(self.to_nanos().saturating_sub(other.to_nanos())).map_err(|_| overflow())
    }
}

pub(crate) fn overflow() -> Fault {
    EvalError::fault(ErrorKind::Overflow, "the time or duration is out of range")
}

/// Days from 1970-01-01 to the given day of the proleptic Gregorian calendar. With years that begin in March the leap day is
/// the last of its year, and the days before a month are a linear function.
fn days_from_civil(year: i64, month: i64, day: i64) -> Option<i64> {
    let early = i64::from(month <= 2);
    let year = year.checked_sub(early)?;
    let month = month.checked_add(12_i64.checked_mul(early)?)?.checked_sub(3)?;
    let before = month.checked_mul(153)?.checked_add(2)?.checked_div(5)?;
    let leaps = year.div_euclid(4).checked_sub(year.div_euclid(100))?.checked_add(year.div_euclid(400))?;
    year.checked_mul(365)?.checked_add(leaps)?.checked_add(before)?.checked_add(day)?.checked_sub(719_469)
}

/// Year, month and day of the month, counted from 1, of a day counted from 1970-01-01.
fn civil_from_days(days: i64) -> Option<(i64, i64, i64)> {
    // a first guess that is never too late by more than a year, then the exact one
    let mut year = days.checked_mul(400)?.div_euclid(146_097).checked_add(1970)?;
    while days_from_civil(year, 1, 1)? > days {
        year = year.checked_sub(1)?;
    }
    while days_from_civil(year.checked_add(1)?, 1, 1)? <= days {
        year = year.checked_add(1)?;
    }
    let mut month = 1_i64;
    while month < 12 && days_from_civil(year, month.checked_add(1)?, 1)? <= days {
        month = month.checked_add(1)?;
    }
    let day = days.checked_sub(days_from_civil(year, month, 1)?)?.checked_add(1)?;
    Some((year, month, day))
}

/// Reads RFC 3339, `2024-05-31T12:00:00.25+02:00`.
pub(crate) fn parse_timestamp(text: &str) -> Option<Timestamp> {
    let mut rest = text;
    let mut number = |digits: usize, after: &str| {
        let (head, tail) = rest.split_at_checked(digits)?;
        rest = tail.strip_prefix(after)?;
        head.bytes().all(|byte| byte.is_ascii_digit()).then(|| head.parse::<i64>().ok())?
    };
    let (year, month, day) = (number(4, "-")?, number(2, "-")?, number(2, "T")?);
    let (hour, minute, second) = (number(2, ":")?, number(2, ":")?, number(2, "")?);
    let mut nanos = 0;
    if let Some(fraction) = rest.strip_prefix('.') {
        let end = fraction.find(|c: char| !c.is_ascii_digit())?;
        let (digits, tail) = fraction.split_at_checked(end)?;
        nanos = fraction_nanos(digits)?;
        rest = tail;
    }
    let offset = if rest == "Z" { 0 } else { offset_seconds(rest, true)? };
    let days = days_from_civil(year, month, day)?;
    let whole = civil_from_days(days)? == (year, month, day) && hour < 24 && minute < 60 && second < 60;
    let seconds = hour.checked_mul(3600)?.checked_add(minute.checked_mul(60)?)?.checked_add(second)?;
    let seconds = days.checked_mul(DAY)?.checked_add(seconds)?.checked_sub(offset)?;
    whole.then(|| Timestamp::new(seconds, nanos))?
}

/// Up to nine digits behind a point.
fn fraction_nanos(digits: &str) -> Option<u32> {
    let missing = 9_usize.checked_sub(digits.len()).filter(|missing| *missing < 9)?;
    digits.parse::<u32>().ok()?.checked_mul(10_u32.checked_pow(u32::try_from(missing).ok()?)?)
}

/// `+02:00`, `-02:30`; without the sign unless it is needed.
fn offset_seconds(text: &str, signed: bool) -> Option<i64> {
    let (sign, rest) = match (text.strip_prefix('-'), text.strip_prefix('+')) {
        (Some(rest), _) => (-1, rest),
        (_, Some(rest)) => (1, rest),
        _ if signed => return None,
        _ => (1, text),
    };
    let (hours, minutes) = rest.split_once(':')?;
    let digits = |text: &str| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(hours) || !digits(minutes) {
        return None;
    }
    let hours: i64 = hours.parse().ok().filter(|hours| *hours < 24)?;
    let minutes: i64 = minutes.parse().ok().filter(|minutes| *minutes < 60)?;
    hours.checked_mul(3600)?.checked_add(minutes.checked_mul(60)?)?.checked_mul(sign)
}

/// RFC 3339 in UTC, without trailing zeros behind the point.
pub(crate) fn timestamp_text(at: Timestamp) -> String {
    let (year, month, day) = civil_from_days(at.seconds.div_euclid(DAY)).unwrap_or((1970, 1, 1));
    let rest = at.seconds.rem_euclid(DAY);
    let (hour, minute, second) = (rest.div_euclid(3600), rest.div_euclid(60).rem_euclid(60), rest.rem_euclid(60));
    let mut text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    push_fraction(&mut text, at.nanos);
    text.push('Z');
    text
}

fn push_fraction(text: &mut String, nanos: u32) {
    if nanos > 0 {
        let digits = format!("{nanos:09}");
        let _ = write!(text, ".{}", digits.trim_end_matches('0'));
    }
}

/// Seconds, `90s`, `1.5s`.
pub(crate) fn duration_text(nanos: i64) -> String {
    let magnitude = nanos.unsigned_abs();
    let sign = if nanos < 0 { "-" } else { "" };
    let second = NANOS.unsigned_abs();
    let mut text = format!("{sign}{}", magnitude.checked_div(second).unwrap_or(0));
    push_fraction(&mut text, u32::try_from(magnitude.checked_rem(second).unwrap_or(0)).unwrap_or(0));
    text.push('s');
    text
}

/// Reads `1h30m`, `-2.5s`, `500ms`, `0`.
pub(crate) fn parse_duration(text: &str) -> Option<i64> {
    let negative = text.starts_with('-');
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (whole, tail) = rest.split_at_checked(end)?;
        let (fraction, tail) = match tail.strip_prefix('.') {
            Some(tail) => tail.split_at_checked(tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len()))?,
            None => ("", tail),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let units: [(&str, i128); 8] = [
            ("ns", 1),
            ("us", 1_000),
            ("µs", 1_000),
            ("μs", 1_000),
            ("ms", 1_000_000),
            ("s", 1_000_000_000),
            ("m", 60_000_000_000),
            ("h", 3_600_000_000_000),
        ];
        let (tail, unit) = units.iter().find_map(|(name, unit)| Some((tail.strip_prefix(name)?, *unit)))?;
        let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        total = total.checked_add(whole.checked_mul(unit)?)?;
        if !fraction.is_empty() {
            let kept = fraction.get(..fraction.len().min(15))?;
            let scale = 10_i128.checked_pow(u32::try_from(kept.len()).ok()?)?;
            total = total.checked_add(kept.parse::<i128>().ok()?.checked_mul(unit)?.checked_div(scale)?)?;
        }
        rest = tail;
    }
    i64::try_from(if negative { total.checked_neg()? } else { total }).ok()
}

/// Whether a time zone of that name, or an offset, can be read.
pub(crate) fn is_zone(name: &str) -> bool {
    offset_seconds(name, false).is_some() || zone(name).is_some()
}

fn zone(name: &str) -> Option<TimeZone> {
    if name.eq_ignore_ascii_case("utc") {
        return Some(TimeZone::UTC);
    }
    ZONES.get(name).ok()
}

/// Seconds east of Greenwich in that zone at that time.
fn offset_at(at: Timestamp, name: &str) -> Result<i64, Fault> {
    if let Some(offset) = offset_seconds(name, false) {
        return Ok(offset);
    }
    let unknown = || EvalError::fault(ErrorKind::BadArgument, format!("`{name:.40}` is no time zone"));
    let zone = zone(name).ok_or_else(unknown)?;
    let at = jiff::Timestamp::from_second(at.seconds).map_err(|_| overflow())?;
    Ok(i64::from(zone.to_offset(at).seconds()))
}

/// A part of a timestamp: `getHours` and the like. Nothing if `func` is none of them.
pub(crate) fn part(func: Func, at: Timestamp, zone: Option<&str>) -> Result<Option<Val<'static>>, Fault> {
    let offset = zone.map_or(Ok(0), |zone| offset_at(at, zone))?;
    let local = at.seconds.saturating_add(offset);
    let days = local.div_euclid(DAY);
    let rest = local.rem_euclid(DAY);
    let (year, month, day) = civil_from_days(days).ok_or_else(overflow)?;
    let first = days_from_civil(year, 1, 1).ok_or_else(overflow)?;
    Ok(Some(Val::Int(match func {
        Func::GetFullYear => year,
        Func::GetMonth => month.saturating_sub(1),
        Func::GetDate => day,
        Func::GetDayOfMonth => day.saturating_sub(1),
        // 1970-01-01 was a Thursday, Sunday is 0
        Func::GetDayOfWeek => days.saturating_add(4).rem_euclid(7),
        Func::GetDayOfYear => days.saturating_sub(first),
        Func::GetHours => rest.div_euclid(3600),
        Func::GetMinutes => rest.div_euclid(60).rem_euclid(60),
        Func::GetSeconds => rest.rem_euclid(60),
        Func::GetMilliseconds => i64::from(at.nanos).div_euclid(1_000_000),
        _ => return Ok(None),
    })))
}

/// A duration in whole hours, minutes or seconds, or its milliseconds behind the second.
pub(crate) fn duration_part(func: Func, nanos: i64) -> Option<Val<'static>> {
    let divide = |by: i64| nanos.checked_div(by).map(Val::Int);
    match func {
        Func::GetHours => divide(3_600_000_000_000),
        Func::GetMinutes => divide(60_000_000_000),
        Func::GetSeconds => divide(NANOS),
        Func::GetMilliseconds => nanos.checked_rem(NANOS)?.checked_div(1_000_000).map(Val::Int),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calendar_is_its_own_inverse() {
        for days in (-719_162..2_932_896).step_by(97) {
            let (year, month, day) = civil_from_days(days).unwrap();
            assert_eq!(days_from_civil(year, month, day), Some(days), "{year}-{month}-{day}");
        }
    }

    #[test]
    fn known_days_have_their_numbers() {
        // 1970-01-01 is day 0 by definition; 2000-03-01 is 30 years with 7 leap days, plus 31 + 29
        assert_eq!(days_from_civil(1970, 1, 1), Some(0));
        assert_eq!(days_from_civil(2000, 3, 1), Some(30 * 365 + 7 + 31 + 29));
        assert_eq!(civil_from_days(-1), Some((1969, 12, 31)));
    }
}
