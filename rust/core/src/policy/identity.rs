//! What makes two calls of a tool the same call.
use callgate_value::Value;

use crate::expression::Expression;

/// Which strings of the arguments are trimmed.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Trim {
    /// None.
    #[default]
    None,
    /// Every top-level string.
    All,
    /// These.
    Names(Vec<String>),
}

/// What makes two calls of a tool the same call.
#[derive(Clone, Debug, Default)]
pub struct Identity {
    /// Arguments left out.
    pub ignore: Vec<String>,
    /// Strings trimmed.
    pub trim: Trim,
    /// Strings in lower case.
    pub casefold: Vec<String>,
    /// Strings that are paths.
    pub paths: Vec<String>,
    /// Lists without order.
    pub unordered: Vec<String>,
    /// Arguments filled in.
    pub defaults: Vec<(String, Value)>,
    /// Arguments that name what is acted upon.
    pub target: Vec<String>,
    /// A key that replaces the arguments.
    pub group: Option<Expression>,
}

impl Identity {
    /// Whether the loose identity always equals the exact one.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.ignore.is_empty()
            && self.trim == Trim::None
            && self.casefold.is_empty()
            && self.paths.is_empty()
            && self.unordered.is_empty()
            && self.defaults.is_empty()
            && self.group.is_none()
    }
}
