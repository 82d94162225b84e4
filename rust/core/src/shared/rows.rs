//! The rows of shared state that one operation touches: a store reads them, has the operation done on them, and writes back
//! what changed, in one transaction.
use std::collections::{BTreeMap, BTreeSet};

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use super::breaker::{Breaker, Passage};
use super::claim::{EffectClaim, Grant};
use super::counters::Counters;
use super::ledger::Entries;
use super::text::unsaid;

/// What an operation reads and changes.
///
/// A commit needs: the hold of its id, the counters of its task, the breakers that it names, those of its denials that are on
/// record, and of the ledger the entry of its key and those of its task and tool that are in doubt. The end of a claim
/// needs the same for what its hold names, and the entries that it resolves; an id without a hold, the entries that it owns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// What stands under the operation's id.
    pub hold: Option<Hold>,
    /// The task's counters.
    pub counters: Counters,
    /// Entries of the ledger, by key.
    pub entries: Entries,
    /// Breakers by name.
    pub breakers: BTreeMap<String, Breaker>,
    /// The task's denials.
    pub denials: BTreeSet<String>,
}

/// What stands under the id of a claim or settlement: what it holds, and that it was answered already.
///
/// As text it leaves out what says nothing: most of what is kept are holds, and of short ones more fit on a page of a disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hold {
    /// The claim's or settlement's.
    pub id: String,
    /// Its task.
    pub task: String,
    /// When its owner counts as dead.
    pub lease_until: f64,
    /// Until when it is kept, so that what comes twice counts once.
    pub keep_until: f64,
    /// It was settled or released.
    #[serde(skip_serializing_if = "unsaid")]
    pub ended: bool,
    /// What it took of counters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub amounts: Vec<(String, f64)>,
    /// The effect that it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<EffectClaim>,
    /// The breakers that let it through.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub passages: BTreeMap<String, Passage>,
    /// What it was told, without the counts.
    #[serde(serialize_with = "in_short")]
    pub grant: Grant,
}

/// A grant without what says nothing, and without the id, which is the hold's.
fn in_short<S: Serializer>(grant: &Grant, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    if grant.taken {
        map.serialize_entry("taken", &true)?;
    }
    if !grant.short.is_empty() {
        map.serialize_entry("short", &grant.short)?;
    }
    if let Some(effect) = &grant.effect {
        map.serialize_entry("effect", effect)?;
    }
    if !grant.open.is_empty() {
        map.serialize_entry("open", &grant.open)?;
    }
    if let Some(denied) = &grant.denied {
        map.serialize_entry("denied", denied)?;
    }
    map.end()
}

impl Hold {
    /// It holds nothing, and is kept only so that what comes twice counts once.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.amounts.is_empty() && self.effect.is_none() && self.passages.is_empty()
    }
}

/// What an operation changed; None is a row that is gone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// What stands under the operation's id now, if that is new.
    pub hold: Option<Hold>,
    /// All counters of the hold's task, if one of them changed.
    pub counters: Option<Counters>,
    /// Entries by key.
    pub entries: BTreeMap<String, Option<super::Entry>>,
    /// Breakers by name.
    pub breakers: BTreeMap<String, Breaker>,
    /// Denials of the hold's task: on record or off.
    pub denials: BTreeMap<String, bool>,
}

impl Rows {
    /// What is other than it was before.
    #[must_use]
    pub fn since(self, before: &Self) -> Changes {
        let gone = before.entries.keys().filter(|key| !self.entries.contains_key(*key)).map(|key| (key.clone(), None));
        let mut entries: BTreeMap<_, _> = gone.collect();
        let written = self.entries.into_iter().filter(|(key, entry)| before.entries.get(key) != Some(entry));
        entries.extend(written.map(|(key, entry)| (key, Some(entry))));
        let lifted = before.denials.difference(&self.denials).map(|key| (key.clone(), false));
        let denied = self.denials.difference(&before.denials).map(|key| (key.clone(), true));
        Changes {
            denials: lifted.chain(denied).collect(),
            hold: self.hold.filter(|hold| before.hold.as_ref() != Some(hold)),
            counters: Some(self.counters).filter(|counters| *counters != before.counters),
            entries,
            breakers: self
                .breakers
                .into_iter()
                .filter(|(name, breaker)| before.breakers.get(name) != Some(breaker))
                .collect(),
        }
    }
}
