//! Replay: recorded sessions judged under a policy. A replay does not react: a call that the guard would refuse is
//! marked, its recorded result is not observed, and the next record follows.
use std::collections::BTreeMap;
use std::sync::Arc;

use callgate_value::{Digest, Map, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::about::About;
use crate::budget::Spent;
use crate::guard::Guard;
use crate::policy::{ErrorClass, Policy, Tool};
use crate::reply;
use crate::task::{Event, Task};
use crate::trace::{CallRecord, Record, TraceEvent, What};
use crate::verdict::{reason_name, Action, Assessment, Next, Note, Stop, Verdict};

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
    pub stop: Option<Stop>,
    /// What the task had used once the round of this record was over.
    pub spent: Spent,
    /// Seconds, as recorded.
    pub time: Option<f64>,
    /// Seconds that the call took, as recorded.
    pub duration: f64,
    /// The recorded round.
    pub round: Option<i64>,
    /// The form of the tool that the call has, where the policy is watched.
    pub form: Option<Arc<Tool>>,
    /// Whether the recording knows anything of an outcome.
    pub answered: bool,
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
    /// Exception and reason → how often it was lifted, notes included.
    pub lifted: BTreeMap<(String, String), u64>,
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
    /// A round is open in the task.
    is_open: bool,
    /// The round whose records are being gathered, where it has a number.
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
            is_open: false,
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
    task: Arc<str>,
    time: Option<f64>,
    duration: f64,
    call: CallRecord,
}

struct Open {
    task: Task,
    tracks: FxHashMap<Arc<str>, Track>,
    saved: Option<String>,
    /// When it was last touched, in records.
    touched: u64,
    /// The sessions with records that were gathered and not yet judged; two at most.
    gathering: Vec<Arc<str>>,
    /// By agent: what it is judged by.
    policies: FxHashMap<Arc<str>, Arc<Policy>>,
}

impl Open {
    fn new(task: Task) -> Self {
        Self {
            task,
            tracks: FxHashMap::default(),
            saved: None,
            touched: 0,
            gathering: Vec::new(),
            policies: FxHashMap::default(),
        }
    }

    fn policy(&mut self, guard: &Guard, agent: &Arc<str>) -> Arc<Policy> {
        if let Some(policy) = self.policies.get(agent) {
            return Arc::clone(policy);
        }
        let policy = guard.policy(agent, self.task.about());
        if !guard.is_alone() {
            self.task.judge_by(agent, &policy);
        }
        self.policies.insert(Arc::clone(agent), Arc::clone(&policy));
        policy
    }
}

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
        }
    }

    /// Counts so far.
    #[must_use]
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Whether a task that is open has been stopped.
    pub(crate) fn has_stopped(&self, task: &str) -> bool {
        self.open.get(task).is_some_and(|open| open.task.stopped().is_some())
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
        for session in &sessions {
            self.settle(&mut open, session);
        }
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

    fn feed_open(&mut self, open: &mut Open, record: Record) -> Result<(), String> {
        let Record { session, task, agent, seq, round, time, duration, what, .. } = record;
        // sessions of one task that name no agent are streams of their own
        let agent = if *agent == *"root" && session != task { Arc::clone(&session) } else { agent };
        if !open.tracks.contains_key(&session) {
            self.totals.sessions = self.totals.sessions.saturating_add(1);
        }
        let track = open.tracks.entry(Arc::clone(&session)).or_insert_with(|| Track::new(Arc::clone(&agent)));
        if let (Some(last), Some(seq)) = (track.last_seq, seq) {
            if seq <= last {
                return Err(format!("`seq` {seq} does not rise after {last} in session `{session}`"));
            }
        }
        track.last_seq = seq.or(track.last_seq);
        track.records = track.records.saturating_add(1);
        let seq = seq.unwrap_or(track.records);
        let same_round = round.is_some() && track.round == round && track.agent == agent;
        if open.tracks.len() > 1 {
            // what other agents of the task did comes first
            let others: Vec<Arc<str>> = open.gathering.iter().filter(|other| **other != session).cloned().collect();
            for other in others {
                self.judge(open, &other);
            }
        }
        match what {
            What::Event(event) => {
                self.totals.events = self.totals.events.saturating_add(1);
                self.settle(open, &session);
                self.event(open, time, &event, &agent)
            }
            What::Call(call) => {
                self.totals.calls = self.totals.calls.saturating_add(1);
                if !same_round {
                    self.settle(open, &session);
                    let policy = open.policy(&self.guard, &agent);
                    open.task.begin_round(&policy, &agent, time.map(|time| time - duration));
                }
                self.ids = self.ids.saturating_add(1);
                let id: Arc<str> = format!("record-{}", self.ids).into();
                if !open.gathering.contains(&session) {
                    open.gathering.push(Arc::clone(&session));
                }
                if let Some(track) = open.tracks.get_mut(&session) {
                    track.is_open = true;
                    track.agent = agent;
                    track.round = round;
                    track.pending.push(Pending { seq, id, task, time, duration, call: *call });
                }
                if round.is_none() {
                    self.settle(open, &session);
                }
                Ok(())
            }
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

    /// Admits what was gathered for a session, as a batch, and observes what was recorded of it.
    fn judge(&mut self, open: &mut Open, session: &Arc<str>) {
        let Some(track) = open.tracks.get_mut(session) else { return };
        let pending = std::mem::take(&mut track.pending);
        open.gathering.retain(|other| other != session);
        if pending.is_empty() {
            return;
        }
        let (agent, track_round) = (Arc::clone(&track.agent), track.round);
        let policy = open.policy(&self.guard, &agent);
        let requests: Vec<_> = pending
            .iter()
            .map(|it| crate::Request { call_id: Some(Arc::clone(&it.id)), ..it.call.request.clone() })
            .collect();
        let now = pending.iter().filter_map(|it| it.time.map(|time| time - it.duration)).min_by(f64::total_cmp);
        let verdicts = open.task.admit(&policy, &agent, &requests, now);
        let mut rows: Vec<Row> = Vec::with_capacity(pending.len());
        let mut observe: Vec<usize> = Vec::new();
        for (at, (verdict, it)) in verdicts.into_iter().zip(&pending).enumerate() {
            let mut verdict = verdict;
            let mut notes = std::mem::take(&mut verdict.notes);
            let mut runs = verdict.action == Action::Allow;
            if verdict.action == Action::Ask {
                runs = answer(&mut open.task, &policy, it, &mut notes);
            }
            if runs {
                observe.push(at);
            }
            rows.push(Row {
                session: Arc::clone(session),
                task: Arc::clone(&it.task),
                agent: Arc::clone(&agent),
                seq: it.seq,
                call_id: it.call.request.call_id.clone(),
                stop: verdict.stop.clone().filter(|_| verdict.action == Action::Stop),
                notes,
                verdict,
                assessment: None,
                spent: Spent::default(),
                time: it.time,
                duration: it.duration,
                round: track_round,
                form: is_watched(&policy).then(|| open.task.form_of(&policy, &it.call.request)),
                answered: it.call.answered,
            });
        }
        observe.sort_by(|a, b| {
            let time = |at: &usize| pending.get(*at).and_then(|it| it.time).unwrap_or(f64::NEG_INFINITY);
            time(a).total_cmp(&time(b))
        });
        for at in observe {
            let (Some(it), Some(row)) = (pending.get(at), rows.get_mut(at)) else { continue };
            row.assessment = open.task.observe(&policy, &it.id, &it.call.outcome, it.time).ok();
        }
        if let Some(track) = open.tracks.get_mut(session) {
            track.rows.extend(rows);
        }
    }

    /// Judges what was gathered, ends the round, and gives its rows their notes.
    fn settle(&mut self, open: &mut Open, session: &Arc<str>) {
        self.judge(open, session);
        let Some(track) = open.tracks.get(session).filter(|track| track.is_open) else { return };
        let agent = Arc::clone(&track.agent);
        let policy = open.policy(&self.guard, &agent);
        let Some(track) = open.tracks.get_mut(session) else { return };
        track.is_open = false;
        let before = open.task.stopped().is_some();
        open.task.end_round(&policy, &track.agent);
        let notes = open.task.drain_remarks(&policy);
        let (offers, skipped) = open.task.drain_ways();
        track.round = None;
        let mut rows = std::mem::take(&mut track.rows);
        let late = open.task.stopped().filter(|_| !before);
        let spent = open.task.spent();
        for row in &mut rows {
            if let Some(assessment) = &mut row.assessment {
                row.notes.append(&mut assessment.notes);
            }
            let id = Arc::clone(&row.verdict.call_id);
            row.notes.extend(notes.iter().filter(|note| note.call_id == id).cloned());
            row.spent = spent;
            if let Some(assessment) = &mut row.assessment {
                // rounds are explicit here: what closing one comes to belongs to each of its calls
                assessment.offers = offers.iter().filter(|offer| offer.call_id == id).cloned().collect();
                assessment.skipped = skipped.iter().filter(|skipped| skipped.call_id == id).cloned().collect();
                if assessment.next == Next::Continue && !assessment.offers.is_empty() {
                    assessment.next = Next::Substitute;
                }
                if let Some((gain, cells)) = open.task.brought(&id) {
                    (assessment.gain, assessment.cells) = (gain, cells);
                }
            }
            if let Some(stop) = late.filter(|stop| stop.call_id == *id) {
                row.stop = Some(stop.clone());
                if let Some(assessment) = &mut row.assessment {
                    assessment.next = Next::Exit;
                }
            }
            if let Some(form) = &row.form {
                policy.each().filter_map(|policy| policy.watch.as_ref()).for_each(|watch| watch.row(row, form));
            }
            let touched = count(&mut self.totals, row);
            track.noted |= !row.notes.is_empty();
            track.stopped |= row.stop.is_some();
            track.touched |= touched;
        }
        if self.keeps_rows {
            self.done.append(&mut rows);
        }
    }
}

fn is_watched(policy: &Policy) -> bool {
    policy.each().any(|policy| policy.watch.is_some())
}

/// Counts a row; whether it was more than a note or a coalesced call.
fn count(totals: &mut Totals, row: &Row) -> bool {
    for note in &row.notes {
        totals.add("note", reason_name(note.reason, note.rule.as_deref()));
    }
    let action = row.verdict.would.unwrap_or(row.verdict.action);
    if let Some(stop) = row.stop.as_ref().filter(|_| action != Action::Stop) {
        totals.add("stop", reason_name(stop.reason, stop.rule.as_deref()));
    }
    if action == Action::Allow {
        return row.stop.is_some();
    }
    let reason = row.verdict.decisive().map_or_else(String::new, crate::Finding::name);
    let coalesced = reason == "duplicate_in_batch";
    totals.add(action.name(), reason);
    if row.assessment.is_none() {
        totals.saved = totals.saved.saturating_add(1);
    }
    row.stop.is_some() || !coalesced
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
    // once more for each reason that came up since: whoever said yes then knew of it
    while let Ok(verdict) = task.approve(policy, &it.id, None) {
        notes.extend(verdict.notes);
        if verdict.action != Action::Ask {
            return verdict.action == Action::Allow;
        }
    }
    false
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
    /// Whether there is more to say of it than that the call ran.
    #[must_use]
    pub fn says_something(&self) -> bool {
        let touched = self.verdict.action != Action::Allow || self.verdict.would.is_some();
        touched || !self.notes.is_empty() || self.stop.is_some()
    }

    /// The row as a value, for decision logs and tests.
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
        let assessed = self.assessment.as_ref();
        let class = assessed.and_then(|it| it.class);
        let gaps = assessed.map_or_else(Vec::new, |it| it.gaps.clone());
        let gaps = gaps.into_iter().map(|(record, field)| Value::List(vec![record, text(&field)]));
        let stop = self.stop.as_ref().map_or(Value::Null, |stop| {
            let reason = reason_name(stop.reason, stop.rule.as_deref());
            map(vec![("reason", text(&reason)), ("at", Value::Float(stop.at)), ("exit", text(stop.exit.name()))])
        });
        let bindings = self.verdict.bindings.iter().map(|it| {
            map(vec![
                ("binding", text(&it.name)),
                ("policy", text(&it.policy)),
                ("mode", text(it.mode.name())),
                ("rollout", Value::Bool(it.rollout)),
            ])
        });
        let lifted = self
            .verdict
            .lifted
            .iter()
            .map(|it| map(vec![("exception", text(&it.exception)), ("reason", text(&it.reason))]));
        let used = &self.spent;
        let spent = [
            ("steps", used.steps),
            ("tool_calls", used.tool_calls),
            ("retries", used.retries),
            ("tokens", used.tokens),
            ("cost", used.cost),
        ];
        map(vec![
            ("session", text(&self.session)),
            ("task", text(&self.task)),
            ("agent", text(&self.agent)),
            ("seq", Value::Int(self.seq)),
            ("round", self.round.map_or(Value::Null, Value::Int)),
            ("call_id", optional(self.call_id.as_deref())),
            ("tool", text(&self.verdict.tool)),
            ("fingerprint", text(&self.verdict.fingerprint())),
            ("time", self.time.map_or(Value::Null, Value::Float)),
            ("duration", Value::Float(self.duration)),
            ("action", text(self.verdict.action.name())),
            ("would", optional(self.verdict.would.map(Action::name))),
            ("code", optional(self.verdict.code())),
            ("reasons", Value::List(reasons.collect())),
            ("evidence", map(evidence)),
            ("bindings", Value::List(bindings.collect())),
            ("lifted", Value::List(lifted.collect())),
            ("key", optional(self.verdict.idempotency_key.as_deref())),
            ("notes", Value::List(notes.collect())),
            ("grade", optional(assessed.map(|it| it.grade.name()))),
            ("class", optional(class.map(ErrorClass::name))),
            ("gaps", Value::List(gaps.collect())),
            ("gain", assessed.map_or(Value::Null, |it| Value::Int(i64::from(it.gain)))),
            ("cells", assessed.map_or(Value::Null, |it| Value::Int(i64::from(it.cells)))),
            ("next", optional(assessed.map(|it| it.next.name()))),
            ("proposals", Value::List(assessed.map_or_else(Vec::new, proposals))),
            ("from_cache", Value::Bool(assessed.is_some_and(|it| it.cached.is_some()))),
            ("stop", stop),
            ("spent", map(spent.into_iter().map(|(name, used)| (name, Value::Float(used))).collect())),
        ])
    }
}

impl Row {
    /// The decision as [`Row::to_value`] tells it, with all that it rests on: `findings`, each with `reason`, `action`,
    /// `message` and `evidence`; `reply`, what the model reads instead of a result; and `runs`, whether the call got through.
    #[must_use]
    pub fn to_explained_value(&self) -> Value {
        let findings = self.verdict.findings.iter().map(|finding| {
            map(vec![
                ("reason", Value::from(&*finding.name())),
                ("action", Value::from(finding.action.name())),
                ("message", Value::from(&*reply::explain(finding, &self.verdict.tool))),
                ("evidence", map(finding.evidence.clone())),
                ("retry_after", finding.retry_after.map_or(Value::Null, Value::Float)),
            ])
        });
        let more = vec![
            ("findings", Value::List(findings.collect())),
            ("reply", self.verdict.reply().map_or(Value::Null, |reply| Value::from(&*reply))),
            ("runs", Value::Bool(self.assessment.is_some())),
        ];
        let Value::Map(told) = self.to_value() else { return map(more) };
        let more = more.into_iter().map(|(name, value)| (name.into(), value));
        Map::new(told.into_entries().into_iter().chain(more).collect()).map_or(Value::Null, Value::Map)
    }
}

/// What is proposed after a call: the same again, or others instead.
fn proposals(assessment: &Assessment) -> Vec<Value> {
    if let Next::Retry(seconds) = assessment.next {
        return vec![map(vec![("kind", Value::from("retry")), ("after", Value::Float(seconds))])];
    }
    if let Next::Verify(verify) = &assessment.next {
        return vec![map(vec![
            ("kind", Value::from("verify")),
            ("tool", Value::from(&*verify.tool)),
            ("arguments", (*verify.arguments).clone()),
            ("after", Value::Float(verify.after)),
        ])];
    }
    let substitute = |offer: &crate::Offer| {
        map(vec![
            ("kind", Value::from("substitute")),
            ("tool", Value::from(&*offer.tool)),
            ("arguments", (*offer.arguments).clone()),
            ("need", offer.need.as_deref().map_or(Value::Null, Value::from)),
        ])
    };
    let skip =
        |skipped: &crate::Skipped| map(vec![("kind", Value::from("skip")), ("tool", Value::from(&*skipped.tool))]);
    assessment.offers.iter().map(substitute).chain(assessment.skipped.iter().map(skip)).collect()
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
