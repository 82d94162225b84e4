//! Reading a document into the model: one pass that collects every fault instead of stopping at the first.
use callgate_value::{Map, Value};
use serde_json::json;

use super::codes::{self, Code};
use super::fault::{Fault, Pointer, Segment};
use super::schema::Defs;
use super::spelling::did_you_mean;

/// Something that stands in a document: it can be read from a value, and it can say what it takes as JSON Schema.
pub trait Model: Sized {
    /// What an author would call it, for "expected …".
    fn wanted() -> String;

    /// Whether the value has the right type; its content is not looked at.
    fn accepts(value: &Value) -> bool;

    /// The value, with every fault in it reported. Nothing if there is not enough to go on.
    fn read(value: &Value, reader: &mut Reader) -> Option<Self>;

    /// What is taken, as JSON Schema 2020-12.
    fn schema(defs: &mut Defs) -> serde_json::Value;

    /// The keys that stand directly in it, where it is a block of keys.
    fn keys() -> &'static [&'static str] {
        &[]
    }
}

/// Something that stands under a key: a [`Model`] that must be there, or an `Option` of one.
pub trait Field: Sized {
    /// Whether the key must be there.
    const REQUIRED: bool;

    /// What stands under `key`.
    fn take(map: &Map, key: &'static str, reader: &mut Reader) -> Option<Self>;

    /// What is taken under the key.
    fn schema(defs: &mut Defs) -> serde_json::Value;
}

impl<T: Model> Field for T {
    const REQUIRED: bool = true;

    fn take(map: &Map, key: &'static str, reader: &mut Reader) -> Option<Self> {
        match map.get(key) {
            None | Some(Value::Null) => {
                reader.missing(key);
                None
            }
            Some(value) => reader.within(Segment::Key(key.to_owned()), |reader| T::read(value, reader)),
        }
    }

    fn schema(defs: &mut Defs) -> serde_json::Value {
        <T as Model>::schema(defs)
    }
}

impl<T: Model> Field for Option<T> {
    const REQUIRED: bool = false;

    /// An explicit null takes back what an inherited layer says; to the reader it is the same as nothing.
    fn take(map: &Map, key: &'static str, reader: &mut Reader) -> Option<Self> {
        match map.get(key) {
            None | Some(Value::Null) => Some(None),
            Some(value) => Some(reader.within(Segment::Key(key.to_owned()), |reader| T::read(value, reader))),
        }
    }

    fn schema(defs: &mut Defs) -> serde_json::Value {
        super::schema::nullable(<T as Model>::schema(defs))
    }
}

/// Where the reader is, and what it has found wrong so far.
#[derive(Debug, Default)]
pub struct Reader {
    at: Pointer,
    faults: Vec<Fault>,
}

impl Reader {
    /// The faults found, in the order in which they were.
    #[must_use]
    pub fn into_faults(self) -> Vec<Fault> {
        self.faults
    }

    /// Runs `read` one step further in.
    pub fn within<R>(&mut self, step: Segment, read: impl FnOnce(&mut Self) -> R) -> R {
        self.at.0.push(step);
        let result = read(self);
        self.at.0.pop();
        result
    }

    /// A fault about the value that is being read.
    #[must_use]
    pub fn fault(&self, code: Code, message: impl Into<String>) -> Fault {
        Fault::value(code, self.at.clone(), message)
    }

    /// Reports a fault.
    pub fn report(&mut self, fault: Fault) {
        self.faults.push(fault);
    }

    /// The faults reported so far, to add what only a caller knows.
    pub fn faults_mut(&mut self) -> &mut Vec<Fault> {
        &mut self.faults
    }

    /// Reports that the value is not what is wanted here.
    pub fn wrong_type(&mut self, value: &Value, wanted: &str) {
        let fault = self.fault(codes::WRONG_TYPE, format!("expected {wanted}, found {}", shown(value)));
        let fault = match type_hint(value, wanted) {
            Some(hint) => fault.hint(hint),
            None => fault,
        };
        self.report(fault);
    }

    /// The map that the value is, with every key reported that is none of `keys`.
    pub fn map<'v>(&mut self, value: &'v Value, noun: &str, keys: &[&str]) -> Option<&'v Map> {
        let Some(map) = value.as_map() else {
            self.wrong_type(value, "a map");
            return None;
        };
        for (key, _) in map.iter() {
            let key = key.to_lossy();
            if keys.contains(&key.as_ref()) {
                continue;
            }
            let place = self.at.block().map_or_else(String::new, |block| format!(" in `{block}`"));
            let fault = Fault::key(codes::UNKNOWN_KEY, self.at.key(&key), format!("unknown {noun} `{key}`{place}"));
            self.report(fault.hint(did_you_mean(&key, keys)));
        }
        Some(map)
    }

    fn missing(&mut self, key: &str) {
        let place = self.at.block().map_or_else(|| "the document".to_owned(), |block| format!("`{block}`"));
        let fault = Fault::key(codes::MISSING_KEY, self.at.clone(), format!("{place} lacks the key `{key}`"));
        self.report(fault.hint(format!("add `{key}:`")));
    }
}

/// A value as messages show it: scalars as they are, long ones cut, the rest by its type.
#[must_use]
pub fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => format!("`{value}`"),
        Value::Int(value) => format!("`{value}`"),
        Value::BigInt(digits) => format!("`{}`", cut(digits)),
        Value::Float(value) => format!("`{value}`"),
        Value::Str(text) => format!("the text `{}`", cut(&text.to_lossy())),
        Value::List(_) => "a list".to_owned(),
        Value::Map(_) => "a map".to_owned(),
        Value::Foreign(_) => "something that YAML has no form for".to_owned(),
    }
}

fn cut(text: &str) -> String {
    const SHOWN: usize = 40;
    let mut short: String = text.chars().take(SHOWN).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

fn type_hint(value: &Value, wanted: &str) -> Option<String> {
    match value {
        Value::Str(text) if wanted.contains("number") => {
            let text = text.as_str()?;
            text.parse::<f64>().ok().map(|_| format!("write it without quotes: {text}"))
        }
        Value::Str(text) if wanted.starts_with("true or false") => match text.as_str()? {
            "yes" | "on" | "True" | "TRUE" | "true" => Some("write true".to_owned()),
            "no" | "off" | "False" | "FALSE" | "false" => Some("write false".to_owned()),
            _ => None,
        },
        Value::Int(number) if wanted.contains("duration") => {
            Some(format!("add its unit: {number}s, or another of ms, s, m, h"))
        }
        Value::Int(_) | Value::Float(_) | Value::Bool(_) if wanted.contains("text") || wanted.contains("CEL") => {
            Some(format!("put it in quotes: \"{}\"", shown(value).trim_matches('`')))
        }
        Value::Int(0) if wanted.starts_with("a list") => Some("write [] for none".to_owned()),
        Value::Str(text) if wanted.starts_with("a list") => Some(format!("write [{}]", cut(&text.to_lossy()))),
        _ => None,
    }
}

impl<T: Model> Model for Vec<T> {
    fn wanted() -> String {
        format!("a list, each entry {}", T::wanted())
    }

    fn accepts(value: &Value) -> bool {
        matches!(value, Value::List(_))
    }

    fn read(value: &Value, reader: &mut Reader) -> Option<Self> {
        let Some(list) = value.as_list() else {
            reader.wrong_type(value, &Self::wanted());
            // entries that were written by name, as maps elsewhere are
            if let (Value::Map(_), true, Some(fault)) = (value, T::keys().contains(&"id"), reader.faults.last_mut()) {
                fault.hint = Some("write a list, in which each entry has its name as `id`: `- id: …`".to_owned());
            }
            return None;
        };
        // all entries are read for their faults; a list with one missing is not given out, since positions would shift
        let read = |(index, entry)| reader.within(Segment::Index(index), |reader| T::read(entry, reader));
        let entries: Vec<Option<T>> = list.iter().enumerate().map(read).collect();
        entries.into_iter().collect()
    }

    fn schema(defs: &mut Defs) -> serde_json::Value {
        json!({"type": "array", "items": <T as Model>::schema(defs)})
    }
}

/// Things by the names that the author gave them, in the author's order. An entry of null takes back an inherited one.
#[derive(Clone, Debug)]
pub struct Named<T>(pub Vec<(String, T)>);

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Named<T> {
    /// What stands under `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&T> {
        self.0.iter().find(|(have, _)| have == name).map(|(_, value)| value)
    }

    /// The names and what stands under them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &T)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The names and what stands under them, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut T)> {
        self.0.iter_mut().map(|(name, value)| (name.as_str(), value))
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: Model> Model for Named<T> {
    fn wanted() -> String {
        "a map".to_owned()
    }

    fn accepts(value: &Value) -> bool {
        matches!(value, Value::Map(_))
    }

    fn read(value: &Value, reader: &mut Reader) -> Option<Self> {
        let Some(map) = value.as_map() else {
            reader.wrong_type(value, "a map from names");
            return None;
        };
        let mut entries = Vec::with_capacity(map.len());
        for (name, entry) in map.iter() {
            let name = name.to_lossy().into_owned();
            if matches!(entry, Value::Null) {
                continue;
            }
            let read = reader.within(Segment::Key(name.clone()), |reader| T::read(entry, reader));
            entries.extend(read.map(|entry| (name, entry)));
        }
        Some(Self(entries))
    }

    fn schema(defs: &mut Defs) -> serde_json::Value {
        json!({"type": "object", "additionalProperties": super::schema::nullable(<T as Model>::schema(defs))})
    }
}

#[cfg(test)]
mod tests {
    use callgate_value::read_json;

    use super::{Model, Named, Reader};
    use crate::model::detectors::Detectors;
    use crate::model::fault::{Fault, Part, Pointer, Severity};
    use crate::model::numbers::Count;
    use crate::model::{codes, envelope};

    fn read<T: Model>(json: &str) -> (Option<T>, Vec<Fault>) {
        let mut reader = Reader::default();
        let read = T::read(&read_json(json.as_bytes()).unwrap(), &mut reader);
        (read, reader.into_faults())
    }

    #[test]
    fn a_misspelt_detector_is_reported_at_its_key_with_what_was_meant() {
        let (_, faults) = read::<Detectors>(r#"{"exact_repeats": {}}"#);
        let fault = Fault {
            code: codes::UNKNOWN_KEY,
            severity: Severity::Error,
            pointer: Pointer::default().key("exact_repeats"),
            span: None,
            part: Part::Key,
            message: "unknown detector `exact_repeats`".to_owned(),
            hint: Some("did you mean `exact_repeat`?".to_owned()),
            related: vec![],
        };
        assert_eq!(faults, [fault]);
    }

    #[test]
    fn every_fault_is_found_in_one_pass_and_the_rest_is_read() {
        let (detectors, faults) = read::<Detectors>(
            r#"{"window": "50", "cycle": {"laps": 1, "lap": 3}, "same_error": {"note_after": 3, "cool_down": "1h30m"}}"#,
        );
        let codes: Vec<_> = faults.iter().map(|fault| fault.code.id).collect();
        assert_eq!(codes, ["CG203", "CG201", "CG205", "CG206"]);
        assert_eq!(detectors.unwrap().same_error.unwrap().note_after, Some(Count(3)));
    }

    #[test]
    fn null_is_as_good_as_nothing_where_a_key_may_be_left_out() {
        let (detectors, faults) = read::<Detectors>(r#"{"window": null, "for": {"a": null, "b": {"cycle": null}}}"#);
        let detectors = detectors.unwrap();
        assert_eq!((faults, detectors.window), (vec![], None));
        assert_eq!(detectors.r#for.unwrap().iter().map(|(name, _)| name).collect::<Vec<_>>(), ["b"]);
    }

    #[test]
    fn null_is_a_missing_key_where_a_key_must_be_there() {
        let (metadata, faults) = read::<envelope::Metadata>(r#"{"name": null}"#);
        assert!(metadata.is_none());
        let fault = Fault::key(codes::MISSING_KEY, Pointer::default(), "the document lacks the key `name`");
        assert_eq!(faults, [fault.hint("add `name:`")]);
    }

    #[test]
    fn a_list_with_a_faulty_entry_is_not_given_out_but_all_its_faults_are() {
        let (list, faults) = read::<Vec<Count<1>>>(r#"[1, 0, "2"]"#);
        assert!(list.is_none());
        let places: Vec<_> = faults.into_iter().map(|fault| (fault.code.id, fault.pointer)).collect();
        assert_eq!(places, [("CG205", Pointer::default().index(1)), ("CG203", Pointer::default().index(2))]);
    }

    #[test]
    fn names_keep_the_order_of_the_author() {
        let (named, _) = read::<Named<Count>>(r#"{"b": 1, "a": 2}"#);
        assert_eq!(named.unwrap().0, [("b".to_owned(), Count(1)), ("a".to_owned(), Count(2))]);
    }
}
