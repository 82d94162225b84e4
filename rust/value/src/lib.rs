//! JSON-like values, their canonical text and their fingerprints. Everything else in callgate reads these.
//!
//! A [`Value`] is made once from what a host hands over (a Python object, a line of JSON) and is never
//! changed afterwards; schema, CEL, fingerprints and records all read that one copy.
//!
//! ```
//! use callgate_value::{canonical_json, fingerprint, read_json};
//! let a = read_json(br#"{"limit": 10, "q": "caf\u00e9"}"#).unwrap();
//! let b = read_json("{\"q\":\"café\",\"limit\":10.0}".as_bytes()).unwrap();
//! assert_eq!(canonical_json(&a), canonical_json(&b));
//! assert_eq!(fingerprint("search", &a), fingerprint("search", &b));
//! ```
mod canonical;
mod escape;
mod fingerprint;
mod json;
mod map;
mod mask;
mod text;
mod value;
mod yaml;

pub use canonical::{
    canonical_json, compare_keys, write_canonical, write_float, write_int, write_loosened, Loosening, Mask,
    NoCanonical, MAX_SAFE_INTEGER,
};
pub use escape::{first_bytes, write_string, Sink};
pub use fingerprint::{
    digest, fingerprint, loosened_digest, start_fingerprint, with_buffer, Digest, Symbol, SymbolKey, DIGEST_PREFIX,
    FINGERPRINT_PREFIX,
};
pub use json::{
    read_json, read_json_with, to_json, to_json_with_non_finite, write_json, ReadError, ReadErrorKind, ReadLimits,
};
pub use map::Map;
pub use mask::{mask_failure, mask_success, mask_words};
pub use text::Text;
pub use value::{Foreign, ForeignKind, Value};
pub use yaml::{read_yaml, YamlLimits};
