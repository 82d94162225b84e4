//! `diversity`: few different calls in the window, or low entropy. Evidence, unless the author writes a rung.
use callgate_value::Value;

use super::window::Window;
use super::{Before, Observation, Remarks, Said};
use crate::policy::Diversity;
use crate::verdict::{Evidence, Finding, IncidentKey};
use crate::Reason;

fn evidence(window: &Window) -> Evidence {
    let calls = i64::try_from(window.len()).unwrap_or(i64::MAX);
    vec![
        ("calls", Value::Int(calls)),
        ("distinct_share", Value::Float(window.share())),
        ("entropy_bits", Value::Float(window.entropy())),
    ]
}

fn is_below(bound: Option<f64>, value: f64) -> bool {
    bound.is_some_and(|bound| value < bound)
}

fn applies<'a>(thresholds: Option<&'a Diversity>, window: &Window) -> Option<&'a Diversity> {
    thresholds.filter(|thresholds| window.len() >= thresholds.min_calls)
}

/// A call that does not stand in the window yet is what would raise the diversity, so it is never refused.
pub(crate) fn before(before: &Before<'_>) -> Option<Finding> {
    let call = before.call;
    let thresholds = applies(before.thresholds.diversity.as_ref(), before.window)?;
    let refused = is_below(thresholds.refuse_below, before.window.share()) && before.window.count(call.exact.0) > 0;
    refused.then(|| {
        let incident = IncidentKey::Call { session: call.session, call: call.loose };
        Finding::refuse(Reason::LowDiversity, evidence(before.window)).within(incident)
    })
}

/// The window holds the observation already.
pub(crate) fn after(seen: &Observation, window: &Window, remarks: &mut Remarks) {
    remarks.each(Reason::LowDiversity, seen, |by, _| {
        let thresholds = applies(by.diversity.as_ref(), window);
        let noted = thresholds.is_some_and(|it| {
            is_below(it.note_below, window.share()) || is_below(it.entropy_note_below, window.entropy())
        });
        Said::note(noted.then(|| evidence(window)))
    });
}
