//! From the resolved documents to the policy that decisions read. All faults of all documents in one run.
use std::sync::Arc;

use callgate_cel::{Env, Type};
use callgate_value::{canonical_json, Digest, Map, Value};
use rustc_hash::FxHashMap;

use crate::expression::Expression;
use crate::model::cel::Cel;
use crate::model::spelling::near_name;
use crate::model::{self, codes, Fault, GuardPolicy, Pointer, Segment, Severity, Stage, ToolManifest};
use crate::policy::Policy;

mod budgets;
mod detectors;
mod effects;
mod exception;
mod extends;
mod fallback;
mod graph;
mod keys;
mod needs;
mod parameters;
pub(crate) mod scopes;
mod spec;
mod text_results;
mod tools;
mod types;
mod unchecked;
mod unreported;
mod verifiers;

pub use exception::exception;

/// A manifest to compile: the whole document, and the name that the policy calls it by.
#[derive(Clone, Debug)]
pub struct ManifestDocument {
    /// Its name.
    pub name: String,
    /// The document, envelope included.
    pub document: Value,
}

/// Which of the documents a fault is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The resolved policy.
    Policy,
    /// The manifest at this position.
    Manifest(usize),
}

/// A fault and the document that it is in.
#[derive(Clone, Debug)]
pub struct Located {
    /// The document.
    pub place: Place,
    /// The fault.
    pub fault: Fault,
}

/// What is found wrong while compiling.
#[derive(Default)]
pub(crate) struct Faults {
    found: Vec<Located>,
}

impl Faults {
    pub(crate) fn add(&mut self, place: Place, fault: Fault) {
        self.found.push(Located { place, fault });
    }

    /// A warning about a name of the policy that no manifest has. Reports show a hundred faults of a file; comparing
    /// further names with all known ones would be for nobody.
    pub(crate) fn undeclared(&mut self, fault: Fault, name: &str, known: &[&str]) {
        self.undeclared_in(Place::Policy, fault, name, known);
    }

    /// The same about a name that stands in another document.
    pub(crate) fn undeclared_in(&mut self, place: Place, fault: Fault, name: &str, known: &[&str]) {
        const HINTED: usize = 100;
        let fault = if self.found.len() < HINTED { fault.hint(near_name(name, known)) } else { fault };
        self.add(place, fault.warning());
    }

    /// Whether the same was said of the same place already.
    pub(crate) fn has(&self, fault: &Fault) -> bool {
        self.found.iter().any(|it| it.fault.code == fault.code && it.fault.pointer == fault.pointer)
    }

    fn has_errors(&self) -> bool {
        self.found.iter().any(|located| located.fault.severity == Severity::Error)
    }

    /// The expression, or all that is wrong with it, each at its place inside the text.
    pub(crate) fn expression(
        &mut self,
        place: Place,
        at: &Pointer,
        cel: &Cel,
        env: &Env,
        expect: Option<Type>,
    ) -> Option<Expression> {
        let source = cel.as_str();
        match Expression::compile(source, env, expect.clone()) {
            Ok(expression) => Some(expression),
            Err(mistakes) => {
                let prose = expect == Some(Type::String) && (reads_like_prose(source) || only_words(source, &mistakes));
                // one slip, the missing quotes, makes many mistakes: the first stands for all
                for mistake in mistakes.into_iter().take(if prose { 1 } else { usize::MAX }) {
                    let points = |byte: u32| source.get(..byte as usize).map_or(0, |text| text.chars().count());
                    let code = codes::of_expression(mistake.code);
                    let mut fault = Fault::value(code, at.clone(), mistake.message);
                    fault.span = Some((points(mistake.span.start), points(mistake.span.end)));
                    fault.hint = if prose { Some(quoted(source)) } else { mistake.hint };
                    self.add(place, fault);
                }
                None
            }
        }
    }

    /// A key that the language has and the engine does not have yet.
    pub(crate) fn not_yet(&mut self, place: Place, at: &Pointer, what: &str) {
        let message = format!("{what} is not supported yet");
        let hint = "leave it out for now: it would have no effect, and that would be worse than an error";
        self.add(place, Fault::key(codes::NOT_YET, at.clone(), message).hint(hint));
    }
}

/// Whether a text was meant as it stands rather than as an expression: two plain words side by side, which no expression
/// has outside of quotes, or a single one that is capitalised.
fn reads_like_prose(source: &str) -> bool {
    if source.contains('"') {
        return false;
    }
    let is_word = |word: &str| {
        let bare = word.trim_end_matches([',', '.', ':', ';', '!', '?']).trim_start_matches('(').trim_end_matches(')');
        !bare.is_empty() && bare != "in" && bare.chars().all(|letter| letter.is_alphabetic() || "'’-".contains(letter))
    };
    let words: Vec<&str> = source.split_whitespace().collect();
    match words.as_slice() {
        [word] => is_word(word) && word.starts_with(char::is_uppercase),
        words => words.windows(2).any(|pair| pair.iter().all(|word| is_word(word))),
    }
}

/// Whether a text that came to mistakes has nothing in it but words and numbers, of which some name nothing and are like
/// nothing that there is, or an apostrophe inside of a word: `100% sure`, `don't`.
fn only_words(source: &str, mistakes: &[callgate_cel::Diagnostic]) -> bool {
    let plain = |letter: char| letter.is_alphanumeric() || letter.is_whitespace() || ",;:!%'’-".contains(letter);
    let letters: Vec<char> = source.trim().chars().collect();
    let apostrophe =
        |three: &[char]| matches!(three, [before, '\'', after] if before.is_alphabetic() && after.is_alphabetic());
    letters.iter().copied().all(plain)
        && (letters.windows(3).any(apostrophe)
            || mistakes.iter().any(|it| it.code == callgate_cel::Code::UndeclaredName && it.hint.is_none()))
}

/// How a text is written that stands for itself: a CEL text inside a YAML text.
fn quoted(source: &str) -> String {
    const SHOWN: usize = 60;
    let mut text: String = source.trim().chars().take(SHOWN).collect();
    if text.len() < source.trim().len() {
        text.push('…');
    }
    let text = text.replace('\\', "\\\\").replace('\'', "''").replace('\n', "\\n");
    format!("this is a CEL expression: a text that stands for itself is quoted twice, '\"{text}\"'")
}

/// The place of keys under the document's root.
pub(crate) fn at(keys: &[&str]) -> Pointer {
    Pointer(keys.iter().map(|key| Segment::Key((*key).to_owned())).collect())
}

/// Compiles a resolved policy (the whole `GuardPolicy` document with what it extends merged into `spec`) against the
/// manifests that are in force.
///
/// The policy comes back only if no fault is an error; warnings come along.
#[must_use]
pub fn compile(document: &Value, manifests: &[ManifestDocument]) -> (Option<Policy>, Vec<Located>) {
    let mut faults = Faults::default();
    let (policy, found) = model::read::<GuardPolicy>(document, Stage::Resolved);
    for fault in found {
        faults.add(Place::Policy, fault);
    }
    let mut read = Vec::with_capacity(manifests.len());
    for (position, manifest) in manifests.iter().enumerate() {
        let (document, found) = model::read::<ToolManifest>(&manifest.document, Stage::Layer);
        for fault in found {
            faults.add(Place::Manifest(position), fault);
        }
        read.extend(document.map(|document| (position, document)));
    }
    extends::resolve(&mut read, &mut faults);
    let Some(policy) = policy.filter(|_| !faults.has_errors()) else { return (None, faults.found) };
    let thresholds = detectors::Thresholds::of(document, &policy.spec, &mut faults);
    let given = spec::given(&policy.spec);
    let mut tools = FxHashMap::default();
    let mut arguments = FxHashMap::default();
    for (position, manifest) in &read {
        tools::compile(*position, &manifest.spec, &thresholds, &given, &mut tools, &mut faults);
    }
    for (_, manifest) in &read {
        arguments.extend(tools::argument_types(&manifest.spec));
    }
    for (position, manifest) in &read {
        tools::compile_aliases(*position, &manifest.spec, &thresholds, &mut tools, &mut arguments, &mut faults);
    }
    for (position, manifest) in &read {
        verifiers::check(*position, &manifest.spec, &tools, &mut faults);
    }
    spec::check_names(&policy.spec, &tools, &mut faults);
    let digest = digest(document, manifests);
    let compiled = spec::compile(&policy, tools, &arguments, &thresholds, digest, &mut faults);
    let mut declared: Vec<(usize, &str)> = Vec::new();
    for (position, manifest) in &read {
        declared.extend(manifest.spec.tools.iter().flat_map(|tools| tools.iter()).map(|(name, _)| (*position, name)));
    }
    unchecked::check(&compiled, &declared, &mut faults);
    let compiled = (!faults.has_errors()).then_some(compiled);
    (compiled, faults.found)
}

/// SHA-256 of the canonical JSON of `{"manifests": {name: spec}, "spec": spec}`, in hex: what decides, and nothing else.
fn digest(document: &Value, manifests: &[ManifestDocument]) -> String {
    let spec = |document: &Value| document.get("spec").cloned().unwrap_or(Value::Null);
    let mut seen: Vec<(callgate_value::Text, Value)> = Vec::with_capacity(manifests.len());
    for manifest in manifests {
        seen.retain(|(name, _)| name.as_str() != Some(&manifest.name));
        seen.push((manifest.name.as_str().into(), spec(&manifest.document)));
    }
    let manifests = Map::new(seen).map_or(Value::Null, Value::Map);
    let whole = Map::new(vec![("manifests".into(), manifests), ("spec".into(), spec(document))]);
    let text = whole.ok().and_then(|whole| canonical_json(&Value::Map(whole)).ok()).unwrap_or_default();
    Digest::of(text.as_bytes()).to_hex()
}

/// The types of arguments, by tool.
pub(crate) type ArgumentTypes = FxHashMap<String, Type>;

pub(crate) type Tools = FxHashMap<String, crate::policy::ToolEntry>;

/// A text that many share.
pub(crate) fn shared(text: &str) -> Arc<str> {
    text.into()
}
