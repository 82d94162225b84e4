//! The numbers that policies are written in: counts, shares and amounts, each with its bounds in its type.
use callgate_value::Value;
use serde_json::json;

use super::codes;
use super::reader::{shown, Model, Reader};
use super::schema::Defs;

/// The largest whole number that every JSON reader keeps exact.
pub const LARGEST: u64 = 9_007_199_254_740_991;

/// The largest amount, so that sums of them stay finite and exact to the unit.
#[allow(clippy::cast_precision_loss)]
pub(super) const MOST: f64 = LARGEST as f64;

/// A whole number from `MIN` to `MAX`. Negative ones are refused: no limit is written `unlimited`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Count<const MIN: u64 = 0, const MAX: u64 = LARGEST>(pub u64);

impl<const MIN: u64, const MAX: u64> Count<MIN, MAX> {
    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl<const MIN: u64, const MAX: u64> Model for Count<MIN, MAX> {
    fn wanted() -> String {
        "a whole number".to_owned()
    }

    /// Every number has the right type; whether it is whole and within bounds is a question of its content.
    fn accepts(value: &Value) -> bool {
        matches!(value, Value::Int(_) | Value::BigInt(_) | Value::Float(_))
    }

    fn read(value: &Value, reader: &mut Reader) -> Option<Self> {
        let number = match value {
            Value::Int(number) => u64::try_from(*number).ok(),
            Value::BigInt(_) => None,
            // JSON knows one kind of number: 3.0 is the whole number 3
            Value::Float(number) if number.fract() == 0.0 => whole(*number),
            _ => {
                reader.wrong_type(value, &Self::wanted());
                return None;
            }
        };
        match number {
            Some(number) if (MIN..=MAX).contains(&number) => Some(Self(number)),
            _ => {
                let bounds = if MAX == LARGEST { format!("at least {MIN}") } else { format!("from {MIN} to {MAX}") };
                reader.report(reader.fault(codes::OUT_OF_RANGE, format!("{} is not {bounds}", shown(value))));
                None
            }
        }
    }

    fn schema(_: &mut Defs) -> serde_json::Value {
        json!({"type": "integer", "minimum": MIN, "maximum": MAX})
    }
}

/// The number, if it is one that [`LARGEST`] covers.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
fn whole(number: f64) -> Option<u64> {
    (0.0..=LARGEST as f64).contains(&number).then_some(number as u64)
}

/// A number between two bounds, read from any number.
pub(super) fn between(value: &Value, wanted: &str, least: f64, most: f64, reader: &mut Reader) -> Option<f64> {
    let number = match value {
        Value::BigInt(_) => f64::INFINITY, // beyond every bound, whatever its sign
        _ => match value.as_f64() {
            Some(number) => number,
            None => {
                reader.wrong_type(value, wanted);
                return None;
            }
        },
    };
    if number >= least && number <= most {
        return Some(number);
    }
    reader.report(reader.fault(codes::OUT_OF_RANGE, format!("{} is not from {least} to {most}", shown(value))));
    None
}

macro_rules! number {
    ($(#[doc = $doc:literal])* $name:ident, $wanted:literal, $least:literal, $most:expr) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
        pub struct $name(pub f64);

        impl $name {
            /// The number.
            #[must_use]
            pub const fn get(self) -> f64 {
                self.0
            }
        }

        impl Model for $name {
            fn wanted() -> String {
                $wanted.to_owned()
            }

            fn accepts(value: &Value) -> bool {
                matches!(value, Value::Int(_) | Value::BigInt(_) | Value::Float(_))
            }

            fn read(value: &Value, reader: &mut Reader) -> Option<Self> {
                between(value, $wanted, $least, $most, reader).map(Self)
            }

            fn schema(_: &mut Defs) -> serde_json::Value {
                json!({"type": "number", "minimum": $least, "maximum": $most})
            }
        }
    };
}

number! {
    /// A part of a whole, from 0 to 1.
    Share, "a share: a number from 0 to 1", 0.0, 1.0
}

number! {
    /// An amount that is not below zero: money, bits.
    Amount, "a number", 0.0, MOST
}

number! {
    /// What something is multiplied by from one attempt to the next, at least 1.
    Factor, "a number", 1.0, MOST
}
