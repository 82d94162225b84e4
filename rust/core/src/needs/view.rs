//! What is known and what is missing, as data for reports, replies and tests.
use callgate_value::Value;

use super::table::{Cell, Found, Record};
use super::Needs;
use crate::fields::map;
use crate::policy::{Need, Policy};

/// Cells that a list of missing ones names.
const MOST_MISSING: usize = 1_000;

fn count(number: u64) -> Value {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

impl Needs {
    /// The missing cells as (record key, field): first those of the records that count, then those of records that are
    /// not there at all, with null as their key. A thousand at most.
    pub(crate) fn missing(&self, policy: &Policy) -> Vec<(Value, String)> {
        let each = policy.needs.iter().flat_map(|need| self.of(need).missing(need));
        each.take(MOST_MISSING).collect()
    }

    /// Each need with its cells, its missing ones, and the records that count, with the origin of every value.
    pub(crate) fn to_value(&self, policy: &Policy) -> Value {
        Value::List(policy.needs.iter().map(|need| self.of(need).to_value(need)).collect())
    }
}

impl Found {
    /// The records that count, best first; among equals those with more essential fields, then by key.
    fn chosen(&self, need: &Need) -> Vec<&Record> {
        let mut records: Vec<(&String, &Record)> = self.records.iter().collect();
        records.sort_by(|(one, a), (other, b)| {
            let rank = |record: &Record| (record.filled.count_ones(), (record.filled & need.essential).count_ones());
            rank(b).cmp(&rank(a)).then_with(|| one.cmp(other))
        });
        let most = usize::try_from(need.min_records).unwrap_or(usize::MAX);
        records.into_iter().take(most).map(|(_, record)| record).collect()
    }

    /// Its missing cells; a thousand at most.
    fn missing(&self, need: &Need) -> Vec<(Value, String)> {
        let chosen = self.chosen(need);
        let there = u64::try_from(chosen.len()).unwrap_or(u64::MAX);
        let absent = need.min_records.saturating_sub(there);
        let of_record = |record: &Record| {
            let empty = need.fields.iter().enumerate().filter(|(position, _)| !record.cells.contains_key(position));
            empty.map(|(_, field)| (record.label(), field.clone())).collect::<Vec<_>>()
        };
        let of_absent = (0..absent).flat_map(|_| need.fields.iter().map(|field| (Value::Null, field.clone())));
        chosen.into_iter().flat_map(of_record).chain(of_absent).take(MOST_MISSING).collect()
    }

    fn to_value(&self, need: &Need) -> Value {
        let missing = self.missing(need).into_iter();
        let missing = missing.map(|(key, field)| Value::List(vec![key, Value::from(field.as_str())])).collect();
        let records = self.chosen(need).into_iter().map(|record| record.to_value(need)).collect();
        map(vec![
            ("id", Value::from(&*need.id)),
            ("cells", count(need.cells())),
            ("filled", count(self.best(need))),
            ("missing", Value::List(missing)),
            ("essential", Value::Bool(self.is_worth(need))),
            ("known_records", count(u64::try_from(self.records.len()).unwrap_or(u64::MAX))),
            ("records", Value::List(records)),
        ])
    }
}

impl Record {
    /// Its key as lists of missing cells name it; null for the only record of a need without a key.
    fn label(&self) -> Value {
        match self.key.as_list() {
            Some([]) | None => Value::Null,
            Some(_) => self.key.clone(),
        }
    }

    fn to_value(&self, need: &Need) -> Value {
        let fields = self.cells.iter().filter_map(|(position, cell)| Some((need.fields.get(*position)?, cell)));
        let fields = fields.map(|(field, cell)| (field.as_str(), cell.to_value())).collect();
        map(vec![("key", self.label()), ("fields", map(fields))])
    }
}

impl Cell {
    fn to_value(&self) -> Value {
        map(vec![
            ("value", self.value.clone()),
            ("call_id", Value::from(self.call_id.as_str())),
            ("tool", Value::from(self.tool.as_str())),
            ("at", Value::Float(self.at)),
            ("cached", self.cached.map_or(Value::Null, Value::Float)),
            ("substitute", Value::Bool(self.substitute)),
            ("disputed_by", self.disputed_by.as_deref().map_or(Value::Null, Value::from)),
        ])
    }
}
