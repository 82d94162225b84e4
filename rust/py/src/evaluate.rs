//! The expression engine by itself, for tests that compare it with others.
use callgate_core::expression::evaluate_alone;
use callgate_value::{Map, Value};
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::lift::{lift_arguments, to_python};

create_exception!(_core, ExpressionError, PyValueError, "An expression with a mistake, or one that came to an error.");

/// Adds what this module has to the Python module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("ExpressionError", module.py().get_type::<ExpressionError>())?;
    module.add_function(wrap_pyfunction!(_evaluate, module)?)
}

/// Evaluates a CEL expression, for tests.
///
/// Args:
///     source: the expression.
///     bindings: its variables with their values, JSON-like; each is of type dyn to the checker.
///
/// Returns:
///     Its value as data: bytes as base64, times and durations as text, types by name, an optional as its value or None.
///
/// Raises:
///     ExpressionError: a mistake or an error; its arguments are the kind (`cel-syntax`, `divide_by_zero`) and the message.
#[pyfunction]
#[pyo3(signature = (source, bindings))]
fn _evaluate<'py>(py: Python<'py>, source: &str, bindings: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let lifted = lift_arguments(bindings).map_err(|fault| fault.into_error(py, "bindings"))?;
    let no_variables = Map::default();
    let bindings = if let Value::Map(map) = &lifted { map } else { &no_variables };
    match evaluate_alone(source, bindings) {
        Ok(value) => to_python(py, &value),
        Err((kind, message)) => Err(ExpressionError::new_err((kind, message))),
    }
}
