//! What a result brings that the task did not know: records, leaves, ranges, pages.
use std::collections::BTreeMap;

use callgate_value::{with_buffer, write_loosened, Loosening, Mask, Symbol, SymbolKey, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use crate::bounds::ITEMS;
use crate::call::Asked;
use crate::policy::NOTHING;

/// Leaves looked at in one result; a larger result is known by these.
const MOST_LEAVES: usize = 20_000;
/// The items of a result's records, by key.
pub(crate) fn record_items(key: &SymbolKey, records: &[Value], by: &[String], mask: Option<Mask<'_>>) -> Vec<u64> {
    let loosening = Loosening { ignore: &[], mask };
    with_buffer(|text| {
        let item = |record: &Value| {
            text.clear();
            text.extend_from_slice(b"record:");
            match write_loosened(&record_key(record, by), loosening, text) {
                Ok(()) => key.bytes(text).0,
                Err(_) => NOTHING.0,
            }
        };
        records.iter().map(item).collect()
    })
}

/// The leaves of a result without its ignored top-level fields, strings masked; and whether any of them stands in a list.
pub(crate) fn leaf_items(
    key: &SymbolKey,
    result: &Value,
    ignore: &[String],
    mask: Option<Mask<'_>>,
) -> (Vec<u64>, bool) {
    let mut found = Leaves::default();
    with_buffer(|path| leaves(key, result, ignore, Loosening { ignore: &[], mask }, path, &mut found));
    (found.items, found.in_a_list)
}

#[derive(Default)]
struct Leaves {
    items: Vec<u64>,
    in_a_list: bool,
}

/// The key of a record: its key fields, or all of it.
pub(crate) fn record_key(record: &Value, by: &[String]) -> Value {
    if by.is_empty() {
        return record.clone();
    }
    Value::List(by.iter().map(|field| record.get(field).cloned().unwrap_or(Value::Null)).collect())
}

fn leaves(
    key: &SymbolKey,
    value: &Value,
    ignore: &[String],
    loosening: Loosening<'_>,
    path: &mut Vec<u8>,
    found: &mut Leaves,
) {
    if found.items.len() >= MOST_LEAVES {
        return;
    }
    let length = path.len();
    match value {
        Value::Null => {}
        Value::Str(text) if text.as_bytes().is_empty() => {}
        Value::List(items) => {
            path.extend_from_slice(b"\xFF*");
            let before = found.items.len();
            for item in items {
                leaves(key, item, &[], loosening, path, found);
            }
            found.in_a_list |= found.items.len() > before;
        }
        Value::Map(map) => {
            for (name, item) in map.iter() {
                if ignore.iter().any(|ignored| Some(ignored.as_str()) == name.as_str()) {
                    continue;
                }
                path.push(0xFF);
                path.extend_from_slice(name.as_bytes());
                leaves(key, item, &[], loosening, path, found);
                path.truncate(length);
            }
        }
        scalar => {
            path.push(0xFE);
            if write_loosened(scalar, loosening, path).is_ok() {
                found.items.push(key.bytes(path).0);
            }
        }
    }
    path.truncate(length);
}

/// What an outcome has to offer, before it is compared with what is known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Offer {
    /// Items, in the order of the result.
    pub(crate) items: Vec<u64>,
    /// Whether they are parts of one record.
    pub(crate) is_one_record: bool,
    /// With `coverage`: the range that was read, or the next page.
    pub(crate) covered: Option<Covered>,
}

#[derive(Clone, Debug)]
pub(crate) enum Covered {
    /// A range of a target, and of what was asked of it.
    Range { target: u64, list: u64, from: i64, to: Option<i64> },
    /// A page of a list, and the one that follows: of this list, and of any list of the tool.
    Page { asked: u64, next: Option<u64>, of_tool: Option<u64> },
}

/// What an outcome brought.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Gain {
    /// New items, or 1 for a new range or page.
    pub(crate) count: u32,
    /// Share of the items that were known; none without items.
    pub(crate) share: Option<f64>,
    /// The same of records: a result without lists is one, where nothing is declared of records.
    pub(crate) known: Option<f64>,
}

impl Gain {
    fn of(count: u32, share: f64) -> Self {
        Self { count, share: Some(share), known: Some(share) }
    }
}

/// What the task knows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Known {
    items: FxHashSet<u64>,
    pages: FxHashSet<u64>,
    asked: FxHashSet<u64>,
    ranges: FxHashMap<u64, BTreeMap<i64, i64>>,
    /// Where something was read of which it is not known how far it reached.
    begun: FxHashSet<(u64, i64)>,
    /// Ranges of all targets.
    covered: usize,
}

impl Known {
    /// Takes an offer in; answers with what was new in it.
    pub(crate) fn learn(&mut self, offer: &Offer) -> Gain {
        if self.items.len() > ITEMS {
            self.items = FxHashSet::default();
        }
        // the parts of something large that were read: all of them are forgotten at once
        let pages = self.pages.len().saturating_add(self.asked.len());
        if pages.saturating_add(self.begun.len()).saturating_add(self.covered) >= ITEMS {
            (self.pages, self.asked) = (FxHashSet::default(), FxHashSet::default());
            (self.ranges, self.begun, self.covered) = (FxHashMap::default(), FxHashSet::default(), 0);
        }
        // the items of one result are a set: what stands in it twice counts once
        let mut distinct = offer.items.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let total = u32::try_from(distinct.len()).unwrap_or(u32::MAX);
        let new = distinct.into_iter().filter(|item| self.items.insert(*item)).count();
        let new = u32::try_from(new).unwrap_or(u32::MAX);
        let covered = match &offer.covered {
            None => None,
            Some(Covered::Range { target, list, from, to }) => {
                let (of_list, of_target) = (self.cover(*list, *from, *to), self.cover(*target, *from, *to));
                Some(of_list && (of_target || new > 0))
            }
            Some(Covered::Page { asked, next, of_tool }) => {
                self.asked.insert(*asked);
                Some(match (next, of_tool) {
                    // other lists have pages of the same name
                    (Some(next), Some(of_tool)) => {
                        let (next, of_tool) = (self.pages.insert(*next), self.pages.insert(*of_tool));
                        next && (of_tool || new > 0)
                    }
                    // the last page is what stands on it
                    _ => new > 0,
                })
            }
        };
        match covered {
            Some(new) => Gain::of(u32::from(new), if new { 0.0 } else { 1.0 }),
            None if total == 0 => Gain::default(),
            None => {
                let gain = Gain::of(new, 1.0 - f64::from(new) / f64::from(total));
                let known = if new == 0 { 1.0 } else { 0.0 };
                Gain { known: if offer.is_one_record { Some(known) } else { gain.share }, ..gain }
            }
        }
    }

    /// Whether the call asks for something that no earlier one covered.
    pub(crate) fn is_uncovered(&self, asked: &Asked) -> bool {
        match asked {
            Asked::Range { target, from, to, .. } => !self.covers(*target, *from, *to),
            Asked::Cursor { page, .. } => !self.asked.contains(page),
        }
    }

    fn covers(&self, target: u64, from: i64, to: Option<i64>) -> bool {
        let Some(to) = to else { return self.begun.contains(&(target, from)) };
        from >= to
            || self
                .ranges
                .get(&target)
                .and_then(|ranges| ranges.range(..=from).next_back())
                .is_some_and(|(_, high)| to <= *high)
    }

    /// Adds a range; whether any of it was new.
    fn cover(&mut self, target: u64, from: i64, to: Option<i64>) -> bool {
        if self.covers(target, from, to) {
            return false;
        }
        let Some(to) = to else { return self.begun.insert((target, from)) };
        let ranges = self.ranges.entry(target).or_default();
        let (mut low, mut high) = (from, to);
        // none of them touch each other, so those that this one touches stand together before its end
        while let Some((begin, end)) = ranges.range(..=to).next_back().map(|(begin, end)| (*begin, *end)) {
            if end < from {
                break;
            }
            low = low.min(begin);
            high = high.max(end);
            ranges.remove(&begin);
            self.covered = self.covered.saturating_sub(1);
        }
        ranges.insert(low, high);
        self.covered = self.covered.saturating_add(1);
        true
    }
}

/// The symbol of a page of a tool.
pub(crate) fn page(key: &SymbolKey, tool: u64, next: &Value) -> Option<u64> {
    let next = key.value(next, callgate_value::Loosening::default()).ok()?;
    Some(key.join(&[Symbol(tool), next]).0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_value::read_json;

    fn offer(text: &str) -> Offer {
        let value = read_json(text.as_bytes()).unwrap();
        let (items, has_many) = leaf_items(&SymbolKey::new([1; 16]), &value, &[], None);
        Offer { items, is_one_record: !has_many, covered: None }
    }

    #[test]
    fn leaves_are_told_apart_by_path_and_not_by_position() {
        let mut known = Known::default();
        assert_eq!(known.learn(&offer(r#"{"a":[1,2],"b":null,"c":""}"#)), Gain::of(2, 0.0));
        assert_eq!(known.learn(&offer(r#"{"a":[2,1]}"#)), Gain::of(0, 1.0));
        assert_eq!(known.learn(&offer(r#"{"b":[2,1]}"#)), Gain::of(2, 0.0));
        assert_eq!(known.learn(&offer(r#"{"a":[1,3]}"#)), Gain::of(1, 0.5));
        assert_eq!(known.learn(&offer("[]")), Gain::default());
    }

    #[test]
    fn a_result_without_a_list_is_one_record() {
        let mut known = Known::default();
        assert_eq!(known.learn(&offer(r#"{"a":1,"b":{"c":2}}"#)), Gain::of(2, 0.0));
        assert_eq!(
            known.learn(&offer(r#"{"a":1,"b":{"c":3}}"#)),
            Gain { count: 1, share: Some(0.5), known: Some(0.0) }
        );
        assert_eq!(known.learn(&offer(r#"{"a":1,"b":{"c":2}}"#)), Gain::of(0, 1.0));
    }

    #[test]
    fn ranges_are_covered_once() {
        let mut known = Known::default();
        let range = |from, to| Offer {
            items: vec![],
            is_one_record: false,
            covered: Some(Covered::Range { target: 1, list: 2, from, to: Some(to) }),
        };
        assert_eq!(known.learn(&range(0, 10)).count, 1);
        assert_eq!(known.learn(&range(5, 10)).count, 0);
        assert_eq!(known.learn(&range(10, 20)).count, 1);
        assert_eq!(known.learn(&range(2, 18)).count, 0);
        assert!(known.is_uncovered(&Asked::Range { target: 1, list: 2, from: 18, to: Some(21) }));
        assert!(!known.is_uncovered(&Asked::Range { target: 1, list: 2, from: 0, to: Some(20) }));
    }
}
