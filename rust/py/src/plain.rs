//! The fast way for plain data: exact built-in types, 64-bit integers, valid Unicode, not too deep, not too much.
//!
//! Nearly everything is plain. What is not makes these functions give up at once; the careful way then starts anew. No
//! Python object is created here, so neither the garbage collector nor any code of the host's can run in between: a
//! dict that is being read cannot change.
//!
//! Lists of records, dicts with the same keys in the same order, are common, and their keys are mostly the very same
//! objects. Inside a list the writer reads, sorts and escapes the keys of such dicts once; then they are told by their
//! addresses, which nothing else can have while the list is read.
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
    let most = out.len().checked_add(BYTES)?;
    let (entries, pending, shapes) = (Vec::new(), Vec::new(), Vec::new());
    Writer { values: VALUES, most, out, entries, pending, shapes }.value(object, DEPTH, false)
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

/// Shapes of dicts that are remembered, and lists so short that it does not pay.
const MOST_SHAPES: usize = 16;
const SHORT: usize = 3;

/// The keys of a dict, ready to be written.
struct Shape {
    /// Their addresses, in the dict's order.
    keys: Vec<usize>,
    /// In canonical order: the key's position in the dict, and where its text ends in `heads`.
    order: Vec<(usize, usize)>,
    /// In canonical order: each key's text, with the comma before it and the colon after it.
    heads: Vec<u8>,
}

struct Writer<'out, 'py> {
    values: usize,
    most: usize,
    out: &'out mut Vec<u8>,
    /// The entries of all dicts that are open, each dict's in falling order, so that the next one is the last.
    entries: Vec<Entry<'py>>,
    /// The values of all dicts of a known shape that are open, in the dict's order, without those that are written.
    pending: Vec<Option<Bound<'py, PyAny>>>,
    shapes: Vec<Shape>,
}

impl<'py> Writer<'_, 'py> {
    /// `repeated` says that a list is around it, so that dicts like it may follow.
    fn value(&mut self, object: &Bound<'py, PyAny>, depth: usize, repeated: bool) -> Option<()> {
        self.values = self.values.checked_sub(1)?;
        match plain(object)? {
            Plain::Str(text) => self.text(text)?,
            Plain::Int(number) => write_int(number, self.out),
            Plain::Float(number) => write_float(number, self.out),
            Plain::Bool(true) => self.out.extend_from_slice(b"true"),
            Plain::Bool(false) => self.out.extend_from_slice(b"false"),
            Plain::Null => self.out.extend_from_slice(b"null"),
            Plain::List(list) => self.list(list.iter(), depth.checked_sub(1)?, repeated)?,
            Plain::Tuple(tuple) => self.list(tuple.iter(), depth.checked_sub(1)?, repeated)?,
            Plain::Dict(dict) => {
                let depth = depth.checked_sub(1)?;
                match repeated.then(|| self.take_values(dict)).flatten() {
                    Some((shape, first)) => self.record(shape, first, depth)?,
                    None => self.dict(dict, depth, repeated)?,
                }
            }
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

    fn list(
        &mut self,
        items: impl ExactSizeIterator<Item = Bound<'py, PyAny>>,
        depth: usize,
        repeated: bool,
    ) -> Option<()> {
        let repeated = repeated || items.len() >= SHORT;
        self.out.push(b'[');
        for (at, item) in items.enumerate() {
            if at > 0 {
                self.out.push(b',');
            }
            self.value(&item, depth, repeated)?;
        }
        self.out.push(b']');
        Some(())
    }

    /// Writes a dict whose values are taken out already.
    fn record(&mut self, shape: usize, first: usize, depth: usize) -> Option<()> {
        if self.out.len() > self.most {
            return None;
        }
        self.out.push(b'{');
        let mut start = 0;
        for place in 0.. {
            let shape = self.shapes.get(shape)?;
            let Some((position, end)) = shape.order.get(place).copied() else { break };
            self.out.extend_from_slice(shape.heads.get(start..end)?);
            start = end;
            let value = self.pending.get_mut(first + position)?.take()?;
            self.value(&value, depth, true)?;
        }
        self.pending.truncate(first);
        self.out.push(b'}');
        Some(())
    }

    /// Takes out the values of a dict of a known shape: the shape, and where its values begin. A shape is learned where it
    /// is new and there are few.
    fn take_values(&mut self, dict: &Bound<'py, PyDict>) -> Option<(usize, usize)> {
        let (first, length) = (self.pending.len(), dict.len());
        let mut found = None;
        for (at, (key, value)) in dict.iter().enumerate() {
            if at == 0 {
                found = self.shape(dict, length, address(&key));
            }
            let is_same = |shape: &Shape| shape.keys.get(at).is_some_and(|have| *have == address(&key));
            if !found.and_then(|found| self.shapes.get(found)).is_some_and(is_same) {
                self.pending.truncate(first);
                return None;
            }
            self.pending.push(Some(value));
        }
        Some((found?, first))
    }

    fn shape(&mut self, dict: &Bound<'py, PyDict>, length: usize, first: usize) -> Option<usize> {
        let alike = |shape: &Shape| shape.keys.len() == length && shape.keys.first() == Some(&first);
        if let Some(known) = self.shapes.iter().position(alike) {
            return Some(known);
        }
        if self.shapes.len() >= MOST_SHAPES {
            return None;
        }
        self.shapes.push(Shape::of(dict)?);
        Some(self.shapes.len() - 1)
    }

    fn dict(&mut self, dict: &Bound<'py, PyDict>, depth: usize, repeated: bool) -> Option<()> {
        let first = self.entries.len();
        for (key, value) in dict.iter() {
            let start = start_of(key_text(&key)?);
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
            self.text(key_text(&key)?)?;
            self.out.push(b':');
            self.value(&value, depth, repeated)?;
        }
        self.out.push(b'}');
        Some(())
    }
}

impl Shape {
    /// The shape of a dict whose keys are plain strings.
    fn of(dict: &Bound<'_, PyDict>) -> Option<Self> {
        let keys: Vec<_> = dict.iter().map(|(key, _)| key).collect();
        let mut sorted = Vec::with_capacity(keys.len());
        for (position, key) in keys.iter().enumerate() {
            sorted.push((key_text(key)?, position));
        }
        sorted.sort_unstable_by(|(a, _), (b, _)| compare_keys(a.as_bytes(), b.as_bytes()));
        let mut heads = Vec::with_capacity(16 * keys.len());
        let mut order = Vec::with_capacity(keys.len());
        for (key, position) in sorted {
            if !heads.is_empty() {
                heads.push(b',');
            }
            write_string(key.as_bytes(), &mut heads);
            heads.push(b':');
            order.push((position, heads.len()));
        }
        Some(Self { keys: keys.iter().map(address).collect(), order, heads })
    }
}

/// Where an object lies.
fn address(object: &Bound<'_, PyAny>) -> usize {
    object.as_ptr() as usize
}

/// The text of a key, if it is an exact string of valid Unicode.
#[inline]
fn key_text<'a>(key: &'a Bound<'_, PyAny>) -> Option<&'a str> {
    key.cast_exact::<PyString>().ok()?.to_str().ok()
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
    key_text(key).unwrap_or_default().as_bytes()
}
