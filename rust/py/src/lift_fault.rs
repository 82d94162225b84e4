//! Why a Python object cannot be lifted, and the path that leads to the part that cannot.
use callgate_value::Text;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::host_object::Description;
use crate::long_int::MAX_DIGITS;

pyo3::create_exception!(
    callgate,
    ArgumentError,
    PyValueError,
    "Arguments that are not JSON-like, or too deep or too large.\n\n\
     `path` says where, such as `arguments.items[3].price`."
);

/// Why a part cannot be lifted.
#[derive(Debug)]
pub enum Reason {
    /// It is something that JSON does not know.
    NotJson(Description),
    /// A map has a key of this type.
    KeyNotText(String),
    /// Two keys of a map are one text, which only classes derived from `str` bring about.
    KeyTwice,
    /// It contains itself.
    Cyclic,
    /// It lies deeper than is lifted.
    TooDeep,
    /// An integer is too long.
    TooManyDigits,
    /// The whole is too large.
    TooMuch,
}

/// A step from a container to a part of it.
#[derive(Debug)]
enum Step {
    Key(String),
    Index(usize),
}

/// Why a Python object cannot be lifted, and where.
#[derive(Debug)]
pub struct LiftFault(Box<(Reason, Vec<Step>)>);

impl LiftFault {
    /// A fault of the part at hand.
    pub fn new(reason: Reason) -> Self {
        Self(Box::new((reason, Vec::new())))
    }

    /// Whether nesting was the fault.
    pub fn is_too_deep(&self) -> bool {
        matches!(self.0 .0, Reason::TooDeep)
    }

    /// The same fault, seen from the list around it.
    pub fn inside_index(mut self, at: usize) -> Self {
        self.0 .1.push(Step::Index(at));
        self
    }

    /// The same fault, seen from the map around it.
    pub fn inside_key(mut self, key: &Text) -> Self {
        self.0 .1.push(Step::Key(key.to_lossy().into_owned()));
        self
    }

    /// The path from `root`, such as `arguments.items[3]["unit price"]`.
    pub fn path(&self, root: &str) -> String {
        let mut path = root.to_owned();
        for step in self.0 .1.iter().rev() {
            match step {
                Step::Index(at) => path.push_str(&format!("[{at}]")),
                Step::Key(key) if is_name(key) => {
                    path.push('.');
                    path.push_str(key);
                }
                Step::Key(key) => path.push_str(&format!("[{key:?}]")),
            }
        }
        path
    }

    /// The exception for Python, for a value that was called `root`.
    pub fn into_error(self, py: Python<'_>, root: &str) -> PyErr {
        let path = self.path(root);
        let what = match self.0 .0 {
            Reason::NotJson(thing) => format!("`{}` is not JSON-like; {}", thing.name, thing.hint),
            Reason::KeyNotText(name) => format!("a key is of type `{name}`; keys must be text"),
            Reason::KeyTwice => "two keys are the same text".to_owned(),
            Reason::Cyclic => "it contains itself".to_owned(),
            Reason::TooDeep => format!("nested deeper than {}", crate::lift::DEPTH),
            Reason::TooManyDigits => format!("an integer has more than {MAX_DIGITS} digits; pass it as text"),
            Reason::TooMuch => "more than a million values or 64 MiB of text".to_owned(),
        };
        argument_error(py, &path, &what)
    }
}

/// An `ArgumentError` about what stands at `path`.
pub fn argument_error(py: Python<'_>, path: &str, what: &str) -> PyErr {
    let error = ArgumentError::new_err(format!("`{}`: {what}", shortened(path)));
    // An exception of ours takes attributes; if Python has no memory left, that is what is raised.
    match error.value(py).setattr("path", path) {
        Ok(()) => error,
        Err(other) => other,
    }
}

/// The path with its middle left out where it is long: the ends say most.
fn shortened(path: &str) -> String {
    let count = path.chars().count();
    if count <= 160 {
        return path.to_owned();
    }
    let head: String = path.chars().take(80).collect();
    let tail: String = path.chars().skip(count - 60).collect();
    format!("{head}…{tail}")
}

fn is_name(key: &str) -> bool {
    let mut characters = key.chars();
    characters.next().is_some_and(|c| c.is_alphabetic() || c == '_')
        && characters.all(|c| c.is_alphanumeric() || c == '_')
}
