//! Fingerprints and canonical JSON for Python.
//!
//! Plain data goes straight from the Python objects into the canonical text; a copy into a [`Value`] on the way would
//! double the time. Everything else takes the way over the value, which also words the errors. Both ways give one text;
//! tests hold them to it.
use callgate_value::{
    canonical_json as canonical_text, read_json, start_fingerprint, to_json, with_buffer, write_canonical, Digest,
    Value,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::lift::{lift_arguments, lift_result, to_python};
use crate::lift_fault::{argument_error, ArgumentError, LiftFault};
use crate::plain;

/// Adds what this module has to the Python module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("ArgumentError", module.py().get_type::<ArgumentError>())?;
    module.add_function(wrap_pyfunction!(fingerprint, module)?)?;
    module.add_function(wrap_pyfunction!(canonical_json, module)?)?;
    module.add_function(wrap_pyfunction!(_canonical_by_value, module)?)?;
    module.add_function(wrap_pyfunction!(_canonical_result, module)?)?;
    module.add_function(wrap_pyfunction!(_canonical_from_json, module)?)?;
    module.add_function(wrap_pyfunction!(_json_by_value, module)?)?;
    module.add_function(wrap_pyfunction!(_lift, module)?)?;
    module.add_function(wrap_pyfunction!(_lift_and_return, module)?)
}

/// The fingerprint of a call: what makes two calls exactly the same.
///
/// SHA-256 of `callgate/1:` + tool + `:` + the canonical JSON of the arguments.
///
/// Args:
///     tool: the tool's name.
///     arguments: the call's arguments: None, bool, int, float, str, and lists, tuples and dicts (with text keys) of
///         them, at most 64 deep. `1.0` is `1`, a tuple is a list, the order of keys means nothing.
///
/// Returns:
///     64 hex digits.
///
/// Raises:
///     ArgumentError: something in the arguments is not JSON-like; `path` says where.
///
/// Example:
///     >>> from callgate import fingerprint
///     >>> fingerprint("grep", {"q": "x", "limit": 10}) == fingerprint("grep", {"limit": 10.0, "q": "x"})
///     True
#[pyfunction]
#[pyo3(signature = (tool, arguments))]
fn fingerprint<'py>(tool: &Bound<'py, PyString>, arguments: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
    let py = tool.py();
    let name = tool.to_str().map_err(|_| argument_error(py, "tool", "it is not valid Unicode"))?;
    let digest = with_buffer(|buffer| {
        start_fingerprint(name, buffer);
        write_object(arguments, buffer).map_err(|fault| fault.into_error(py, "arguments"))?;
        Ok::<_, PyErr>(Digest::of(buffer))
    })?;
    PyString::from_bytes(py, &digest.hex_bytes())
}

/// The canonical JSON of a value: one text a value, and no two different values one text.
///
/// RFC 8785 where that has a form. Beyond it: integers outside ±(2^53 − 1) end in `n`, `NaN`, `Infinity` and
/// `-Infinity` stand bare, lone surrogates are escaped.
///
/// Args:
///     value: JSON-like data, as for `fingerprint`.
///
/// Returns:
///     The text.
///
/// Raises:
///     ArgumentError: something in the value is not JSON-like; `path` says where.
///
/// Example:
///     >>> from callgate import canonical_json
///     >>> canonical_json({"b": (1.0, 2**53), "a": None})
///     '{"a":null,"b":[1,9007199254740992n]}'
#[pyfunction]
#[pyo3(signature = (value))]
fn canonical_json<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
    let py = value.py();
    with_buffer(|buffer| {
        write_object(value, buffer).map_err(|fault| fault.into_error(py, "value"))?;
        PyString::from_bytes(py, buffer)
    })
}

/// The canonical JSON of a value by way of the lifted copy, for tests.
#[pyfunction]
fn _canonical_by_value(value: &Bound<'_, PyAny>) -> PyResult<String> {
    canonical_text(&lift(value)?).map_err(|fault| PyValueError::new_err(fault.to_string()))
}

/// The canonical JSON of a result, None where a part of it is opaque, for tests.
#[pyfunction]
fn _canonical_result(result: &Bound<'_, PyAny>) -> Option<String> {
    canonical_text(&lift_result(result)).ok()
}

/// The canonical JSON of a JSON text, for tests.
#[pyfunction]
fn _canonical_from_json(text: &[u8]) -> PyResult<String> {
    let value = read_json(text).map_err(|error| PyValueError::new_err(error.to_string()))?;
    canonical_text(&value).map_err(|fault| PyValueError::new_err(fault.to_string()))
}

/// A value as compact JSON by way of the lifted copy, for tests.
#[pyfunction]
fn _json_by_value(value: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(to_json(&lift(value)?))
}

/// Lifts a value and drops the copy, for measurements.
#[pyfunction]
fn _lift(value: &Bound<'_, PyAny>) -> PyResult<()> {
    lift(value).map(drop)
}

/// Lifts a value and gives back the copy, for tests.
#[pyfunction]
fn _lift_and_return<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    to_python(value.py(), &lift(value)?)
}

fn lift(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    lift_arguments(value).map_err(|fault| fault.into_error(value.py(), "value"))
}

/// Appends the canonical text of an object.
fn write_object(object: &Bound<'_, PyAny>, out: &mut Vec<u8>) -> Result<(), LiftFault> {
    let start = out.len();
    if plain::write_canonical(object, out).is_none() {
        out.truncate(start);
        // arguments have no opaque part and no depth that the canonical text does not reach
        let _ = write_canonical(&lift_arguments(object)?, out);
    }
    Ok(())
}
