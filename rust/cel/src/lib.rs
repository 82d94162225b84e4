//! CEL for callgate policies: syntax, check, evaluate, all bounded. Knows nothing of tools or agents.
//!
//! An [`Env`] says what may be named, [`Program::compile`] reports everything that cannot work, and
//! [`Program::evaluate`] judges borrowed data without copying it.
//!
//! ```
//! use callgate_cel::{Env, Fuel, Limits, Object, Program, Type, Val};
//! use callgate_value::{Map, Value};
//!
//! let mut env = Env::new();
//! env.variable("args", Object::closed().required("amount", Type::Number).into());
//! let limits = Limits::default();
//! let program = Program::compile("args.amount > 100.0", &env, Some(Type::Bool), &limits).unwrap();
//!
//! let args = Value::Map(Map::new(vec![("amount".into(), Value::Int(250))]).unwrap());
//! let activation = vec![Val::from(&args)];
//! let result = program.evaluate(&activation, &mut Fuel::new(&limits)).unwrap();
//! assert_eq!(result.as_bool(), Some(true));
//! ```
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

mod ast;
mod check;
mod claim;
mod compile;
mod diagnostic;
mod entries;
mod env;
mod error;
mod eval;
mod export;
mod functions;
mod habits;
mod lex;
mod library;
mod limits;
mod literal;
mod mutate;
mod parse;
mod pattern;
mod print;
mod program;
mod prospect;
mod signature;
mod time;
mod types;
mod val;

pub use check::Reference;
pub use claim::{Claim, Order, Place, Root, Step, Test};
pub use diagnostic::{Code, Diagnostic, Span};
pub use entries::{Entries, Key};
pub use env::{Env, Tests};
pub use error::{ErrorKind, EvalError};
pub use library::network::Cidr;
pub use limits::{Fuel, Limits};
pub use mutate::{mutations, Mutation};
pub use pattern::written_pattern;
pub use print::canonical;
pub use program::{Activation, Nothing, Observer, Program, Seen};
pub use prospect::Prospect;
pub use types::{Field, Object, Scalar, Type};
pub use val::{List, Map, Str, Timestamp, Val};
