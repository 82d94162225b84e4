//! The fast way for plain data: exact built-in types, 64-bit integers, valid Unicode, not too deep, not too much.
//!
//! Nearly everything is plain. What is not makes these functions give up at once; the careful way then starts anew. No
//! Python object is created here, so neither the garbage collector nor any code of the host's can run in between: a
//! dict that is being read cannot change.
use std::cmp::Ordering;

use callgate_value::{compare_keys, first_bytes, write_float, write_int, write_string, Map, Text, Value};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::lift::DEPTH;

/// Values, and bytes of text, that are plain; more take the careful way, which counts them for good.
const VALUES: usize = 200_000;
const BYTES: usize = 8 << 20;

/// Lifts plain data, or gives up.
pub fn lift(object: &Bound<'_, PyAny>) -> Option<Value> {
    Lifter { values: VALUES, bytes: BYTES }.value(object, DEPTH)
}

/// Appends the canonical text of plain data, or gives up, leaving a part of the text behind.
pub fn write_canonical(object: &Bound<'_, PyAny>, out: &mut Vec<u8>) -> Option<()> {
    Writer { values: VALUES, most: out.len().checked_add(BYTES)?, out, entries: Vec::new() }.value(object, DEPTH)
}

/// What an object is, by its exact type.
enum Plain<'a, 'py> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(&'a str),
    List(&'a Bound<'py, PyList>),
    Tuple(&'a Bound<'py, PyTuple>),
    Dict(&'a Bound<'py, PyDict>),
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "measured: the match on its answer then costs nothing")]
fn plain<'a, 'py>(object: &'a Bound<'py, PyAny>) -> Option<Plain<'a, 'py>> {
    Some(if let Ok(text) = object.cast_exact::<PyString>() {
        Plain::Str(text.to_str().ok()?)
    } else if object.is_exact_instance_of::<PyInt>() {
        Plain::Int(object.extract().ok()?)
    } else if let Ok(dict) = object.cast_exact::<PyDict>() {
        Plain::Dict(dict)
    } else if let Ok(list) = object.cast_exact::<PyList>() {
        Plain::List(list)
    } else if let Ok(float) = object.cast_exact::<PyFloat>() {
        Plain::Float(float.value())
    } else if object.is_none() {
        Plain::Null
    } else if let Ok(boolean) = object.cast_exact::<PyBool>() {
        Plain::Bool(boolean.is_true())
    } else {
        Plain::Tuple(object.cast_exact::<PyTuple>().ok()?)
    })
}

struct Lifter {
    values: usize,
    bytes: usize,
}

impl Lifter {
    fn value(&mut self, object: &Bound<'_, PyAny>, depth: usize) -> Option<Value> {
        self.values = self.values.checked_sub(1)?;
        Some(match plain(object)? {
            Plain::Str(text) => Value::Str(self.text(text)?),
            Plain::Int(number) => Value::Int(number),
            Plain::Float(number) => Value::Float(number),
            Plain::Bool(value) => Value::Bool(value),
            Plain::Null => Value::Null,
            Plain::List(list) => self.list(list.iter(), depth.checked_sub(1)?)?,
            Plain::Tuple(tuple) => self.list(tuple.iter(), depth.checked_sub(1)?)?,
            Plain::Dict(dict) => {
                let depth = depth.checked_sub(1)?;
                let mut entries = Vec::with_capacity(dict.len());
                for (key, value) in dict.iter() {
                    let key = self.text(key.cast_exact::<PyString>().ok()?.to_str().ok()?)?;
                    entries.push((key, self.value(&value, depth)?));
                }
                // exact strings as keys of a dict are unique
                Value::Map(Map::of_unique(entries))
            }
        })
    }

    fn text(&mut self, text: &str) -> Option<Text> {
        self.bytes = self.bytes.checked_sub(text.len())?;
        Some(Text::from(text))
    }

    fn list<'py>(&mut self, items: impl ExactSizeIterator<Item = Bound<'py, PyAny>>, depth: usize) -> Option<Value> {
        let mut lifted = Vec::with_capacity(items.len());
        for item in items {
            lifted.push(self.value(&item, depth)?);
        }
        Some(Value::List(lifted))
    }
}

/// An entry of a dict that waits to be written: the start of its key, the key, the value.
type Entry<'py> = (u64, Bound<'py, PyAny>, Bound<'py, PyAny>);

struct Writer<'out, 'py> {
    values: usize,
    most: usize,
    out: &'out mut Vec<u8>,
    /// The entries of all dicts that are open, each dict's in falling order, so that the next one is the last.
    entries: Vec<Entry<'py>>,
}

impl<'py> Writer<'_, 'py> {
    fn value(&mut self, object: &Bound<'py, PyAny>, depth: usize) -> Option<()> {
        self.values = self.values.checked_sub(1)?;
        match plain(object)? {
            Plain::Str(text) => self.text(text)?,
            Plain::Int(number) => write_int(number, self.out),
            Plain::Float(number) => write_float(number, self.out),
            Plain::Bool(true) => self.out.extend_from_slice(b"true"),
            Plain::Bool(false) => self.out.extend_from_slice(b"false"),
            Plain::Null => self.out.extend_from_slice(b"null"),
            Plain::List(list) => self.list(list.iter(), depth.checked_sub(1)?)?,
            Plain::Tuple(tuple) => self.list(tuple.iter(), depth.checked_sub(1)?)?,
            Plain::Dict(dict) => self.dict(dict, depth.checked_sub(1)?)?,
        }
        Some(())
    }

    fn text(&mut self, text: &str) -> Option<()> {
        if self.out.len() > self.most {
            return None;
        }
        write_string(text.as_bytes(), self.out);
        Some(())
    }

    fn list(&mut self, items: impl Iterator<Item = Bound<'py, PyAny>>, depth: usize) -> Option<()> {
        self.out.push(b'[');
        for (at, item) in items.enumerate() {
            if at > 0 {
                self.out.push(b',');
            }
            self.value(&item, depth)?;
        }
        self.out.push(b']');
        Some(())
    }

    fn dict(&mut self, dict: &Bound<'py, PyDict>, depth: usize) -> Option<()> {
        let first = self.entries.len();
        for (key, value) in dict.iter() {
            let start = start_of(key.cast_exact::<PyString>().ok()?.to_str().ok()?);
            self.entries.push((start, key, value));
        }
        self.entries.get_mut(first..)?.sort_unstable_by(|a, b| compare_entries(b, a));
        self.out.push(b'{');
        let mut begun = false;
        while self.entries.len() > first {
            let (_, key, value) = self.entries.pop()?;
            if begun {
                self.out.push(b',');
            }
            begun = true;
            self.text(key.cast_exact::<PyString>().ok()?.to_str().ok()?)?;
            self.out.push(b':');
            self.value(&value, depth)?;
        }
        self.out.push(b'}');
        Some(())
    }
}

/// The first eight bytes of a key as a number that orders as they do. Zero where one of them is not
/// ASCII, which may order otherwise in UTF-16, so that the keys themselves are compared.
#[inline]
fn start_of(key: &str) -> u64 {
    const TOPS: u64 = 0x8080_8080_8080_8080;
    let start = first_bytes(key.as_bytes());
    if start & TOPS != 0 {
        return 0;
    }
    start.swap_bytes()
}

/// The order of two keys, by their starts where those tell.
fn compare_entries(a: &Entry<'_>, b: &Entry<'_>) -> Ordering {
    if a.0 != b.0 && a.0 != 0 && b.0 != 0 {
        return a.0.cmp(&b.0);
    }
    compare_keys(key_bytes(&a.1), key_bytes(&b.1))
}

/// The bytes of a key, which is known to be an exact string of valid Unicode.
fn key_bytes<'a>(key: &'a Bound<'_, PyAny>) -> &'a [u8] {
    key.cast_exact::<PyString>().ok().and_then(|key| key.to_str().ok()).unwrap_or_default().as_bytes()
}
