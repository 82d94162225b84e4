//! JSON Schema as types of expressions: what is known of a tool's arguments before it is called.
use callgate_cel::{Object, Scalar, Type};
use callgate_value::Value;

/// How deep references and nested schemas are followed; what lies deeper is of any type.
const DEPTH: usize = 16;

/// The type of values that a JSON Schema (2020-12) takes.
///
/// An object with `properties` has these fields and no others unless `additionalProperties` says so: a field that the
/// schema does not name is a slip of the pen far more often than not. Numbers are numbers, whole or not, since JSON
/// does not tell `1` from `1.0`.
pub(crate) fn of_schema(schema: &Value) -> Type {
    read(schema, schema, 0)
}

fn read(schema: &Value, root: &Value, depth: usize) -> Type {
    if depth > DEPTH || schema.as_map().is_none() {
        return Type::Dyn;
    }
    let deeper = depth.saturating_add(1);
    if let Some(target) = schema.get("$ref").and_then(Value::as_str).and_then(|to| referred(to, root)) {
        return read(target, root, deeper);
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(options) = schema.get(key).and_then(Value::as_list) {
            return Type::union(options.iter().map(|option| read(option, root, deeper)));
        }
    }
    let plain = match schema.get("type") {
        Some(Value::List(names)) => Type::union(names.iter().map(|name| named(name, schema, root, deeper))),
        Some(name) => named(name, schema, root, deeper),
        None if schema.get("properties").is_some() => object(schema, root, deeper),
        None => Type::Dyn,
    };
    match listed(schema) {
        Some(values) if plain != Type::Dyn => plain.one_of(values),
        _ => plain,
    }
}

/// What `enum` or `const` lists, where all of it are plain values.
fn listed(schema: &Value) -> Option<Vec<Scalar>> {
    let single = schema.get("const").map(std::slice::from_ref);
    let values = schema.get("enum").and_then(Value::as_list).or(single)?;
    values.iter().map(scalar).collect()
}

fn scalar(value: &Value) -> Option<Scalar> {
    Some(match value {
        Value::Null => Scalar::Null,
        Value::Bool(value) => Scalar::Bool(*value),
        Value::Int(value) => Scalar::Int(*value),
        Value::Float(value) => Scalar::Double(*value),
        Value::Str(text) => Scalar::String(text.as_str()?.into()),
        Value::BigInt(_) | Value::List(_) | Value::Map(_) | Value::Foreign(_) => return None,
    })
}

fn named(name: &Value, schema: &Value, root: &Value, depth: usize) -> Type {
    match name.as_str() {
        Some("string") => Type::String,
        Some("boolean") => Type::Bool,
        Some("number" | "integer") => Type::Number,
        Some("null") => Type::Null,
        Some("array") => Type::list(schema.get("items").map_or(Type::Dyn, |items| read(items, root, depth))),
        Some("object") => object(schema, root, depth),
        _ => Type::Dyn,
    }
}

fn object(schema: &Value, root: &Value, depth: usize) -> Type {
    let Some(properties) = schema.get("properties").and_then(Value::as_map) else {
        let values = schema.get("additionalProperties").map_or(Type::Dyn, |values| read(values, root, depth));
        return Type::map(Type::String, values);
    };
    let is_open = match schema.get("additionalProperties") {
        Some(Value::Bool(open)) => *open,
        Some(Value::Map(_)) => true,
        _ => schema.get("patternProperties").is_some(),
    };
    let required = schema.get("required").and_then(Value::as_list).unwrap_or_default();
    let mut object = if is_open { Object::open() } else { Object::closed() };
    for (name, property) in properties.iter() {
        let Some(name) = name.as_str() else { continue };
        let ty = read(property, root, depth);
        object = if required.iter().any(|needed| needed.as_str() == Some(name)) {
            object.required(name, ty)
        } else {
            object.optional(name, ty)
        };
    }
    object.into()
}

/// The schema that a reference inside the document points at: `#/$defs/name` and the like.
fn referred<'v>(to: &str, root: &'v Value) -> Option<&'v Value> {
    let mut here = root;
    for step in to.strip_prefix("#/")?.split('/') {
        here = here.get(&step.replace("~1", "/").replace("~0", "~"))?;
    }
    Some(here)
}

/// The type of a value that is known.
pub(crate) fn of_value(value: &Value) -> Type {
    match value {
        Value::Bool(_) => Type::Bool,
        Value::Int(_) => Type::Int,
        Value::Float(_) => Type::Double,
        Value::Str(_) => Type::String,
        Value::List(items) => match items.first() {
            Some(first) if items.iter().all(|item| of_value(item) == of_value(first)) => Type::list(of_value(first)),
            _ => Type::list(Type::Dyn),
        },
        Value::Map(map) => {
            let fields = map.iter().filter_map(|(name, value)| Some((name.as_str()?, value)));
            fields.fold(Object::closed(), |object, (name, value)| object.required(name, of_value(value))).into()
        }
        Value::Null | Value::BigInt(_) | Value::Foreign(_) => Type::Dyn,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_value::read_json;

    fn of(schema: &str) -> Type {
        of_schema(&read_json(schema.as_bytes()).unwrap())
    }

    #[test]
    fn an_object_has_the_fields_that_its_schema_names() {
        let schema = r#"{"type": "object", "required": ["q"], "properties": {"q": {"type": "string"}, "n": {"type": "integer"}}}"#;
        let expected = Object::closed().required("q", Type::String).optional("n", Type::Number);
        assert_eq!(of(schema), expected.into());
    }

    #[test]
    fn schemas_without_a_form_here_are_of_any_type() {
        for schema in ["true", "{}", r##"{"$ref": "#/nowhere"}"##, r##"{"$ref": "#"}"##] {
            assert_eq!(of(schema), Type::Dyn, "{schema}");
        }
        let looping = r##"{"$defs": {"a": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}"##;
        assert_eq!(of(looping), Type::Dyn);
    }

    #[test]
    fn nullable_values_are_unions_and_enums_list_their_values() {
        assert_eq!(of(r#"{"type": ["string", "null"]}"#), Type::union([Type::String, Type::Null]));
        let listed = Type::String.one_of(vec![Scalar::String("a".into()), Scalar::String("b".into())]);
        assert_eq!(of(r#"{"type": "string", "enum": ["a", "b"]}"#), listed);
    }
}
