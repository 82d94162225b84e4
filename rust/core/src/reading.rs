//! A result as it came, and, where it is a text that is JSON, as what it says: expressions that read fields see it so.
use std::cell::OnceCell;

use callgate_cel::{Program, Type};
use callgate_value::{read_json, Value};

/// The form in which an expression can read a result that is a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// In either.
    #[default]
    Either,
    /// It reads fields, or items: as JSON, where the text is that.
    Json,
    /// It errs on all that is no text: as the text that it is.
    Text,
}

impl Reading {
    /// The form that an expression needs; none where it reads no result.
    pub(crate) fn of(program: &Program) -> Option<Self> {
        let mut references =
            program.references().iter().filter(|reference| *reference.variable == *"result").peekable();
        references.peek()?;
        let errs_on = |ty: Type| program.prospect(&|name| (name == "result").then(|| ty.clone())).always_errs();
        if references.any(|reference| reference.field.is_some()) || errs_on(Type::String) {
            return Some(Self::Json);
        }
        let needs_text = errs_on(Type::list(Type::Dyn)) && errs_on(Type::map(Type::Dyn, Type::Dyn));
        Some(if needs_text { Self::Text } else { Self::Either })
    }
}

/// A JSON object or list that a text is; none where it is another text.
#[must_use]
pub fn json_of(text: &str) -> Option<Value> {
    text.trim_start().starts_with(['{', '[']).then(|| read_json(text.as_bytes()).ok()).flatten()
}

/// What came back from a call, for those who read it.
pub(crate) struct Readable<'a> {
    whole: Option<&'a Value>,
    /// Whether the tool's manifest reads fields of it.
    has_fields: bool,
    json: OnceCell<Option<Value>>,
}

impl<'a> Readable<'a> {
    pub(crate) fn new(whole: Option<&'a Value>, has_fields: bool) -> Self {
        Self { whole, has_fields, json: OnceCell::new() }
    }

    /// As it came.
    pub(crate) fn whole(&self) -> Option<&'a Value> {
        self.whole
    }

    /// In the form that is asked for; in either, as the manifest reads it.
    pub(crate) fn read(&self, reading: Reading) -> Option<&Value> {
        match reading {
            Reading::Either if self.has_fields => self.as_json(),
            Reading::Json => self.as_json(),
            Reading::Text | Reading::Either => self.whole,
        }
    }

    fn as_json(&self) -> Option<&Value> {
        let Some(Value::Str(text)) = self.whole else { return self.whole };
        self.json.get_or_init(|| json_of(text.as_str()?)).as_ref().or(self.whole)
    }
}
