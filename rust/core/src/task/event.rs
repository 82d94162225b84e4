//! Something happened to the conversation: what it resets.
use super::Task;
use crate::detect::Detector;
use crate::policy::{Policy, Resets};

/// Something that happened to the conversation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// Somebody spoke; only a human's turn resets anything.
    UserTurn {
        /// Whether it was a person.
        by_human: bool,
    },
    /// The conversation was compacted.
    Compaction,
    /// The model used tokens or money.
    Usage {
        /// Tokens.
        tokens: f64,
        /// Money, in the policy's currency.
        cost: f64,
    },
}

impl Task {
    /// Something happened to the conversation.
    pub fn event(&mut self, policy: &Policy, agent: &str, event: Event, now: Option<f64>) {
        self.clock(now);
        let index = self.session(policy, agent);
        match event {
            Event::UserTurn { by_human: false } => {}
            Event::UserTurn { by_human: true } => {
                self.reset(policy, policy.on_user_turn);
                self.moves = self.moves.saturating_add(1);
                if policy.on_user_turn.repeats {
                    self.fruitless.clear();
                }
            }
            Event::Compaction => {
                self.close_rounds(policy);
                // compacted again and again, with nothing found or written in between, is a loop of its own
                let moves = self.moves;
                let before = self.sessions.get_mut(index).and_then(|session| session.compacted.replace(moves));
                if before != Some(moves) {
                    self.reset(policy, policy.on_compaction);
                }
            }
            Event::Usage { tokens, cost } => {
                if let Some(session) = self.sessions.get_mut(index) {
                    self.pool.take_usage(&mut session.share, tokens, cost);
                }
            }
        }
    }

    /// What came back before an event belongs to before it.
    fn close_rounds(&mut self, policy: &Policy) {
        for session in 0..self.sessions.len() {
            self.close_round(policy, session);
        }
    }

    /// Resets what is named; where repeats are, what was seen before may be looked at once more.
    fn reset(&mut self, policy: &Policy, resets: Resets) {
        self.close_rounds(policy);
        for session in &mut self.sessions {
            session.detectors.reset(resets);
            if resets.repeats {
                session.detectors.no_gain.outdate();
            }
            if resets.errors {
                session.transient.clear();
            }
        }
        self.states.reset(resets);
        self.transfers.reset(resets);
        if resets.repeats {
            if let Some(merged) = &mut self.merged {
                merged.clear();
            }
        }
        if resets.gain {
            self.no_gain.clear();
        }
        if resets.incidents {
            self.incidents.clear();
        }
    }
}
