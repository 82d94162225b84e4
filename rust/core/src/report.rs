//! A task's report: how it stands and what it came to, as data.
use callgate_value::Value;

use crate::fields::map;
use crate::policy::Policy;
use crate::task::Task;
use crate::verdict::reason_name;

fn count(number: u64) -> Value {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

impl Task {
    /// How the task stands: status, the stop with its exit decision, what is known and missing, calls, counters, hops and
    /// degradations. What the host said of the task is in `about`.
    #[must_use]
    pub fn report(&self, policy: &Policy) -> Value {
        let optional = |text: Option<&str>| text.map_or(Value::Null, Value::from);
        let stop = self.stop.as_ref();
        let (filled, cells) = self.needs.count(policy);
        let missing = self.missing(policy).into_iter().map(|(key, field)| Value::List(vec![key, Value::from(&*field)]));
        let hands_over = stop.is_some_and(|stop| stop.exit == crate::ExitDecision::Escalate);
        let queue = policy.fallback.then.queue.as_deref().filter(|_| hands_over);
        let (calls, earlier) = self.journal.calls();
        map(vec![
            ("status", optional(self.status(policy).map(crate::Status::name))),
            ("exit", optional(stop.map(|stop| stop.exit.name()))),
            ("note", optional(stop.map(|stop| self.note_of_stop(policy, stop)).as_deref())),
            ("queue", optional(queue)),
            ("stop", self.stop_value()),
            ("cells", map(vec![("filled", count(filled)), ("all", count(cells))])),
            ("missing", Value::List(missing.collect())),
            ("needs", self.needs.to_value(policy)),
            ("counters", self.counters()),
            ("calls", Value::List(calls)),
            ("earlier_calls", count(earlier)),
            ("agents", Value::List(self.sessions.iter().map(|it| Value::from(it.agent.as_str())).collect())),
            ("hops", self.hop_values()),
            ("decisions", self.decisions.to_value()),
            ("degradations", Value::List(self.journal.degradations())),
        ])
    }

    /// How the task ended, in brief.
    pub(crate) fn ending(&self, policy: &Policy) -> Value {
        let missing = self.missing(policy).into_iter().map(|(key, field)| Value::List(vec![key, Value::from(&*field)]));
        let optional = |text: Option<&str>| text.map_or(Value::Null, Value::from);
        map(vec![
            ("task", Value::from(self.id.as_str())),
            ("status", optional(self.status(policy).map(crate::Status::name))),
            ("exit", optional(self.stop.as_ref().map(|stop| stop.exit.name()))),
            ("missing", Value::List(missing.collect())),
        ])
    }

    /// What a call that is still told brought: items that were new, and missing cells that it filled.
    pub(crate) fn brought(&self, call_id: &str) -> Option<(u32, u32)> {
        self.journal.brought(call_id)
    }

    fn stop_value(&self) -> Value {
        let Some(stop) = &self.stop else { return Value::Null };
        let reason = reason_name(stop.reason, stop.rule.as_deref());
        map(vec![
            ("reason", Value::from(reason.as_str())),
            ("call_id", Value::from(stop.call_id.as_str())),
            ("at", Value::Float(stop.at)),
            ("exit", Value::from(stop.exit.name())),
            ("evidence", stop.evidence.clone()),
        ])
    }

    fn counters(&self) -> Value {
        let it = &self.journal.counters;
        let out = u64::try_from(self.out.len()).unwrap_or(u64::MAX);
        let fields = [
            ("calls", it.calls),
            ("allowed", it.allowed),
            ("reused", it.reused),
            ("asked", it.asked),
            ("denied", it.denied),
            ("refused", it.refused),
            ("stopped", it.stopped),
            ("sufficient", it.sufficient),
            ("partial", it.partial),
            ("empty", it.empty),
            ("failed", it.failed),
            ("ungraded", it.ungraded),
            ("abandoned", it.abandoned),
            ("out", out),
            ("lost", it.lost(out)),
        ];
        map(fields.into_iter().map(|(name, number)| (name, count(number))).collect())
    }

    fn hop_values(&self) -> Value {
        let hops = self.hops.told().iter().map(|hop| {
            map(vec![
                ("from", Value::from(hop.from.as_str())),
                ("to", Value::from(hop.to.as_str())),
                ("need", hop.need.as_deref().map_or(Value::Null, Value::from)),
                ("call_id", Value::from(hop.call_id.as_str())),
                ("at", Value::Float(hop.at)),
            ])
        });
        Value::List(hops.collect())
    }
}
