//! JSON Schema 2020-12 of the model, made from the same declarations that read it.
use serde_json::{json, Map, Value};

/// What is known of one field: key, documentation, whether it is required, its schema.
pub type FieldSchema = (&'static str, String, bool, Value);

/// The named definitions that a schema refers to.
#[derive(Debug, Default)]
pub struct Defs(Map<String, Value>);

impl Defs {
    /// A reference to the definition `name`, which is made by `fields` the first time it is asked for.
    pub fn object(&mut self, name: &str, doc: String, fields: impl FnOnce(&mut Self) -> Vec<FieldSchema>) -> Value {
        if !self.0.contains_key(name) {
            self.0.insert(name.to_owned(), Value::Bool(true)); // a place is taken first, so that a cycle would end
            let fields = fields(self);
            let required: Vec<&str> = fields.iter().filter(|field| field.2).map(|field| field.0).collect();
            let mut object = json!({
                "type": "object",
                "title": name,
                "description": doc,
                "additionalProperties": false,
            });
            if let Some(object) = object.as_object_mut() {
                if !required.is_empty() {
                    object.insert("required".to_owned(), json!(required));
                }
                let properties =
                    fields.into_iter().map(|(key, doc, _, schema)| (key.to_owned(), described(schema, &doc)));
                object.insert("properties".to_owned(), Value::Object(properties.collect()));
            }
            self.0.insert(name.to_owned(), object);
        }
        reference(name)
    }

    /// A reference to the definition `name`, which is `make` the first time it is asked for.
    pub fn named(&mut self, name: &str, make: impl FnOnce(&mut Self) -> Value) -> Value {
        if !self.0.contains_key(name) {
            self.0.insert(name.to_owned(), Value::Bool(true));
            let made = make(self);
            self.0.insert(name.to_owned(), made);
        }
        reference(name)
    }

    /// The whole schema of a document whose root is `root`.
    #[must_use]
    pub fn document(self, title: &str, root: Value) -> Value {
        let mut document = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": title,
            "$defs": self.0,
        });
        if let (Some(document), Value::Object(root)) = (document.as_object_mut(), root) {
            document.extend(root);
        }
        document
    }
}

/// The schema with a description beside whatever it says.
#[must_use]
pub fn described(mut schema: Value, doc: &str) -> Value {
    if let (Some(object), false) = (schema.as_object_mut(), doc.is_empty()) {
        object.insert("description".to_owned(), json!(doc));
    }
    schema
}

/// The schema, or null: an explicit null takes back what an inherited layer says.
#[must_use]
pub fn nullable(mut schema: Value) -> Value {
    let simple = schema.get("type").is_some_and(Value::is_string) && schema.get("enum").is_none();
    match schema.as_object_mut() {
        Some(object) if simple => {
            let name = object.remove("type").unwrap_or_default();
            object.insert("type".to_owned(), json!([name, "null"]));
            schema
        }
        Some(object) if object.is_empty() => schema,
        _ => json!({"anyOf": [schema, {"type": "null"}]}),
    }
}

/// The lines of a documentation comment as one text; an empty line keeps paragraphs apart.
#[must_use]
pub fn text(lines: &[&str]) -> String {
    let mut text = String::new();
    for line in lines {
        match line.trim() {
            "" => text.push_str("\n\n"),
            line => {
                if !text.is_empty() && !text.ends_with('\n') {
                    text.push(' ');
                }
                text.push_str(line);
            }
        }
    }
    text
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/$defs/{name}")})
}
