//! `denied`: a call that a person or a rule said no to, issued again. A denial is state: only an approval ends it.
use callgate_value::Value;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::tally::Tally;
use super::{counted, Before, Detector, Dispatch, Observation, Remarks};
use crate::call::Call;
use crate::claims::Scope;
use crate::decisions::No;
use crate::policy::{ErrorClass, Resets};
use crate::verdict::{Finding, IncidentKey, RuleKey};
use crate::Reason;

/// Denials on record in the task: by loose identity, by tool and target, by tool.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Denied {
    calls: FxHashMap<u64, Record>,
    #[serde(default)]
    targets: FxHashMap<u64, Record>,
    #[serde(default)]
    tools: FxHashMap<u64, Record>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Record {
    tally: Tally,
    /// The rules under which it was denied.
    rules: Vec<RuleKey>,
    /// What the person said last, if anything.
    #[serde(default)]
    why: Option<String>,
}

impl Detector for Denied {
    fn before(&self, before: &Before<'_>) -> Option<Finding> {
        let call = before.call;
        let rungs = before.thresholds.denied.as_ref()?;
        let Record { tally, rules, why } = self.find(call)?;
        tally.refuses(rungs, before.now).then(|| {
            let incident = IncidentKey::TaskCall { call: call.loose };
            let mut evidence = counted(tally.count, rungs.refuse_after);
            evidence.extend(why.as_deref().map(|why| ("why", Value::from(why))));
            let finding = Finding::refuse(Reason::Denied, evidence).within(incident);
            rules.iter().fold(finding, |finding, rule| finding.within(IncidentKey::Rule(rule.clone())))
        })
    }

    fn dispatched(&mut self, Dispatch { call, now, thresholds: judged_by, .. }: Dispatch<'_>) {
        if let (Some(record), Some(rungs)) = (self.find_mut(call), &judged_by.denied) {
            record.tally.dispatched(rungs, now, call);
        }
    }

    fn returned(&mut self, call: &Call) {
        if let Some(record) = self.find_mut(call) {
            record.tally.returned(call);
        }
    }

    fn after(&mut self, seen: &Observation, remarks: &mut Remarks) {
        if seen.judged.class != Some(ErrorClass::Denied) {
            return;
        }
        let count = self.calls.get(&seen.call.loose).map_or(0, |record| record.tally.count);
        remarks.count(Reason::Denied, seen, |by| by.denied.as_ref(), count);
    }

    fn reset(&mut self, _resets: Resets) {}
}

impl Denied {
    /// Puts a denial on record, at once, under the rules that asked. Gives how many there are of the call.
    pub(crate) fn record(&mut self, call: &Call, rules: Vec<RuleKey>, no: &No, now: f64) -> u64 {
        let record = match no.scope {
            Scope::Call => self.calls.entry(call.loose),
            Scope::Target => self.targets.entry(call.place()),
            Scope::Tool => self.tools.entry(call.tool_symbol),
        };
        let record = record.or_default();
        record.tally.add(now);
        record.why = no.why.clone().or(record.why.take());
        let fresh: Vec<RuleKey> = rules.into_iter().filter(|rule| !record.rules.contains(rule)).collect();
        record.rules.extend(fresh);
        record.tally.count
    }

    /// An approval takes it off, as far as it went.
    pub(crate) fn lift(&mut self, call: &Call) {
        self.calls.remove(&call.loose);
        self.targets.remove(&call.place());
        self.tools.remove(&call.tool_symbol);
    }

    /// The nearest denial of a call.
    fn find(&self, call: &Call) -> Option<&Record> {
        let target = || self.targets.get(&call.place());
        let tool = || self.tools.get(&call.tool_symbol);
        self.calls.get(&call.loose).or_else(target).or_else(tool)
    }

    fn find_mut(&mut self, call: &Call) -> Option<&mut Record> {
        let Self { calls, targets, tools } = self;
        match (calls.get_mut(&call.loose), targets.get_mut(&call.place())) {
            (Some(record), _) | (None, Some(record)) => Some(record),
            (None, None) => tools.get_mut(&call.tool_symbol),
        }
    }
}
