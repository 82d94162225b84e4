//! The diagnostic codes that the model gives out: one constant, one name and one page each (`docs/diagnostics/`).

/// A code as reports and pages name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code {
    /// `CG201`
    pub id: &'static str,
    /// `unknown-key`
    pub name: &'static str,
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $constant:ident = $id:literal $name:literal;)*) => {
        $($(#[doc = $doc])+ pub const $constant: Code = Code { id: $id, name: $name };)*

        /// Every code of the model, in ascending order.
        pub const ALL: &[Code] = &[$($constant),*];
    };
}

codes! {
    /// A key that the language does not have in this place.
    UNKNOWN_KEY = "CG201" "unknown-key";
    /// A key that must be there is not.
    MISSING_KEY = "CG202" "missing-key";
    /// A value of another type than the key takes.
    WRONG_TYPE = "CG203" "wrong-type";
    /// A word that is none of those that the key takes.
    UNKNOWN_WORD = "CG204" "unknown-word";
    /// A number or text outside its bounds.
    OUT_OF_RANGE = "CG205" "out-of-range";
    /// A text that is no duration.
    BAD_DURATION = "CG206" "bad-duration";
    /// A text that is no regular expression.
    BAD_REGEX = "CG207" "bad-regex";
    /// A `kind` that the language does not have.
    UNKNOWN_KIND = "CG208" "unknown-kind";
    /// An `apiVersion` that this release does not read.
    UNKNOWN_API_VERSION = "CG209" "unknown-api-version";
    /// A text that is no date or time.
    BAD_TIME = "CG210" "bad-time";
    /// A reason that no verdict ever carries.
    UNKNOWN_REASON = "CG211" "unknown-reason";

    /// An expression that does not follow the grammar of CEL.
    CEL_SYNTAX = "CG301" "cel-syntax";
    /// A literal in an expression that cannot be read.
    CEL_BAD_LITERAL = "CG302" "cel-bad-literal";
    /// An expression beyond a bound: bytes, nesting, nodes, comprehensions.
    CEL_TOO_LARGE = "CG303" "cel-too-large";
    /// A part of CEL that this engine leaves out on purpose.
    CEL_UNSUPPORTED = "CG304" "cel-unsupported";
    /// A name in an expression that does not exist here.
    CEL_UNDECLARED_NAME = "CG305" "cel-undeclared-name";
    /// A function that does not exist.
    CEL_UNDECLARED_FUNCTION = "CG306" "cel-undeclared-function";
    /// A variable that exists only in a later phase.
    CEL_LATER_PHASE = "CG307" "cel-later-phase";
    /// A field that the object does not have.
    CEL_MISSING_FIELD = "CG308" "cel-missing-field";
    /// A field that may be absent, read without `has`.
    CEL_ABSENT_FIELD = "CG309" "cel-absent-field";
    /// An operator or function that does not take these types.
    CEL_MISSING_OVERLOAD = "CG310" "cel-missing-overload";
    /// An expression of another type than is needed in its place.
    CEL_WRONG_RESULT = "CG311" "cel-wrong-result";
    /// A comparison whose outcome is always the same.
    CEL_NEVER_TRUE = "CG312" "cel-never-true";
    /// A regular expression in CEL that cannot be compiled.
    CEL_BAD_PATTERN = "CG313" "cel-bad-pattern";
    /// A regular expression that is computed instead of written.
    CEL_DYNAMIC_PATTERN = "CG314" "cel-dynamic-pattern";
    /// A text that is no duration, inside an expression.
    CEL_BAD_DURATION = "CG315" "cel-bad-duration";
    /// A text that is no timestamp, inside an expression.
    CEL_BAD_TIMESTAMP = "CG316" "cel-bad-timestamp";
    /// A time zone that does not exist, inside an expression.
    CEL_BAD_TIME_ZONE = "CG317" "cel-bad-time-zone";
    /// A text that is no IP address or range, inside an expression.
    CEL_BAD_ADDRESS = "CG318" "cel-bad-address";
    /// An expression that errs on every result that is text.
    CEL_ERRS_ON_TEXT = "CG319" "cel-errs-on-text";

    /// A rung of a ladder that can never be reached.
    UNREACHABLE_RUNG = "CG401" "unreachable-rung";
    /// A window that is too short for the threshold counted in it.
    SHORT_WINDOW = "CG402" "short-window";
    /// A detector that only ever notes.
    WARN_ONLY = "CG403" "warn-only";
    /// Two things with one id.
    DUPLICATE_ID = "CG404" "duplicate-id";
    /// A required budget that is unlimited without a reason.
    UNLIMITED_WITHOUT_REASON = "CG405" "unlimited-without-reason";
    /// A required budget that is not set at all.
    BUDGET_NOT_SET = "CG406" "budget-not-set";
    /// A reserve that is larger than the budget it is taken from.
    RESERVE_TOO_LARGE = "CG407" "reserve-too-large";
    /// A reserve that no tool may spend.
    RESERVE_FOR_NOBODY = "CG408" "reserve-for-nobody";
    /// Retry layers that multiply to more than their cap.
    RETRY_PRODUCT = "CG409" "retry-product";
    /// Two retry layers that own the same errors.
    RETRY_OVERLAP = "CG410" "retry-overlap";
    /// An entry that is never reached, because an earlier one always matches.
    SHADOWED_ENTRY = "CG411" "shadowed-entry";
    /// A cache for a tool that is no read.
    CACHED_EFFECT = "CG412" "cached-effect";
    /// A poll whose stale answers the cache would hand out.
    CACHED_POLL = "CG413" "cached-poll";
    /// An action that does not exist in the rule's phase.
    ACTION_OF_OTHER_PHASE = "CG414" "action-of-other-phase";
    /// A class of errors that is never retried.
    NEVER_RETRIED = "CG415" "never-retried";
    /// Keys that exclude each other, or of which one needs the other.
    CONTRADICTING_KEYS = "CG416" "contradicting-keys";
    /// A reason that no exception may lift.
    NOT_LIFTABLE = "CG417" "not-liftable";
    /// A key that says nothing about this tool's effect.
    SENSELESS_FOR_EFFECT = "CG418" "senseless-for-effect";
    /// A value that switches off the very thing that is being set.
    SENSELESS_VALUE = "CG419" "senseless-value";
    /// A name that is listed here but not where it would have to be declared.
    UNDECLARED_FIELD = "CG420" "undeclared-field";
    /// A name of a tool or group that no manifest in force has.
    UNDECLARED_NAME = "CG421" "undeclared-name";
    /// Parameters of a tool that are no JSON Schema.
    BAD_SCHEMA = "CG422" "bad-schema";
    /// A tool without `parameters`, of which expressions read arguments.
    UNCHECKED_ARGUMENTS = "CG423" "unchecked-arguments";
    /// A write or external call that is retried without an idempotency key.
    RETRIED_WITHOUT_KEY = "CG424" "retried-without-key";
    /// A policy in which nothing ever refuses.
    NOTHING_REFUSES = "CG425" "nothing-refuses";
    /// A tool that finds out what became of a call, and acts itself.
    ACTING_VERIFIER = "CG427" "acting-verifier";
    /// An idempotency key that tells apart what `identity` takes for the same call.
    RESPELLED_KEY = "CG428" "respelled-key";
    /// An argument that a manifest names and the tool does not declare.
    UNDECLARED_ARGUMENT = "CG429" "undeclared-argument";
    /// A parameter of a policy that nobody gives a value.
    UNSET_PARAMETER = "CG440" "unset-parameter";
    /// A value that a parameter's schema does not take.
    BAD_PARAMETER = "CG441" "bad-parameter";

    /// A need that no tool can fill.
    UNFILLABLE_NEED = "CG430" "unfillable-need";
    /// Fallback edges that go round.
    FALLBACK_CYCLE = "CG431" "fallback-cycle";
    /// A fallback edge that is never offered.
    UNREACHABLE_EDGE = "CG432" "unreachable-edge";
    /// More hops than there are edges.
    UNUSABLE_HOPS = "CG433" "unusable-hops";
    /// A substitute that may do more than what it stands in for.
    STRONGER_SUBSTITUTE = "CG434" "stronger-substitute";
    /// A substitute for which a guard of the original does not hold.
    WEAKER_SUBSTITUTE = "CG435" "weaker-substitute";
    /// An end that claims more than was found.
    CLAIMED_FINISH = "CG436" "claimed-finish";

    /// A rule or limit that is proved never to fire.
    NEVER_FIRES = "CG501" "never-fires";
    /// A rule, rung or budget that no generated run and no test fires.
    NOT_SHOWN_TO_FIRE = "CG502" "not-shown-to-fire";
    /// A rule that never decides, because an earlier one always does.
    SHADOWED_RULE = "CG503" "shadowed-rule";
    /// A rule that matches every call.
    ALWAYS_MATCHES = "CG504" "always-matches";

    /// A key or expression that the language has and this release does not act upon yet.
    NOT_YET = "CG901" "not-yet";
}

/// The code under which a mistake in an expression is reported.
#[must_use]
pub fn of_expression(kind: callgate_cel::Code) -> Code {
    use callgate_cel::Code as Kind;
    match kind {
        Kind::Syntax => CEL_SYNTAX,
        Kind::BadLiteral => CEL_BAD_LITERAL,
        Kind::TooLarge => CEL_TOO_LARGE,
        Kind::Unsupported => CEL_UNSUPPORTED,
        Kind::UndeclaredName => CEL_UNDECLARED_NAME,
        Kind::UndeclaredFunction => CEL_UNDECLARED_FUNCTION,
        Kind::LaterPhase => CEL_LATER_PHASE,
        Kind::MissingField => CEL_MISSING_FIELD,
        Kind::AbsentField => CEL_ABSENT_FIELD,
        Kind::MissingOverload => CEL_MISSING_OVERLOAD,
        Kind::WrongResult => CEL_WRONG_RESULT,
        Kind::NeverTrue => CEL_NEVER_TRUE,
        Kind::BadPattern => CEL_BAD_PATTERN,
        Kind::DynamicPattern => CEL_DYNAMIC_PATTERN,
        Kind::BadDuration => CEL_BAD_DURATION,
        Kind::BadTimestamp => CEL_BAD_TIMESTAMP,
        Kind::BadTimeZone => CEL_BAD_TIME_ZONE,
        Kind::BadAddress => CEL_BAD_ADDRESS,
    }
}
