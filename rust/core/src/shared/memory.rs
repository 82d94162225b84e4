//! Shared state in memory: what the tasks of one gate share, or what one task keeps for itself.
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use super::breaker::Breaker;
use super::claim::{Claim, Entry, Grant, Resolution, Settlement};
use super::counters::Counters;
use super::rows::{Hold, Rows};
use super::{ledger, operation, EntryState};
use crate::bounds::{EFFECTS, ENDED_CLAIMS, SHARED_TASKS};
use crate::fallback::BreakerState;

/// What tasks share, whole and in memory.
///
/// Bounded: what ended is known by its id for an hour, of 65,536 at most. Completed effects are remembered for as long as their
/// claim says, the last million of them; effects in flight or in doubt always. Of a million tasks the counters and denials are
/// kept, those that were used last.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Saved", into = "Saved")]
pub struct Shared {
    pub(super) tasks: FxHashMap<String, Account>,
    pub(super) entries: FxHashMap<String, Entry>,
    /// From when on which entries stand in the way of others, by task and tool.
    pub(super) blocking: FxHashMap<(String, String), BTreeSet<(Moment, String)>>,
    breakers: FxHashMap<String, Breaker>,
    pub(super) holds: FxHashMap<String, Hold>,
    /// Ids of what ended or never held anything, the oldest first.
    pub(super) ended: VecDeque<String>,
    /// Counts operations, so that the tasks that were used last are known.
    turn: u64,
    /// Operations until the tables are looked through again.
    until_sweep: usize,
}

/// A time that can be a key of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment(f64);

impl Ord for Moment {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Moment {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Moment {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Moment {}

/// What is counted and denied in one task.
#[derive(Clone, Debug, Default)]
pub(super) struct Account {
    counters: Counters,
    denials: FxHashSet<String>,
    turn: u64,
}

/// What outlives the process that held it: everything but claims, whose calls nobody will tell of.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Saved {
    counters: BTreeMap<String, Counters>,
    denials: BTreeMap<String, BTreeSet<String>>,
    entries: Vec<Entry>,
    breakers: BTreeMap<String, Breaker>,
}

impl From<Shared> for Saved {
    fn from(shared: Shared) -> Self {
        let mut saved = Self { breakers: shared.breakers.into_iter().collect(), ..Self::default() };
        saved.entries = shared.entries.into_values().collect();
        saved.entries.sort_by(|one, other| one.effect.key.cmp(&other.effect.key));
        for (task, account) in shared.tasks {
            saved.denials.insert(task.clone(), account.denials.into_iter().collect());
            saved.counters.insert(task, account.counters);
        }
        saved
    }
}

impl From<Saved> for Shared {
    fn from(saved: Saved) -> Self {
        let mut shared = Self { breakers: saved.breakers.into_iter().collect(), ..Self::default() };
        shared.restore(saved.entries);
        for (task, counters) in saved.counters {
            shared.tasks.entry(task).or_default().counters = counters;
        }
        for (task, denials) in saved.denials {
            shared.tasks.entry(task).or_default().denials = denials.into_iter().collect();
        }
        shared
    }
}

/// Which rows were read for an operation: what it takes out of them is gone.
struct Read {
    /// Whether the hold had ended, where there was one.
    ended: Option<bool>,
    entries: Vec<String>,
    denials: Vec<String>,
}

impl Read {
    fn of(rows: &Rows) -> Self {
        Self {
            ended: rows.hold.as_ref().map(|hold| hold.ended),
            entries: rows.entries.keys().cloned().collect(),
            denials: rows.denials.iter().cloned().collect(),
        }
    }
}

impl Shared {
    /// Nothing is known yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes what a claim asks for, all of it or nothing, and says how everything stands.
    pub fn commit(&mut self, claim: &Claim, now: f64) -> Grant {
        self.sweep_in_time(now);
        let mut rows = self.rows(&claim.id, &claim.task);
        for breaker in &claim.breakers {
            self.read_breaker(&mut rows, &breaker.name);
        }
        if let Some(effect) = &claim.effect {
            self.read_entry(&mut rows, &effect.effect.key);
            self.read_doubts(&mut rows, &claim.task, &effect.effect.tool, now);
        }
        self.read_denials(&mut rows, &claim.task, &claim.denials);
        let read = Read::of(&rows);
        let grant = operation::commit(&mut rows, claim, now);
        self.write(&claim.task, rows, read);
        grant
    }

    /// Takes in how something ended; false if it was known already.
    pub fn settle(&mut self, settlement: &Settlement, now: f64) -> bool {
        self.sweep_in_time(now);
        let task = self.task_of(&settlement.id, &settlement.task);
        let mut rows = self.rows(&settlement.id, &task);
        self.read_held(&mut rows, settlement.effect.is_some().then_some(settlement.id.as_str()), now);
        for resolution in &settlement.resolve {
            self.read_entry(&mut rows, &resolution.key);
        }
        if let Some(late) = &settlement.late {
            self.read_entry(&mut rows, &late.effect.effect.key);
            self.read_doubts(&mut rows, &settlement.task, &late.effect.effect.tool, now);
        }
        self.read_denials(&mut rows, &task, &settlement.lift);
        self.read_denials(&mut rows, &task, &settlement.deny);
        let read = Read::of(&rows);
        let new = operation::settle(&mut rows, settlement, now);
        self.write(&task, rows, read);
        new
    }

    /// Gives back what a claim of a call holds that never ran; false if it ended already.
    pub fn release(&mut self, id: &str, task: &str, now: f64) -> bool {
        self.sweep_in_time(now);
        let task = self.task_of(id, task);
        let mut rows = self.rows(id, &task);
        self.read_held(&mut rows, None, now);
        let read = Read::of(&rows);
        let new = operation::release(&mut rows, id, &task, now);
        self.write(&task, rows, read);
        new
    }

    /// Ends a doubt, or notes that it was looked into in vain; false where there is none.
    pub fn resolve(&mut self, resolution: &Resolution, now: f64) -> bool {
        let mut rows = Rows::default();
        self.read_entry(&mut rows, &resolution.key);
        let read = Read::of(&rows);
        let doubted = ledger::resolve(&mut rows.entries, resolution, now);
        self.write("", rows, read);
        doubted
    }

    /// All entries of the ledger, by key.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        self.sorted(|_| true)
    }

    /// The entries that a task began last, by key.
    #[must_use]
    pub fn entries_of(&self, task: &str) -> Vec<Entry> {
        self.sorted(|entry| entry.task == task)
    }

    /// Puts entries back where there is none of their key.
    pub fn restore(&mut self, entries: Vec<Entry>) {
        for entry in entries {
            if !self.entries.contains_key(&entry.effect.key) {
                self.put_entry(entry.effect.key.clone(), Some(entry));
            }
        }
    }

    /// The calls of a task that are out will never be told of: what they hold is spent, and nobody knows of their effects.
    pub fn lose(&mut self, task: &str, now: f64) {
        let out = |entry: &&Entry| entry.task == task && entry.state == EntryState::InFlight;
        let lost: Vec<Entry> = self.entries.values().filter(out).cloned().collect();
        for mut entry in lost {
            entry.lease_until = entry.lease_until.min(now);
            entry.age(now);
            self.put_entry(entry.effect.key.clone(), Some(entry));
        }
    }

    /// The counters of a task.
    #[must_use]
    pub fn counters(&self, task: &str) -> Counters {
        self.tasks.get(task).map(|account| account.counters.clone()).unwrap_or_default()
    }

    /// How a breaker stands.
    #[must_use]
    pub fn breaker_state(&self, name: &str, now: f64) -> BreakerState {
        self.breakers.get(name).map_or(BreakerState::Closed, |breaker| breaker.state(now))
    }

    #[cfg(test)]
    pub(super) fn probes(&self, name: &str, now: f64) -> usize {
        self.breakers.get(name).map_or(0, |breaker| breaker.probing(now))
    }

    /// Forgets what need not be known any more. Happens by itself.
    pub fn sweep(&mut self, now: f64) {
        let forgotten: Vec<String> =
            self.entries.iter().filter(|(_, entry)| entry.forgotten(now)).map(|(key, _)| key.clone()).collect();
        for key in forgotten {
            self.put_entry(key, None);
        }
        self.forget_oldest_effects();
        self.holds.retain(|_, hold| hold.keep_until > now);
        let holds = &self.holds;
        self.ended.retain(|id| holds.contains_key(id));
        if self.tasks.len() > SHARED_TASKS {
            let mut turns: Vec<u64> = self.tasks.values().map(|account| account.turn).collect();
            let middle = turns.len() / 2;
            let (_, oldest_kept, _) = turns.select_nth_unstable(middle);
            let oldest_kept = *oldest_kept;
            let holds = &self.holds;
            let held: FxHashSet<&str> =
                holds.values().filter(|hold| !hold.ended).map(|hold| hold.task.as_str()).collect();
            self.tasks.retain(|task, account| account.turn >= oldest_kept || held.contains(task.as_str()));
        }
    }

    fn sweep_in_time(&mut self, now: f64) {
        self.turn = self.turn.saturating_add(1);
        self.until_sweep = self.until_sweep.saturating_sub(1);
        if self.until_sweep == 0 {
            self.sweep(now);
            let rows = [self.tasks.len(), self.entries.len(), self.holds.len()];
            // as many operations as there are rows to look at, so that each pays for a bounded number
            self.until_sweep = rows.into_iter().fold(64, usize::saturating_add);
        }
    }

    fn forget_oldest_effects(&mut self) {
        let completed = |entry: &Entry| entry.state == EntryState::Completed;
        if self.entries.values().filter(|entry| completed(entry)).count() <= EFFECTS {
            return;
        }
        let mut ends: Vec<f64> =
            self.entries.values().filter(|entry| completed(entry)).filter_map(|entry| entry.ended).collect();
        let middle = ends.len() / 2;
        let (_, oldest_kept, _) = ends.select_nth_unstable_by(middle, f64::total_cmp);
        let oldest_kept = *oldest_kept;
        self.entries.retain(|_, entry| !completed(entry) || entry.ended.is_none_or(|ended| ended >= oldest_kept));
    }

    fn sorted(&self, wanted: impl Fn(&Entry) -> bool) -> Vec<Entry> {
        let mut found: Vec<Entry> = self.entries.values().filter(|entry| wanted(entry)).cloned().collect();
        found.sort_by(|one, other| one.effect.key.cmp(&other.effect.key));
        found
    }

    /// What was taken is given back to whom it was taken from, whoever says so.
    fn task_of(&self, id: &str, task: &str) -> String {
        self.holds.get(id).map_or(task, |hold| hold.task.as_str()).to_owned()
    }

    /// The hold is taken out: `write` puts it back.
    fn rows(&mut self, id: &str, task: &str) -> Rows {
        Rows { hold: self.holds.remove(id), counters: self.counters(task), ..Rows::default() }
    }

    /// What a hold names; where there is none, the entries that `owner` owns.
    fn read_held(&self, rows: &mut Rows, owner: Option<&str>, now: f64) {
        let Some(hold) = rows.hold.take() else {
            if let Some(owner) = owner {
                let owned = self.entries.values().filter(|entry| entry.owner == owner);
                rows.entries.extend(owned.map(|entry| (entry.effect.key.clone(), entry.clone())));
            }
            return;
        };
        if let Some(effect) = &hold.effect {
            self.read_entry(rows, &effect.effect.key);
            self.read_doubts(rows, &hold.task, &effect.effect.tool, now);
        }
        for name in hold.passages.keys() {
            self.read_breaker(rows, name);
        }
        rows.hold = Some(hold);
    }

    fn read_entry(&self, rows: &mut Rows, key: &str) {
        if let Some(entry) = self.entries.get(key) {
            rows.entries.insert(key.to_owned(), entry.clone());
        }
    }

    /// Entries of a task and tool that are in doubt; one that is in flight stands in the way of its own key alone.
    fn read_doubts(&self, rows: &mut Rows, task: &str, tool: &str, now: f64) {
        let blocking = self.blocking.get(&(task.to_owned(), tool.to_owned())).into_iter().flatten();
        for (_, key) in blocking.take_while(|(from, _)| from.0 <= now) {
            self.read_entry(rows, key);
        }
    }

    fn read_breaker(&self, rows: &mut Rows, name: &str) {
        if let Some(breaker) = self.breakers.get(name) {
            rows.breakers.insert(name.to_owned(), breaker.clone());
        }
    }

    fn read_denials(&self, rows: &mut Rows, task: &str, keys: &[String]) {
        if let Some(account) = self.tasks.get(task) {
            rows.denials.extend(keys.iter().filter(|key| account.denials.contains(*key)).cloned());
        }
    }

    /// Puts back what an operation has made of the rows that were read for it.
    fn write(&mut self, task: &str, rows: Rows, read: Read) {
        let known = self.tasks.contains_key(task);
        if known || !rows.counters.is_empty() || !rows.denials.is_empty() {
            let account = self.tasks.entry(task.to_owned()).or_default();
            account.turn = self.turn;
            account.counters = rows.counters;
            for lifted in read.denials.iter().filter(|key| !rows.denials.contains(*key)) {
                account.denials.remove(lifted);
            }
            account.denials.extend(rows.denials);
        }
        for gone in read.entries.into_iter().filter(|key| !rows.entries.contains_key(key)) {
            self.put_entry(gone, None);
        }
        for (key, entry) in rows.entries {
            if self.entries.get(&key) != Some(&entry) {
                self.put_entry(key, Some(entry));
            }
        }
        self.breakers.extend(rows.breakers);
        if let Some(hold) = rows.hold {
            // a hold is made, and later it ends: nothing else happens to it
            if hold.is_idle() && read.ended != Some(hold.ended) {
                self.ended.push_back(hold.id.clone());
                if self.ended.len() > ENDED_CLAIMS {
                    self.ended.pop_front().and_then(|oldest| self.holds.remove(&oldest));
                }
            }
            self.holds.insert(hold.id.clone(), hold);
        }
    }

    fn put_entry(&mut self, key: String, entry: Option<Entry>) {
        let place = |entry: &Entry| (entry.task.clone(), entry.effect.tool.clone());
        if let Some(old) = self.entries.remove(&key) {
            let place = place(&old);
            if let (Some(from), Some(keys)) = (old.blocks_from(), self.blocking.get_mut(&place)) {
                keys.remove(&(Moment(from), key.clone()));
                if keys.is_empty() {
                    self.blocking.remove(&place);
                }
            }
        }
        if let Some(entry) = entry {
            if let Some(from) = entry.blocks_from() {
                self.blocking.entry(place(&entry)).or_default().insert((Moment(from), key.clone()));
            }
            self.entries.insert(key, entry);
        }
    }
}
