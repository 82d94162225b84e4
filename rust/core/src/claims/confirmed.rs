//! `task.confirmation` and yeses that last: what a person has said about a call, or about all calls of its target.
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::bounds::{make_room, PAST_CALLS};
use crate::call::Call;
use crate::verdict::AskedBy;
use crate::Reason;

/// How far a yes goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Grants {
    /// To the call that was asked about.
    #[default]
    Once,
    /// To every call that is the same.
    Call,
    /// To every call of the tool with the same target; without one, to every call that is the same.
    Target,
}

/// How far a no goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scope {
    /// To every call that is the same.
    #[default]
    Call,
    /// To every call of the tool with the same target; without one, to every call that is the same.
    Target,
    /// To every call of the tool.
    Tool,
}

impl Grants {
    /// The name in calls and logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Call => "call",
            Self::Target => "target",
        }
    }

    /// What a name stands for.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Once, Self::Call, Self::Target].into_iter().find(|grants| grants.name() == name)
    }
}

impl Scope {
    /// The name in calls and logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Target => "target",
            Self::Tool => "tool",
        }
    }

    /// What a name stands for.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Call, Self::Target, Self::Tool].into_iter().find(|scope| scope.name() == name)
    }
}

/// What a person has said yes to.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Confirmed {
    /// How often, by what the calls act upon.
    times: FxHashMap<u64, u64>,
    /// Reasons that ask no more, by call or target.
    standing: FxHashMap<u64, Vec<(Reason, Option<String>)>>,
    /// Yeses of which nothing came, since the store could not be used just then, by call.
    #[serde(default)]
    waiting: FxHashMap<u64, Waiting>,
}

/// A yes that counts once the store can be used again.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Waiting {
    told: Vec<(Reason, Option<String>)>,
    /// When it was said, on the clock of claims: it is no yes to what came into doubt since.
    at: f64,
}

impl Confirmed {
    /// `task.confirmation`: 1, and one more with each approval of a call of the same tool and target; without a target, of
    /// the same call. Yeses to questions that stood beside each other are one: else each would pay once. A yes to running
    /// what may have happened raises nothing: under its old key whoever carries it out can tell that it has.
    pub(crate) fn version(&self, call: &Call) -> u64 {
        self.times.get(&call.place()).copied().unwrap_or(0).saturating_add(1)
    }

    /// A person said yes to what was `told`, when `task.confirmation` stood where it is given.
    pub(crate) fn add(&mut self, call: &Call, (told, asked_at): (&[AskedBy], u64), grants: Grants) {
        if told.iter().any(|(reason, _)| *reason != Reason::AmbiguousEffect) {
            make_room(&mut self.times, &call.place(), PAST_CALLS);
            let times = self.times.entry(call.place()).or_default();
            *times = asked_at.max(*times);
        }
        let place = match grants {
            Grants::Once => return,
            Grants::Call => call.loose,
            Grants::Target => call.place(),
        };
        let standing = self.standing.entry(place).or_default();
        // a doubt about an effect is about that effect: nobody can say yes to the next one beforehand
        let lasting = told.iter().filter(|(reason, _)| *reason != Reason::AmbiguousEffect);
        for (reason, rule) in lasting {
            if !standing.iter().any(|have| is(have, (*reason, rule.as_deref()))) {
                standing.push((*reason, rule.as_deref().map(str::to_owned)));
            }
        }
    }

    /// Whether a yes that lasts, or one that waits for the store, covers this reason.
    pub(crate) fn covers(&self, call: &Call, told: &AskedBy) -> bool {
        // of doubts the ledger says which a yes covers
        if told.0 == Reason::AmbiguousEffect {
            return false;
        }
        let told = (told.0, told.1.as_deref());
        let at = |place| self.standing.get(&place).is_some_and(|standing| standing.iter().any(|have| is(have, told)));
        let waits = || self.waiting.get(&call.loose).is_some_and(|it| it.told.iter().any(|have| is(have, told)));
        (!self.standing.is_empty() && (at(call.loose) || at(call.place()))) || (!self.waiting.is_empty() && waits())
    }

    /// The store could not be used just when a person said yes: the same call may run once it can.
    pub(crate) fn wait(&mut self, call: &Call, told: &[AskedBy], at: f64) {
        let told = told.iter().map(|(reason, rule)| (*reason, rule.as_deref().map(str::to_owned))).collect();
        make_room(&mut self.waiting, &call.loose, PAST_CALLS);
        self.waiting.insert(call.loose, Waiting { told, at });
    }

    /// Up to when a yes that waits covers doubts about effects; nothing where there is none.
    pub(crate) fn waits_for(&self, call: &Call) -> Option<f64> {
        let waiting = self.waiting.get(&call.loose)?;
        waiting.told.iter().any(|(reason, _)| *reason == Reason::AmbiguousEffect).then_some(waiting.at)
    }

    /// The call runs, or a person said no to it: a yes that waited is used up.
    pub(crate) fn use_up(&mut self, call: &Call) {
        if !self.waiting.is_empty() {
            self.waiting.remove(&call.loose);
        }
    }
}

fn is((reason, rule): &(Reason, Option<String>), told: (Reason, Option<&str>)) -> bool {
    (*reason, rule.as_deref()) == told
}
