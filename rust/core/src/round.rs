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
    /// Tells it apart from one that was given the same id.
    pub(crate) number: u64,
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
    /// The place of each member by its call id; of one that runs, where several have the id.
    places: FxHashMap<Arc<str>, usize>,
    /// How many members are out.
    out: usize,
    /// The first call of each exact identity.
    pub(crate) firsts: FxHashMap<u64, Arc<str>>,
}

impl Round {
    pub(crate) fn new(number: u64, explicit: bool, opened: f64) -> Self {
        Self {
            number,
            explicit,
            opened,
            step_taken: false,
            step_over: false,
            members: Vec::new(),
            places: FxHashMap::default(),
            out: 0,
            firsts: FxHashMap::default(),
        }
    }

    /// Whether no call of it is out.
    pub(crate) fn is_settled(&self) -> bool {
        self.out == 0
    }

    /// A call enters, after those that stand in it.
    pub(crate) fn join(&mut self, member: Member) {
        let (place, is_out) = (self.members.len(), matches!(member.fate, Fate::Out));
        if is_out {
            self.out = self.out.saturating_add(1);
        }
        if is_out || !self.places.contains_key(&member.call_id) {
            self.places.insert(Arc::clone(&member.call_id), place);
        }
        self.members.push(member);
    }

    /// A call that was out came back, or never ran.
    pub(crate) fn came_back(&mut self, call_id: &str, fate: Fate) {
        let place = self.places.get(call_id).copied();
        let member = place.and_then(|place| self.members.get_mut(place));
        if let Some(member) = member.filter(|member| matches!(member.fate, Fate::Out)) {
            member.fate = fate;
            self.out = self.out.saturating_sub(1);
        }
    }

    /// A call that was asked about enters anew: what it was is forgotten.
    pub(crate) fn withdraw(&mut self, call_id: &str) {
        let place = self.places.get(call_id).copied();
        if let Some(member) = place.and_then(|place| self.members.get_mut(place)) {
            member.incidents.clear();
        }
    }

    /// Whether a member is still out.
    pub(crate) fn is_out(&self, call_id: &str) -> bool {
        let member = self.places.get(call_id).and_then(|place| self.members.get(*place));
        member.is_some_and(|member| matches!(member.fate, Fate::Out))
    }

    /// Whether a member was dispatched.
    pub(crate) fn ran(&self, call_id: &str) -> bool {
        let member = self.places.get(call_id).and_then(|place| self.members.get(*place));
        member.is_some_and(|member| !matches!(member.fate, Fate::NotRun))
    }
}
