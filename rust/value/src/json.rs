//! JSON text in and out. Reading is exact: what two texts mean differently, two values hold differently.
mod error;
mod read;
mod string;
mod write;

pub use error::{ReadError, ReadErrorKind};
pub use read::{read_json, read_json_with, ReadLimits};
pub use write::{to_json, to_json_with_non_finite, write_json};
