//! What is wrong with a document, where, and what to do about it.
use super::codes::Code;

/// One step from the document's root towards a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// The value under a key of a map.
    Key(String),
    /// The value at a position of a list, from 0.
    Index(usize),
}

/// Where a value stands: the steps from the document's root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pointer(pub Vec<Segment>);

impl Pointer {
    /// The place under `key`.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        let mut steps = self.0.clone();
        steps.push(Segment::Key(key.to_owned()));
        Self(steps)
    }

    /// The place at `index`.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        let mut steps = self.0.clone();
        steps.push(Segment::Index(index));
        Self(steps)
    }

    /// The last key on the way, which is what an author calls the block.
    #[must_use]
    pub fn block(&self) -> Option<&str> {
        self.0.iter().rev().find_map(|step| match step {
            Segment::Key(key) => Some(key.as_str()),
            Segment::Index(_) => None,
        })
    }
}

/// Whether a fault is about the key at its pointer or about the value under it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The key itself: it is unknown, or its map lacks something.
    Key,
    /// The value.
    Value,
}

impl Part {
    /// `key` or `value`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Value => "value",
        }
    }
}

/// How bad a fault is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The document cannot be used.
    Error,
    /// It can, but probably does not do what its author wants.
    Warning,
}

impl Severity {
    /// `error` or `warning`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// One thing that is wrong with a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its code, which has a page.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// Where it is.
    pub pointer: Pointer,
    /// Which part of that place.
    pub part: Part,
    /// Where inside the text that stands there, in code points from its start: for mistakes in expressions.
    pub span: Option<(usize, usize)>,
    /// What is wrong: lower case, no full stop, the author's names in backticks.
    pub message: String,
    /// What to do, where that is known.
    pub hint: Option<String>,
    /// Other places that have to do with it, each with what it is.
    pub related: Vec<(Pointer, String)>,
}

impl Fault {
    /// An error about a value.
    #[must_use]
    pub fn value(code: Code, pointer: Pointer, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: Severity::Error,
            pointer,
            part: Part::Value,
            span: None,
            message: message.into(),
            hint: None,
            related: Vec::new(),
        }
    }

    /// An error about a key.
    #[must_use]
    pub fn key(code: Code, pointer: Pointer, message: impl Into<String>) -> Self {
        Self { part: Part::Key, ..Self::value(code, pointer, message) }
    }

    /// The same as a warning.
    #[must_use]
    pub fn warning(self) -> Self {
        Self { severity: Severity::Warning, ..self }
    }

    /// The same with what to do about it.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The same with another place that has to do with it.
    #[must_use]
    pub fn related(mut self, pointer: Pointer, message: impl Into<String>) -> Self {
        self.related.push((pointer, message.into()));
        self
    }
}
