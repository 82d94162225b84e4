//! When a round of a session is over: for that, the records behind are looked at, as far as they can be held.
use std::sync::Arc;

use super::open::{Open, Track};
use super::Replay;
use crate::trace::{Record, What};

/// The most records of a task that are held until it is known whether a round has ended before them.
const MOST_HELD: usize = 256;
/// Seconds that are no difference: `time - duration` of a call that began when another ended may be rounded.
const ROUNDING: f64 = 1e-6;

/// The round that a record belongs to, as its agent and number; none where it is an event, or a round by itself.
pub(super) type RoundOf = Option<(Arc<str>, i64)>;

pub(super) fn round_of(record: &Record) -> RoundOf {
    match record.what {
        What::Event(_) => None,
        What::Call(_) => record.round.map(|round| (record.agent_in_task(), round)),
    }
}

impl Record {
    /// The agent as the task knows it: sessions of one task that name no agent are streams of their own.
    pub(super) fn agent_in_task(&self) -> Arc<str> {
        let unnamed = *self.agent == *"root" && self.session != self.task;
        Arc::clone(if unnamed { &self.session } else { &self.agent })
    }
}

impl Track {
    /// Whether the round that is open belongs to this record's, or what is known of it.
    fn is_in(&self, round: &RoundOf) -> bool {
        round.as_ref().is_some_and(|(agent, round)| self.round == Some(*round) && self.agent == *agent)
    }

    /// Whether the round that is open had ended at this second, as far as its records are known.
    fn has_ended(&self, now: f64) -> bool {
        self.is_open && now + ROUNDING >= self.ended
    }
}

impl Open {
    /// When a record was admitted, in seconds.
    pub(super) fn start_of(&self, record: &Record) -> f64 {
        record.time.map_or(self.latest, |time| time - record.duration)
    }

    /// Takes note that a record of the session is played, which came back at this time. Gives the last known time.
    pub(super) fn go_on(&mut self, session: &Arc<str>, time: Option<f64>) -> f64 {
        self.latest = time.map_or(self.latest, |time| self.latest.max(time));
        if let Some(track) = self.tracks.get_mut(session) {
            track.ahead.pop_front();
        }
        time.unwrap_or(self.latest)
    }

    /// The sessions whose rounds are open and of which this is true, those whose rounds ended first before the others.
    pub(super) fn running_where(&self, is: impl Fn(&Arc<str>, &Track) -> bool) -> Vec<Arc<str>> {
        let running = self.running.iter().filter_map(|session| Some((session, self.tracks.get(session)?)));
        let mut found: Vec<_> = running.filter(|(session, track)| is(session, track)).collect();
        found.sort_by(|(_, a), (_, b)| a.ended.total_cmp(&b.ended));
        found.into_iter().map(|(session, _)| Arc::clone(session)).collect()
    }

    /// Whether the record cannot be played before more records are known: it has something judged, and whether a round of
    /// another session has ended before that depends on what comes.
    fn has_to_wait(&self, record: &Record) -> bool {
        if self.running.is_empty() || self.tracks.len() < 2 {
            return false;
        }
        let gathered = self.gathering.iter().filter_map(|session| {
            let track = self.tracks.get(session)?;
            let goes_on = *session == record.session && track.is_in(&round_of(record));
            track.start().filter(|_| !goes_on).map(|start| (session, start))
        });
        let alone = round_of(record).is_none().then(|| (&record.session, self.start_of(record)));
        gathered.chain(alone).any(|(session, start)| {
            let is_unsure = |track: &Track| track.has_ended(start) && track.ahead.is_empty();
            self.running.iter().filter(|it| *it != session).filter_map(|it| self.tracks.get(it)).any(is_unsure)
        })
    }
}

impl Replay {
    /// Plays the records of a task that can be played, or all of them.
    pub(super) fn play(&mut self, open: &mut Open, all: bool) -> Result<(), String> {
        let mut answer = Ok(());
        while let Some((_, record)) = open.held.front() {
            if !all && open.held.len() <= MOST_HELD && open.has_to_wait(record) {
                break;
            }
            let Some((seq, record)) = open.held.pop_front() else { break };
            answer = self.play_one(open, seq, record);
        }
        answer
    }

    /// Closes the rounds of the task that had ended at this second, before something of this session is judged.
    pub(super) fn close_over(&mut self, open: &mut Open, session: &Arc<str>, now: f64) {
        let over = open.running_where(|other, track| {
            other != session && track.has_ended(now) && !track.ahead.front().is_some_and(|round| track.is_in(round))
        });
        for other in over {
            self.settle(open, &other);
        }
    }
}
