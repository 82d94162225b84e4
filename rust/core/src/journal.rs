//! The last calls of a task and what came of each, with counts of all of them: what reports and summaries tell.
use std::collections::VecDeque;
use std::sync::Arc;

use callgate_value::{to_json, Value};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::about::as_json;
use crate::call::Call;
use crate::detect::Observation;
use crate::fields::map;
use crate::outcome::Outcome;
use crate::verdict::{Action, Finding, Grade};

/// Calls that are told one by one.
const MOST_CALLS: usize = 64;
/// Degradations that are told one by one.
const MOST_DEGRADED: usize = 256;
/// Bytes of arguments and results, as JSON, that are told whole.
const LONGEST: usize = 600;

/// One call.
#[derive(Clone, Debug)]
struct Entry {
    number: u64,
    call_id: Arc<str>,
    agent: usize,
    tool: Arc<str>,
    arguments: Arc<Value>,
    at: f64,
    action: Action,
    reasons: Vec<String>,
    ended: Option<Ended>,
}

/// What came of it.
#[derive(Clone, Debug)]
struct Ended {
    at: f64,
    grade: Grade,
    error: Option<Value>,
    result: Option<Arc<Value>>,
    gain: u32,
    cells: u32,
    from_cache: bool,
}

/// A call as it stands in memory, or as a snapshot told of it.
#[derive(Clone, Debug)]
enum Told {
    Live(Entry),
    Read(Value),
}

impl Serialize for Told {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        as_json::serialize(&self.to_value(), serializer)
    }
}

impl<'de> Deserialize<'de> for Told {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        as_json::deserialize(deserializer).map(Self::Read)
    }
}

/// How many calls came to what. `calls` is the sum of the six below it; `allowed` of those that ended, by grade, those that
/// were given up, and those that are out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counters {
    pub(crate) calls: u64,
    pub(crate) allowed: u64,
    pub(crate) reused: u64,
    pub(crate) asked: u64,
    pub(crate) denied: u64,
    pub(crate) refused: u64,
    pub(crate) stopped: u64,
    pub(crate) sufficient: u64,
    pub(crate) partial: u64,
    pub(crate) empty: u64,
    pub(crate) failed: u64,
    pub(crate) ungraded: u64,
    pub(crate) abandoned: u64,
}

/// A capability that was done without, or answered by something else.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Degraded {
    kind: String,
    what: String,
    call_id: String,
    at: f64,
}

/// The journal of a task.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Journal {
    calls: VecDeque<Told>,
    earlier: u64,
    pub(crate) counters: Counters,
    degraded: Vec<Degraded>,
}

impl Counters {
    /// Calls that were let through and of which nothing was ever told: they were out when a snapshot was taken.
    pub(crate) fn lost(&self, out: u64) -> u64 {
        let told = [self.sufficient, self.partial, self.empty, self.failed, self.ungraded, self.abandoned, out];
        told.into_iter().fold(self.allowed, u64::saturating_sub)
    }
}

fn up(count: &mut u64) {
    *count = count.saturating_add(1);
}

impl Journal {
    /// A verdict fell on a call. `again`: it was asked about before, and a person said yes.
    pub(crate) fn judged(
        &mut self,
        call: &Call,
        call_id: &Arc<str>,
        (at, action): (f64, Action),
        findings: &[Finding],
        again: bool,
    ) {
        let counters = &mut self.counters;
        if again {
            counters.asked = counters.asked.saturating_sub(1);
        } else {
            up(&mut counters.calls);
        }
        up(match action {
            Action::Allow => &mut counters.allowed,
            Action::Reuse => &mut counters.reused,
            Action::Ask => &mut counters.asked,
            Action::Refuse => &mut counters.refused,
            Action::Stop => &mut counters.stopped,
        });
        if self.calls.len() >= MOST_CALLS {
            self.calls.pop_front();
            up(&mut self.earlier);
        }
        self.calls.push_back(Told::Live(Entry {
            number: call.number,
            call_id: Arc::clone(call_id),
            agent: call.session,
            tool: Arc::clone(&call.tool.name),
            arguments: Arc::clone(&call.arguments),
            at,
            action,
            reasons: findings.iter().map(Finding::name).collect(),
            ended: None,
        }));
    }

    /// A person said no.
    pub(crate) fn denied(&mut self) {
        self.counters.asked = self.counters.asked.saturating_sub(1);
        up(&mut self.counters.denied);
    }

    /// A call that was allowed never ran.
    pub(crate) fn abandoned(&mut self) {
        up(&mut self.counters.abandoned);
    }

    fn entry(&mut self, number: u64) -> Option<&mut Entry> {
        let entries = self.calls.iter_mut().rev().filter_map(|told| match told {
            Told::Live(entry) => Some(entry),
            Told::Read(_) => None,
        });
        entries.into_iter().find(|entry| entry.number == number && entry.action == Action::Allow)
    }

    /// A call came back.
    pub(crate) fn ended(&mut self, seen: &Observation, outcome: &Outcome) {
        let counters = &mut self.counters;
        up(match seen.judged.grade {
            Grade::Sufficient => &mut counters.sufficient,
            Grade::Partial => &mut counters.partial,
            Grade::Empty => &mut counters.empty,
            Grade::Failed => &mut counters.failed,
            Grade::Ungraded => &mut counters.ungraded,
        });
        if let Some(entry) = self.entry(seen.call.number) {
            entry.ended = Some(Ended {
                at: seen.at,
                grade: seen.judged.grade,
                error: seen.judged.error.clone(),
                result: outcome.result.clone(),
                gain: 0,
                cells: 0,
                from_cache: seen.from_cache,
            });
        }
    }

    /// What it brought is known once its round has closed.
    pub(crate) fn gained(&mut self, call: &Call, gain: u32, cells: u32) {
        if let Some(ended) = self.entry(call.number).and_then(|entry| entry.ended.as_mut()) {
            (ended.gain, ended.cells) = (gain, cells);
        }
    }

    /// What a call brought, if it is still told.
    pub(crate) fn brought(&self, call_id: &str) -> Option<(u32, u32)> {
        self.calls.iter().rev().find_map(|told| match told {
            Told::Live(entry) if *entry.call_id == *call_id => {
                entry.ended.as_ref().map(|ended| (ended.gain, ended.cells))
            }
            _ => None,
        })
    }

    /// Something was answered by less than what was asked for.
    pub(crate) fn degraded(&mut self, kind: &str, what: &str, call_id: &str, at: f64) {
        if self.degraded.len() < MOST_DEGRADED {
            let (kind, what, call_id) = (kind.to_owned(), what.to_owned(), call_id.to_owned());
            self.degraded.push(Degraded { kind, what, call_id, at });
        }
    }

    /// The calls that are told one by one, and how many there were before them.
    pub(crate) fn calls(&self) -> (Vec<Value>, u64) {
        (self.calls.iter().map(Told::to_value).collect(), self.earlier)
    }

    pub(crate) fn degradations(&self) -> Vec<Value> {
        let told = self.degraded.iter().map(|it| {
            map(vec![
                ("kind", Value::from(it.kind.as_str())),
                ("what", Value::from(it.what.as_str())),
                ("call_id", Value::from(it.call_id.as_str())),
                ("at", Value::Float(it.at)),
            ])
        });
        told.collect()
    }
}

/// The value itself, or the beginning of its JSON text where that is long.
fn told(value: &Value) -> Value {
    let text = to_json(value);
    if text.len() <= LONGEST {
        return value.clone();
    }
    let mut end = LONGEST;
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    Value::from(format!("{}…", text.get(..end).unwrap_or_default()).as_str())
}

impl Told {
    fn to_value(&self) -> Value {
        match self {
            Self::Live(entry) => entry.to_value(),
            Self::Read(value) => value.clone(),
        }
    }
}

impl Entry {
    fn to_value(&self) -> Value {
        let reasons = self.reasons.iter().map(|reason| Value::from(reason.as_str())).collect();
        let mut fields = vec![
            ("call_id", Value::from(&*self.call_id)),
            ("agent", Value::Int(i64::try_from(self.agent).unwrap_or(i64::MAX))),
            ("tool", Value::from(&*self.tool)),
            ("arguments", told(&self.arguments)),
            ("at", Value::Float(self.at)),
            ("action", Value::from(self.action.name())),
            ("reasons", Value::List(reasons)),
        ];
        if let Some(ended) = &self.ended {
            fields.push(("ended", Value::Float(ended.at)));
            fields.push(("grade", Value::from(ended.grade.name())));
            fields.push(("gain", Value::Int(i64::from(ended.gain))));
            fields.push(("cells", Value::Int(i64::from(ended.cells))));
            fields.push(("result", ended.result.as_deref().map_or(Value::Null, told)));
            fields.push(("error", ended.error.clone().unwrap_or(Value::Null)));
            fields.push(("from_cache", Value::Bool(ended.from_cache)));
        }
        map(fields)
    }
}
