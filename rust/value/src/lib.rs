//! JSON-like values, their canonical text and their fingerprints. Everything else in callgate reads these.
//!
//! A [`Value`] is made once from what a host hands over (a Python object, a line of JSON) and is never
//! changed afterwards; schema, CEL, fingerprints and records all read that one copy.
mod map;
mod text;
mod value;

pub use map::Map;
pub use text::Text;
pub use value::{Foreign, ForeignKind, Value};
