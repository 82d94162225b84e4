//! Replay: recorded sessions judged under a policy. A replay does not react: a call that the guard would refuse is
//! marked, its recorded result is not observed, and the next record follows.
use std::collections::BTreeMap;
use std::sync::Arc;

use callgate_value::{Digest, Map, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::policy::Policy;
use crate::reply;
use crate::task::{Event, Task};
use crate::trace::{CallRecord, Record, TraceEvent, What};
use crate::verdict::{reason_name, Action, Assessment, Note, Verdict};

/// What was decided of one recorded call.
#[derive(Clone, Debug)]
pub struct Row {
    /// The session.
    pub session: Arc<str>,
    /// The task.
    pub task: Arc<str>,
    /// The agent.
    pub agent: Arc<str>,
    /// The record's `seq`, or its position in the session from 1.
    pub seq: i64,
    /// The recorded call id.
    pub call_id: Option<Arc<str>>,
    /// The verdict. For an `ask` that the record answers: the `ask`.
    pub verdict: Verdict,
    /// Notes of the verdict and of the observation.
    pub notes: Vec<Note>,
    /// What the engine made of the outcome, where it was observed.
    pub assessment: Option<Assessment>,
    /// The task was stopped at this record, by the verdict or by the observation.
    pub stopped: bool,
    /// Seconds, as recorded.
    pub time: Option<f64>,
}

/// Counts over a replay.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Sessions that were seen.
    pub sessions: u64,
    /// Recorded calls.
    pub calls: u64,
    /// Events.
    pub events: u64,
    /// Calls that would not have run.
    pub saved: u64,
    /// Sessions with a note.
    pub noted_sessions: u64,
    /// Sessions with a refusal, a reuse (coalesced calls aside), an ask or a stop.
    pub touched_sessions: u64,
    /// Sessions that were stopped.
    pub stopped_sessions: u64,
    /// Action (`note`, `reuse`, `ask`, `refuse`, `stop`) and decisive reason → how often.
    pub by_reason: BTreeMap<(&'static str, String), u64>,
}

impl Totals {
    fn add(&mut self, kind: &'static str, reason: String) {
        let count = self.by_reason.entry((kind, reason)).or_default();
        *count = count.saturating_add(1);
    }
}

/// One session in a task that is open.
struct Track {
    /// The agent of the last call, as the task knows it.
    agent: Arc<str>,
    last_seq: Option<i64>,
    records: i64,
    /// The round whose records are being gathered.
    round: Option<i64>,
    /// Gathered, not yet admitted.
    pending: Vec<Pending>,
    /// Judged; their notes may still come.
    rows: Vec<Row>,
    noted: bool,
    touched: bool,
    stopped: bool,
}

impl Track {
    fn new(agent: Arc<str>) -> Self {
        Self {
            agent,
            last_seq: None,
            records: 0,
            round: None,
            pending: Vec::new(),
            rows: Vec::new(),
            noted: false,
            touched: false,
            stopped: false,
        }
    }
}

struct Pending {
    seq: i64,
    id: Arc<str>,
    record: Record,
    call: CallRecord,
}

struct Open {
    task: Task,
    tracks: FxHashMap<Arc<str>, Track>,
    saved: Option<String>,
    /// When it was last touched, in records.
    touched: u64,
}

/// A replay over one or more traces.
pub struct Replay {
    policy: Arc<Policy>,
    open: FxHashMap<Arc<str>, Open>,
    closed: FxHashSet<u64>,
    most_open: usize,
    fed: u64,
    ids: u64,
    totals: Totals,
    done: Vec<Row>,
}

impl Replay {
    /// A replay that keeps at most `most_open` tasks open; the one that was silent longest is closed first, and records
    /// of it that come later are errors.
    #[must_use]
    pub fn new(policy: Arc<Policy>, most_open: usize) -> Self {
        Self {
            policy,
            open: FxHashMap::default(),
            closed: FxHashSet::default(),
            most_open: most_open.max(1),
            fed: 0,
            ids: 0,
            totals: Totals::default(),
            done: Vec::new(),
        }
    }

    /// Counts so far.
    #[must_use]
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Rows that are complete, in the order in which they became so; they are handed out once.
    pub fn take_rows(&mut self) -> Vec<Row> {
        std::mem::take(&mut self.done)
    }

    /// Feeds the next record.
    ///
    /// # Errors
    /// A sentence that says why the record cannot follow those before it; it is skipped then.
    pub fn feed(&mut self, record: Record) -> Result<(), String> {
        self.fed = self.fed.saturating_add(1);
        let key = Arc::clone(&record.task);
        if self.closed.contains(&short_digest(&key)) {
            return Err(format!(
                "session `{}` appears again after {} other tasks were opened; sort the trace by session, or keep more open",
                record.session, self.most_open
            ));
        }
        if !self.open.contains_key(&key) {
            self.make_room();
            let task = Task::new(&self.policy, &key, symbol_key(&key), 0.0);
            self.open.insert(Arc::clone(&key), Open { task, tracks: FxHashMap::default(), saved: None, touched: 0 });
        }
        let fed = self.fed;
        let Some(mut open) = self.open.remove(&key) else { return Ok(()) };
        open.touched = fed;
        let answer = self.feed_open(&mut open, record);
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
        let mut sessions: Vec<Arc<str>> = open.tracks.keys().cloned().collect();
        sessions.sort();
        for session in sessions {
            self.settle(&mut open, &session);
            if let Some(track) = open.tracks.get(&session) {
                let add = |count: &mut u64, whether: bool| *count = count.saturating_add(u64::from(whether));
                add(&mut self.totals.noted_sessions, track.noted);
                add(&mut self.totals.touched_sessions, track.touched);
                add(&mut self.totals.stopped_sessions, track.stopped);
            }
        }
    }

    fn feed_open(&mut self, open: &mut Open, record: Record) -> Result<(), String> {
        let session = Arc::clone(&record.session);
        if !open.tracks.contains_key(&session) {
            self.totals.sessions = self.totals.sessions.saturating_add(1);
        }
        let track = open.tracks.entry(Arc::clone(&session)).or_insert_with(|| Track::new(agent_of(&record)));
        if let (Some(last), Some(seq)) = (track.last_seq, record.seq) {
            if seq <= last {
                return Err(format!("`seq` {seq} does not rise after {last} in session `{session}`"));
            }
        }
        track.last_seq = record.seq.or(track.last_seq);
        track.records = track.records.saturating_add(1);
        let seq = record.seq.unwrap_or(track.records);
        let agent = agent_of(&record);
        let same_round = record.round.is_some() && track.round == record.round && track.agent == agent;
        let round = record.round;
        // what other agents of the task did comes first
        let others: Vec<Arc<str>> = open.tracks.keys().filter(|other| **other != session).cloned().collect();
        for other in others {
            self.judge(open, &other);
        }
        match record.what.clone() {
            What::Event(event) => {
                self.totals.events = self.totals.events.saturating_add(1);
                self.settle(open, &session);
                self.event(open, &record, &event, &agent)
            }
            What::Call(call) => {
                self.totals.calls = self.totals.calls.saturating_add(1);
                if !same_round {
                    self.settle(open, &session);
                }
                self.ids = self.ids.saturating_add(1);
                let id: Arc<str> = format!("record-{}", self.ids).into();
                if let Some(track) = open.tracks.get_mut(&session) {
                    if !same_round {
                        open.task.begin_round(&self.policy, &agent, admitted_at(&record));
                    }
                    track.agent = agent;
                    track.round = round;
                    track.pending.push(Pending { seq, id, record, call: *call });
                }
                if round.is_none() {
                    self.settle(open, &session);
                }
                Ok(())
            }
        }
    }

    fn event(&mut self, open: &mut Open, record: &Record, event: &TraceEvent, agent: &str) -> Result<(), String> {
        let now = record.time;
        let event = match event {
            TraceEvent::UserTurn { by_human } => Event::UserTurn { by_human: *by_human },
            TraceEvent::Compaction => Event::Compaction,
            TraceEvent::Usage { tokens, cost } => Event::Usage { tokens: *tokens, cost: *cost },
            TraceEvent::Snapshot => {
                open.saved = open.task.snapshot(&self.policy).ok();
                return Ok(());
            }
            TraceEvent::Restore => {
                let saved = open.saved.take().ok_or("`restore` without a `snapshot` before it")?;
                open.task = Task::resume(&self.policy, &saved, false).map_err(|error| error.to_string())?;
                return Ok(());
            }
            // an ask takes its answer from the recorded call itself
            TraceEvent::Approved { .. } | TraceEvent::Denied { .. } => return Ok(()),
        };
        open.task.event(&self.policy, agent, event, now);
        Ok(())
    }

    /// Admits what was gathered for a session, as a batch, and observes what was recorded of it.
    fn judge(&mut self, open: &mut Open, session: &Arc<str>) {
        let Some(track) = open.tracks.get_mut(session) else { return };
        let pending = std::mem::take(&mut track.pending);
        if pending.is_empty() {
            return;
        }
        let agent = Arc::clone(&track.agent);
        let requests: Vec<_> = pending
            .iter()
            .map(|it| crate::Request { call_id: Some(Arc::clone(&it.id)), ..it.call.request.clone() })
            .collect();
        let now = pending.iter().filter_map(|it| admitted_at(&it.record)).min_by(f64::total_cmp);
        let verdicts = open.task.admit(&self.policy, &agent, &requests, now);
        let mut rows: Vec<Row> = Vec::with_capacity(pending.len());
        let mut observe: Vec<usize> = Vec::new();
        for (at, (verdict, it)) in verdicts.into_iter().zip(&pending).enumerate() {
            let mut notes = verdict.notes.clone();
            let mut runs = verdict.action == Action::Allow;
            if verdict.action == Action::Ask {
                runs = answer(&mut open.task, &self.policy, it, &mut notes);
            }
            if runs {
                observe.push(at);
            }
            rows.push(Row {
                session: Arc::clone(session),
                task: Arc::clone(&it.record.task),
                agent: Arc::clone(&agent),
                seq: it.seq,
                call_id: it.call.request.call_id.clone(),
                stopped: verdict.action == Action::Stop,
                notes,
                verdict,
                assessment: None,
                time: it.record.time,
            });
        }
        observe.sort_by(|a, b| {
            let time = |at: &usize| pending.get(*at).and_then(|it| it.record.time).unwrap_or(f64::NEG_INFINITY);
            time(a).total_cmp(&time(b))
        });
        for at in observe {
            let (Some(it), Some(row)) = (pending.get(at), rows.get_mut(at)) else { continue };
            row.assessment = open.task.observe(&self.policy, &it.id, &it.call.outcome, it.record.time).ok();
        }
        if let Some(track) = open.tracks.get_mut(session) {
            track.rows.extend(rows);
        }
    }

    /// Judges what was gathered, ends the round, and gives its rows their notes.
    fn settle(&mut self, open: &mut Open, session: &Arc<str>) {
        self.judge(open, session);
        let Some(track) = open.tracks.get_mut(session) else { return };
        let before = open.task.stopped().is_some();
        open.task.end_round(&self.policy, &track.agent);
        let notes = open.task.drain_remarks(&self.policy);
        track.round = None;
        let mut rows = std::mem::take(&mut track.rows);
        let late = open.task.stopped().filter(|_| !before).map(|stop| stop.call_id.clone());
        for row in &mut rows {
            if let Some(assessment) = &mut row.assessment {
                row.notes.append(&mut assessment.notes);
            }
            let id = Arc::clone(&row.verdict.call_id);
            row.notes.extend(notes.iter().filter(|note| note.call_id == id).cloned());
            row.stopped |= late.as_deref() == Some(&*id);
        }
        for row in &rows {
            track.noted |= !row.notes.is_empty();
            track.stopped |= row.stopped;
            let acted = count(&mut self.totals, row);
            track.touched |= acted || row.stopped;
        }
        self.done.extend(rows);
    }
}

/// Counts a row; whether it was more than a note or a coalesced call.
fn count(totals: &mut Totals, row: &Row) -> bool {
    for note in &row.notes {
        totals.add("note", reason_name(note.reason, note.rule.as_deref()));
    }
    if row.stopped && row.verdict.action != Action::Stop {
        let reason = row.notes.last().map_or_else(String::new, |note| reason_name(note.reason, None));
        totals.add("stop", reason);
    }
    let action = row.verdict.would.unwrap_or(row.verdict.action);
    if action == Action::Allow {
        return false;
    }
    let reason = row.verdict.decisive().map_or_else(String::new, crate::Finding::name);
    let coalesced = reason == "duplicate_in_batch";
    totals.add(action.name(), reason);
    if row.assessment.is_none() {
        totals.saved = totals.saved.saturating_add(1);
    }
    !coalesced
}

/// An ask takes its answer from the record. True if the call ran.
fn answer(task: &mut Task, policy: &Policy, it: &Pending, notes: &mut Vec<Note>) -> bool {
    let denied = it.call.outcome.error.as_ref().is_some_and(|error| error.kind.as_deref() == Some("denied"));
    if denied {
        notes.extend(task.deny(&it.id, None).unwrap_or_default());
        return false;
    }
    if !it.call.answered {
        return false;
    }
    match task.approve(policy, &it.id, None) {
        Ok(verdict) => {
            notes.extend(verdict.notes);
            verdict.action == Action::Allow
        }
        Err(_) => false,
    }
}

/// The agent as the task knows it. Sessions of one task that name no agent are streams of their own.
fn agent_of(record: &Record) -> Arc<str> {
    if *record.agent == *"root" && record.session != record.task {
        Arc::clone(&record.session)
    } else {
        Arc::clone(&record.agent)
    }
}

fn admitted_at(record: &Record) -> Option<f64> {
    record.time.map(|time| time - record.duration)
}

fn short_digest(text: &str) -> u64 {
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

impl Row {
    /// The row as a value, for decision logs.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let text = |text: &str| Value::from(text);
        let optional = |value: Option<&str>| value.map_or(Value::Null, Value::from);
        let notes = self.notes.iter().map(|note| {
            let reason = reason_name(note.reason, note.rule.as_deref());
            map(vec![("reason", text(&reason)), ("message", text(&note.message))])
        });
        let reasons = self.verdict.findings.iter().map(|finding| text(&finding.name()));
        let evidence = self.verdict.decisive().map_or_else(Vec::new, |finding| finding.evidence.clone());
        map(vec![
            ("session", text(&self.session)),
            ("task", text(&self.task)),
            ("agent", text(&self.agent)),
            ("seq", Value::Int(self.seq)),
            ("call_id", optional(self.call_id.as_deref())),
            ("tool", text(&self.verdict.tool)),
            ("fingerprint", text(&self.verdict.fingerprint())),
            ("time", self.time.map_or(Value::Null, Value::Float)),
            ("action", text(self.verdict.action.name())),
            ("would", optional(self.verdict.would.map(Action::name))),
            ("code", optional(self.verdict.code())),
            ("reasons", Value::List(reasons.collect())),
            ("evidence", map(evidence)),
            ("notes", Value::List(notes.collect())),
            ("grade", optional(self.assessment.as_ref().map(|it| it.grade.name()))),
            ("class", optional(self.assessment.as_ref().and_then(|it| it.class).map(|class| class.name()))),
            ("stopped", Value::Bool(self.stopped)),
        ])
    }
}

fn map(fields: Vec<(&str, Value)>) -> Value {
    let entries = fields.into_iter().map(|(name, value)| (name.into(), value)).collect();
    Map::new(entries).map_or(Value::Null, Value::Map)
}

impl Verdict {
    /// The observation code of the decisive finding.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.decisive().map(|finding| finding.code.as_deref().unwrap_or_else(|| finding.reason.code()))
    }

    /// The fingerprint, in hex.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        callgate_value::fingerprint(&self.tool, &self.arguments)
            .map_or_else(|_| String::new(), |digest| digest.to_hex())
    }

    /// What the model reads instead of a result; none where the call runs.
    #[must_use]
    pub fn reply(&self) -> Option<String> {
        reply::reply(self)
    }
}
