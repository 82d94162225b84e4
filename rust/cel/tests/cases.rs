//! The project's own CEL cases, `tests/conformance/cel/*.json`.
//!
//! `gives` is the value, written as CEL would write it (`3u`, `2.0`, `b"00ff"`, `optional none`, `duration 5s`); `fails` the kind of
//! the error; `faults` all that the checker reports, with the text under each. `data` are JSON values of variables of type dyn,
//! `expect` the type that is asked for. A file may declare `types` of variables without values, names of `later` phases, and host
//! `functions` for all its cases.
use callgate_cel::{Code, Env, ErrorKind, Fuel, Limits, Map, Object, Program, Scalar, Type, Val};
use callgate_value::Value;
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::path::PathBuf;

fn cases() -> Vec<(String, Json)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance/cel");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut found = Vec::new();
    for file in files {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let document: Json = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        for case in document["cases"].as_array().unwrap() {
            let mut case = case.clone();
            for key in ["types", "later", "functions"] {
                if let Some(shared) = document.get(key) {
                    case[key] = shared.clone();
                }
            }
            found.push((name.clone(), case));
        }
    }
    found
}

fn ty(json: &Json) -> Type {
    if let Some(name) = json.as_str() {
        return match name {
            "bool" => Type::Bool,
            "int" => Type::Int,
            "double" => Type::Double,
            "number" => Type::Number,
            "string" => Type::String,
            "dyn" => Type::Dyn,
            other => panic!("unknown type {other}"),
        };
    }
    if let Some(element) = json.get("list") {
        return Type::list(ty(element));
    }
    if let Some(entry) = json.get("map") {
        return Type::map(ty(&entry[0]), ty(&entry[1]));
    }
    if let Some(inner) = json.get("nullable") {
        return ty(inner).nullable();
    }
    if let Some(values) = json.get("one_of") {
        let values = values.as_array().unwrap().iter().map(|value| Scalar::String(value.as_str().unwrap().into()));
        return Type::String.one_of(values.collect());
    }
    let open = json.get("open").is_some();
    let mut object = if open { Object::open() } else { Object::closed() };
    for (name, field) in json["object"].as_object().unwrap() {
        object = match name.strip_suffix('?') {
            Some(name) => object.optional(name, ty(field)),
            None => object.required(name, ty(field)),
        };
    }
    object.into()
}

fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => number.as_i64().map_or_else(|| Value::Float(number.as_f64().unwrap()), Value::Int),
        Json::String(text) => Value::from(&**text),
        Json::Array(values) => Value::List(values.iter().map(value).collect()),
        Json::Object(entries) => {
            let entries = entries.iter().map(|(key, entry)| (key.as_str().into(), value(entry)));
            Value::Map(callgate_value::Map::new(entries.collect()).unwrap())
        }
    }
}

/// A value as the cases write it.
fn written(value: &Val) -> String {
    match value {
        Val::Null => "null".into(),
        Val::Bool(value) => value.to_string(),
        Val::Int(value) => value.to_string(),
        Val::Uint(value) => format!("{value}u"),
        Val::Double(value) if value.is_infinite() => if *value > 0.0 { "Infinity" } else { "-Infinity" }.into(),
        Val::Double(value) => format!("{value:?}"),
        Val::Str(text) => Json::from(&**text).to_string(),
        Val::Bytes(bytes) => format!("b\"{}\"", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
        Val::List(list) => format!("[{}]", list.iter().map(|value| written(&value)).collect::<Vec<_>>().join(", ")),
        Val::Map(map) => {
            let entries: Vec<String> = match map {
                Map::Json(map) => {
                    map.iter().map(|(key, value)| format!("{key:?}: {}", written(&Val::from(value)))).collect()
                }
                Map::Owned(map) => {
                    map.iter().map(|(key, value)| format!("{}: {}", written(&key.to_val()), written(value))).collect()
                }
            };
            format!("{{{}}}", entries.join(", "))
        }
        Val::Duration(_) | Val::Timestamp(_) => {
            let text = value.to_value(&mut Fuel::new(&Limits::default())).unwrap();
            let kind = if matches!(value, Val::Duration(_)) { "duration" } else { "timestamp" };
            format!("{kind} {}", text.as_str().unwrap())
        }
        Val::Type(name) => format!("type {name}"),
        Val::Ip(address) => format!("ip {address}"),
        Val::Cidr(cidr) => format!("cidr {cidr}"),
        Val::Optional(None) => "optional none".into(),
        Val::Optional(Some(inner)) => format!("optional {}", written(inner)),
        Val::Raw(value) => format!("{value:?}"),
    }
}

/// What a case comes to, in the form of its expectation.
fn outcome(case: &Json) -> Json {
    let limits = Limits::default();
    let mut env = Env::new();
    let data: Vec<Option<Value>> = case["data"].as_object().map_or_else(Vec::new, |data| {
        let all = data.iter().map(|(name, json)| {
            env.variable(name, Type::Dyn);
            (*json != "<absent>").then(|| value(json))
        });
        all.collect()
    });
    for (name, declared) in case["types"].as_object().into_iter().flatten() {
        env.variable(name, ty(declared));
    }
    for (name, phase) in case["later"].as_object().into_iter().flatten() {
        env.later(name, phase.as_str().unwrap());
    }
    for (name, signature) in case["functions"].as_object().into_iter().flatten() {
        env.function(name, signature.as_str().unwrap()).unwrap();
    }
    let source = case["expr"].as_str().unwrap();
    let expect = case.get("expect").map(ty);
    let program = match Program::compile(source, &env, expect, &limits) {
        Err(faults) => {
            let fault = |fault: &callgate_cel::Diagnostic| {
                let mut json = serde_json::json!({
                    "code": fault.code.as_str(),
                    "at": fault.span.text(source),
                    "message": fault.message,
                });
                if let Some(hint) = &fault.hint {
                    json["hint"] = hint.as_str().into();
                }
                json
            };
            return serde_json::json!({"faults": faults.iter().map(fault).collect::<Vec<_>>()});
        }
        Ok(_) if case.get("faults").is_some() => return serde_json::json!({"faults": []}),
        Ok(program) => program,
    };
    // absent variables stand last in the files, so that slots and positions agree
    let values: Vec<Val> = data.iter().flatten().map(Val::from).collect();
    match program.evaluate(&values, &mut Fuel::new(&limits)) {
        Ok(value) => serde_json::json!({"gives": written(&value)}),
        Err(error) => serde_json::json!({"fails": error.kind.as_str()}),
    }
}

#[test]
fn every_case_comes_to_what_it_says() {
    let mut wrong = Vec::new();
    for (file, case) in cases() {
        let found = outcome(&case);
        let (key, got) = found.as_object().unwrap().iter().next().unwrap();
        if case.get(key) != Some(got) {
            wrong.push(format!(
                "{file}: {}\n  wanted {}\n  found  {found}",
                case["expr"],
                ["gives", "fails", "faults"].iter().find_map(|key| case.get(key)).unwrap()
            ));
        }
    }
    assert!(wrong.is_empty(), "{} cases are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_kind_of_mistake_has_a_case() {
    let cases = cases();
    let seen: BTreeSet<&str> = cases
        .iter()
        .flat_map(|(_, case)| case["faults"].as_array().into_iter().flatten())
        .map(|fault| fault["code"].as_str().unwrap())
        .collect();
    assert_eq!(seen, Code::ALL.iter().map(|code| code.as_str()).collect());
}

#[test]
fn every_kind_of_error_has_a_case_or_a_test() {
    let cases = cases();
    let mut seen: BTreeSet<&str> = cases.iter().filter_map(|(_, case)| case["fails"].as_str()).collect();
    // these need hosts, data that JSON has no form for, or more of it than a file should hold: tests/host.rs and tests/hostile.rs
    seen.extend(["host_value", "host_function", "wrong_result", "no_such_function", "out_of_memory", "too_deep"]);
    assert_eq!(seen, ErrorKind::ALL.iter().map(|kind| kind.as_str()).collect());
}
