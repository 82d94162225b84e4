//! The ladder: a refusal of a tired incident becomes a stop, one of a read the earlier result.
use std::sync::Arc;

use callgate_value::Value;

use crate::call::Call;
use crate::policy::Policy;
use crate::task::Task;
use crate::verdict::{Action, Finding, IncidentKey};
use crate::Reason;

impl Task {
    /// A refusal of an incident that was refused often enough is a stop.
    pub(super) fn climb(&self, policy: &Policy, findings: &mut [Finding]) {
        if findings.iter().any(|finding| finding.reason == Reason::Stopped) {
            return;
        }
        for finding in findings.iter_mut().filter(|finding| matches!(finding.action, Action::Refuse | Action::Ask)) {
            let bound = if finding.reason.is_deterministic() {
                policy.ladder.deterministic_stop_after
            } else {
                policy.ladder.stop_after_refusals
            };
            let reached = |incident| {
                // a rule's incident is opened by a denial: without one there is nothing past any bound
                let is_there = !matches!(incident, &IncidentKey::Rule(_)) || self.incidents.get(incident).is_some();
                is_there && bound.is_some_and(|bound| self.incidents.counted(incident) >= bound)
            };
            // what was denied under a rule counts for that rule, and ends only what the rule would ask about
            let own = finding
                .incidents
                .iter()
                .filter(|it| finding.reason == Reason::Rule || !matches!(it, IncidentKey::Rule(_)));
            if own.into_iter().any(reached) {
                finding.action = Action::Stop;
            }
        }
    }

    /// The stored result that may be handed out instead of a refusal.
    pub(super) fn reuse(&self, policy: &Policy, call: &Call, findings: &[Finding]) -> Option<(Arc<Value>, f64)> {
        if !call.is_read() || policy.ladder.reuse_reads == 0 {
            return None;
        }
        let mut against = findings.iter().filter(|finding| finding.action >= Action::Ask).peekable();
        against.peek()?;
        let may_reuse = |finding: &Finding| {
            let reuses = |incident| self.incidents.get(incident).map_or(0, |incident| incident.reuses);
            finding.action == Action::Refuse
                && finding.reason.may_reuse()
                && !finding.incidents.is_empty()
                && finding.incidents.iter().all(|incident| reuses(incident) < policy.ladder.reuse_reads)
        };
        if !against.all(may_reuse) || self.out_changing > 0 {
            return None;
        }
        let stored = self.stored.get(&call.exact.0).filter(|stored| !stored.failed_since)?;
        let age = self.now - stored.at;
        let unchanged = stored.at_dispatch == self.read_version && stored.at_end == self.read_version;
        (unchanged && age < call.tool.cache_ttl).then(|| (Arc::clone(&stored.result), age))
    }
}
