//! The tables of a task's needs, and how results fill them.
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use callgate_value::{to_json, Loosening, SymbolKey, Value};
use serde::{Deserialize, Serialize};

use super::pick::bit;
use super::{Enough, Pick};
use crate::about::as_json;
use crate::policy::{Need, Policy};

/// Records kept for one need. A need asks for a thousand at most, so what comes after these is never missed.
const MOST_RECORDS: usize = 4_096;
/// Bytes of a value that a cell keeps; of a longer one only its origin is known.
const LONGEST_VALUE: usize = 512;

/// Where the value of a cell is from.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) call_id: Arc<str>,
    pub(crate) tool: Arc<str>,
    /// The place of the call among those that were asked for.
    pub(crate) number: u64,
    pub(crate) at: f64,
    /// Its age in seconds, where a cache of the host's answered.
    pub(crate) cached: Option<f64>,
    /// Whether its tool stands in for another one.
    pub(crate) substitute: bool,
}

/// A filled cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Cell {
    /// None where it is too long to keep.
    #[serde(with = "as_json")]
    pub(super) value: Value,
    symbol: Option<u64>,
    pub(super) call_id: String,
    pub(super) tool: String,
    number: u64,
    pub(super) at: f64,
    pub(super) cached: Option<f64>,
    pub(super) substitute: bool,
    /// A call that said something else.
    pub(super) disputed_by: Option<String>,
}

/// What is known of a record.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    #[serde(with = "as_json")]
    pub(super) key: Value,
    pub(super) filled: u64,
    credited: u64,
    pub(super) cells: BTreeMap<usize, Cell>,
}

/// What makes two needs the same one, whichever policies they stand in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct About {
    id: String,
    fields: Vec<String>,
    key: Vec<String>,
}

/// What is known for one need.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Found {
    about: About,
    pub(super) records: BTreeMap<String, Record>,
    /// How many records have so many filled cells, by that number.
    filled: Vec<u64>,
    /// The same for what was credited to a call already.
    credited: Vec<u64>,
}

/// What is known of all that the task needs. The policies of a task's agents may need different things, and the same thing
/// is known once.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Needs {
    found: Vec<Found>,
}

impl Needs {
    /// What is known for a need; nothing yet where no call has said anything about it.
    pub(super) fn of<'n>(&'n self, need: &Need) -> Cow<'n, Found> {
        let about = About::of(need);
        let known = self.found.iter().find(|found| found.about == about);
        known.map_or_else(|| Cow::Owned(Found::new(about)), Cow::Borrowed)
    }

    /// Fills cells. Answers with the ids of the needs of which missing cells were filled, and with what is left to credit.
    pub(crate) fn fill(
        &mut self,
        policy: &Policy,
        key: &SymbolKey,
        picks: Vec<Pick>,
        origin: &Origin,
    ) -> (Vec<Arc<str>>, Vec<Mark>) {
        let (mut moved, mut marks): (Vec<Arc<str>>, Vec<Mark>) = (Vec::new(), Vec::with_capacity(picks.len()));
        for pick in picks {
            let Some(need) = policy.needs.get(pick.need) else { continue };
            let slot = self.slot(need);
            let Some(found) = self.found.get_mut(slot) else { continue };
            marks.push(Mark { slot, most: need.min_records, place: pick.place.clone(), mask: pick.mask });
            let before = found.best(need);
            found.fill(need.keeps_last, key, pick, origin);
            if found.best(need) > before && !moved.contains(&need.id) {
                moved.push(Arc::clone(&need.id));
            }
        }
        (moved, marks)
    }

    /// Where the need's table stands, made where there is none.
    fn slot(&mut self, need: &Need) -> usize {
        let about = About::of(need);
        self.found.iter().position(|found| found.about == about).unwrap_or_else(|| {
            self.found.push(Found::new(about));
            self.found.len().saturating_sub(1)
        })
    }

    /// Credits a call with what it filled, in the order in which calls feed the detectors: how many missing cells it is the
    /// first one to fill.
    pub(crate) fn credit(&mut self, marks: &[Mark]) -> u32 {
        let mut gained: u64 = 0;
        for mark in marks {
            let Some(found) = self.found.get_mut(mark.slot) else { continue };
            let before = best(&found.credited, mark.most);
            found.credit(mark);
            gained = gained.saturating_add(best(&found.credited, mark.most).saturating_sub(before));
        }
        u32::try_from(gained).unwrap_or(u32::MAX)
    }

    /// Cells that are filled, and cells that there are.
    pub(crate) fn count(&self, policy: &Policy) -> (u64, u64) {
        let each = policy.needs.iter().map(|need| (self.of(need).best(need), need.cells()));
        each.fold((0, 0), |(filled, all), (more, of)| (filled.saturating_add(more), all.saturating_add(of)))
    }

    /// Whether cells of a need are missing.
    pub(crate) fn is_open(&self, need: &Need) -> bool {
        self.of(need).best(need) < need.cells()
    }

    /// How much of it is there; none where nothing is needed.
    pub(crate) fn enough(&self, policy: &Policy) -> Option<Enough> {
        let each = policy.needs.iter().map(|need| {
            let found = self.of(need);
            if found.best(need) >= need.cells() {
                Enough::All
            } else if found.is_worth(need) {
                Enough::Essential
            } else {
                Enough::Less
            }
        });
        each.min()
    }
}

/// The cells that a call spoke of, without their values: what is left to credit.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    slot: usize,
    /// How many records the need asks for.
    most: u64,
    place: String,
    mask: u64,
}

/// Filled cells of the best `most` records, out of how many records have how many.
fn best(by_count: &[u64], most: u64) -> u64 {
    let (mut left, mut sum) = (most, 0_u64);
    for (cells, records) in by_count.iter().enumerate().rev() {
        let cells = u64::try_from(cells).unwrap_or(u64::MAX);
        let taken = left.min(*records);
        sum = sum.saturating_add(taken.saturating_mul(cells));
        left = left.saturating_sub(taken);
    }
    sum
}

/// Moves a record from one count of cells to a higher one.
fn shift(by_count: &mut [u64], from: u64, to: u64) {
    for (mask, adds) in [(from, false), (to, true)] {
        let count = usize::try_from(mask.count_ones()).unwrap_or(0);
        if let Some(records) = by_count.get_mut(count) {
            *records = if adds { records.saturating_add(1) } else { records.saturating_sub(1) };
        }
    }
}

impl About {
    fn of(need: &Need) -> Self {
        Self { id: need.id.to_string(), fields: need.fields.clone(), key: need.key.clone() }
    }
}

impl Found {
    fn new(about: About) -> Self {
        let counts = vec![0; about.fields.len().saturating_add(1)];
        Self { about, records: BTreeMap::new(), filled: counts.clone(), credited: counts }
    }

    /// Filled cells of the records that count.
    pub(super) fn best(&self, need: &Need) -> u64 {
        best(&self.filled, need.min_records)
    }

    /// Whether enough records carry all essential fields.
    pub(super) fn is_worth(&self, need: &Need) -> bool {
        let worthy = self.records.values().filter(|record| record.filled & need.essential == need.essential);
        u64::try_from(worthy.count()).unwrap_or(u64::MAX) >= need.min_records
    }

    fn fill(&mut self, keeps_last: bool, key: &SymbolKey, pick: Pick, origin: &Origin) {
        if !self.records.contains_key(&pick.place) {
            if self.records.len() >= MOST_RECORDS {
                return;
            }
            let record = Record { key: Value::List(pick.key), filled: 0, credited: 0, cells: BTreeMap::new() };
            self.records.insert(pick.place.clone(), record);
            for counts in [&mut self.filled, &mut self.credited] {
                if let Some(records) = counts.first_mut() {
                    *records = records.saturating_add(1);
                }
            }
        }
        let Some(record) = self.records.get_mut(&pick.place) else { return };
        let before = record.filled;
        for (position, value) in pick.values {
            record.put(position, value, keeps_last, key, origin);
        }
        shift(&mut self.filled, before, record.filled);
    }

    fn credit(&mut self, mark: &Mark) {
        let Some(record) = self.records.get_mut(&mark.place) else { return };
        let before = record.credited;
        record.credited |= mark.mask;
        shift(&mut self.credited, before, record.credited);
    }
}

impl Record {
    fn put(&mut self, position: usize, value: Value, keeps_last: bool, key: &SymbolKey, origin: &Origin) {
        self.filled |= bit(position);
        let symbol = key.value(&value, Loosening::default()).ok().map(|symbol| symbol.0);
        let is_long = match &value {
            Value::Str(text) => text.as_bytes().len() > LONGEST_VALUE,
            Value::List(_) | Value::Map(_) => to_json(&value).len() > LONGEST_VALUE,
            _ => false,
        };
        let new = Cell {
            value: if is_long { Value::Null } else { value },
            symbol,
            call_id: origin.call_id.to_string(),
            tool: origin.tool.to_string(),
            number: origin.number,
            at: origin.at,
            cached: origin.cached,
            substitute: origin.substitute,
            disputed_by: None,
        };
        let Some(old) = self.cells.get_mut(&position) else {
            self.cells.insert(position, new);
            return;
        };
        let disputed = old.number != new.number && (old.symbol.is_none() || old.symbol != new.symbol);
        // within one result the first record of a key counts
        let replaces = if keeps_last { new.number > old.number } else { new.number < old.number };
        let (kept, other) = if replaces { (new, old.clone()) } else { (old.clone(), new) };
        let disputed_by = if disputed { Some(other.call_id) } else { other.disputed_by.or(kept.disputed_by.clone()) };
        *old = Cell { disputed_by, ..kept };
    }
}
