//! A round: the calls of one model turn, admitted together and fed to the detectors together.
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::detect::Observation;
use crate::verdict::IncidentKey;

/// What became of a call of the round.
#[derive(Clone, Debug)]
pub(crate) enum Fate {
    /// It did not run: refused, reused, asked, or given up.
    NotRun,
    /// It is still out.
    Out,
    /// It came back.
    Observed(Box<Observation>),
}

/// A call of the round.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) call_id: Arc<str>,
    pub(crate) fate: Fate,
    /// The incidents that its findings name, without doubles.
    pub(crate) incidents: Vec<IncidentKey>,
    /// Whether it was (or would have been) answered with an earlier result.
    pub(crate) reused: bool,
}

/// The open round of a session.
#[derive(Clone, Debug)]
pub(crate) struct Round {
    /// Tells rounds of a task apart.
    pub(crate) number: u64,
    /// Whether the host says when it ends.
    pub(crate) explicit: bool,
    pub(crate) opened: f64,
    pub(crate) step_taken: bool,
    /// It was taken although the budget had none left.
    pub(crate) step_over: bool,
    pub(crate) members: Vec<Member>,
    /// The first call of each exact identity.
    pub(crate) firsts: FxHashMap<u64, Arc<str>>,
}

impl Round {
    pub(crate) fn new(number: u64, explicit: bool, opened: f64) -> Self {
        let (members, firsts) = (Vec::new(), FxHashMap::default());
        Self { number, explicit, opened, step_taken: false, step_over: false, members, firsts }
    }

    /// Whether no call of it is out.
    pub(crate) fn is_settled(&self) -> bool {
        !self.members.iter().any(|member| matches!(member.fate, Fate::Out))
    }

    pub(crate) fn member(&mut self, call_id: &str) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| *member.call_id == *call_id && matches!(member.fate, Fate::Out))
    }
}
