//! Durations and moments as authors write them.
use callgate_value::Value;
use serde_json::json;

use super::codes;
use super::numbers::{between, MOST};
use super::reader::{shown, Model, Reader};
use super::schema::Defs;
use super::texts::{read_text, text};

/// A length of time in seconds, written as a number and a unit: `500ms`, `30s`, `5m`, `24h`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Duration(pub f64);

impl Duration {
    /// The length in seconds.
    #[must_use]
    pub const fn seconds(self) -> f64 {
        self.0
    }

    /// The duration that `text` is.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let unit_at = text.find(|letter: char| letter.is_ascii_alphabetic())?;
        let (number, unit) = text.split_at(unit_at);
        let seconds = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        let digits = |part: &str| (1..=9).contains(&part.len()) && part.bytes().all(|digit| digit.is_ascii_digit());
        let good = match number.split_once('.') {
            Some((whole, part)) => digits(whole) && digits(part),
            None => digits(number),
        };
        let number: f64 = number.parse().ok().filter(|_| good)?;
        // dividing keeps 500ms exactly 0.5, which multiplying by 0.001 would not for every number
        Some(Self(if unit == "ms" { number / 1000.0 } else { number * seconds }))
    }
}

impl Model for Duration {
    fn wanted() -> String {
        "a duration such as 500ms, 30s, 5m or 24h".to_owned()
    }

    fn accepts(value: &Value) -> bool {
        matches!(value, Value::Str(_))
    }

    fn read(value: &Value, reader: &mut Reader) -> Option<Self> {
        let text = read_text(value, &Self::wanted(), reader)?;
        let duration = Self::parse(text);
        if duration.is_none() {
            let fault = reader.fault(codes::BAD_DURATION, format!("{} is no duration", shown(value)));
            reader.report(fault.hint("write one number and one unit of ms, s, m, h: 500ms, 30s, 5m, 24h"));
        }
        duration
    }

    fn schema(_: &mut Defs) -> serde_json::Value {
        json!({"type": "string", "pattern": r"^[0-9]{1,9}(\.[0-9]{1,9})?(ms|s|m|h)$"})
    }
}

/// Seconds as traces write them: a number, or a duration with a unit.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Seconds(pub f64);

impl Model for Seconds {
    fn wanted() -> String {
        "a number of seconds, or a duration such as 500ms".to_owned()
    }

    fn accepts(value: &Value) -> bool {
        matches!(value, Value::Str(_) | Value::Int(_) | Value::BigInt(_) | Value::Float(_))
    }

    fn read(value: &Value, reader: &mut Reader) -> Option<Self> {
        if matches!(value, Value::Str(_)) {
            return Duration::read(value, reader).map(|duration| Self(duration.0));
        }
        between(value, &Self::wanted(), 0.0, MOST, reader).map(Self)
    }

    fn schema(defs: &mut Defs) -> serde_json::Value {
        json!({"anyOf": [{"type": "number", "minimum": 0, "maximum": MOST}, <Duration as Model>::schema(defs)]})
    }
}

text! {
    /// A day (`2027-01-31`, its end in UTC) or a moment in UTC (`2027-01-31T18:00:00Z`).
    Moment, "text: a date such as `2027-01-31`, or a time such as `2027-01-31T18:00:00Z`",
    json!({"type": "string", "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)?$"}),
    |text, value, reader| {
        unix_seconds(text).is_none().then(|| {
            reader.fault(codes::BAD_TIME, format!("{} is neither a date nor a time in UTC", shown(value)))
                .hint("write 2027-01-31, or 2027-01-31T18:00:00Z")
        })
    }
}

impl Moment {
    /// Seconds since 1970-01-01T00:00:00Z; of a day, its end.
    #[must_use]
    pub fn unix_seconds(&self) -> Option<i64> {
        unix_seconds(&self.0)
    }
}

fn unix_seconds(text: &str) -> Option<i64> {
    let (date, time) = text.split_once('T').map_or((text, None), |(date, time)| (date, Some(time)));
    let parts = |text: &str, at: char, lengths: [usize; 3]| -> Option<[i64; 3]> {
        let mut numbers = [0; 3];
        let mut pieces = text.split(at);
        for (number, length) in numbers.iter_mut().zip(lengths) {
            let piece = pieces.next().filter(|piece| piece.len() == length)?;
            *number = piece.bytes().all(|digit| digit.is_ascii_digit()).then(|| piece.parse().ok())??;
        }
        pieces.next().is_none().then_some(numbers)
    };
    let [year, month, day] = parts(date, '-', [4, 2, 2])?;
    let leap = year.checked_rem(4)? == 0 && (year.checked_rem(100)? != 0 || year.checked_rem(400)? == 0);
    let last = match month {
        2 => 28_i64.checked_add(i64::from(leap))?,
        4 | 6 | 9 | 11 => 30,
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        _ => return None,
    };
    if !(1..=last).contains(&day) {
        return None;
    }
    let seconds = match time {
        None => 86_400,
        Some(time) => {
            let [hour, minute, second] = parts(time.strip_suffix('Z')?, ':', [2, 2, 2])?;
            if hour > 23 || minute > 59 || second > 59 {
                return None;
            }
            hour.checked_mul(3600)?.checked_add(minute.checked_mul(60)?)?.checked_add(second)?
        }
    };
    days_since_1970(year, month, day)?.checked_mul(86_400)?.checked_add(seconds)
}

/// Days from 1970-01-01 to a date of the Gregorian calendar: whole years, their leap days, then the days of the year
/// counted from March, so that the leap day comes last.
fn days_since_1970(year: i64, month: i64, day: i64) -> Option<i64> {
    let (year, month) =
        if month > 2 { (year, month.checked_sub(3)?) } else { (year.checked_sub(1)?, month.checked_add(9)?) };
    let leap_days = year.div_euclid(4).checked_sub(year.div_euclid(100))?.checked_add(year.div_euclid(400))?;
    let of_year = month.checked_mul(153)?.checked_add(2)?.div_euclid(5).checked_add(day)?;
    // 719,469 is the same sum for 1970-01-01
    year.checked_mul(365)?.checked_add(leap_days)?.checked_add(of_year)?.checked_sub(719_469)
}

#[cfg(test)]
mod tests {
    use super::{unix_seconds, Duration};

    #[test]
    fn a_duration_is_one_number_and_one_unit() {
        let seconds = |text: &str| Duration::parse(text).map(Duration::seconds);
        assert_eq!(seconds("500ms"), Some(0.5));
        assert_eq!(seconds("30s"), Some(30.0));
        assert_eq!(seconds("5m"), Some(300.0));
        assert_eq!(seconds("24h"), Some(86_400.0));
        assert_eq!(seconds("1.5s"), Some(1.5));
        for wrong in ["", "5", "s", "1h30m", "-5s", "+5s", "1e3s", "5 s", "5d", "5M", ".5s", "5.s", "9999999999s"] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_day_ends_at_midnight_and_impossible_dates_are_refused() {
        assert_eq!(unix_seconds("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(unix_seconds("1970-01-01"), Some(86_400));
        assert_eq!(unix_seconds("2000-03-01T00:00:00Z"), Some(951_868_800));
        assert_eq!(unix_seconds("2024-02-29T23:59:59Z"), Some(1_709_251_199));
        for wrong in
            ["2023-02-29", "2024-13-01", "2024-00-01", "2024-1-1", "2024-01-01T24:00:00Z", "2024-01-01T00:00:00", "x"]
        {
            assert_eq!(unix_seconds(wrong), None, "{wrong}");
        }
    }
}
