//! Out of a result: the records that count for a need, and the fields that they carry.
use callgate_value::{canonical_json, Value};

use crate::policy::{Need, Policy, Tool};

/// Records looked at in one result.
const MOST_RECORDS: usize = 2_000;
/// Bytes of a record's key; what has a longer one cannot be placed.
const LONGEST_KEY: usize = 2_048;

/// What one record of a result says about a need.
#[derive(Clone, Debug)]
pub(crate) struct Pick {
    /// The need, by position.
    pub(crate) need: usize,
    /// The record's place in the table: the canonical text of its key.
    pub(crate) place: String,
    /// The values of its key fields.
    pub(crate) key: Vec<Value>,
    /// The fields that it carries, a bit each.
    pub(crate) mask: u64,
    /// The fields that it carries, by position, with their values.
    pub(crate) values: Vec<(usize, Value)>,
}

/// Whether a record says something in a field: neither nothing, nor null, nor an empty text.
pub(crate) fn carries(record: &Value, field: &str) -> bool {
    match record.get(field) {
        None | Some(Value::Null) => false,
        Some(Value::Str(text)) => !text.as_bytes().is_empty(),
        Some(_) => true,
    }
}

/// What a successful result says about the needs. `records` is what the tool declares as such; where it declares none, a
/// result that is a map is one record.
pub(crate) fn picks(policy: &Policy, tool: &Tool, result: Option<&Value>, records: Option<&[Value]>) -> Vec<Pick> {
    let mut found = Vec::new();
    for (index, need) in policy.needs.iter().enumerate().filter(|(_, need)| need.takes(tool)) {
        let records = match records {
            Some(records) => records,
            None if tool.result.records.is_none() => result.map(std::slice::from_ref).unwrap_or_default(),
            None => &[],
        };
        found.extend(records.iter().take(MOST_RECORDS).filter_map(|record| pick(index, need, record)));
    }
    found
}

fn pick(index: usize, need: &Need, record: &Value) -> Option<Pick> {
    record.as_map()?;
    // a record without its whole key cannot be told from others
    let key = need.key.iter().map(|field| record.get(field).filter(|_| carries(record, field)).cloned());
    let key: Vec<Value> = key.collect::<Option<_>>()?;
    let place = canonical_json(&Value::List(key.clone())).ok().filter(|text| text.len() <= LONGEST_KEY)?;
    let carried = need.fields.iter().enumerate().filter(|(_, field)| carries(record, field));
    let values: Vec<(usize, Value)> =
        carried.filter_map(|(position, field)| Some((position, record.get(field)?.clone()))).collect();
    let mask = values.iter().fold(0, |mask, (position, _)| mask | bit(*position));
    (mask != 0).then_some(Pick { need: index, place, key, mask, values })
}

/// The bit of a field.
pub(super) fn bit(position: usize) -> u64 {
    u32::try_from(position).ok().and_then(|position| 1_u64.checked_shl(position)).unwrap_or(0)
}
