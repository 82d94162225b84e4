//! One recording judged under two policies side by side: what differs, call by call, in memory that the open sessions bound.
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use callgate_value::{to_json, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::about::About;
use crate::fields::map;
use crate::guard::Guard;
use crate::replay::{short_digest, Replay, Row};
use crate::reply;
use crate::trace::Record;
use crate::verdict::{reason_name, Action};

/// Calls before a first divergence that are told with it.
const BEFORE: usize = 6;
/// Characters of arguments that are told.
const SHOWN: usize = 300;

/// What was counted over both replays together.
#[derive(Clone, Debug, Default)]
pub struct PairTotals {
    /// Sessions that came to differ.
    pub diverged: u64,
    /// Calls of such sessions behind their first difference: they are judged as they were recorded, though under the new
    /// policy they might not have been made.
    pub behind: u64,
    /// Calls that only one side lets run and of which the recording has no outcome.
    pub without_outcome: u64,
    /// Calls that one side asks about and whose answer the recording does not have.
    pub unanswered: u64,
    /// Rows that had no counterpart; none, unless the engine is wrong.
    pub unmatched: u64,
    /// How tasks ended under the old and the new policy, where that differs.
    pub endings: BTreeMap<(String, String), u64>,
    /// Tokens that the recording tells of at all, and money.
    pub recorded: (f64, f64),
    /// Tokens and money that were spent while only the new policy had stopped the task, and while only the old one had.
    pub after_stop: [(f64, f64); 2],
}

/// The last calls of a session that has not diverged.
#[derive(Default)]
struct Recent {
    touched: u64,
    calls: VecDeque<Value>,
}

/// A recording under two policies.
pub struct ReplayPair {
    old: Replay,
    new: Replay,
    totals: PairTotals,
    /// By session: its last calls, until it diverges.
    recent: FxHashMap<Arc<str>, Recent>,
    diverged: FxHashSet<u64>,
    most_recent: usize,
    seen: u64,
    found: Vec<Value>,
}

impl ReplayPair {
    /// Both replays keep at most `most_open` tasks open, as [`Replay::new`] has it.
    #[must_use]
    pub fn new(old: Arc<Guard>, new: Arc<Guard>, about: &About, most_open: usize) -> Self {
        Self {
            old: Replay::new(old, about.clone(), most_open, true).with_used(),
            new: Replay::new(new, about.clone(), most_open, true).with_used(),
            totals: PairTotals::default(),
            recent: FxHashMap::default(),
            diverged: FxHashSet::default(),
            most_recent: most_open.max(1).saturating_mul(4),
            seen: 0,
            found: Vec::new(),
        }
    }

    /// Both replays, and what was counted over them.
    #[must_use]
    pub fn totals(&self) -> (&crate::replay::Totals, &crate::replay::Totals, &PairTotals) {
        (self.old.totals(), self.new.totals(), &self.totals)
    }

    /// The calls that differ, since the last time.
    pub fn take(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.found)
    }

    /// Feeds the next record to both.
    ///
    /// # Errors
    /// A sentence that says why the record cannot follow those before it; it is skipped then.
    pub fn feed(&mut self, record: Record) -> Result<(), String> {
        let answer = self.old.feed(record.clone()).and(self.new.feed(record));
        self.match_up();
        answer
    }

    /// Judges what is still gathered and closes every task.
    pub fn finish(&mut self) {
        self.old.finish();
        self.new.finish();
        self.match_up();
    }

    /// Both replays settle the same rounds on the same records, so that their rows come in the same order.
    fn match_up(&mut self) {
        let (old, new) = (self.old.take_rows(), self.new.take_rows());
        let unmatched = old.len().abs_diff(new.len());
        self.totals.unmatched = self.totals.unmatched.saturating_add(u64::try_from(unmatched).unwrap_or(u64::MAX));
        for (old, new) in old.iter().zip(&new) {
            self.compare(old, new);
        }
        for (old, new) in self.old.take_used().iter().zip(&self.new.take_used()) {
            let add = |to: &mut (f64, f64)| *to = (to.0 + new.tokens, to.1 + new.cost);
            add(&mut self.totals.recorded);
            match (old.after_stop, new.after_stop) {
                (false, true) => add(&mut self.totals.after_stop[0]),
                (true, false) => add(&mut self.totals.after_stop[1]),
                _ => {}
            }
        }
        for (old, new) in self.old.take_endings().iter().zip(&self.new.take_endings()) {
            let told = |ending: &Value| {
                let part = |name: &str| ending.get(name).and_then(Value::as_str).unwrap_or("none").to_owned();
                format!("{}, exit {}", part("status"), part("exit"))
            };
            let (old, new) = (told(old), told(new));
            if old != new {
                let count = self.totals.endings.entry((old, new)).or_default();
                *count = count.saturating_add(1);
            }
        }
    }

    fn compare(&mut self, old: &Row, new: &Row) {
        self.seen = self.seen.saturating_add(1);
        let key = short_digest(&new.session);
        let was_diverged = self.diverged.contains(&key);
        let add = |count: &mut u64, whether: bool| *count = count.saturating_add(u64::from(whether));
        add(&mut self.totals.behind, was_diverged);
        let runs = [old, new].map(|row| row.assessment.is_some());
        add(&mut self.totals.without_outcome, runs[0] != runs[1] && !new.answered);
        let asks = [old, new].map(|row| row.verdict.action == Action::Ask && row.assessment.is_none());
        add(&mut self.totals.unanswered, asks.contains(&true) && !new.answered);
        let differs = decision(old) != decision(new) || ends(old) != ends(new);
        let first = differs && !was_diverged;
        if differs || reason(old) != reason(new) {
            let before = if first { self.recent.remove(&new.session).map(|it| it.calls) } else { None };
            self.found.push(told(old, new, first, before.unwrap_or_default()));
        }
        if first {
            self.diverged.insert(key);
            self.totals.diverged = self.totals.diverged.saturating_add(1);
        } else if !was_diverged {
            self.remember(old, new);
        }
    }

    fn remember(&mut self, old: &Row, row: &Row) {
        if self.recent.len() >= self.most_recent && !self.recent.contains_key(&row.session) {
            // the half that was silent longest is closed by now
            let mut touched: Vec<u64> = self.recent.values().map(|recent| recent.touched).collect();
            touched.sort_unstable();
            let middle = touched.get(touched.len() / 2).copied().unwrap_or_default();
            self.recent.retain(|_, recent| recent.touched >= middle);
        }
        let recent = self.recent.entry(Arc::clone(&row.session)).or_default();
        recent.touched = self.seen;
        if recent.calls.len() >= BEFORE {
            recent.calls.pop_front();
        }
        recent.calls.push_back(map(vec![
            ("seq", Value::Int(row.seq)),
            ("tool", Value::from(&*row.verdict.tool)),
            ("arguments", Value::from(&*shown(&row.verdict.arguments))),
            ("old", side(old)),
            ("new", side(row)),
        ]));
    }
}

/// What becomes of the call; under `warn` and `audit` what would have.
fn decision(row: &Row) -> Action {
    row.verdict.would.unwrap_or(row.verdict.action)
}

/// Whether what the call brought ended the task.
fn ends(row: &Row) -> bool {
    row.stop.is_some() && decision(row) != Action::Stop
}

/// The reason that decided, or ended the task; empty where nothing did.
fn reason(row: &Row) -> String {
    if let Some(stop) = row.stop.as_ref().filter(|_| ends(row)) {
        return reason_name(stop.reason, stop.rule.as_deref());
    }
    if decision(row) == Action::Allow {
        return String::new();
    }
    row.verdict.decisive().map_or_else(String::new, crate::Finding::name)
}

fn told(old: &Row, new: &Row, first: bool, before: VecDeque<Value>) -> Value {
    map(vec![
        ("session", Value::from(&*new.session)),
        ("task", Value::from(&*new.task)),
        ("agent", Value::from(&*new.agent)),
        ("seq", Value::Int(new.seq)),
        ("time", new.time.map_or(Value::Null, Value::Float)),
        ("tool", Value::from(&*new.verdict.tool)),
        ("arguments", Value::from(&*shown(&new.verdict.arguments))),
        ("answered", Value::Bool(new.answered)),
        ("old", side(old)),
        ("new", side(new)),
        ("first", Value::Bool(first)),
        ("before", Value::List(before.into())),
    ])
}

fn side(row: &Row) -> Value {
    let text = |text: &str| Value::from(text);
    let notes = row.notes.iter().map(|note| text(&reason_name(note.reason, note.rule.as_deref())));
    let decisive = row.verdict.decisive().filter(|_| decision(row) != Action::Allow);
    let message = decisive.map(|finding| reply::explain(finding, &row.verdict.tool));
    map(vec![
        ("action", text(decision(row).name())),
        ("ends", Value::Bool(ends(row))),
        ("reason", text(&reason(row))),
        ("message", message.map_or(Value::Null, |message| text(&message))),
        ("ran", Value::Bool(row.assessment.is_some())),
        ("grade", row.assessment.as_ref().map_or(Value::Null, |it| text(it.grade.name()))),
        ("notes", Value::List(notes.collect())),
    ])
}

/// Arguments as text, its end cut off where it is long.
fn shown(arguments: &Value) -> String {
    let text = to_json(arguments);
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text,
    }
}
