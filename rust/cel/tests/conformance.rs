//! The public CEL conformance cases, read from the shared folder; without it the test says so and passes.
use callgate_cel::{Env, Fuel, Limits, List, Map, Program, Str, Type, Val};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::path::PathBuf;

const CORE: [&str; 13] = [
    "basic",
    "comparisons",
    "integer_math",
    "fp_math",
    "string",
    "lists",
    "macros",
    "logic",
    "timestamps",
    "conversions",
    "fields",
    "parse",
    "namespace",
];

/// Cases that this engine does not pass, each with its reason.
const EXCEPTIONS: [(&str, &str); 2] = [
    (
        "parse/bytes_literals/triple_single_quoted_unescaped_punctuation",
        "the expected bytes have a backslash that the expression does not have",
    ),
    (
        "parse/bytes_literals/triple_double_quoted_unescaped_punctuation",
        "the expected bytes have a backslash that the expression does not have",
    ),
];

fn shared() -> Option<PathBuf> {
    let near = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let folder = std::env::var_os("CALLGATE_SHARED").map_or(near, PathBuf::from);
    Some(folder.join("cel-conformance.json")).filter(|path| path.exists())
}

fn ty(json: &Json) -> Type {
    let name = json.as_str().or_else(|| json[0].as_str()).unwrap();
    match name {
        "null" => Type::Null,
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "list" => Type::list(ty(&json[1])),
        "map" => Type::map(ty(&json[1]), ty(&json[2])),
        _ => Type::Dyn,
    }
}

/// The expression that stands for a tagged value, so that expected values go through no other code than that of literals.
fn literal(json: &Json) -> String {
    let text = || json[1].as_str().unwrap();
    match json[0].as_str().unwrap() {
        "null" => "null".into(),
        "bool" => json[1].to_string(),
        "int" => text().into(),
        "uint" => format!("{}u", text()),
        "double" => format!("double({:?})", text()),
        "string" => string_literal(text()),
        "bytes" => format!("base64.decode({:?})", text()),
        "type" => text().into(),
        "list" => {
            let items: Vec<String> = json[1].as_array().unwrap().iter().map(literal).collect();
            format!("[{}]", items.join(", "))
        }
        "map" => {
            let pairs = json[1].as_array().unwrap();
            let items: Vec<String> =
                pairs.iter().map(|pair| format!("{}: {}", literal(&pair[0]), literal(&pair[1]))).collect();
            format!("{{{}}}", items.join(", "))
        }
        other => panic!("unknown tag {other}"),
    }
}

fn string_literal(text: &str) -> String {
    let escaped: String = text.chars().map(|c| format!("\\U{:08X}", u32::from(c))).collect();
    format!("\"{escaped}\"")
}

/// Whether two values are the same, types of numbers included; NaN is the same as NaN.
fn same(a: &Val, b: &Val) -> bool {
    match (a, b) {
        (Val::Null, Val::Null) => true,
        (Val::Bool(a), Val::Bool(b)) => a == b,
        (Val::Int(a), Val::Int(b)) => a == b,
        (Val::Uint(a), Val::Uint(b)) => a == b,
        (Val::Double(a), Val::Double(b)) => a == b || (a.is_nan() && b.is_nan()),
        (Val::Str(a), Val::Str(b)) => **a == **b,
        (Val::Bytes(a), Val::Bytes(b)) => a == b,
        (Val::Type(a), Val::Type(b)) => a == b,
        (Val::List(a), Val::List(b)) => a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same(&a, &b)),
        (Val::Map(Map::Owned(a)), Val::Map(Map::Owned(b))) => {
            a.len() == b.len()
                && a.iter().all(|(key, value)| {
                    b.iter().any(|(other, wanted)| same(&key.to_val(), &other.to_val()) && same(value, wanted))
                })
        }
        _ => false,
    }
}

fn limits() -> Limits {
    Limits { nesting: 64, comprehensions: 4, ..Limits::default() }
}

/// Nothing if the case passes, else what happened instead.
fn run(case: &Json) -> Option<String> {
    let flag = |name: &str| case[name].as_bool().unwrap_or(false);
    let mut env = Env::new();
    env.dynamic_patterns();
    env.container(case["container"].as_str().unwrap_or(""));
    if flag("disable_check") {
        env.unchecked();
    }
    for (name, declared) in case["te"].as_object().unwrap() {
        env.variable(name, ty(declared));
    }
    for (name, _) in case["bind"].as_object().unwrap() {
        if env.slot(name).is_none() {
            env.variable(name, Type::Dyn);
        }
    }
    if flag("fns") {
        env.function("fn", "(A, B) -> dyn").unwrap();
        env.function("tuple", "(A, B, C) -> dyn").unwrap();
        env.function("sort", "(dyn) -> dyn").unwrap();
    }
    let limits = limits();
    let kind = case["exp"]["k"].as_str().unwrap();
    let compiled = Program::compile(case["expr"].as_str().unwrap(), &env, None, &limits);
    let program = match (compiled, kind) {
        (Ok(_), "typed") => return None,
        (Err(_), "eval_error") => return None,
        (Err(faults), _) => return Some(format!("does not compile: {}", faults[0])),
        (Ok(program), _) => program,
    };
    let plain = Env::new();
    let value_of = |json: &Json| Program::compile(&literal(json), &plain, None, &limits).unwrap();
    let bound: Vec<(usize, Program)> = case["bind"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, json)| (env.slot(name).unwrap(), value_of(json)))
        .collect();
    let nothing = callgate_cel::Nothing;
    let mut values = vec![Val::Null; 16];
    for (slot, program) in &bound {
        values[*slot] = program.evaluate(&nothing, &mut Fuel::new(&limits)).unwrap();
    }
    let result = program.evaluate(&values, &mut Fuel::new(&limits));
    match (result, kind) {
        (Err(_), "eval_error") => None,
        (Ok(value), "eval_error") => Some(format!("an error was expected, not {value:?}")),
        (Err(error), _) => Some(format!("error: {error}")),
        (Ok(value), _) => {
            let wanted = value_of(&case["exp"]["v"]);
            let wanted = wanted.evaluate(&nothing, &mut Fuel::new(&limits)).unwrap();
            let shown = || Some(format!("{value:?}, wanted {wanted:?}"));
            if same(&value, &wanted) {
                None
            } else {
                shown()
            }
        }
    }
}

#[test]
fn the_public_conformance_cases_pass() {
    let Some(path) = shared() else {
        println!("SKIPPED: cel-conformance.json is not there (set CALLGATE_SHARED to its folder)");
        return;
    };
    let cases: Vec<Json> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut failures = Vec::new();
    let mut known = 0;
    for case in &cases {
        let part = |name: &str| case[name].as_str().unwrap();
        let name = format!("{}/{}/{}", part("file"), part("section"), part("name"));
        let count = counts.entry(part("file").to_owned()).or_default();
        count.1 += 1;
        match run(case) {
            None => count.0 += 1,
            Some(_) if EXCEPTIONS.iter().any(|(known, _)| *known == name) => known += 1,
            Some(what) => failures.push(format!("{name}: {} => {what}", part("expr"))),
        }
    }
    let mut core = (0, 0);
    for (file, (passed, all)) in &counts {
        let is_core = CORE.contains(&&**file);
        println!("{file:<16} {passed:>4} of {all:>4}{}", if is_core { "  core" } else { "" });
        if is_core {
            core = (core.0 + passed, core.1 + all);
        }
    }
    println!("core             {} of {}", core.0, core.1);
    for (name, reason) in EXCEPTIONS {
        println!("known: {name}: {reason}");
    }
    assert!(failures.is_empty(), "{} cases fail:\n{}", failures.len(), failures.join("\n"));
    assert_eq!(known, EXCEPTIONS.len(), "a known exception passes now: take it off the list");
    assert!(core.0 >= 1_084, "core: {} of {}", core.0, core.1);
}

#[test]
fn values_lists_and_strings_are_small() {
    // cloning a value is part of every step
    assert!(size_of::<Val>() <= 32, "{}", size_of::<Val>());
    assert!(size_of::<List>() <= 24 && size_of::<Str>() <= 24);
}
