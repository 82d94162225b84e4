//! The frozen vectors of `tests/conformance/fingerprints.json`, as far as they need no Python.
use callgate_value::{
    canonical_json, digest, fingerprint, read_json, Digest, Foreign, ForeignKind, Map, Text, Value, DIGEST_PREFIX,
};
use serde_json::Value as Json;

fn vectors() -> Vec<Json> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/conformance/fingerprints.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The value that a vector writes, where this side of the border has one.
fn value(written: &Json) -> Option<Value> {
    match written["json"].as_str() {
        Some(text) => Some(read_json(text.as_bytes()).unwrap()),
        None => build(&written["tagged"]),
    }
}

fn build(tagged: &Json) -> Option<Value> {
    let rest = &tagged[1];
    let foreign = |kind| Some(Value::Foreign(Box::new(Foreign { kind, text: rest.as_str().unwrap().to_owned() })));
    Some(match tagged[0].as_str().unwrap() {
        "none" => Value::Null,
        "int" => read_json(rest.as_str().unwrap().as_bytes()).unwrap(),
        "float" => Value::Float(rest.as_str().unwrap().parse().unwrap()),
        "text" => Value::from(rest.as_str().unwrap()),
        "units" => Value::Str(Text::Surrogates(wtf8(rest).into())),
        "list" | "tuple" => Value::List(rest.as_array().unwrap().iter().map(build).collect::<Option<_>>()?),
        "map" => {
            let mut entries = Vec::new();
            for pair in rest.as_array().unwrap() {
                let Some(Value::Str(key)) = build(&pair[0]) else { return None };
                entries.push((key, build(&pair[1])?));
            }
            Value::Map(Map::new(entries).unwrap())
        }
        "nested" if rest.as_u64() < Some(100) => {
            let depth = usize::try_from(rest.as_u64().unwrap()).unwrap();
            (1..depth).fold(Value::List(vec![]), |inner, _| Value::List(vec![inner]))
        }
        "datetime" => return foreign(ForeignKind::DateTime),
        "date" => return foreign(ForeignKind::Date),
        "time" => return foreign(ForeignKind::Time),
        "decimal" => return foreign(ForeignKind::Decimal),
        "uuid" => return foreign(ForeignKind::Uuid),
        _ => return None,
    })
}

/// Lone surrogates as WTF-8.
fn wtf8(units: &Json) -> Vec<u8> {
    let bytes = |unit: &Json| {
        let unit = u32::try_from(unit.as_u64().unwrap()).unwrap();
        [0xED, (unit >> 6 & 0x3F) as u8 | 0x80, (unit & 0x3F) as u8 | 0x80]
    };
    units.as_array().unwrap().iter().flat_map(bytes).collect()
}

#[test]
fn calls_have_their_canonical_text_and_fingerprint() {
    let mut seen = 0;
    for vector in vectors() {
        let (Some(tool), Some(expected)) = (vector["tool"].as_str(), vector["canonical"].as_str()) else { continue };
        let Some(arguments) = value(&vector["arguments"]) else { continue };
        let found = (canonical_json(&arguments).unwrap(), fingerprint(tool, &arguments).unwrap().to_hex());
        assert_eq!(found, (expected.to_owned(), vector["fingerprint"].as_str().unwrap().to_owned()), "{vector}");
        seen += 1;
    }
    assert!(seen > 30, "only {seen}");
}

#[test]
fn results_have_their_canonical_text_and_digest() {
    let mut seen = 0;
    for vector in vectors() {
        let (false, Some(expected)) = (vector["result"].is_null(), vector["canonical"].as_str()) else { continue };
        let Some(result) = value(&vector["result"]) else { continue };
        let found = (canonical_json(&result).unwrap(), digest(&result).unwrap());
        let preimage = format!("{DIGEST_PREFIX}{expected}");
        assert_eq!(found, (expected.to_owned(), Digest::of(preimage.as_bytes())), "{vector}");
        assert_eq!(found.1.to_hex(), vector["digest"].as_str().unwrap(), "{vector}");
        seen += 1;
    }
    assert!(seen >= 8, "only {seen}");
}

#[test]
fn json_text_that_is_not_exact_is_refused_with_its_place() {
    let mut seen = 0;
    for vector in vectors() {
        let (Some(text), Some(line)) = (vector["arguments"]["json"].as_str(), vector["error"]["line"].as_u64()) else {
            continue;
        };
        let expected = format!(
            "{} (line {line}, column {})",
            vector["error"]["says"].as_str().unwrap(),
            vector["error"]["column"]
        );
        assert_eq!(read_json(text.as_bytes()).unwrap_err().to_string(), expected, "{vector}");
        seen += 1;
    }
    assert!(seen >= 7, "only {seen}");
}
