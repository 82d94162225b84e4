//! What tools, denials, effects and detectors have against a call.
use callgate_value::Value;

use crate::call::Call;
use crate::detect::{diversity, Before, Detector};
use crate::policy::Policy;
use crate::task::Task;
use crate::verdict::{Finding, IncidentKey};
use crate::Reason;

impl Task {
    /// What tools, denials, effects and detectors say.
    pub(crate) fn gather(&self, policy: &Policy, call: &Call, findings: &mut Vec<Finding>) {
        let Some(session) = self.sessions.get(call.session) else { return };
        let detectors = &session.detectors;
        let uncovered = call.asked.as_ref().is_some_and(|asked| self.known.is_uncovered(asked));
        let before = Before { call, now: self.now, window: &detectors.window, uncovered };
        if !call.tool.declared && policy.refuse_undeclared {
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
        findings.extend(self.effects.findings(&before).into_iter().flatten());
        findings.extend(self.states.before(&before));
        findings.extend(self.transfers.findings(&before).into_iter().flatten());
        findings.extend(self.cycle_finding(call));
    }

    /// The session's cycle and the merged one where it spans agents: one finding, in the incidents of both.
    fn cycle_finding(&self, call: &Call) -> Option<Finding> {
        call.tool.detectors.cycle.as_ref()?;
        let own = self.sessions.get(call.session)?.detectors.cycle.as_ref();
        let own = own.filter(|cycle| cycle.refuses(call.loose, self.now));
        let merged = self.merged.as_ref().filter(|cycle| cycle.refuses(call.member(), self.now) && cycle.is_shared());
        let mut finding = Finding::refuse(Reason::Cycle, own.or(merged)?.evidence());
        finding.incidents.extend(own.map(|cycle| IncidentKey::of_cycle(Some(call.session), cycle.members())));
        finding.incidents.extend(merged.map(|cycle| IncidentKey::of_cycle(None, cycle.members())));
        Some(finding)
    }
}

/// What the tool's schema says of the arguments.
fn invalid(call: &Call) -> Option<Finding> {
    let schema = call.tool.parameters.as_ref().filter(|_| call.fault.is_none())?;
    let faults = schema.faults(&call.arguments);
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
