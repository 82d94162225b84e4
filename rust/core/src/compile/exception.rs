//! `GuardException`: what it lifts, ready to be asked.
use std::sync::Arc;

use callgate_value::{canonical_json, Digest, Map, Value};

use super::shared;
use crate::model::exception::ExceptionMatch;
use crate::model::texts::{ReasonName, Text};
use crate::model::{self, Fault, GuardException, Severity, Stage};
use crate::policy::{Exception, Match, Policy};
use crate::Reason;

/// Compiles an exception (the whole document), or gives all that is wrong with it.
///
/// # Errors
/// The faults, at least one of which is an error.
pub fn exception(document: &Value) -> Result<Exception, Vec<Fault>> {
    let (read, faults) = model::read::<GuardException>(document, Stage::Layer);
    let clean = faults.iter().all(|fault| fault.severity != Severity::Error);
    let Some(read) = read.filter(|_| clean) else { return Err(faults) };
    let spec = &read.spec;
    let nobody = ExceptionMatch::default();
    let matching = spec.r#match.as_ref().unwrap_or(&nobody);
    let texts = |texts: &Option<Vec<Text>>| {
        texts.as_ref().map(|texts| texts.iter().map(|text| text.as_str().to_owned()).collect())
    };
    let labels = matching.labels.iter().flat_map(|labels| labels.iter());
    #[allow(clippy::cast_precision_loss)]
    let expires = spec.expires.unix_seconds().map_or(f64::NEG_INFINITY, |seconds| seconds as f64);
    Ok(Exception {
        name: shared(read.metadata.name.as_str()),
        lifts: spec.lifts.iter().filter_map(lift).collect(),
        tools: matching.tools.as_ref().map(|tools| tools.iter().map(|tool| tool.as_str().to_owned()).collect()),
        matching: Match {
            agents: texts(&matching.agents),
            tenants: texts(&matching.tenants),
            labels: labels.map(|(name, value)| (name.to_owned(), value.as_str().to_owned())).collect(),
        },
        expires,
    })
}

/// A reason that no release knows yet lifts nothing.
fn lift(name: &ReasonName) -> Option<(Reason, Option<Arc<str>>)> {
    match name.as_str().strip_prefix("rule:") {
        Some(id) => Some((Reason::Rule, Some(shared(id)))),
        None => Reason::ALL.iter().find(|reason| reason.name() == name.as_str()).map(|reason| (*reason, None)),
    }
}

impl Policy {
    /// The same policy with what is lifted of it; its digest says so.
    #[must_use]
    pub fn with_exceptions(mut self, documents: &[Value], exceptions: Vec<Exception>) -> Self {
        if exceptions.is_empty() {
            return self;
        }
        let specs = documents.iter().map(|document| document.get("spec").cloned().unwrap_or(Value::Null)).collect();
        let whole =
            vec![("policy".into(), Value::from(self.digest.as_str())), ("exceptions".into(), Value::List(specs))];
        let text = Map::new(whole).ok().and_then(|whole| canonical_json(&Value::Map(whole)).ok()).unwrap_or_default();
        self.digest = Digest::of(text.as_bytes()).to_hex();
        self.exceptions = exceptions;
        self
    }
}
