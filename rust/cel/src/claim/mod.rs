//! What a condition asks of the data, as a tree of tests: what searches and proofs over conditions read.
//!
//! Negation is pushed down to the tests, so that the tree is made of `All` and `Any` alone. An expression is true if and
//! only if its claim holds, where every test that is not opaque can be judged: a place that is absent, or of a kind that
//! the test does not take, fails the test *and* its contrary, as an error does.
mod read;

use std::fmt;

use crate::ast::Compare;
use crate::types::Scalar;

/// Where the way to a value begins.
#[derive(Clone, Debug, PartialEq)]
pub enum Root {
    /// A variable, by the name that it was declared with.
    Variable(Box<str>),
    /// The element of the comprehension around it; 0 is the outermost one.
    Element(usize),
    /// What a function of the host gives for a text.
    Call(Box<str>, Box<str>),
}

/// A step from a value into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A field.
    Field(Box<str>),
    /// An element of a list.
    At(i64),
}

/// A value that an expression reads: `args.lines[0].price`.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// Where it begins.
    pub root: Root,
    /// The way on.
    pub steps: Vec<Step>,
    /// What is made of the value before it is tested, outermost first: `int`, `lowerAscii`, `orValue(0)`.
    pub through: Vec<Box<str>>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for made in &self.through {
            write!(f, "{made} of ")?;
        }
        match &self.root {
            Root::Variable(name) => f.write_str(name)?,
            Root::Element(_) => f.write_str("an element")?,
            Root::Call(function, argument) => write!(f, "{function}({argument:?})")?,
        }
        for step in &self.steps {
            match step {
                Step::Field(name) => write!(f, ".{name}")?,
                Step::At(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// How two values stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    More,
    /// `>=`
    AtLeast,
    /// `==`
    Equal,
    /// `!=`
    Other,
}

impl Order {
    /// As seen from the other side.
    #[must_use]
    pub fn turned(self) -> Self {
        match self {
            Self::Less => Self::More,
            Self::AtMost => Self::AtLeast,
            Self::More => Self::Less,
            Self::AtLeast => Self::AtMost,
            same => same,
        }
    }

    fn of(op: Compare) -> Option<Self> {
        Some(match op {
            Compare::Lt => Self::Less,
            Compare::Le => Self::AtMost,
            Compare::Gt => Self::More,
            Compare::Ge => Self::AtLeast,
            Compare::Eq => Self::Equal,
            Compare::Ne => Self::Other,
            Compare::In => return None,
        })
    }
}

/// What is asked of one value.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// It is true.
    Holds,
    /// It is there.
    Present,
    /// It stands like this to a literal.
    Is(Order, Scalar),
    /// It is one of these.
    OneOf(Vec<Scalar>),
    /// It is an element of the list, or a key of the map, that stands there.
    Within(Place),
    /// It stands like this to what stands there.
    Against(Order, Place),
    /// It begins with this.
    StartsWith(Box<str>),
    /// It ends with this.
    EndsWith(Box<str>),
    /// This is a part of it.
    Contains(Box<str>),
    /// It matches this regular expression.
    Matches(Box<str>),
    /// It has so many characters, elements or entries.
    Size(Order, i64),
    /// It is of the type of this name.
    Type(&'static str),
    /// It is a list with this element, or a map with this key.
    Has(Scalar),
}

/// What has to be so for an expression to be true.
#[derive(Clone, Debug, PartialEq)]
pub enum Claim {
    /// Nothing, or nothing helps.
    Truth(bool),
    /// All of these.
    All(Vec<Claim>),
    /// One of these.
    Any(Vec<Claim>),
    /// A test of a value comes out as `holds` says.
    Tested {
        /// The value.
        place: Place,
        /// The test.
        test: Test,
        /// Its outcome.
        holds: bool,
    },
    /// An element of a list, or a key of a map, is such.
    Some(Place, Box<Claim>),
    /// Every one is such.
    Every(Place, Box<Claim>),
    /// Something that is not worked out.
    Opaque,
}
