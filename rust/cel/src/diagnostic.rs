//! What is wrong with an expression before it runs: where, what, and what to do about it.
use std::fmt;

/// A range of bytes in the source of an expression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The byte after the last one.
    pub end: u32,
}

impl Span {
    /// The bytes `start..end`; what lies beyond 4 GiB is cut, sources are far smaller.
    #[must_use]
    pub fn new(start: usize, end: usize) -> Self {
        Self { start: u32::try_from(start).unwrap_or(u32::MAX), end: u32::try_from(end).unwrap_or(u32::MAX) }
    }

    /// From the start of the earlier to the end of the later of the two.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The text that it covers, empty if `source` is another text.
    #[must_use]
    pub fn text(self, source: &str) -> &str {
        source.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// The kinds of mistakes. The names are stable: pages, lint levels and SARIF use them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Code {
    /// The text does not follow the grammar.
    Syntax,
    /// A literal that cannot be read: a bad escape, a number out of range, an unclosed string.
    BadLiteral,
    /// A bound on the expression itself is exceeded: bytes, nesting, nodes, comprehensions.
    TooLarge,
    /// CEL that this engine leaves out on purpose (protobuf messages).
    Unsupported,
    /// No variable of that name.
    UndeclaredName,
    /// No function of that name.
    UndeclaredFunction,
    /// A variable that exists only in a later phase.
    LaterPhase,
    /// An object that has no such field.
    MissingField,
    /// A field that may be absent is read without a test for it.
    AbsentField,
    /// The function or operator does not take these types.
    MissingOverload,
    /// The expression gives another type than is needed here.
    WrongResult,
    /// A comparison whose outcome is always the same.
    NeverTrue,
    /// A literal regular expression that cannot be compiled or is too large.
    BadPattern,
    /// A regular expression that is not a literal.
    DynamicPattern,
    /// A literal duration that cannot be read.
    BadDuration,
    /// A literal timestamp that cannot be read.
    BadTimestamp,
    /// A literal time zone that does not exist.
    BadTimeZone,
    /// A literal IP address or range that cannot be read.
    BadAddress,
}

impl Code {
    /// Every code, in the order of the documentation.
    pub const ALL: [Self; 18] = [
        Self::Syntax,
        Self::BadLiteral,
        Self::TooLarge,
        Self::Unsupported,
        Self::UndeclaredName,
        Self::UndeclaredFunction,
        Self::LaterPhase,
        Self::MissingField,
        Self::AbsentField,
        Self::MissingOverload,
        Self::WrongResult,
        Self::NeverTrue,
        Self::BadPattern,
        Self::DynamicPattern,
        Self::BadDuration,
        Self::BadTimestamp,
        Self::BadTimeZone,
        Self::BadAddress,
    ];

    /// The code as it is printed, `cel-missing-field`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Syntax => "cel-syntax",
            Self::BadLiteral => "cel-bad-literal",
            Self::TooLarge => "cel-too-large",
            Self::Unsupported => "cel-unsupported",
            Self::UndeclaredName => "cel-undeclared-name",
            Self::UndeclaredFunction => "cel-undeclared-function",
            Self::LaterPhase => "cel-later-phase",
            Self::MissingField => "cel-missing-field",
            Self::AbsentField => "cel-absent-field",
            Self::MissingOverload => "cel-missing-overload",
            Self::WrongResult => "cel-wrong-result",
            Self::NeverTrue => "cel-never-true",
            Self::BadPattern => "cel-bad-pattern",
            Self::DynamicPattern => "cel-dynamic-pattern",
            Self::BadDuration => "cel-bad-duration",
            Self::BadTimestamp => "cel-bad-timestamp",
            Self::BadTimeZone => "cel-bad-time-zone",
            Self::BadAddress => "cel-bad-address",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One mistake, with the place where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Its kind.
    pub code: Code,
    /// The bytes of the source that it is about.
    pub span: Span,
    /// What is wrong: lower case, no full stop, the author's names in backticks.
    pub message: String,
    /// What to do about it, where that is known.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// A mistake without a hint.
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self { code, span, message: message.into(), hint: None }
    }

    /// The same with a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}: {} [{}]", self.span.start, self.span.end, self.message, self.code)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

/// The name among `known` that was most likely meant by `name`, as a hint: at most a third of its letters differ.
pub(crate) fn did_you_mean<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> Option<String> {
    nearest(name, known).map(|candidate| format!("did you mean `{candidate}`?"))
}

/// The same, as it is.
pub(crate) fn nearest<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let letters = name.chars().count();
    let most = letters.saturating_add(1).checked_div(3).unwrap_or(0).max(1);
    let mut best: Option<(usize, &str)> = None;
    // a name that is much longer or shorter is not compared letter by letter
    let near = |candidate: &&str| candidate.chars().count().abs_diff(letters) <= most;
    for candidate in known.filter(|candidate| !candidate.starts_with('@')).filter(near) {
        let same = candidate.eq_ignore_ascii_case(name);
        let distance = if same { 0 } else { strsim::osa_distance(name, candidate) };
        let close = same || (distance <= most && distance < letters);
        if close && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}
