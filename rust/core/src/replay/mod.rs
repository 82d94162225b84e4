//! Replay: recorded sessions judged under a policy. A replay does not react: a call that the guard would refuse is
//! marked, its recorded result is not observed, and the next record follows.
mod ahead;
mod open;
mod round;
mod row;
#[cfg(test)]
mod tests;
mod totals;

use std::sync::Arc;

use callgate_value::{Digest, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use self::ahead::round_of;
use self::open::{Open, Pending, Track};
pub use self::row::Row;
pub use self::totals::Totals;
pub(crate) use self::totals::Used;
use crate::about::About;
use crate::guard::Guard;
use crate::task::{Event, Task};
use crate::trace::{Record, TraceEvent, What};

/// A replay over one or more traces.
pub struct Replay {
    guard: Arc<Guard>,
    /// What the tasks of records that say nothing of it are done for.
    about: About,
    open: FxHashMap<Arc<str>, Open>,
    closed: FxHashSet<u64>,
    most_open: usize,
    fed: u64,
    ids: u64,
    totals: Totals,
    keeps_rows: bool,
    done: Vec<Row>,
    endings: Vec<Value>,
    /// What records told of use, where somebody asked for it.
    used: Option<Vec<Used>>,
}

impl Replay {
    /// A replay that keeps at most `most_open` tasks open; the one that was silent longest is closed first, and records
    /// of it that come later are errors. Rows wait for `take_rows` where `keeps_rows` says so, else only counts are kept.
    #[must_use]
    pub fn new(guard: Arc<Guard>, about: About, most_open: usize, keeps_rows: bool) -> Self {
        Self {
            guard,
            about,
            open: FxHashMap::default(),
            closed: FxHashSet::default(),
            most_open: most_open.max(1),
            fed: 0,
            ids: 0,
            totals: Totals::default(),
            keeps_rows,
            done: Vec::new(),
            endings: Vec::new(),
            used: None,
        }
    }

    /// Keeps what records tell of use, for `take_used`.
    #[must_use]
    pub(crate) fn with_used(self) -> Self {
        Self { used: Some(Vec::new()), ..self }
    }

    /// Counts so far.
    #[must_use]
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// What records told of use since the last time, in the order in which they were played.
    pub(crate) fn take_used(&mut self) -> Vec<Used> {
        self.used.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Rows that are complete, in the order in which they became so; they are handed out once.
    pub fn take_rows(&mut self) -> Vec<Row> {
        std::mem::take(&mut self.done)
    }

    /// How the tasks ended that are closed: `task`, `status`, `exit`, `missing`; handed out once.
    pub fn take_endings(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.endings)
    }

    /// Feeds the next record.
    ///
    /// # Errors
    /// A sentence that says why the record cannot follow those before it; it is skipped then.
    pub fn feed(&mut self, record: Record) -> Result<(), String> {
        self.fed = self.fed.saturating_add(1);
        let key = Arc::clone(&record.task);
        if !self.open.contains_key(&key) {
            if self.closed.contains(&short_digest(&key)) {
                return Err(format!(
                    "session `{}` appears again after it was closed to keep no more than {} open; sort the trace by \
                     session, or keep more open",
                    record.session, self.most_open
                ));
            }
            self.make_room();
            let about = self.about_of(&record);
            let policy = self.guard.policy(&record.agent, &about);
            let task = Task::new(&policy, &key, symbol_key(&key), 0.0).with(about);
            self.open.insert(Arc::clone(&key), Open::new(task));
        }
        let fed = self.fed;
        let Some(mut open) = self.open.remove(&key) else { return Ok(()) };
        open.touched = fed;
        let answer = self.take_in(&mut open, record);
        self.open.insert(key, open);
        answer
    }

    /// Judges what is still gathered and closes every task.
    pub fn finish(&mut self) {
        let mut keys: Vec<(u64, Arc<str>)> =
            self.open.iter().map(|(key, open)| (open.touched, Arc::clone(key))).collect();
        keys.sort();
        for (_, key) in keys {
            self.close(&key);
        }
    }

    fn make_room(&mut self) {
        if self.open.len() < self.most_open {
            return;
        }
        let oldest = self.open.iter().min_by_key(|(_, open)| open.touched).map(|(key, _)| Arc::clone(key));
        if let Some(oldest) = oldest {
            self.close(&oldest);
        }
    }

    fn close(&mut self, key: &Arc<str>) {
        let Some(mut open) = self.open.remove(key) else { return };
        self.closed.insert(short_digest(key));
        let _ = self.play(&mut open, true); // nothing that fails is ever held
        for session in open.gathering.clone() {
            self.judge(&mut open, &session);
        }
        for session in open.running_where(|_, _| true) {
            self.settle(&mut open, &session);
        }
        let mut sessions: Vec<Arc<str>> = open.tracks.keys().cloned().collect();
        sessions.sort();
        for (exception, reasons) in open.task.lifted() {
            for (reason, count) in reasons {
                let total = self.totals.lifted.entry((exception.clone(), reason.clone())).or_default();
                *total = total.saturating_add(*count);
            }
        }
        // how a task ended is told by what its first agent's policy needs
        let first = sessions.first().and_then(|first| open.tracks.get(first)).map(|track| Arc::clone(&track.agent));
        if let Some(agent) = first.filter(|_| self.keeps_rows) {
            let policy = open.policy(&self.guard, &agent);
            self.endings.push(open.task.ending(&policy));
            policy.each().for_each(|policy| open.task.tell_end(policy));
        }
        for session in sessions {
            if let Some(track) = open.tracks.get(&session) {
                let add = |count: &mut u64, whether: bool| *count = count.saturating_add(u64::from(whether));
                add(&mut self.totals.noted_sessions, track.noted);
                add(&mut self.totals.touched_sessions, track.touched);
                add(&mut self.totals.stopped_sessions, track.stopped);
            }
        }
    }

    /// What a task is done for: what its first record says, else what all are done for.
    fn about_of(&self, record: &Record) -> About {
        let mut about = self.about.clone();
        about.tenant = record.tenant.as_deref().map(str::to_owned).or(about.tenant);
        about.began = record.began.or(about.began);
        about.labels.extend(record.labels.iter().map(|(name, value)| (name.clone(), value.clone())));
        about
    }

    /// Takes the next record of a task in, and plays what can be played.
    fn take_in(&mut self, open: &mut Open, record: Record) -> Result<(), String> {
        if !open.tracks.contains_key(&record.session) {
            self.totals.sessions = self.totals.sessions.saturating_add(1);
        }
        let track =
            open.tracks.entry(Arc::clone(&record.session)).or_insert_with(|| Track::new(record.agent_in_task()));
        if let (Some(last), Some(seq)) = (track.last_seq, record.seq) {
            if seq <= last {
                return Err(format!("`seq` {seq} does not rise after {last} in session `{}`", record.session));
            }
        }
        track.last_seq = record.seq.or(track.last_seq);
        track.records = track.records.saturating_add(1);
        track.ahead.push_back(round_of(&record));
        let seq = record.seq.unwrap_or(track.records);
        // what fails is told of the record that is taken in, so that nothing that can fail is held
        let can_fail = matches!(record.what, What::Event(TraceEvent::Restore));
        open.held.push_back((seq, record));
        self.play(open, can_fail)
    }

    /// Plays a record: what other agents of the task did comes first.
    fn play_one(&mut self, open: &mut Open, seq: i64, record: Record) -> Result<(), String> {
        let (agent, start) = (record.agent_in_task(), open.start_of(&record));
        let Record { session, task, round, time, duration, what, .. } = record;
        let others: Vec<Arc<str>> = open.gathering.iter().filter(|other| **other != session).cloned().collect();
        for other in others {
            self.judge(open, &other);
        }
        let Some(track) = open.tracks.get_mut(&session) else { return Ok(()) };
        let same_round = round.is_some() && track.round == round && track.agent == agent;
        match what {
            What::Event(event) => {
                self.totals.events = self.totals.events.saturating_add(1);
                self.settle(open, &session);
                self.close_over(open, &session, start);
                open.go_on(&session, time);
                let used = Used::of(&event);
                let answer = self.event(open, time, &event, &agent);
                self.note_used(open, used.filter(|_| answer.is_ok()));
                answer
            }
            What::Call(call) => {
                self.totals.calls = self.totals.calls.saturating_add(1);
                if !same_round {
                    self.settle(open, &session);
                    for other in open.running_where(|_, track| track.agent == agent) {
                        self.settle(open, &other); // an agent has one round at a time
                    }
                    let policy = open.policy(&self.guard, &agent);
                    open.task.begin_round(&policy, &agent, time.map(|time| time - duration));
                    open.running.push(Arc::clone(&session));
                }
                self.ids = self.ids.saturating_add(1);
                let id: Arc<str> = format!("record-{}", self.ids).into();
                if !open.gathering.contains(&session) {
                    open.gathering.push(Arc::clone(&session));
                }
                let ended = open.go_on(&session, time);
                let used = Used::of_call(&call);
                if let Some(track) = open.tracks.get_mut(&session) {
                    track.ended = if same_round { track.ended.max(ended) } else { ended };
                    track.is_open = true;
                    track.agent = agent;
                    track.round = round;
                    track.pending.push(Pending { seq, id, task, time, duration, start, call: *call });
                }
                if round.is_none() {
                    self.settle(open, &session);
                }
                self.note_used(open, used);
                Ok(())
            }
        }
    }

    fn note_used(&mut self, open: &Open, used: Option<(f64, f64)>) {
        if let (Some(kept), Some((tokens, cost))) = (&mut self.used, used) {
            kept.push(Used { tokens, cost, after_stop: open.task.stopped().is_some() });
        }
    }

    fn event(&mut self, open: &mut Open, now: Option<f64>, event: &TraceEvent, agent: &Arc<str>) -> Result<(), String> {
        let policy = open.policy(&self.guard, agent);
        let event = match event {
            TraceEvent::UserTurn { by_human } => Event::UserTurn { by_human: *by_human },
            TraceEvent::Compaction => Event::Compaction,
            TraceEvent::Usage { tokens, cost } => Event::Usage { tokens: *tokens, cost: *cost },
            TraceEvent::Snapshot => {
                open.saved = open.task.snapshot(&policy).ok();
                return Ok(());
            }
            TraceEvent::Restore => {
                let saved = open.saved.take().ok_or("`restore` without a `snapshot` before it")?;
                open.task = Task::resume(&policy, &saved, false).map_err(|error| error.to_string())?;
                open.policies.clear();
                return Ok(());
            }
            // an ask takes its answer from the recorded call itself
            TraceEvent::Approved { .. } | TraceEvent::Denied { .. } => return Ok(()),
        };
        open.task.event(&policy, agent, event, now);
        Ok(())
    }
}

/// The first eight bytes of a text's digest.
pub(crate) fn short_digest(text: &str) -> u64 {
    Digest::of(text.as_bytes()).0.iter().take(8).fold(0, |all, byte| (all << 8) | u64::from(*byte))
}

/// A replay is repeatable, so its symbol key is made from the task's name.
fn symbol_key(task: &str) -> [u8; 16] {
    let digest = Digest::of(task.as_bytes());
    let mut key = [0; 16];
    for (place, byte) in key.iter_mut().zip(digest.0) {
        *place = byte;
    }
    key
}
