//! What tools, denials, effects and detectors have against a call.
use std::sync::Arc;

use callgate_value::{Map, Value};

use crate::call::Call;
use crate::claims::Held;
use crate::detect::cycle::CycleStream;
use crate::detect::{diversity, Before, Detector, Lift};
use crate::policy::{Detectors, Policy};
use crate::task::{Session, Task};
use crate::verdict::{Finding, IncidentKey, Lifted};
use crate::Reason;

impl Task {
    /// What tools, denials, effects and detectors say.
    pub(crate) fn gather(&self, policy: &Policy, call: &Call, held: &Held, findings: &mut Vec<Finding>) {
        let Some(session) = self.sessions.get(call.session) else { return };
        let detectors = &session.detectors;
        let uncovered = call.asked.as_ref().is_some_and(|asked| self.known.is_uncovered(asked));
        // without a binding the tool has the policy's own thresholds
        let thresholds = policy.binding.as_ref().map(|_| policy.thresholds(&call.tool));
        let thresholds = thresholds.as_deref().unwrap_or(&call.tool.detectors);
        let transfer_cycle = policy.transfer_cycle.as_ref();
        let (now, window, worked) = (self.now, &detectors.window, self.worked);
        let before = Before { call, now, window, uncovered, worked, thresholds, transfer_cycle };
        if policy.is_nobody {
            findings.push(self.unbound(session));
        }
        if policy.refuses_undeclared(&call.tool.name) {
            let near = nearest(policy, &call.tool.name);
            let evidence = near.into_iter().map(|name| ("nearest", Value::from(name.as_str()))).collect();
            let incident = IncidentKey::Tool { session: call.session, tool: call.tool_symbol };
            findings.push(Finding::refuse(Reason::UnknownTool, evidence).within(incident));
        }
        if let Some(fault) = &call.fault {
            let incident = IncidentKey::Tool { session: call.session, tool: call.tool_symbol };
            let mut finding = Finding::refuse(Reason::InvalidArguments, Vec::new()).within(incident);
            finding.message = Some(fault.to_string());
            findings.push(finding);
        }
        if let Some(finding) = invalid(call) {
            findings.push(finding);
        }
        for detector in detectors.all() {
            let doubled = |finding: &Finding| findings.iter().any(|other| other.reason == finding.reason);
            if let Some(finding) = detector.before(&before).filter(|finding| !doubled(finding)) {
                findings.push(finding);
            }
        }
        findings.extend(detectors.frequency.before(&before));
        findings.extend(diversity::before(&before));
        findings.extend(self.denied.before(&before));
        self.gather_held(policy, call, held, findings);
        self.effects.findings(&before, held, findings);
        findings.extend(self.states.before(&before));
        findings.extend(self.transfers.findings(&before).into_iter().flatten());
        findings.extend(self.cycle_finding(policy, call, thresholds));
        findings.extend(self.hops.findings(policy, &self.needs, call));
    }

    /// The session's cycle and the merged one where it spans agents: one finding, in the incidents of both.
    fn cycle_finding(&self, policy: &Policy, call: &Call, thresholds: &Detectors) -> Option<Finding> {
        let by = policy.cycle.as_ref().filter(|_| thresholds.cycle.is_some())?;
        let own = self.sessions.get(call.session)?.detectors.cycle.as_ref();
        let own = own.and_then(|cycle| Some((cycle, cycle.refuses(call.loose, self.now, by)?)));
        let merged = self.merged.as_ref().and_then(|cycle| Some((cycle, cycle.refuses(call.member(), self.now, by)?)));
        let merged = merged.filter(|(cycle, period)| cycle.is_shared(*period));
        let (cycle, period) = own.or(merged)?;
        let mut finding = Finding::refuse(Reason::Cycle, cycle.evidence(period, by.laps));
        let incident =
            |session, (cycle, period): (&CycleStream, usize)| IncidentKey::of_cycle(session, cycle.members(period));
        finding.incidents.extend(own.map(|own| incident(Some(call.session), own)));
        finding.incidents.extend(merged.map(|merged| incident(None, merged)));
        Some(finding)
    }

    /// No binding names this agent, tenant and labels.
    fn unbound(&self, session: &Session) -> Finding {
        let labels = self.about.labels.iter().map(|(name, value)| (name.as_str().into(), Value::from(value.as_str())));
        let evidence = vec![
            ("agent", Value::from(session.agent.as_str())),
            ("tenant", self.about.tenant.as_deref().map_or(Value::Null, Value::from)),
            ("labels", Map::new(labels.collect()).map_or(Value::Null, Value::Map)),
        ];
        Finding::refuse(Reason::Unbound, evidence)
    }

    /// Takes out what exceptions lift, and tells what that was.
    pub(super) fn lift(&self, policy: &Policy, call: &Call, agent: &str, findings: &mut Vec<Finding>) -> Vec<Lifted> {
        if policy.exceptions.is_empty() || findings.is_empty() {
            return Vec::new();
        }
        let lifts = policy.lifts(&call.tool.name, agent, &self.about, self.moment());
        let mut lifted = Vec::new();
        findings.retain(|finding| {
            // what has no JSON form was never looked at: there is nothing that an exception could have meant
            let unseen = call.fault.is_some() && finding.reason == Reason::InvalidArguments;
            let fits = |lift: &&Lift| !unseen && lift.is_of(finding.reason, finding.rule.as_deref());
            let lift = lifts.iter().find(fits);
            lifted.extend(lift.map(|lift| Lifted { exception: Arc::clone(&lift.exception), reason: finding.name() }));
            lift.is_none()
        });
        lifted
    }
}

/// What the tool's schema says of the arguments.
fn invalid(call: &Call) -> Option<Finding> {
    let faults = call.faults()?;
    let told: Vec<String> = faults.iter().map(|fault| format!("{}: {}", fault.path, fault.message)).collect();
    let first = told.first()?;
    let more = told.len().saturating_sub(1);
    let message = match more {
        0 => format!("`{}` does not take these arguments: {first}", call.tool.name),
        _ => format!("`{}` does not take these arguments: {first} (and {more} more)", call.tool.name),
    };
    let evidence = vec![("faults", Value::List(told.iter().map(|fault| Value::from(fault.as_str())).collect()))];
    let incident = IncidentKey::Call { session: call.session, call: call.loose };
    let mut finding = Finding::refuse(Reason::InvalidArguments, evidence).within(incident);
    finding.message = Some(message);
    Some(finding)
}

/// Names of declared tools that look like this one, nearest first, three at most.
fn nearest(policy: &Policy, name: &str) -> Vec<String> {
    let mut near: Vec<(f64, &str)> = policy
        .tools
        .keys()
        .map(|known| (strsim::jaro_winkler(name, known), known.as_str()))
        .filter(|(likeness, _)| *likeness >= 0.75)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    near.into_iter().take(3).map(|(_, known)| known.to_owned()).collect()
}
