//! Limits that may be absent on purpose: a value, or `unlimited` with its reason.
use callgate_value::Value;
use serde_json::json;

use super::codes;
use super::numbers::Amount;
use super::reader::{Field, Model, Reader};
use super::schema::{described, nullable, Defs};
use super::texts::{Name, Text};

/// A limit: a value, `unlimited`, or `{limit: unlimited, reason: why}`.
#[derive(Clone, Debug, PartialEq)]
pub enum Limit<T> {
    /// Up to this.
    At(T),
    /// No limit, and why that is right.
    Unlimited(Option<String>),
}

impl<T: Copy> Limit<T> {
    /// The value, if there is one.
    #[must_use]
    pub const fn value(&self) -> Option<T> {
        match self {
            Self::At(value) => Some(*value),
            Self::Unlimited(_) => None,
        }
    }
}

const UNLIMITED: &str = "unlimited";
const KEYS: &[&str] = &["limit", "reason"];

fn is_unlimited(value: &Value) -> bool {
    value.as_str() == Some(UNLIMITED)
}

impl<T: Model> Model for Limit<T> {
    fn wanted() -> String {
        format!("{}, or `unlimited`, or {{limit: unlimited, reason: why}}", T::wanted())
    }

    fn accepts(value: &Value) -> bool {
        T::accepts(value) || matches!(value, Value::Str(_) | Value::Map(_))
    }

    fn read(value: &Value, reader: &mut Reader) -> Option<Self> {
        if is_unlimited(value) {
            return Some(Self::Unlimited(None));
        }
        if let Value::Map(_) = value {
            let map = reader.map(value, "key", KEYS)?;
            let limit = <Bound<T> as Field>::take(map, "limit", reader);
            let reason = <Option<Text> as Field>::take(map, "reason", reader).flatten();
            return Some(match limit? {
                Bound::At(limit) => Self::At(limit),
                Bound::Unlimited => Self::Unlimited(reason.map(|reason| reason.0)),
            });
        }
        bound(value, &Self::wanted(), reader).map(Self::At)
    }

    fn schema(defs: &mut Defs) -> serde_json::Value {
        let plain = <Bound<T> as Model>::schema(defs);
        let reason = nullable(<Text as Model>::schema(defs));
        json!({"anyOf": [plain, {
            "type": "object",
            "additionalProperties": false,
            "required": ["limit"],
            "properties": {
                "limit": described(plain.clone(), "The value, or `unlimited`."),
                "reason": described(reason, "Why there may be no limit here."),
            },
        }]})
    }
}

/// A limit without its reason.
enum Bound<T> {
    At(T),
    Unlimited,
}

impl<T: Model> Model for Bound<T> {
    fn wanted() -> String {
        format!("{}, or `unlimited`", T::wanted())
    }

    fn accepts(value: &Value) -> bool {
        T::accepts(value) || is_unlimited(value)
    }

    fn read(value: &Value, reader: &mut Reader) -> Option<Self> {
        if is_unlimited(value) {
            return Some(Self::Unlimited);
        }
        bound(value, &Self::wanted(), reader).map(Self::At)
    }

    fn schema(defs: &mut Defs) -> serde_json::Value {
        json!({"anyOf": [<T as Model>::schema(defs), {
            "const": UNLIMITED,
            "description": "No limit. Steps, tokens and the time of a task want a `reason` for that.",
        }]})
    }
}

/// The value of a limit. A negative number is what other tools call "no limit", so the hint says how that is written.
fn bound<T: Model>(value: &Value, wanted: &str, reader: &mut Reader) -> Option<T> {
    if !T::accepts(value) {
        reader.wrong_type(value, wanted);
        return None;
    }
    let read = T::read(value, reader);
    if read.is_none() && value.as_f64().is_some_and(|number| number < 0.0) {
        if let Some(fault) = reader.faults_mut().last_mut().filter(|fault| fault.code == codes::OUT_OF_RANGE) {
            fault.hint = Some("for no limit write `unlimited`; zero means zero".to_owned());
        }
    }
    read
}

/// What a task may cost: `{limit: 2.50, currency: USD}`, or `unlimited`.
#[derive(Clone, Debug, PartialEq)]
pub enum Cost {
    /// Up to this much of a currency.
    At {
        /// How much.
        limit: Amount,
        /// The currency that the host reports costs in.
        currency: Name,
    },
    /// No limit, and why that is right.
    Unlimited(Option<String>),
}

impl Model for Cost {
    fn wanted() -> String {
        "{limit: 2.50, currency: USD}, or `unlimited`".to_owned()
    }

    fn accepts(value: &Value) -> bool {
        matches!(value, Value::Map(_)) || is_unlimited(value)
    }

    fn read(value: &Value, reader: &mut Reader) -> Option<Self> {
        if is_unlimited(value) {
            return Some(Self::Unlimited(None));
        }
        let unlimited = value.get("limit").is_some_and(is_unlimited);
        if !matches!(value, Value::Map(_)) {
            reader.wrong_type(value, &Self::wanted());
            if let (Some(amount), Some(fault)) = (value.as_f64(), reader.faults_mut().last_mut()) {
                fault.hint = Some(format!("name the currency too: {{limit: {amount}, currency: USD}}"));
            }
            return None;
        }
        if unlimited {
            let map = reader.map(value, "key", KEYS)?;
            let reason = <Option<Text> as Field>::take(map, "reason", reader).flatten();
            return Some(Self::Unlimited(reason.map(|reason| reason.0)));
        }
        let map = reader.map(value, "key", &["limit", "currency"])?;
        let limit = <Amount as Field>::take(map, "limit", reader);
        let currency = <Name as Field>::take(map, "currency", reader);
        Some(Self::At { limit: limit?, currency: currency? })
    }

    fn schema(defs: &mut Defs) -> serde_json::Value {
        let (limit, currency) = (<Amount as Model>::schema(defs), <Name as Model>::schema(defs));
        let reason = nullable(<Text as Model>::schema(defs));
        let unlimited = described(json!({"const": UNLIMITED}), "No limit.");
        json!({"anyOf": [
            unlimited,
            {
                "type": "object",
                "additionalProperties": false,
                "required": ["limit", "currency"],
                "properties": {
                    "limit": described(limit, "The most that a task may cost."),
                    "currency": described(currency, "The currency that the host reports costs in."),
                },
            },
            {
                "type": "object",
                "additionalProperties": false,
                "required": ["limit"],
                "properties": {
                    "limit": described(json!({"const": UNLIMITED}), "No limit."),
                    "reason": described(reason, "Why there may be no limit here."),
                },
            },
        ]})
    }
}

#[cfg(test)]
mod tests {
    use callgate_value::read_json;

    use super::{Cost, Limit};
    use crate::model::numbers::{Amount, Count};
    use crate::model::reader::{Model, Reader};
    use crate::model::texts::Name;
    use crate::model::Pointer;

    /// Code, place and hint of a fault.
    type Told = (&'static str, Pointer, Option<String>);

    fn read<T: Model>(json: &str) -> (Option<T>, Vec<Told>) {
        let mut reader = Reader::default();
        let read = T::read(&read_json(json.as_bytes()).unwrap(), &mut reader);
        (read, reader.into_faults().into_iter().map(|fault| (fault.code.id, fault.pointer, fault.hint)).collect())
    }

    #[test]
    fn a_limit_is_a_value_or_unlimited_with_a_reason() {
        let unlimited = |reason: Option<&str>| Some(Limit::Unlimited(reason.map(str::to_owned)));
        assert_eq!(read::<Limit<Count>>("0"), (Some(Limit::At(Count(0))), vec![]));
        assert_eq!(read::<Limit<Count>>(r#""unlimited""#), (unlimited(None), vec![]));
        let given = r#"{"limit": "unlimited", "reason": "the host counts"}"#;
        assert_eq!(read::<Limit<Count>>(given), (unlimited(Some("the host counts")), vec![]));
        assert_eq!(read::<Limit<Count>>(r#"{"limit": 7}"#), (Some(Limit::At(Count(7))), vec![]));
    }

    #[test]
    fn a_negative_limit_is_refused_and_told_how_no_limit_is_written() {
        let hint = Some("for no limit write `unlimited`; zero means zero".to_owned());
        assert_eq!(read::<Limit<Count>>("-1"), (None, vec![("CG205", Pointer::default(), hint.clone())]));
        let inside = Pointer::default().key("limit");
        assert_eq!(read::<Limit<Count>>(r#"{"limit": -1}"#), (None, vec![("CG205", inside, hint)]));
    }

    #[test]
    fn a_cost_names_its_currency() {
        let cost = Cost::At { limit: Amount(2.5), currency: Name("USD".to_owned()) };
        assert_eq!(read::<Cost>(r#"{"limit": 2.5, "currency": "USD"}"#), (Some(cost), vec![]));
        let missing = ("CG202", Pointer::default(), Some("add `currency:`".to_owned()));
        assert_eq!(read::<Cost>(r#"{"limit": 2.5}"#), (None, vec![missing]));
        let bare = ("CG203", Pointer::default(), Some("name the currency too: {limit: 3, currency: USD}".to_owned()));
        assert_eq!(read::<Cost>("3"), (None, vec![bare]));
    }
}
