//! Expressions of a policy. So far plain field paths, which need no evaluator; all else is refused at load.
use std::sync::Arc;

use callgate_value::Value;

/// A compiled expression: a variable and the fields to follow from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression {
    source: Arc<str>,
    root: Arc<str>,
    fields: Box<[String]>,
}

/// Why an expression gave no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvaluationError {
    /// There is no such variable now.
    NoVariable(String),
    /// There is no such field.
    NoField(String),
    /// The value is of another type than is wanted here.
    WrongType(&'static str),
}

impl std::fmt::Display for EvaluationError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoVariable(name) => write!(f, "`{name}` has no value here"),
            Self::NoField(path) => write!(f, "there is no field `{path}`"),
            Self::WrongType(wanted) => write!(f, "the value is no {wanted}"),
        }
    }
}

/// Where an expression finds its variables.
pub trait Scope {
    /// The variable of this name, if it exists now.
    fn variable(&self, name: &str) -> Option<&Value>;
}

impl Expression {
    /// The expression, if `source` is a plain field path such as `args.cursor`.
    #[must_use]
    pub fn field_path(source: &str) -> Option<Self> {
        let mut segments = source.trim().split('.');
        let is_name = |text: &str| {
            let mut letters = text.chars();
            letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
                && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        };
        let root =
            segments.next().filter(|root| is_name(root) && !matches!(*root, "true" | "false" | "null" | "in"))?;
        let fields: Vec<String> =
            segments.map(|field| is_name(field).then(|| field.to_owned())).collect::<Option<_>>()?;
        Some(Self { source: source.trim().into(), root: root.into(), fields: fields.into() })
    }

    /// The text as the author wrote it.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The variable that it starts from.
    #[must_use]
    pub fn root(&self) -> &str {
        &self.root
    }

    /// The fields that it follows.
    #[must_use]
    pub fn fields(&self) -> &[String] {
        &self.fields
    }

    /// Its value.
    ///
    /// # Errors
    /// [`EvaluationError`], where a variable or a field is missing.
    pub fn evaluate<'a>(&self, scope: &'a dyn Scope) -> Result<&'a Value, EvaluationError> {
        let mut value = scope.variable(&self.root).ok_or_else(|| EvaluationError::NoVariable(self.root.to_string()))?;
        for field in &self.fields {
            let map = value.as_map().ok_or(EvaluationError::WrongType("map"))?;
            value = map.get(field).ok_or_else(|| EvaluationError::NoField(self.source.to_string()))?;
        }
        Ok(value)
    }

    /// Its value as a condition.
    ///
    /// # Errors
    /// [`EvaluationError`], where it has none or is no boolean.
    pub fn test(&self, scope: &dyn Scope) -> Result<bool, EvaluationError> {
        self.evaluate(scope)?.as_bool().ok_or(EvaluationError::WrongType("boolean"))
    }

    /// Its value, or nothing where the field or variable is absent or null: for optional keys.
    #[must_use]
    pub fn optional<'a>(&self, scope: &'a dyn Scope) -> Option<&'a Value> {
        self.evaluate(scope).ok().filter(|value| !matches!(value, Value::Null))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_paths_are_field_paths() {
        for plain in ["result", "args.cursor", "result.a.b_1", " args.x "] {
            assert!(Expression::field_path(plain).is_some(), "{plain}");
        }
        for other in ["size(x)", "a == b", "a..b", "1.2", "", "a.", "true", "a[0]", "a.b()", "a.é"] {
            assert!(Expression::field_path(other).is_none(), "{other}");
        }
    }
}
