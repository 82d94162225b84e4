//! Python objects into values, and values back into Python objects.
//!
//! No code of the host's runs here: containers are read through the C level of their built-in base, objects through
//! their stored fields, and what would need a method call is refused (arguments) or opaque (results). Whatever a class
//! overrides (`__iter__`, `__eq__`, `__getattribute__`, a metaclass) is never asked.
use callgate_value::{Foreign, ForeignKind, Map, Text, Value};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};

use crate::host_object::{self, Fields};
use crate::lift_fault::{LiftFault, Reason};
use crate::long_int;
use crate::plain;

/// Lists and maps inside each other that are lifted.
pub const DEPTH: usize = 64;
/// Values in one lifted object.
const VALUES: usize = 1_000_000;
/// Bytes of text in one lifted object.
const BYTES: usize = 64 << 20;

/// What is done with that which JSON does not know.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// It is refused.
    Arguments,
    /// It is lifted by its fields or its text where that needs no code of the host's, else it is opaque.
    Results,
}

/// Lifts arguments: JSON-like data only.
///
/// # Errors
/// What is not JSON-like, too deep or too much, with the steps that lead to it.
pub fn lift_arguments(object: &Bound<'_, PyAny>) -> Result<Value, LiftFault> {
    if let Some(value) = plain::lift(object) {
        return Ok(value);
    }
    let answer = Lifter::new(Mode::Arguments).value(object);
    match answer {
        // Looking out for cycles costs time; once it is known that there may be one, a second pass finds its first turn.
        Err(fault) if fault.is_too_deep() => Lifter { watch: true, ..Lifter::new(Mode::Arguments) }.value(object),
        answer => answer,
    }
}

/// Lifts a result: whatever it is. What has no lasting text form is opaque and equals nothing.
pub fn lift_result(object: &Bound<'_, PyAny>) -> Value {
    plain::lift(object).unwrap_or_else(|| Lifter::new(Mode::Results).value(object).unwrap_or_else(|_| opaque()))
}

/// An opaque value.
fn opaque() -> Value {
    Value::Foreign(Box::new(Foreign { kind: ForeignKind::Opaque, text: String::new() }))
}

struct Lifter {
    mode: Mode,
    values: usize,
    bytes: usize,
    /// Whether a container inside itself is looked out for, rather than left to run into the depth limit.
    watch: bool,
    /// The addresses of the containers that are being read, outermost first.
    open: Vec<usize>,
}

impl Lifter {
    fn new(mode: Mode) -> Self {
        Self { mode, values: VALUES, bytes: BYTES, watch: mode == Mode::Results, open: Vec::new() }
    }

    fn value(&mut self, object: &Bound<'_, PyAny>) -> Result<Value, LiftFault> {
        match self.try_value(object) {
            Err(_) if self.mode == Mode::Results => Ok(opaque()),
            answer => answer,
        }
    }

    /// Exact types first, since nearly everything is one; then whatever derives from them, by its base value.
    fn try_value(&mut self, object: &Bound<'_, PyAny>) -> Result<Value, LiftFault> {
        self.values = self.values.checked_sub(1).ok_or_else(|| LiftFault::new(Reason::TooMuch))?;
        if object.is_exact_instance_of::<PyString>() {
            if let Ok(text) = object.cast::<PyString>() {
                return Ok(Value::Str(self.text(text)?));
            }
        }
        if object.is_exact_instance_of::<PyInt>() {
            return Self::integer(object);
        }
        if object.is_none() {
            return Ok(Value::Null);
        }
        if let Ok(boolean) = object.cast_exact::<PyBool>() {
            return Ok(Value::Bool(boolean.is_true()));
        }
        if let Ok(dict) = object.cast::<PyDict>() {
            return self.nested(object, |lifter| lifter.map(dict));
        }
        if let Ok(list) = object.cast::<PyList>() {
            return self.nested(object, |lifter| lifter.list(list.iter()));
        }
        if let Ok(float) = object.cast::<PyFloat>() {
            return Ok(Value::Float(float.value()));
        }
        if let Ok(tuple) = object.cast::<PyTuple>() {
            return self.nested(object, |lifter| lifter.list(tuple.iter()));
        }
        if let Ok(text) = object.cast::<PyString>() {
            return Ok(Value::Str(self.text(text)?));
        }
        if object.cast::<PyInt>().is_ok() {
            return Self::integer(object);
        }
        match self.mode {
            Mode::Arguments => Err(LiftFault::new(Reason::NotJson(host_object::describe(object)))),
            Mode::Results => self.host_object(object),
        }
    }

    fn integer(object: &Bound<'_, PyAny>) -> Result<Value, LiftFault> {
        match object.extract::<i64>() {
            Ok(number) => Ok(Value::Int(number)),
            Err(_) => long_int::digits(object)
                .map(|digits| Value::BigInt(digits.into()))
                .ok_or_else(|| LiftFault::new(Reason::TooManyDigits)),
        }
    }

    fn text(&mut self, text: &Bound<'_, PyString>) -> Result<Text, LiftFault> {
        let text = match text.to_str() {
            Ok(text) => Text::from(text),
            Err(_) => Text::Surrogates(surrogate_bytes(text).ok_or_else(|| LiftFault::new(Reason::TooMuch))?),
        };
        self.bytes = self.bytes.checked_sub(text.as_bytes().len()).ok_or_else(|| LiftFault::new(Reason::TooMuch))?;
        Ok(text)
    }

    /// Reads a container one level deeper.
    fn nested(
        &mut self,
        object: &Bound<'_, PyAny>,
        read: impl FnOnce(&mut Self) -> Result<Value, LiftFault>,
    ) -> Result<Value, LiftFault> {
        let address = object.as_ptr() as usize;
        if self.watch && self.open.contains(&address) {
            return Err(LiftFault::new(Reason::Cyclic));
        }
        if self.open.len() >= DEPTH {
            return Err(LiftFault::new(Reason::TooDeep));
        }
        self.open.push(address);
        let value = read(self);
        self.open.pop();
        value
    }

    fn list<'py>(&mut self, items: impl ExactSizeIterator<Item = Bound<'py, PyAny>>) -> Result<Value, LiftFault> {
        let mut lifted = Vec::with_capacity(items.len().min(self.values));
        for (at, item) in items.enumerate() {
            lifted.push(self.value(&item).map_err(|fault| fault.inside_index(at))?);
        }
        Ok(Value::List(lifted))
    }

    fn map(&mut self, dict: &Bound<'_, PyDict>) -> Result<Value, LiftFault> {
        // Taken out first: reading a value may create objects, which may start the garbage collector and with it code
        // that changes this dict.
        let pairs: Vec<_> = dict.iter().collect();
        let mut entries = Vec::with_capacity(pairs.len());
        for (key, value) in &pairs {
            let Ok(name) = key.cast::<PyString>() else {
                return Err(LiftFault::new(Reason::KeyNotText(host_object::describe(key).name)));
            };
            let name = self.text(name)?;
            match self.value(value) {
                Ok(value) => entries.push((name, value)),
                Err(fault) => return Err(fault.inside_key(&name)),
            }
        }
        Self::map_of(entries)
    }

    fn map_of(entries: Vec<(Text, Value)>) -> Result<Value, LiftFault> {
        Map::new(entries).map(Value::Map).map_err(|_| LiftFault::new(Reason::KeyTwice))
    }

    /// A result's part that is nothing JSON knows.
    fn host_object(&mut self, object: &Bound<'_, PyAny>) -> Result<Value, LiftFault> {
        let foreign = |kind, text| Ok(Value::Foreign(Box::new(Foreign { kind, text })));
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return foreign(ForeignKind::Bytes, host_object::bytes_text(bytes.as_bytes()));
        }
        if let Ok(bytes) = object.cast::<PyByteArray>() {
            return foreign(ForeignKind::Bytes, host_object::bytes_text(&bytes.to_vec()));
        }
        let not_json = || LiftFault::new(Reason::TooMuch);
        let reach = host_object::reach(object.py()).map_err(|_| not_json())?;
        if let Some((kind, text)) = reach.standard_text(object) {
            return foreign(kind, text);
        }
        match reach.fields(object) {
            Some(Fields::Enum(value)) if value.cast::<PyString>().is_ok() || is_plain_int(&value) => self.value(&value),
            Some(Fields::Record(fields)) => self.nested(object, |lifter| {
                let mut entries = Vec::with_capacity(fields.len());
                for (name, value) in &fields {
                    let name = name.cast::<PyString>().map_err(|_| not_json())?;
                    entries.push((lifter.text(name)?, lifter.value(value)?));
                }
                Self::map_of(entries)
            }),
            _ => Ok(opaque()),
        }
    }
}

fn is_plain_int(object: &Bound<'_, PyAny>) -> bool {
    object.cast::<PyInt>().is_ok() && object.cast::<PyBool>().is_err()
}

/// The WTF-8 bytes of a string with lone surrogates.
fn surrogate_bytes(text: &Bound<'_, PyString>) -> Option<Box<[u8]>> {
    let py = text.py();
    // `str.encode` of the base type itself, whatever a subclass makes of it
    let encoded = PyType::new::<PyString>(py)
        .call_method1(intern!(py, "encode"), (text, intern!(py, "utf-8"), intern!(py, "surrogatepass")))
        .ok()?;
    Some(encoded.cast::<PyBytes>().ok()?.as_bytes().into())
}

/// A value as a Python object: equal to what was lifted, keys in the order in which they came. Host values are their
/// text.
///
/// # Errors
/// Only what Python raises for want of memory.
pub fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(value) => PyBool::new(py, *value).to_owned().into_any(),
        Value::Int(value) => value.into_pyobject(py)?.into_any(),
        Value::BigInt(digits) => long_int::to_python(py, digits)?,
        Value::Float(value) => PyFloat::new(py, *value).into_any(),
        Value::Str(text) => text_to_python(py, text)?.into_any(),
        Value::List(items) => {
            let items: Vec<_> = items.iter().map(|item| to_python(py, item)).collect::<PyResult<_>>()?;
            PyList::new(py, items)?.into_any()
        }
        Value::Map(map) => {
            let dict = PyDict::new(py);
            for (key, value) in map.iter() {
                dict.set_item(text_to_python(py, key)?, to_python(py, value)?)?;
            }
            dict.into_any()
        }
        Value::Foreign(foreign) if foreign.kind == ForeignKind::Opaque => PyString::new(py, "<opaque>").into_any(),
        Value::Foreign(foreign) => PyString::new(py, &foreign.text).into_any(),
    })
}

fn text_to_python<'py>(py: Python<'py>, text: &Text) -> PyResult<Bound<'py, PyString>> {
    match text {
        Text::Utf8(text) => Ok(PyString::new(py, text)),
        Text::Surrogates(bytes) => {
            PyString::from_encoded_object(&PyBytes::new(py, bytes), Some(c"utf-8"), Some(c"surrogatepass"))
        }
    }
}
