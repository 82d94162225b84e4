//! Proofs that tests contradict each other: no value passes all of those that one place has to pass.
use callgate_cel::{Claim, Order, Place, Scalar, Test};

use crate::claims::cases;
use crate::domain::Domain;
use crate::judge::{judge, number};

/// Beyond this doubles no longer tell integers apart, and nothing is proved.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Why a claim can never hold, if that is proved; `domain` says what is known of a place.
pub(crate) fn clash(claim: &Claim, domain: &dyn Fn(&Place) -> Domain) -> Option<String> {
    let ways = cases(claim)?;
    let mut first = None;
    for way in &ways {
        let why = of_case(way, domain)?;
        first.get_or_insert(why);
    }
    Some(match (first, ways.len()) {
        (None, _) => "it is false whatever comes".to_owned(),
        (Some(why), 1) => why,
        (Some(why), _) => format!("each of its alternatives contradicts itself, as in the first: {why}"),
    })
}

fn of_case(leaves: &[&Claim], domain: &dyn Fn(&Place) -> Domain) -> Option<String> {
    if let Some(why) = leaves.iter().find_map(|leaf| match leaf {
        Claim::Some(_, body) => clash(body, &|_| Domain::default()),
        _ => None,
    }) {
        return Some(why);
    }
    if let Some(why) = absent(leaves) {
        return Some(why);
    }
    let mut places: Vec<&Place> = Vec::new();
    for place in leaves.iter().filter_map(|leaf| place_of(leaf)) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places.into_iter().find_map(|place| {
        let mut tests = Vec::new();
        let mut kinds = Kinds::default();
        for leaf in leaves.iter().filter(|leaf| place_of(leaf) == Some(place)) {
            match leaf {
                Claim::Tested { test, holds, .. } => tests.push((test, *holds)),
                _ => kinds.only(&["list", "map"]),
            }
        }
        of_place(place, &tests, kinds, &domain(place))
    })
}

fn place_of(leaf: &Claim) -> Option<&Place> {
    match leaf {
        Claim::Tested { place, .. } | Claim::Some(place, _) | Claim::Every(place, _) => Some(place),
        _ => None,
    }
}

/// A place that has to be absent, and that something reads.
fn absent(leaves: &[&Claim]) -> Option<String> {
    let missing = leaves.iter().filter_map(|leaf| match leaf {
        Claim::Tested { place, test: Test::Present, holds: false } => Some(place),
        _ => None,
    });
    for place in missing {
        let needs = |leaf: &&&Claim| {
            let Some(other) = place_of(leaf) else { return false };
            let itself = matches!(leaf, Claim::Tested { test: Test::Present, holds: false, .. });
            let may_lack = other.through.iter().any(|made| made.starts_with("orValue"));
            let inside = other.root == place.root && other.steps.starts_with(&place.steps);
            inside && !may_lack && !(itself && other.steps.len() == place.steps.len())
        };
        if leaves.iter().any(|leaf| needs(&leaf)) {
            return Some(format!("`{place}` is to be absent, and is read all the same"));
        }
    }
    None
}

/// The kinds of values that are still possible; none: all.
#[derive(Default)]
struct Kinds(Option<Vec<&'static str>>);

impl Kinds {
    fn only(&mut self, allowed: &[&'static str]) {
        match &mut self.0 {
            Some(kinds) => kinds.retain(|kind| allowed.contains(kind)),
            None => self.0 = Some(allowed.to_vec()),
        }
    }
}

fn kind(value: &Scalar) -> &'static str {
    match value {
        Scalar::Null => "null_type",
        Scalar::Bool(_) => "bool",
        Scalar::Int(_) | Scalar::Double(_) => "number",
        Scalar::String(_) => "string",
    }
}

/// The kinds that a test can be asked of, or that have its outcome.
fn narrow(kinds: &mut Kinds, test: &Test, holds: bool) {
    match test {
        Test::Holds => kinds.only(&["bool"]),
        Test::Is(Order::Equal, value) if holds => kinds.only(&[kind(value)]),
        Test::Is(Order::Other, value) if !holds => kinds.only(&[kind(value)]),
        Test::Is(Order::Equal | Order::Other, _) => {}
        Test::Is(_, value) => kinds.only(&[kind(value)]),
        Test::StartsWith(_) | Test::EndsWith(_) | Test::Contains(_) | Test::Matches(_) => kinds.only(&["string"]),
        Test::Size(..) => kinds.only(&["string", "list", "map", "bytes"]),
        Test::Has(_) => kinds.only(&["list", "map"]),
        Test::Type(name) if holds => kinds.only(&[match *name {
            "int" | "uint" | "double" => "number",
            other => other,
        }]),
        Test::OneOf(_) | Test::Type(_) | Test::Present | Test::Within(_) | Test::Against(..) => {}
    }
}

/// Whether whatever passes one test passes the other.
fn brings(test: &Test, other: &Test) -> bool {
    match (test, other) {
        (Test::StartsWith(long), Test::StartsWith(short)) => long.starts_with(&**short),
        (Test::EndsWith(long), Test::EndsWith(short)) => long.ends_with(&**short),
        (Test::StartsWith(long) | Test::EndsWith(long) | Test::Contains(long), Test::Contains(short)) => {
            long.contains(&**short)
        }
        (one, other) => one == other,
    }
}

fn of_place(place: &Place, tests: &[(&Test, bool)], mut kinds: Kinds, domain: &Domain) -> Option<String> {
    if let Some(known) = &domain.kinds {
        kinds.only(known);
    }
    for (test, holds) in tests {
        narrow(&mut kinds, test, *holds);
    }
    if kinds.0.as_ref().is_some_and(Vec::is_empty) {
        return Some(format!("no kind of value passes all that is asked of `{place}`"));
    }
    let passes = |value: &Scalar| tests.iter().all(|(test, holds)| judge(test, value).may_be(*holds));
    for (test, holds) in tests {
        let pinned: &[Scalar] = match test {
            Test::Is(Order::Equal, value) if *holds => std::slice::from_ref(value),
            Test::Is(Order::Other, value) if !*holds => std::slice::from_ref(value),
            Test::OneOf(values) if *holds => values,
            _ => continue,
        };
        if !pinned.iter().any(passes) {
            return Some(format!("`{place}` cannot be that and pass the other tests of it"));
        }
    }
    if let Some(listed) = domain.listed.as_ref().filter(|listed| !listed.iter().any(passes)) {
        let shown: Vec<String> = listed.iter().take(8).map(ToString::to_string).collect();
        return Some(format!("`{place}` is one of {}, and none of these passes", shown.join(", ")));
    }
    if let Some((range, of_size)) = numbers(tests, domain, false).or_else(|| numbers(tests, domain, true)) {
        let size = if of_size { "the size of " } else { "" };
        return Some(format!("no number is {range}, as {size}`{place}` has to be"));
    }
    let held = tests.iter().filter(|(_, holds)| *holds).map(|(test, _)| test);
    let mut failed = held.flat_map(|test| tests.iter().filter(move |(other, holds)| !holds && brings(test, other)));
    failed.next().map(|_| format!("a test of `{place}` is to hold, and what follows from it is not"))
}

/// A range of numbers in which nothing lies, in words; of sizes if `sizes`.
fn numbers(tests: &[(&Test, bool)], domain: &Domain, sizes: bool) -> Option<(String, bool)> {
    let mut least: (f64, bool) = if sizes { (0.0, false) } else { domain.least.unwrap_or((f64::NEG_INFINITY, false)) };
    let mut most: (f64, bool) =
        if sizes { (f64::INFINITY, false) } else { domain.most.unwrap_or((f64::INFINITY, false)) };
    let whole = sizes || domain.whole;
    // NaN is neither above nor below, so that two contraries may both hold of it
    let mut is_number = whole || domain.least.is_some() || domain.most.is_some();
    let mut asked = false;
    for (test, holds) in tests {
        let (order, value) = match test {
            Test::Is(order, value) if !sizes => (*order, number(value)?),
            #[allow(clippy::cast_precision_loss)] // what is too large is left alone below
            Test::Size(order, size) if sizes => (*order, *size as f64),
            Test::Is(..) | Test::Size(..) => continue,
            _ if sizes => continue,
            Test::OneOf(_) | Test::Present => continue,
            _ => return None,
        };
        if value.is_nan() || value.abs() > EXACT {
            return None;
        }
        let order = if *holds { order } else { contrary(order) };
        let ordered = !matches!(order, Order::Equal | Order::Other);
        is_number |= *holds && ordered || order == Order::Equal;
        asked |= order != Order::Other;
        if matches!(order, Order::More | Order::AtLeast | Order::Equal) {
            let open = order == Order::More;
            if value > least.0 || (value == least.0 && open) {
                least = (value, open);
            }
        }
        if matches!(order, Order::Less | Order::AtMost | Order::Equal) {
            let open = order == Order::Less;
            if value < most.0 || (value == most.0 && open) {
                most = (value, open);
            }
        }
    }
    let (mut from, mut to) = (least, most);
    if whole {
        from = if from.1 && from.0.fract() == 0.0 { (from.0 + 1.0, false) } else { (from.0.ceil(), false) };
        to = if to.1 && to.0.fract() == 0.0 { (to.0 - 1.0, false) } else { (to.0.floor(), false) };
    }
    let empty = from.0 > to.0 || (from.0 == to.0 && (from.1 || to.1));
    let shown = |(value, open): (f64, bool), words: (&str, &str)| {
        value.is_finite().then(|| format!("{} {value}", if open { words.0 } else { words.1 }))
    };
    let words = [shown(least, ("above", "at least")), shown(most, ("below", "at most"))];
    let words: Vec<String> = words.into_iter().flatten().collect();
    (asked && is_number && empty).then(|| (words.join(" and "), sizes))
}

fn contrary(order: Order) -> Order {
    match order {
        Order::Less => Order::AtLeast,
        Order::AtMost => Order::More,
        Order::More => Order::AtMost,
        Order::AtLeast => Order::Less,
        Order::Equal => Order::Other,
        Order::Other => Order::Equal,
    }
}
