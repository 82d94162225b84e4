//! A round of a session: what was gathered is judged as one batch, and its rows get their notes when it ends.
use std::sync::Arc;

use super::open::{Open, Pending, Track};
use super::row::Row;
use super::Replay;
use crate::budget::Spent;
use crate::policy::Policy;
use crate::task::Task;
use crate::verdict::{Action, Next, Note};

impl Replay {
    /// Admits what was gathered for a session, as a batch, and observes what was recorded of it.
    pub(super) fn judge(&mut self, open: &mut Open, session: &Arc<str>) {
        open.gathering.retain(|other| other != session);
        let Some(start) = open.tracks.get(session).and_then(Track::start) else { return };
        self.close_over(open, session, start);
        let Some(track) = open.tracks.get_mut(session) else { return };
        let pending = std::mem::take(&mut track.pending);
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
    pub(super) fn settle(&mut self, open: &mut Open, session: &Arc<str>) {
        self.judge(open, session);
        let Some(track) = open.tracks.get(session).filter(|track| track.is_open) else { return };
        let agent = Arc::clone(&track.agent);
        let policy = open.policy(&self.guard, &agent);
        let Some(track) = open.tracks.get_mut(session) else { return };
        track.is_open = false;
        open.running.retain(|other| other != session);
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
            let touched = self.totals.count(row);
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
