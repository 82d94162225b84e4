//! A tool's `parameters`: whether a call's arguments are such as the tool takes, with every fault by its path.
use callgate_value::Value;
use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, Validator};

/// Faults told at most: a model mends a few at a time.
const MOST_FAULTS: usize = 20;

/// A compiled JSON Schema 2020-12 (or of the draft that its `$schema` names). Nothing is fetched: a reference that leads
/// out of the schema is a mistake of it. Patterns run in linear time.
#[derive(Clone, Debug)]
pub struct ArgumentSchema {
    /// None where every map of arguments fits: then a call costs nothing to check.
    validator: Option<Validator>,
    properties: Vec<String>,
}

/// One thing that is wrong with arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentFault {
    /// Where: `arguments.items[3].price`.
    pub path: String,
    /// What.
    pub message: String,
}

impl ArgumentSchema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn compile(schema: &Value) -> Result<Self, String> {
        let json = to_json_value(schema);
        let options =
            jsonschema::options().with_draft(Draft::Draft202012).with_pattern_options(PatternOptions::regex());
        let validator = options.build(&json).map_err(|error| match error.kind() {
            ValidationErrorKind::Referencing(_) => match outside(&json) {
                Some(reference) => format!("`$ref: {reference}` leads out of it, and nothing is fetched"),
                None => format!("a `$ref` leads nowhere: {error}"),
            },
            _ => error.to_string(),
        })?;
        let says_nothing = json.as_object().is_some_and(|keys| {
            keys.iter().all(|(key, value)| key == "type" && value == "object" || key == "description" || key == "title")
        });
        let properties = schema.get("properties").and_then(Value::as_map);
        let names = properties.into_iter().flat_map(|properties| properties.iter());
        Ok(Self {
            validator: (!says_nothing).then_some(validator),
            properties: names.map(|(name, _)| name.to_lossy().into_owned()).collect(),
        })
    }

    /// Everything that is wrong with the arguments, the first few of very many.
    #[must_use]
    pub fn faults(&self, arguments: &Value) -> Vec<ArgumentFault> {
        let Some(validator) = &self.validator else { return Vec::new() };
        let json = to_json_value(arguments);
        if validator.is_valid(&json) {
            return Vec::new();
        }
        let errors = validator.iter_errors(&json).take(MOST_FAULTS);
        let told = errors.map(|error| {
            let message = error.to_string();
            ArgumentFault { path: path(error.instance_path().as_str()), message: self.with_hint(arguments, message) }
        });
        told.collect()
    }

    /// A name that the schema does not have gets the nearest one that it has.
    fn with_hint(&self, arguments: &Value, message: String) -> String {
        if !message.contains("dditional properties") {
            return message;
        }
        let given = arguments.as_map().into_iter().flat_map(|map| map.iter());
        let unknown =
            given.map(|(name, _)| name.to_lossy().into_owned()).filter(|name| !self.properties.contains(name));
        let hints: Vec<String> = unknown
            .filter_map(|name| {
                let near = self.properties.iter().map(|known| (strsim::jaro_winkler(&name, known), known));
                let (likeness, best) = near.max_by(|a, b| a.0.total_cmp(&b.0))?;
                (likeness >= 0.75).then(|| format!("`{name}`: did you mean `{best}`?"))
            })
            .collect();
        if hints.is_empty() {
            message
        } else {
            format!("{message} ({})", hints.join(" "))
        }
    }
}

/// The first reference of a schema that leads to another document.
fn outside(schema: &serde_json::Value) -> Option<String> {
    match schema {
        serde_json::Value::Object(map) => {
            let own = map.get("$ref").and_then(serde_json::Value::as_str).filter(|to| !to.starts_with('#'));
            own.map(str::to_owned).or_else(|| map.values().find_map(outside))
        }
        serde_json::Value::Array(items) => items.iter().find_map(outside),
        _ => None,
    }
}

/// `/items/3/price` as `arguments.items[3].price`.
fn path(pointer: &str) -> String {
    let mut path = "arguments".to_owned();
    for step in pointer.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        if !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit()) {
            path.push_str(&format!("[{step}]"));
        } else {
            path.push('.');
            path.push_str(&step);
        }
    }
    path
}

/// The value as the library takes it. An integer beyond 64 bits becomes the nearest binary64 number, what is no JSON null.
fn to_json_value(value: &Value) -> serde_json::Value {
    match value {
        Value::Null | Value::Foreign(_) => serde_json::Value::Null,
        Value::Bool(value) => (*value).into(),
        Value::Int(value) => (*value).into(),
        Value::BigInt(digits) => digits.parse::<f64>().unwrap_or(f64::MAX).into(),
        Value::Float(value) => (*value).into(),
        Value::Str(text) => text.to_lossy().into_owned().into(),
        Value::List(items) => items.iter().map(to_json_value).collect(),
        Value::Map(map) => {
            map.iter().map(|(name, value)| (name.to_lossy().into_owned(), to_json_value(value))).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_value::read_json;

    fn told(schema: &str, arguments: &str) -> Vec<(String, String)> {
        let schema = ArgumentSchema::compile(&read_json(schema.as_bytes()).unwrap()).unwrap();
        let faults = schema.faults(&read_json(arguments.as_bytes()).unwrap());
        faults.into_iter().map(|fault| (fault.path, fault.message)).collect()
    }

    #[test]
    fn every_fault_is_told_by_its_path() {
        let schema = r#"{"type": "object", "required": ["id"], "properties": {
            "id": {"type": "string"}, "items": {"type": "array", "items": {"properties": {"price": {"type": "number"}}}}}}"#;
        assert_eq!(told(schema, r#"{"id": "x", "items": [{"price": 1}]}"#), vec![]);
        let faults = told(schema, r#"{"items": [{"price": 1}, {"price": "2"}]}"#);
        let mut paths: Vec<&str> = faults.iter().map(|(path, _)| path.as_str()).collect();
        paths.sort_unstable();
        assert_eq!(paths, ["arguments", "arguments.items[1].price"]);
        assert!(faults.iter().any(|(_, message)| message.contains("\"id\" is a required property")), "{faults:?}");
    }

    #[test]
    fn a_misspelt_name_gets_the_nearest_one() {
        let schema = r#"{"properties": {"keyword": {}}, "additionalProperties": false}"#;
        let faults = told(schema, r#"{"keywrod": 1}"#);
        assert!(faults[0].1.ends_with("(`keywrod`: did you mean `keyword`?)"), "{faults:?}");
    }

    #[test]
    fn a_schema_that_leads_outside_or_is_none_is_refused() {
        for schema in [r#"{"$ref": "https://example.com/schema.json"}"#, r#"{"type": "strng"}"#, r#"{"pattern": "("}"#]
        {
            assert!(ArgumentSchema::compile(&read_json(schema.as_bytes()).unwrap()).is_err(), "{schema}");
        }
    }

    #[test]
    fn a_pattern_cannot_run_for_ever() {
        let schema = r#"{"properties": {"a": {"pattern": "^(a+)+$"}}}"#;
        let text = format!(r#"{{"a": "{}!"}}"#, "a".repeat(5000));
        assert_eq!(told(schema, &text).len(), 1);
    }
}
