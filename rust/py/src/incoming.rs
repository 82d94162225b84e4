//! What Python hands in, as the core takes it: requests, outcomes, a person's yes and no.
use std::sync::Arc;

use callgate_core::{lift, Grants, No, Outcome, Reported, Request, Scope, Yes};
use callgate_value::{Map, Value};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::lift::{lift_arguments, lift_result};

/// (type, status, message)
pub(crate) type ReportedError = (Option<Loose>, Option<i64>, Option<Loose>);

/// A text from outside; lone surrogates, which a model can send and Rust cannot hold, become U+FFFD.
pub(crate) struct Loose(pub(crate) String);

impl<'py> FromPyObject<'_, 'py> for Loose {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let text = object.cast::<PyString>().map_err(|_| {
            let name = object.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
            PyTypeError::new_err(format!("expected text, found `{name}`"))
        })?;
        Ok(Self(text.to_string_lossy().into_owned()))
    }
}

pub(crate) fn request(
    tool: String,
    arguments: &Bound<'_, PyAny>,
    call_id: Option<String>,
    hints: Option<&Bound<'_, PyAny>>,
    again: bool,
) -> Request {
    let lifted = lift_arguments(arguments).map_err(|fault| fault.into_error(arguments.py(), "arguments"));
    let (arguments, fault) = match lifted {
        Ok(map @ Value::Map(_)) => (map, None),
        Ok(other) => (Value::Map(Map::default()), Some(no_map(&other))),
        Err(error) => (Value::Map(Map::default()), Some(error.value(arguments.py()).to_string())),
    };
    Request {
        tool: tool.into(),
        arguments: Arc::new(arguments),
        call_id: call_id.map(Into::into),
        hints: hints.map(|hints| Arc::new(lift_result(hints))),
        fault: fault.map(Into::into),
        again,
    }
}

/// What is wrong with arguments that are no map.
fn no_map(arguments: &Value) -> String {
    match arguments {
        Value::Str(_) => {
            "`arguments` is a text, and a map from names is wanted: JSON has to be parsed first".to_owned()
        }
        _ => "`arguments` is not a map from names".to_owned(),
    }
}

pub(crate) fn reported((kind, status, message): ReportedError) -> Reported {
    let text = |text: Option<Loose>| text.map(|text| text.0.into());
    Reported { kind: text(kind), status, message: text(message) }
}

/// An outcome as it comes from Python.
#[allow(clippy::too_many_arguments)]
pub(crate) fn outcome(
    result: Option<&Bound<'_, PyAny>>,
    known: bool,
    error: Option<ReportedError>,
    is_error: bool,
    digest: Option<String>,
    tokens: Option<f64>,
    cached: Option<f64>,
) -> Outcome {
    let lifted = match (known, result) {
        (false, _) => None,
        (true, Some(result)) => Some(lift_result(result)),
        (true, None) => Some(Value::Null),
    };
    lift(Outcome {
        result: lifted.map(Arc::new),
        digest: digest.map(Into::into),
        error: error.map(reported),
        is_error,
        tokens,
        cached,
        said: None,
    })
}

/// A person's yes, as it comes from Python.
pub(crate) fn yes(by: Option<String>, grants: &str) -> PyResult<Yes> {
    let grants = Grants::named(grants).ok_or_else(|| unheard("grants", "once`, `call` or `target", grants))?;
    Ok(Yes { by, grants })
}

/// A person's no.
pub(crate) fn no(by: Option<String>, scope: &str, why: Option<String>) -> PyResult<No> {
    let scope = Scope::named(scope).ok_or_else(|| unheard("scope", "call`, `target` or `tool", scope))?;
    Ok(No { by, scope, why })
}

fn unheard(argument: &str, known: &str, found: &str) -> PyErr {
    PyValueError::new_err(format!("`{argument}` has to be `{known}`, found `{found}`"))
}
