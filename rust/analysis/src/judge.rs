//! What a test makes of one plain value, as the evaluation would.
use std::cmp::Ordering;

use callgate_cel::{Order, Scalar, Test};

/// What a test comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// True.
    Yes,
    /// False.
    No,
    /// An error: neither the test nor its contrary holds.
    Errs,
    /// Not worked out.
    Unknown,
}

impl Judgement {
    fn of(truth: bool) -> Self {
        if truth {
            Self::Yes
        } else {
            Self::No
        }
    }

    /// Whether the test may come out as `holds` says.
    pub(crate) fn may_be(self, holds: bool) -> bool {
        match self {
            Self::Yes => holds,
            Self::No => !holds,
            Self::Errs => false,
            Self::Unknown => true,
        }
    }
}

/// The number that a scalar is; integers beyond 2^53 lose their last digits.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn number(value: &Scalar) -> Option<f64> {
    match value {
        Scalar::Int(value) => Some(*value as f64),
        Scalar::Double(value) => Some(*value),
        _ => None,
    }
}

/// How two scalars stand to each other; none if they are not of one kind.
pub(crate) fn order(a: &Scalar, b: &Scalar) -> Option<Ordering> {
    match (a, b) {
        (Scalar::Int(a), Scalar::Int(b)) => Some(a.cmp(b)),
        (Scalar::String(a), Scalar::String(b)) => Some(a.cmp(b)),
        (Scalar::Bool(a), Scalar::Bool(b)) => Some(a.cmp(b)),
        (Scalar::Null, Scalar::Null) => Some(Ordering::Equal),
        (a, b) => number(a)?.partial_cmp(&number(b)?),
    }
}

pub(crate) fn stands(order: Order, ordering: Ordering) -> bool {
    match order {
        Order::Less => ordering.is_lt(),
        Order::AtMost => ordering.is_le(),
        Order::More => ordering.is_gt(),
        Order::AtLeast => ordering.is_ge(),
        Order::Equal => ordering.is_eq(),
        Order::Other => ordering.is_ne(),
    }
}

/// Judges a value.
pub(crate) fn judge(test: &Test, value: &Scalar) -> Judgement {
    let text = |ask: &dyn Fn(&str) -> bool| match value {
        Scalar::String(text) => Judgement::of(ask(text)),
        _ => Judgement::Errs,
    };
    match test {
        Test::Holds => match value {
            Scalar::Bool(value) => Judgement::of(*value),
            _ => Judgement::Errs,
        },
        Test::Present => Judgement::Yes,
        Test::Is(how @ (Order::Equal | Order::Other), other) => {
            let same = order(value, other) == Some(Ordering::Equal);
            Judgement::of(same == (*how == Order::Equal))
        }
        Test::Is(_, Scalar::Null) => Judgement::Errs,
        Test::Is(how, other) => match order(value, other) {
            Some(ordering) => Judgement::of(stands(*how, ordering)),
            None => Judgement::Errs,
        },
        Test::OneOf(values) => Judgement::of(values.iter().any(|other| order(value, other) == Some(Ordering::Equal))),
        Test::StartsWith(part) => text(&|text| text.starts_with(&**part)),
        Test::EndsWith(part) => text(&|text| text.ends_with(&**part)),
        Test::Contains(part) => text(&|text| text.contains(&**part)),
        Test::Matches(pattern) => match callgate_cel::written_pattern(pattern) {
            Some(regex) => text(&|text| regex.is_match(text)),
            None => Judgement::Unknown,
        },
        Test::Size(how, size) => match value {
            Scalar::String(text) => {
                let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
                Judgement::of(stands(*how, length.cmp(size)))
            }
            _ => Judgement::Errs,
        },
        Test::Type(name) => match value {
            // JSON does not say which of the two a number comes as
            Scalar::Int(_) | Scalar::Double(_) if matches!(*name, "int" | "uint" | "double") => Judgement::Unknown,
            Scalar::Null => Judgement::of(*name == "null_type"),
            Scalar::Bool(_) => Judgement::of(*name == "bool"),
            Scalar::String(_) => Judgement::of(*name == "string"),
            Scalar::Int(_) | Scalar::Double(_) => Judgement::No,
        },
        Test::Has(_) => Judgement::Errs,
        Test::Within(_) | Test::Against(..) => Judgement::Unknown,
    }
}
