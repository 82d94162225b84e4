//! Claims of a policy's expressions, with what is known put in: variables, constants, parameters.
use callgate_cel::{Claim, Order, Place, Root, Scalar, Step, Test};
use callgate_core::expression::Expression;
use callgate_core::policy::Policy;
use callgate_value::Value;

use crate::judge::{judge, Judgement};

/// Variables of variables that are followed.
const DEPTH: usize = 16;
/// Conjunctions that a claim is spread into at most.
const MOST_CASES: usize = 128;

/// Reads the expressions of one policy.
#[derive(Clone, Copy)]
pub(crate) struct Claims<'p> {
    pub(crate) policy: &'p Policy,
    /// Whether `params` are taken at their defaults; a proof may not, since others may be set.
    pub(crate) with_params: bool,
}

impl Claims<'_> {
    pub(crate) fn of(&self, expression: &Expression, truth: bool) -> Claim {
        self.put_in(expression.claim(truth), 0)
    }

    fn put_in(&self, claim: Claim, depth: usize) -> Claim {
        let deeper = depth.saturating_add(1);
        if depth > DEPTH {
            return Claim::Opaque;
        }
        match claim {
            Claim::All(claims) => Claim::All(claims.into_iter().map(|claim| self.put_in(claim, depth)).collect()),
            Claim::Any(claims) => Claim::Any(claims.into_iter().map(|claim| self.put_in(claim, depth)).collect()),
            Claim::Some(place, body) => match self.place(place) {
                Some(place) => Claim::Some(place, Box::new(self.put_in(*body, deeper))),
                None => Claim::Opaque,
            },
            Claim::Every(place, body) => match self.place(place) {
                Some(place) => Claim::Every(place, Box::new(self.put_in(*body, deeper))),
                None => Claim::Opaque,
            },
            Claim::Tested { place, test, holds } => self.tested(place, test, holds, deeper),
            other => other,
        }
    }

    fn tested(&self, place: Place, test: Test, holds: bool, depth: usize) -> Claim {
        if let (Some(variable), Test::Holds) = (self.variable(&place), &test) {
            if place.steps.is_empty() && place.through.is_empty() {
                return self.put_in(variable.claim(holds), depth);
            }
        }
        let test = match test {
            Test::Against(order, other) => {
                let Some(other) = self.place(other) else { return Claim::Opaque };
                match (self.known(&other).and_then(scalar), self.known(&place).and_then(scalar)) {
                    (Some(value), _) => Test::Is(order, value),
                    (None, Some(value)) => {
                        return self.tested(other, Test::Is(order.turned(), value), holds, depth);
                    }
                    (None, None) => Test::Against(order, other),
                }
            }
            Test::Within(list) => {
                let Some(list) = self.place(list) else { return Claim::Opaque };
                match self.known(&list) {
                    Some(Value::List(values)) => match values.iter().map(scalar).collect() {
                        Some(values) => Test::OneOf(values),
                        None => return Claim::Opaque,
                    },
                    Some(Value::Map(map)) => {
                        Test::OneOf(map.iter().map(|(key, _)| Scalar::String(key.to_lossy().into())).collect())
                    }
                    _ => Test::Within(list),
                }
            }
            other => other,
        };
        let Some(place) = self.place(place) else { return Claim::Opaque };
        match self.known(&place).and_then(scalar) {
            Some(value) if place.through.is_empty() => match judge(&test, &value) {
                Judgement::Unknown => Claim::Opaque,
                judgement => Claim::Truth(judgement.may_be(holds)),
            },
            _ => Claim::Tested { place, test, holds },
        }
    }

    fn variable(&self, place: &Place) -> Option<&Expression> {
        let Root::Variable(name) = &place.root else { return None };
        let name = name.strip_prefix("variables.")?;
        self.policy.variables.iter().find(|(known, _)| **known == *name).map(|(_, expression)| expression)
    }

    /// The place, with a variable that only reads another place put in; none if it computes something.
    fn place(&self, place: Place) -> Option<Place> {
        let mut place = place;
        for _ in 0..DEPTH {
            let Some(expression) = self.variable(&place) else { return Some(place) };
            let inner = expression.place()?;
            if !inner.through.is_empty() && !place.steps.is_empty() {
                return None;
            }
            let steps = inner.steps.into_iter().chain(place.steps).collect();
            let through = place.through.into_iter().chain(inner.through).collect();
            place = Place { root: inner.root, steps, through };
        }
        None
    }

    /// The value that stands there in every run.
    fn known(&self, place: &Place) -> Option<&Value> {
        let Root::Variable(name) = &place.root else { return None };
        let mut value = match &**name {
            "constants" => &self.policy.constants,
            "params" if self.with_params => &self.policy.params,
            _ => return None,
        };
        for step in &place.steps {
            value = match step {
                Step::Field(name) => value.get(name)?,
                Step::At(index) => value.as_list()?.get(usize::try_from(*index).ok()?)?,
            };
        }
        Some(value)
    }
}

/// The value as a scalar, if it is one.
pub(crate) fn scalar(value: &Value) -> Option<Scalar> {
    Some(match value {
        Value::Null => Scalar::Null,
        Value::Bool(value) => Scalar::Bool(*value),
        Value::Int(value) => Scalar::Int(*value),
        Value::Float(value) => Scalar::Double(*value),
        Value::Str(text) => Scalar::String(text.as_str()?.into()),
        _ => return None,
    })
}

/// The scalar as a value.
pub(crate) fn value(scalar: &Scalar) -> Value {
    match scalar {
        Scalar::Null => Value::Null,
        Scalar::Bool(value) => Value::Bool(*value),
        Scalar::Int(value) => Value::Int(*value),
        Scalar::Double(value) => Value::Float(*value),
        Scalar::String(text) => Value::from(&**text),
    }
}

/// The ways in which a claim can hold, each a list of leaves that hold together; none if there are too many.
pub(crate) fn cases(claim: &Claim) -> Option<Vec<Vec<&Claim>>> {
    match claim {
        Claim::Truth(true) => Some(vec![Vec::new()]),
        Claim::Truth(false) => Some(Vec::new()),
        Claim::Any(claims) => {
            let mut found = Vec::new();
            for claim in claims {
                found.extend(cases(claim)?);
                if found.len() > MOST_CASES {
                    return None;
                }
            }
            Some(found)
        }
        Claim::All(claims) => {
            let mut found: Vec<Vec<&Claim>> = vec![Vec::new()];
            for claim in claims {
                let ways = cases(claim)?;
                if found.len().saturating_mul(ways.len()) > MOST_CASES {
                    return None;
                }
                found = found
                    .iter()
                    .flat_map(|so_far| ways.iter().map(move |way| so_far.iter().chain(way).copied().collect()))
                    .collect();
            }
            Some(found)
        }
        leaf => Some(vec![vec![leaf]]),
    }
}

/// A test of a variable as a whole, for what analyses add themselves.
pub(crate) fn is(variable: &str, value: Scalar) -> Claim {
    let place = Place { root: Root::Variable(variable.into()), steps: Vec::new(), through: Vec::new() };
    Claim::Tested { place, test: Test::Is(Order::Equal, value), holds: true }
}
