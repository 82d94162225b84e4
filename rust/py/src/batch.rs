//! `callgate.batch.scan` at the border: copies integer buffers in, runs the core without the GIL, copies columns out.
use callgate_core::batch::{scan, RowColumns, Scan, ScanOptions, SessionColumn, SessionStats, Totals};
use pyo3::buffer::{Element, ElementType, PyBuffer, PyUntypedBuffer};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyMemoryView, PySlice};
use std::num::NonZeroUsize;

/// Column name to the bytes of the column.
type Columns<'py> = Bound<'py, PyDict>;

/// Adds `batch_scan` to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(batch_scan, module)?)
}

/// Scans columns given as lists of one-dimensional integer buffers, one after the other.
///
/// Returns `(sessions, totals, rows)`, each a dict from column name to the bytes of the column (`totals`: to a number).
/// Counts are int64, `session` the 64 bits of the input, entropies float64; of rows, `repeat` is bool, `period` and
/// `distinct` uint32.
#[pyfunction]
#[pyo3(signature = (symbols, sessions, *, window, max_period, laps, threads, rows, hash_key))]
#[allow(clippy::too_many_arguments, reason = "the keywords of the Python function")]
fn batch_scan<'py>(
    py: Python<'py>,
    symbols: Vec<Bound<'py, PyAny>>,
    sessions: Vec<Bound<'py, PyAny>>,
    window: u32,
    max_period: u32,
    laps: u32,
    threads: Option<usize>,
    rows: bool,
    hash_key: u64,
) -> PyResult<(Columns<'py>, Bound<'py, PyDict>, Option<Columns<'py>>)> {
    let threads = match threads {
        None => std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        Some(threads) => {
            NonZeroUsize::new(threads).ok_or_else(|| PyValueError::new_err("`threads` must be 1 or more"))?
        }
    };
    let options = ScanOptions { window, max_period, laps, rows, threads, hash_key };
    let symbols = copied(py, &symbols)?;
    let sessions = session_column(py, &sessions)?;
    let found = py
        .detach(move || scan(&symbols, &sessions, &options))
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    let Scan { sessions, totals, rows } = found;
    let rows = rows.map(|rows| row_columns(py, rows)).transpose()?;
    Ok((session_columns(py, &sessions)?, totals_dict(py, &totals)?, rows))
}

/// Calls `$append` with the typed buffer and a conversion to 64 bits; negative values keep their sign, so that equal
/// stays equal.
macro_rules! each_integer_type {
    ($py:ident, $part:ident, $append:ident, $column:ident) => {{
        let buffer = PyUntypedBuffer::get($part)?;
        match ElementType::from_format(buffer.format()) {
            // an empty buffer may point anywhere, aligned or not
            _ if buffer.item_count() == 0 => Ok(()),
            ElementType::UnsignedInteger { bytes: 8 } => $append($py, typed(buffer)?, $column, |value: u64| value),
            ElementType::UnsignedInteger { bytes: 4 } => {
                $append($py, typed(buffer)?, $column, |value: u32| value.into())
            }
            ElementType::UnsignedInteger { bytes: 2 } => {
                $append($py, typed(buffer)?, $column, |value: u16| value.into())
            }
            ElementType::UnsignedInteger { bytes: 1 } => {
                $append($py, typed(buffer)?, $column, |value: u8| value.into())
            }
            ElementType::SignedInteger { bytes: 8 } => $append($py, typed(buffer)?, $column, |value: i64| value as u64),
            ElementType::SignedInteger { bytes: 4 } => $append($py, typed(buffer)?, $column, |value: i32| value as u64),
            ElementType::SignedInteger { bytes: 2 } => $append($py, typed(buffer)?, $column, |value: i16| value as u64),
            ElementType::SignedInteger { bytes: 1 } => $append($py, typed(buffer)?, $column, |value: i8| value as u64),
            _ => Err(PyTypeError::new_err("a column must hold integers")),
        }
    }};
}

fn typed<T: Element>(buffer: PyUntypedBuffer) -> PyResult<PyBuffer<T>> {
    buffer.into_typed().map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The one copy of the symbols: the core reads them without the GIL.
fn copied(py: Python<'_>, parts: &[Bound<'_, PyAny>]) -> PyResult<Vec<u64>> {
    let mut column = Vec::new();
    let target = &mut column;
    for part in parts {
        each_integer_type!(py, part, append_symbols, target)?;
    }
    Ok(column)
}

fn append_symbols<T: Element>(
    py: Python<'_>,
    buffer: PyBuffer<T>,
    column: &mut Vec<u64>,
    widen: impl Fn(T) -> u64,
) -> PyResult<()> {
    let values = buffer.to_vec(py)?.into_iter().map(widen);
    if column.is_empty() {
        // collecting takes over the memory of a 64-bit column
        *column = values.collect();
    } else {
        column.extend(values);
    }
    Ok(())
}

/// Rows copied at a time where the copy is read at once, so that it stays in the nearest caches.
const ROWS_AT_A_TIME: usize = 8192;

/// The sessions as stretches of equal neighbours; the column itself is never copied as a whole.
fn session_column(py: Python<'_>, parts: &[Bound<'_, PyAny>]) -> PyResult<SessionColumn> {
    let mut column = SessionColumn::default();
    let target = &mut column;
    for part in parts {
        let view = PyMemoryView::from(part)?;
        for start in (0..view.len()?).step_by(ROWS_AT_A_TIME) {
            let rows = PySlice::new(py, start as isize, start.saturating_add(ROWS_AT_A_TIME) as isize, 1);
            let part = &view.get_item(rows)?;
            each_integer_type!(py, part, append_sessions, target)?;
        }
    }
    Ok(column)
}

fn append_sessions<T: Element>(
    py: Python<'_>,
    buffer: PyBuffer<T>,
    column: &mut SessionColumn,
    widen: impl Fn(T) -> u64,
) -> PyResult<()> {
    column.extend(&buffer.to_vec(py)?, |value| widen(*value));
    Ok(())
}

fn session_columns<'py>(py: Python<'py>, sessions: &[SessionStats]) -> PyResult<Columns<'py>> {
    let columns = PyDict::new(py);
    let integers = |name: &str, value: fn(&SessionStats) -> i64| {
        columns.set_item(name, bytes(py, sessions, |stats| value(stats).to_ne_bytes())?)
    };
    integers("session", |stats| stats.session as i64)?;
    integers("first_row", |stats| stats.first_row.into())?;
    integers("calls", |stats| stats.calls.into())?;
    integers("repeats", |stats| stats.repeats.into())?;
    integers("longest_run", |stats| stats.longest_run.into())?;
    integers("highest_count", |stats| stats.highest_count.into())?;
    integers("cycles", |stats| stats.cycles.into())?;
    integers("first_cycle_row", |stats| stats.first_cycle.map_or(-1, |(row, _)| row.into()))?;
    integers("first_cycle_period", |stats| stats.first_cycle.map_or(0, |(_, period)| period.into()))?;
    integers("distinct", |stats| stats.distinct.into())?;
    columns.set_item("entropy", bytes(py, sessions, |stats| stats.entropy.to_ne_bytes())?)?;
    let lowest = |stats: &SessionStats| stats.min_entropy.unwrap_or(f64::NAN).to_ne_bytes();
    columns.set_item("min_entropy", bytes(py, sessions, lowest)?)?;
    Ok(columns)
}

fn row_columns(py: Python<'_>, rows: RowColumns) -> PyResult<Columns<'_>> {
    let columns = PyDict::new(py);
    columns.set_item("repeat", bytes(py, &rows.repeat, |value| [u8::from(*value)])?)?;
    columns.set_item("period", bytes(py, &rows.period, |value| value.to_ne_bytes())?)?;
    columns.set_item("distinct", bytes(py, &rows.distinct, |value| value.to_ne_bytes())?)?;
    columns.set_item("entropy", bytes(py, &rows.entropy, |value| value.to_ne_bytes())?)?;
    Ok(columns)
}

fn totals_dict<'py>(py: Python<'py>, totals: &Totals) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("sessions", totals.sessions)?;
    dict.set_item("calls", totals.calls)?;
    dict.set_item("repeats", totals.repeats)?;
    dict.set_item("cycles", totals.cycles)?;
    dict.set_item("cycling_sessions", totals.cycling_sessions)?;
    dict.set_item("distinct", totals.distinct)?;
    dict.set_item("longest_run", totals.longest_run)?;
    dict.set_item("highest_count", totals.highest_count)?;
    dict.set_item("min_entropy", totals.min_entropy)?;
    Ok(dict)
}

fn bytes<'py, T, const WIDTH: usize>(
    py: Python<'py>,
    values: &[T],
    encode: impl Fn(&T) -> [u8; WIDTH],
) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, values.len().saturating_mul(WIDTH), |target| {
        let (cells, _) = target.as_chunks_mut::<WIDTH>();
        for (cell, value) in cells.iter_mut().zip(values) {
            *cell = encode(value);
        }
        Ok(())
    })
}
