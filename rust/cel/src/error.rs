//! What can go wrong while an expression is evaluated.
use crate::Span;
use std::fmt;

/// The kinds of evaluation errors. The names are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The operator or function does not take values of these types.
    NoSuchOverload,
    /// The variable has no value here.
    NoSuchVariable,
    /// No such function.
    NoSuchFunction,
    /// The map has no such field or key.
    NoSuchField,
    /// The list has no such index.
    OutOfRange,
    /// Division or modulo by zero.
    DivideByZero,
    /// A number, time or duration that does not fit.
    Overflow,
    /// A value that cannot be converted, parsed or used as this argument.
    BadArgument,
    /// A key that stands twice in a map, or is of a type that no key has.
    BadKey,
    /// A string with lone surrogates.
    NotUnicode,
    /// A host value that CEL has no form for.
    HostValue,
    /// A host function that failed.
    HostFunction,
    /// The result is not of the type that is needed here.
    WrongResult,
    /// All fuel burnt.
    OutOfFuel,
    /// More memory than allowed.
    OutOfMemory,
    /// Data nested too deep.
    TooDeep,
}

impl ErrorKind {
    /// Every kind.
    pub const ALL: [Self; 16] = [
        Self::NoSuchOverload,
        Self::NoSuchVariable,
        Self::NoSuchFunction,
        Self::NoSuchField,
        Self::OutOfRange,
        Self::DivideByZero,
        Self::Overflow,
        Self::BadArgument,
        Self::BadKey,
        Self::NotUnicode,
        Self::HostValue,
        Self::HostFunction,
        Self::WrongResult,
        Self::OutOfFuel,
        Self::OutOfMemory,
        Self::TooDeep,
    ];

    /// Whether a bound was hit. Such an error is never absorbed by `&&` or `||`.
    #[must_use]
    pub const fn is_limit(self) -> bool {
        matches!(self, Self::OutOfFuel | Self::OutOfMemory | Self::TooDeep)
    }

    /// The kind as it is printed and logged, `no_such_field`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoSuchOverload => "no_such_overload",
            Self::NoSuchVariable => "no_such_variable",
            Self::NoSuchFunction => "no_such_function",
            Self::NoSuchField => "no_such_field",
            Self::OutOfRange => "out_of_range",
            Self::DivideByZero => "divide_by_zero",
            Self::Overflow => "overflow",
            Self::BadArgument => "bad_argument",
            Self::BadKey => "bad_key",
            Self::NotUnicode => "not_unicode",
            Self::HostValue => "host_value",
            Self::HostFunction => "host_function",
            Self::WrongResult => "wrong_result",
            Self::OutOfFuel => "out_of_fuel",
            Self::OutOfMemory => "out_of_memory",
            Self::TooDeep => "too_deep",
        }
    }
}

/// An evaluation that came to no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvalError {
    /// Its kind.
    pub kind: ErrorKind,
    /// The part of the expression that failed.
    pub span: Span,
    /// What is wrong: lower case, no full stop, the author's names in backticks.
    pub message: String,
}

/// Boxed, so that the way of success stays narrow.
pub(crate) type Fault = Box<EvalError>;

impl EvalError {
    /// An error whose place is not known yet; evaluation fills it in.
    #[cold]
    pub(crate) fn fault(kind: ErrorKind, message: impl Into<String>) -> Fault {
        Box::new(Self { kind, span: Span::default(), message: message.into() })
    }
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]", self.message, self.kind.as_str())
    }
}

impl std::error::Error for EvalError {}
