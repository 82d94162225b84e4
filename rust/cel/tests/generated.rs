//! Random expressions, evaluated by the engine and by a second evaluator that is as plain as can be; and what the engine
//! foresees of each without evaluating it.
use callgate_cel::{Env, Fuel, Limits, Program, Type, Val};

/// xorshift64*, so that a failing seed is the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % limit
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::try_from(self.below(all.len() as u64)).unwrap()]
    }
}

/// What the plain evaluator knows; an error is `Err`.
#[derive(Clone, Debug, PartialEq)]
enum Plain {
    Bool(bool),
    Int(i64),
    Double(f64),
    Str(String),
    List(Vec<Plain>),
}

type Result = std::result::Result<Plain, ()>;

const INTS: [i64; 8] = [0, 1, -1, 2, 7, 100, i64::MAX, i64::MIN];
const DOUBLES: [f64; 6] = [0.0, 1.0, -1.5, 2.0, 7.0, 1e300];
const STRINGS: [&str; 5] = ["", "a", "ab", "é", "b"];

fn literal(random: &mut Random) -> (String, Result) {
    match random.below(5) {
        0 => {
            let value = random.below(2) == 1;
            (value.to_string(), Ok(Plain::Bool(value)))
        }
        1 | 2 => {
            let value = random.of(&INTS);
            (value.to_string(), Ok(Plain::Int(value)))
        }
        3 => {
            let value = random.of(&DOUBLES);
            (format!("{value:?}"), Ok(Plain::Double(value)))
        }
        _ => {
            let value = random.of(&STRINGS);
            (format!("'{value}'"), Ok(Plain::Str(value.into())))
        }
    }
}

/// An expression over `names`, hidden from the checker by `dyn`, and its value.
fn expression(random: &mut Random, depth: u32, names: &[(String, Plain)]) -> (String, Result) {
    if depth == 0 || random.below(6) == 0 {
        if !names.is_empty() && random.below(2) == 0 {
            let (name, value) = &names[usize::try_from(random.below(names.len() as u64)).unwrap()];
            return (name.clone(), Ok(value.clone()));
        }
        let (text, value) = literal(random);
        return (format!("dyn({text})"), value);
    }
    let sub = |random: &mut Random| expression(random, depth - 1, names);
    match random.below(9) {
        0 => {
            let ((a, x), (b, y)) = (sub(random), sub(random));
            (format!("({a} && {b})"), logic(x, y, false))
        }
        1 => {
            let ((a, x), (b, y)) = (sub(random), sub(random));
            (format!("({a} || {b})"), logic(x, y, true))
        }
        2 => {
            let (a, x) = sub(random);
            (format!("!{a}"), truth(x).map(|value| Plain::Bool(!value)))
        }
        3 => {
            let ((a, x), (b, y), (c, z)) = (sub(random), sub(random), sub(random));
            let value = truth(x).and_then(|first| if first { y } else { z });
            (format!("({a} ? {b} : {c})"), value)
        }
        4 => {
            let sign = random.of(&["+", "-", "*", "/", "%"]);
            let ((a, x), (b, y)) = (sub(random), sub(random));
            (format!("({a} {sign} {b})"), x.and_then(|x| arithmetic(sign, x, y?)))
        }
        5 => {
            let sign = random.of(&["<", "<=", ">", ">="]);
            let ((a, x), (b, y)) = (sub(random), sub(random));
            (format!("({a} {sign} {b})"), x.and_then(|x| order(sign, &x, &y?)))
        }
        6 => {
            let ((a, x), (b, y)) = (sub(random), sub(random));
            let equal = random.below(2) == 0;
            let sign = if equal { "==" } else { "!=" };
            (format!("({a} {sign} {b})"), x.and_then(|x| Ok(Plain::Bool(same(&x, &y?) == equal))))
        }
        7 => {
            let parts: Vec<(String, Result)> = (0..random.below(3)).map(|_| sub(random)).collect();
            let text: Vec<&str> = parts.iter().map(|(text, _)| &**text).collect();
            let value = parts.iter().map(|(_, value)| value.clone()).collect::<std::result::Result<Vec<_>, ()>>();
            (format!("dyn([{}])", text.join(", ")), value.map(Plain::List))
        }
        _ => comprehension(random, depth, names),
    }
}

fn comprehension(random: &mut Random, depth: u32, names: &[(String, Plain)]) -> (String, Result) {
    let elements: Vec<(String, Result)> = (0..random.below(4)).map(|_| literal(random)).collect();
    let range: Vec<&str> = elements.iter().map(|(text, _)| &**text).collect();
    let name = format!("v{}", names.len());
    let macro_name = random.of(&["all", "exists", "map", "filter"]);
    // the same body for every element: its text is made with a seed that is used again for each value
    let seed = random.below(u64::MAX >> 34) + 1;
    let body = |value: &Plain| {
        let mut inner = names.to_vec();
        inner.push((name.clone(), value.clone()));
        expression(&mut Random(seed), depth.min(2) - 1, &inner)
    };
    let (text, _) = body(&Plain::Bool(true));
    let values: Vec<Plain> = elements.iter().map(|(_, value)| value.clone().unwrap()).collect();
    let results = values.iter().map(|value| body(value).1);
    let result = match macro_name {
        "all" => in_turn(results, false),
        "exists" => in_turn(results, true),
        "map" => results.collect::<std::result::Result<Vec<_>, ()>>().map(Plain::List),
        _ => {
            let kept = values.iter().zip(results).map(|(value, keep)| Ok(truth(keep)?.then(|| value.clone())));
            kept.collect::<std::result::Result<Vec<_>, ()>>()
                .map(|kept| Plain::List(kept.into_iter().flatten().collect()))
        }
    };
    // `dyn` keeps the checker from knowing what the range holds
    (format!("dyn([{}]).{macro_name}({name}, {text})", range.join(", ")), result)
}

fn truth(value: Result) -> std::result::Result<bool, ()> {
    match value? {
        Plain::Bool(value) => Ok(value),
        _ => Err(()),
    }
}

fn logic(a: Result, b: Result, decisive: bool) -> Result {
    let (a, b) = (truth(a), truth(b));
    if a == Ok(decisive) || b == Ok(decisive) {
        return Ok(Plain::Bool(decisive));
    }
    a?;
    b?;
    Ok(Plain::Bool(!decisive))
}

fn in_turn(values: impl Iterator<Item = Result>, decisive: bool) -> Result {
    let mut so_far = Ok(Plain::Bool(!decisive));
    for value in values {
        so_far = logic(so_far, value, decisive);
    }
    so_far
}

fn arithmetic(sign: &str, a: Plain, b: Plain) -> Result {
    match (a, b) {
        (Plain::Int(a), Plain::Int(b)) => {
            let (a, b) = (i128::from(a), i128::from(b));
            let value = match sign {
                "+" => a + b,
                "-" => a - b,
                "*" => a * b,
                _ if b == 0 => return Err(()),
                "/" => a / b,
                _ if b == -1 && a == i128::from(i64::MIN) => return Err(()),
                _ => a % b,
            };
            i64::try_from(value).map(Plain::Int).map_err(|_| ())
        }
        (Plain::Double(a), Plain::Double(b)) => Ok(Plain::Double(match sign {
            "+" => a + b,
            "-" => a - b,
            "*" => a * b,
            "/" => a / b,
            _ => return Err(()),
        })),
        (Plain::Str(a), Plain::Str(b)) if sign == "+" => Ok(Plain::Str(a + &b)),
        (Plain::List(a), Plain::List(b)) if sign == "+" => Ok(Plain::List([a, b].concat())),
        _ => Err(()),
    }
}

fn order(sign: &str, a: &Plain, b: &Plain) -> Result {
    let order = match (a, b) {
        (Plain::Bool(a), Plain::Bool(b)) => Some(a.cmp(b)),
        (Plain::Str(a), Plain::Str(b)) => Some(a.chars().cmp(b.chars())),
        (Plain::Int(a), Plain::Int(b)) => Some(a.cmp(b)),
        _ => number(a).ok_or(())?.partial_cmp(&number(b).ok_or(())?),
    };
    Ok(Plain::Bool(match sign {
        "<" => order.is_some_and(|order| order.is_lt()),
        "<=" => order.is_some_and(|order| order.is_le()),
        ">" => order.is_some_and(|order| order.is_gt()),
        _ => order.is_some_and(|order| order.is_ge()),
    }))
}

fn number(value: &Plain) -> Option<f64> {
    match value {
        Plain::Int(value) => Some(*value as f64),
        Plain::Double(value) => Some(*value),
        _ => None,
    }
}

fn same(a: &Plain, b: &Plain) -> bool {
    match (a, b) {
        (Plain::Int(a), Plain::Int(b)) => a == b,
        (Plain::List(a), Plain::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Plain::Bool(a), Plain::Bool(b)) => a == b,
        (Plain::Str(a), Plain::Str(b)) => a == b,
        _ => number(a).zip(number(b)).is_some_and(|(a, b)| a == b),
    }
}

fn plain(value: &Val) -> Plain {
    match value {
        Val::Bool(value) => Plain::Bool(*value),
        Val::Int(value) => Plain::Int(*value),
        Val::Double(value) => Plain::Double(*value),
        Val::Str(text) => Plain::Str(text.to_string()),
        Val::List(list) => Plain::List(list.iter().map(|value| plain(&value)).collect()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn engine_and_plain_evaluator_agree_on_random_expressions_and_all_outcomes_were_foreseen() {
    let limits = Limits { comprehensions: 8, source: 1 << 20, nodes: 100_000, ..Limits::default() };
    let names =
        [("a", Plain::Int(7)), ("b", Plain::Double(-1.5)), ("c", Plain::Str("ab".into())), ("d", Plain::Bool(true))];
    let mut env = Env::new();
    for (name, _) in &names {
        env.variable(name, Type::Dyn);
    }
    let names: Vec<(String, Plain)> = names.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let values = vec![Val::Int(7), Val::Double(-1.5), Val::from("ab"), Val::Bool(true)];
    let (mut given, mut failed, mut decided) = (0, 0, 0);
    for seed in 1..=6_000 {
        let (source, wanted) = expression(&mut Random(seed * 0x9E37_79B9), 4, &names);
        // an operator between types that the checker knows is refused before it runs: only that it is refused is compared
        let program = match Program::compile(&source, &env, None, &limits) {
            Ok(program) => program,
            Err(_) => continue,
        };
        let found = program.evaluate(&values, &mut Fuel::new(&limits)).map(|value| plain(&value)).map_err(|_| ());
        match (&found, &wanted) {
            // NaN is not equal to itself
            (Ok(found), Ok(wanted)) => assert_eq!(format!("{found:?}"), format!("{wanted:?}"), "seed {seed}: {source}"),
            (found, wanted) => assert_eq!(found, wanted, "seed {seed}: {source}"),
        }
        for known in [&["a", "b", "c", "d"][..], &["c"], &[]] {
            let types = [("a", Type::Int), ("b", Type::Double), ("c", Type::String), ("d", Type::Bool)];
            let of = |name: &str| types.iter().find(|(have, _)| *have == name).map(|(_, ty)| ty.clone());
            let foreseen = program.prospect(&|name| of(name).filter(|_| known.contains(&name)));
            let possible = match &found {
                Ok(Plain::Bool(true)) => foreseen.may_be_true,
                Ok(Plain::Bool(false)) => foreseen.may_be_false,
                Ok(_) => foreseen.may_be_other,
                Err(()) => foreseen.may_err,
            };
            assert!(possible, "seed {seed}: {source} gives {found:?}, knowing {known:?}, which was not foreseen");
            decided += usize::from(foreseen.always_errs() || !foreseen.may_be_true);
        }
        if found.is_ok() {
            given += 1;
        } else {
            failed += 1;
        }
    }
    // neither of the two may be rare, or nothing would be tested
    assert!(given > 1_500 && failed > 500, "{given} with a value, {failed} with an error");
    assert!(decided > 500, "{decided} were seen never to be true");
}
