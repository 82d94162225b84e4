//! Plain YAML for Python: the documents of a text as plain data, where it is plain throughout.
use callgate_value::{read_yaml as read, YamlLimits};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::lift::to_python;

/// Adds what this module has to the Python module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(read_yaml, module)?)
}

/// The documents of a YAML text as plain data, or None where the text is for the careful reader: it has a fault, or
/// something that is not plain.
///
/// Args:
///     text: the whole text.
///     depth: how many maps and lists may stand one inside the other.
///     nodes: how many values and keys there may be, with aliases expanded; what has a name
///         counts twice.
///     key_length: how many bytes a key may have.
#[pyfunction]
fn read_yaml<'py>(
    py: Python<'py>,
    text: &str,
    depth: usize,
    nodes: usize,
    key_length: usize,
) -> PyResult<Option<Bound<'py, PyList>>> {
    let Some(documents) = read(text, YamlLimits { depth, nodes, key_length }) else { return Ok(None) };
    let documents: Vec<_> = documents.iter().map(|document| to_python(py, document)).collect::<PyResult<_>>()?;
    Ok(Some(PyList::new(py, documents)?))
}
