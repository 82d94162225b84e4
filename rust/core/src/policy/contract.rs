//! What comes back from a tool, how it is read, and what is tried again.
use std::sync::Arc;

use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::expression::Expression;

/// What kind of failure an outcome is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ErrorClass {
    /// Passes by itself: retry.
    Transient,
    /// Will fail again.
    Permanent,
    /// Nobody knows whether it happened.
    Ambiguous,
    /// The call itself is malformed.
    Format,
    /// A person or a rule said no.
    Denied,
}

impl ErrorClass {
    /// The name in policies and logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Permanent => "permanent",
            Self::Ambiguous => "ambiguous",
            Self::Format => "format",
            Self::Denied => "denied",
        }
    }
}

/// How a result is read.
#[derive(Clone, Debug, Default)]
pub struct ResultContract {
    /// Whether it is a failure.
    pub failed_when: Option<Expression>,
    /// Whether there is nothing in it.
    pub empty_when: Option<Expression>,
    /// The list of records.
    pub records: Option<Expression>,
    /// Fields that identify a record.
    pub key: Vec<String>,
    /// Fields that a record must carry.
    pub required_fields: Vec<String>,
    /// Fields that it should carry.
    pub wanted_fields: Vec<String>,
    /// Records that must carry the required fields.
    pub min_records: u64,
    /// Top-level fields left out of comparisons.
    pub ignore: Vec<String>,
    /// Text left out of comparisons.
    pub ignore_text: Vec<Regex>,
    /// A field that says whether this is new.
    pub version: Option<Expression>,
    /// The state that the target is left in.
    pub state: Option<Expression>,
}

/// A declared poll.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waiting {
    /// Equal answers at which it is stale.
    pub max_unchanged: Option<u64>,
    /// Seconds without a change at which it is stale.
    pub max_stale: Option<f64>,
    /// Shortest pause between two polls, in seconds.
    pub min_interval: Option<f64>,
}

/// What part of something a read covers.
#[derive(Clone, Debug)]
pub enum Coverage {
    /// A range of a target.
    Range {
        /// What is read.
        target: Option<Expression>,
        /// Where the range begins.
        offset: Option<Expression>,
        /// How long it is.
        length: Option<Expression>,
    },
    /// A page after a cursor.
    Cursor {
        /// The page asked for.
        cursor: Expression,
        /// The next page, in the result.
        next: Expression,
    },
}

/// A line of `errors`.
#[derive(Clone, Debug)]
pub struct ErrorRule {
    /// When it matches; none: always.
    pub when: Option<Expression>,
    /// The class it gives.
    pub class: ErrorClass,
    /// The type it gives.
    pub kind: Option<Arc<str>>,
}

/// `retry`
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    /// Classes that are retried.
    pub classes: Vec<ErrorClass>,
    /// Further attempts.
    pub max: u64,
    /// First pause, in seconds.
    pub initial: f64,
    /// Growth per attempt.
    pub factor: f64,
    /// Longest pause, in seconds.
    pub longest: f64,
    /// How pauses are spread.
    pub jitter: Jitter,
}

/// How pauses are spread, so that many callers do not come back at once. The host does that: the core knows no chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jitter {
    /// Not at all.
    None,
    /// Anything from zero to the computed pause.
    Full,
    /// Half of the computed pause, and anything up to the other half.
    Equal,
    /// Anything from the first pause to three times the last one.
    Decorrelated,
    /// The computed pause, give or take a fifth.
    Proportional,
}

impl Jitter {
    /// The name in policies.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Full => "full",
            Self::Equal => "equal",
            Self::Decorrelated => "decorrelated",
            Self::Proportional => "proportional",
        }
    }
}
