//! Values that let a conjunction of tests hold: for each place a few, the likeliest first.
use callgate_cel::{Claim, Order, Place, Root, Scalar, Step, Test};
use callgate_value::{Map, Value};

use crate::claims::{cases, scalar, value};
use crate::domain;
use crate::judge::judge;
use crate::sample::sample;
use crate::text;

/// Values kept for a place.
const MOST_VALUES: usize = 12;
/// Elements of a list that is made to have a size, and characters of such a text.
const LARGEST: i64 = 20_000;

/// What a place is to hold.
#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    /// One of these.
    Values(Vec<Value>),
    /// Nothing: it is to be absent.
    Absent,
}

/// A place, and what is wanted there.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    pub(crate) place: Place,
    pub(crate) wanted: Wanted,
}

/// The wishes of a conjunction; `arguments` is the schema of `args`.
pub(crate) fn wishes(leaves: &[&Claim], arguments: Option<&Value>) -> Vec<Wish> {
    let mut places: Vec<Place> = Vec::new();
    let mut add = |place: &Place| {
        // what is made of a value changes the values to try, not where they stand
        let plain = Place { through: Vec::new(), ..place.clone() };
        if !places.contains(&plain) {
            places.push(plain);
        }
    };
    for leaf in leaves {
        match leaf {
            Claim::Tested { place, test, .. } => {
                if let Test::Against(_, other) | Test::Within(other) = test {
                    add(other);
                }
                add(place);
            }
            Claim::Some(place, _) | Claim::Every(place, _) => add(place),
            _ => {}
        }
    }
    places.into_iter().map(|place| of_place(place, leaves, arguments)).collect()
}

fn of_place(place: Place, leaves: &[&Claim], arguments: Option<&Value>) -> Wish {
    let mine = leaves.iter().filter(|leaf| match leaf {
        Claim::Tested { place: other, .. } | Claim::Some(other, _) | Claim::Every(other, _) => {
            other.root == place.root && other.steps == place.steps
        }
        _ => false,
    });
    let mine: Vec<&&Claim> = mine.collect();
    if mine.iter().any(|leaf| matches!(leaf, Claim::Tested { test: Test::Present, holds: false, .. })) {
        return Wish { place, wanted: Wanted::Absent };
    }
    let schema = match &place.root {
        Root::Variable(name) if **name == *"args" => arguments.and_then(|root| domain::at(root, &place.steps)),
        _ => None,
    };
    let mut pool: Vec<Value> = Vec::new();
    let mut texts = Texts::default();
    for leaf in &mine {
        match leaf {
            Claim::Tested { test, holds, .. } => candidates(test, *holds, schema, &mut pool, &mut texts),
            Claim::Some(_, body) | Claim::Every(_, body) => {
                pool.extend(elements(body).into_iter().map(|element| Value::List(vec![element])));
                if matches!(leaf, Claim::Every(..)) {
                    pool.push(Value::List(Vec::new()));
                }
            }
            _ => {}
        }
    }
    pool.splice(0..0, texts.joined());
    if let (Some(schema), Some(root)) = (schema, arguments) {
        let listed = schema.get("enum").and_then(Value::as_list).unwrap_or_default();
        pool.extend(listed.iter().cloned());
        pool.extend((0..3).map(|seed| sample(schema, root, seed)));
        pool.extend(["maximum", "minimum"].iter().filter_map(|key| schema.get(key)).cloned());
    }
    let plain =
        [Value::from("x"), Value::Int(1), Value::Bool(true), Value::Bool(false), Value::from(""), Value::Int(0)];
    pool.extend(plain);
    pool.extend([Value::Int(-1), Value::Int(1_000_000_000), Value::Float(0.5), Value::Null, Value::List(Vec::new())]);
    let fits = |candidate: &Value| {
        mine.iter().all(|leaf| match leaf {
            Claim::Tested { place, test, holds } if place.through.is_empty() => match scalar(candidate) {
                Some(scalar) => judge(test, &scalar).may_be(*holds),
                None => !matches!(test, Test::Is(..) | Test::OneOf(_) | Test::Holds) || !*holds,
            },
            _ => true,
        })
    };
    let mut kept: Vec<Value> = Vec::new();
    let known = |kept: &[Value], candidate: &Value| {
        let text = callgate_value::to_json(candidate);
        kept.iter().any(|other| callgate_value::to_json(other) == text)
    };
    for candidate in pool {
        if kept.len() < MOST_VALUES && fits(&candidate) && !known(&kept, &candidate) {
            kept.push(candidate);
        }
    }
    Wish { place, wanted: Wanted::Values(kept) }
}

/// Parts of a text that several tests ask for.
#[derive(Default)]
struct Texts {
    start: String,
    middle: String,
    end: String,
}

impl Texts {
    fn joined(&self) -> Option<Value> {
        let text = format!("{}{}{}", self.start, self.middle, self.end);
        (!text.is_empty()).then(|| Value::from(text.as_str()))
    }
}

/// Values around which the test changes its outcome.
fn candidates(test: &Test, holds: bool, schema: Option<&Value>, pool: &mut Vec<Value>, texts: &mut Texts) {
    match test {
        Test::Holds => pool.push(Value::Bool(holds)),
        Test::Present => {}
        Test::Is(order, literal) => near(*order, literal, pool),
        Test::OneOf(values) => {
            if holds {
                pool.extend(values.iter().map(value));
            }
        }
        Test::StartsWith(part) => {
            if holds {
                texts.start = part.to_string();
            }
        }
        Test::EndsWith(part) => {
            if holds {
                texts.end = part.to_string();
            }
        }
        Test::Contains(part) => {
            if holds {
                texts.middle.push_str(part);
            }
            pool.push(Value::from(&**part));
        }
        Test::Matches(pattern) => {
            if holds {
                pool.extend(text::matching(pattern).iter().map(|text| Value::from(text.as_str())));
            }
        }
        Test::Size(_, size) => {
            let names = |name: &str| schema.and_then(|schema| schema.get("type")).and_then(Value::as_str) == Some(name);
            for length in [*size, size.saturating_add(1), size.saturating_sub(1)] {
                let Ok(length) = usize::try_from(length.min(LARGEST)) else { continue };
                let text = Value::from("x".repeat(length).as_str());
                let list = Value::List(vec![Value::from("x"); length]);
                if names("array") {
                    pool.extend([list, text]);
                } else {
                    pool.extend([text, list]);
                }
            }
        }
        Test::Type(name) => pool.extend(match (*name, holds) {
            ("string", true) => Some(Value::from("x")),
            ("map", true) => Some(Value::Map(Map::default())),
            ("list", true) => Some(Value::List(Vec::new())),
            ("bool", true) => Some(Value::Bool(true)),
            ("int", true) => Some(Value::Int(1)),
            ("double", true) => Some(Value::Float(1.5)),
            ("null_type", true) => Some(Value::Null),
            _ => None,
        }),
        Test::Has(element) => {
            let key = value(element);
            if holds {
                pool.push(Value::List(vec![key.clone()]));
                let entry = key.as_str().and_then(|key| Map::new(vec![(key.into(), Value::Bool(true))]).ok());
                pool.extend(entry.map(Value::Map));
            } else {
                pool.push(Value::List(Vec::new()));
            }
        }
        Test::Against(..) => pool.extend([Value::Int(2), Value::Int(0)]),
        Test::Within(_) => {}
    }
}

/// The literal and its neighbours, those first that the order asks for.
fn near(order: Order, literal: &Scalar, pool: &mut Vec<Value>) {
    let (below, above) = match literal {
        Scalar::Int(number) => (Value::Int(number.saturating_sub(1)), Value::Int(number.saturating_add(1))),
        Scalar::Double(number) => (Value::Float(number - 1.0), Value::Float(number + 1.0)),
        Scalar::String(text) => {
            let above = format!("{text}a");
            (Value::from(""), Value::from(above.as_str()))
        }
        Scalar::Bool(truth) => (Value::Bool(!truth), Value::Bool(!truth)),
        Scalar::Null => (Value::from("x"), Value::Int(1)),
    };
    let same = value(literal);
    pool.extend(match order {
        Order::Less | Order::AtMost => [below, same, above],
        Order::More | Order::AtLeast | Order::Other => [above, same, below],
        Order::Equal => [same, above, below],
    });
}

/// Elements that fit what is claimed of one.
fn elements(body: &Claim) -> Vec<Value> {
    let mut found = Vec::new();
    for way in cases(body).unwrap_or_default() {
        let mut element = Value::Null;
        for wish in wishes(&way, None) {
            if !matches!(wish.place.root, Root::Element(_)) {
                continue;
            }
            if let Wanted::Values(values) = wish.wanted {
                if let Some(first) = values.into_iter().next() {
                    put(&mut element, &wish.place.steps, first);
                }
            }
        }
        found.push(element);
    }
    found
}

/// Puts a value where the steps lead, and makes what is missing on the way.
pub(crate) fn put(root: &mut Value, steps: &[Step], new: Value) {
    let Some((first, rest)) = steps.split_first() else {
        *root = new;
        return;
    };
    match first {
        Step::Field(name) => {
            let mut entries = match std::mem::replace(root, Value::Null) {
                Value::Map(map) => map.into_entries(),
                _ => Vec::new(),
            };
            let at = entries.iter().position(|(key, _)| key.as_str() == Some(name));
            match at.and_then(|at| entries.get_mut(at)) {
                Some((_, below)) => put(below, rest, new),
                None => {
                    let mut below = Value::Null;
                    put(&mut below, rest, new);
                    entries.push(((&**name).into(), below));
                }
            }
            *root = Map::new(entries).map_or(Value::Null, Value::Map);
        }
        Step::At(index) => {
            let mut items = match std::mem::replace(root, Value::Null) {
                Value::List(items) => items,
                _ => Vec::new(),
            };
            let at = usize::try_from(*index).unwrap_or(0).min(64);
            while items.len() <= at {
                items.push(Value::Null);
            }
            if let Some(item) = items.get_mut(at) {
                put(item, rest, new);
            }
            *root = Value::List(items);
        }
    }
}

/// Takes away what the steps lead to.
pub(crate) fn remove(root: &mut Value, steps: &[Step]) {
    let (Some((Step::Field(name), rest)), Value::Map(map)) = (steps.split_first(), &*root) else { return };
    let mut entries = map.clone().into_entries();
    if rest.is_empty() {
        entries.retain(|(key, _)| key.as_str() != Some(name));
    } else if let Some((_, below)) = entries.iter_mut().find(|(key, _)| key.as_str() == Some(name)) {
        remove(below, rest);
    }
    *root = Map::new(entries).map_or(Value::Null, Value::Map);
}
