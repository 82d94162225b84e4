//! Several policies that apply to one call: the strictest of what they say.
use super::Decision;
use crate::policy::Mode;
use crate::verdict::{Action, Finding};

/// The decisions of all policies as one; none of none. What a policy in mode `warn` or `audit` has against a call is kept
/// as what would have happened.
pub(super) fn strictest(decisions: impl Iterator<Item = (Mode, Decision)>) -> Option<Decision> {
    let mut decisions = decisions;
    let (mode, mut strictest) = decisions.next()?;
    let mut others = decisions.peekable();
    if others.peek().is_none() {
        return Some(strictest);
    }
    soften(mode, &mut strictest);
    for (mode, mut other) in others {
        soften(mode, &mut other);
        let stronger = other.action > strictest.action;
        if stronger {
            (strictest.reuse_of, strictest.reused) = (other.reuse_of, other.reused);
        }
        strictest.action = strictest.action.max(other.action);
        strictest.would = strictest.would.max(other.would);
        strictest.retry |= other.retry;
        strictest.takes_step &= other.takes_step;
        join(&mut strictest.findings, other.findings);
        for note in other.notes {
            if !strictest.notes.iter().any(|have| have.reason == note.reason && have.rule == note.rule) {
                strictest.notes.push(note);
            }
        }
        for lifted in other.lifted {
            if !strictest.lifted.contains(&lifted) {
                strictest.lifted.push(lifted);
            }
        }
    }
    strictest.would = strictest.would.filter(|would| *would > strictest.action);
    strictest.findings.sort_by_key(|finding| finding.reason);
    Some(strictest)
}

fn soften(mode: Mode, decision: &mut Decision) {
    if mode != Mode::Enforce && decision.would.is_some() {
        for finding in decision.findings.iter_mut().filter(|finding| finding.action > Action::Allow) {
            finding.holds = false;
        }
    }
}

/// One finding for a reason and rule: the one that holds, then the stronger one.
fn join(findings: &mut Vec<Finding>, others: Vec<Finding>) {
    for other in others {
        match findings.iter_mut().find(|have| have.reason == other.reason && have.rule == other.rule) {
            Some(have) if (have.holds, have.action) < (other.holds, other.action) => *have = other,
            Some(_) => {}
            None => findings.push(other),
        }
    }
}
