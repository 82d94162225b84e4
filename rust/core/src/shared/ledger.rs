//! The ledger of effects: what is known of each before it is begun, what becomes of it, and who ends a doubt.
use std::collections::BTreeMap;

use super::claim::{EffectAnswer, EffectClaim, EffectEnd, EffectKey, Entry, EntryState, LateEnd, LateWord, Resolution};

/// Entries by key.
pub type Entries = BTreeMap<String, Entry>;

/// Who begins an effect, and until when it has to end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beginner<'a> {
    pub(super) id: &'a str,
    pub(super) task: &'a str,
    pub(super) now: f64,
    pub(super) lease_until: f64,
}

impl Entry {
    /// Nobody knows whether it happened: that was said, or its owner is dead.
    #[must_use]
    pub fn in_doubt(&self, now: f64) -> bool {
        match self.state {
            EntryState::Unknown => true,
            EntryState::InFlight => self.lease_until <= now,
            EntryState::Completed => false,
        }
    }

    /// From when on its doubt stands in the way of other effects of its task and tool; None: it does not.
    #[must_use]
    pub fn blocks_from(&self) -> Option<f64> {
        match self.state {
            EntryState::Unknown if !self.waived => Some(f64::MIN),
            EntryState::InFlight => Some(self.lease_until),
            EntryState::Unknown | EntryState::Completed => None,
        }
    }

    /// It happened so long ago that it is remembered no more.
    pub(super) fn forgotten(&self, now: f64) -> bool {
        self.state == EntryState::Completed && self.retain_until.is_some_and(|until| until <= now)
    }

    /// Writes down the doubt about an effect whose owner is dead. It began with the end of the lease: until then the call may
    /// still have been on its way.
    pub(super) fn age(&mut self, now: f64) {
        if self.state == EntryState::InFlight && self.in_doubt(now) {
            self.state = EntryState::Unknown;
            self.ended = Some(self.lease_until.min(now));
        }
    }

    fn doubted(&self) -> EffectAnswer {
        let since = self.ended.unwrap_or(self.began);
        EffectAnswer::Unknown {
            since,
            key: self.effect.key.clone(),
            verify: self.effect.verify.clone(),
            checked: self.checked,
        }
    }

    /// Its last attempt did not happen. False where there was none before it, and the key is free.
    fn failed(&mut self, now: f64) -> bool {
        if self.late.is_some_and(|word| word.landed) {
            // the one before it has said since that it happened
            let result = self.result.take();
            self.complete(result, None, now);
        } else if let Some(before) = self.doubt.take() {
            // what became of the one before it is as unknown as ever
            self.state = EntryState::Unknown;
            self.ended = Some(before);
        } else {
            return false;
        }
        true
    }

    fn complete(&mut self, result: Option<String>, by: Option<String>, now: f64) {
        self.state = EntryState::Completed;
        self.ended = Some(now);
        self.retain_until = self.retain.map(|seconds| now + seconds);
        self.result = result;
        self.by = by;
        self.doubt = None;
        self.waived = false;
    }

    /// Its doubt stands in the way of another effect of the same task and tool: without a target on either side any is meant.
    fn blocks(&self, effect: &EffectKey, task: &str, now: f64) -> bool {
        let (one, other) = (&self.effect.target, &effect.target);
        self.effect.key != effect.key
            && self.task == task
            && self.effect.tool == effect.tool
            && (one.is_none() || other.is_none() || one == other)
            && self.blocks_from().is_some_and(|from| from <= now)
    }
}

impl EffectClaim {
    /// A person has said that it may run in spite of this doubt.
    fn covers(&self, doubt: &Entry) -> bool {
        let since = doubt.ended.unwrap_or(doubt.lease_until);
        self.again && self.again_at.is_none_or(|at| since <= at)
    }
}

/// What the ledger says of an effect. Changes nothing but what time has changed already.
pub(super) fn ask(entries: &mut Entries, claim: &EffectClaim, by: Beginner<'_>) -> EffectAnswer {
    let (effect, now) = (&claim.effect, by.now);
    entries.retain(|_, entry| !entry.forgotten(now));
    entries.values_mut().for_each(|entry| entry.age(now));
    if let Some(entry) = entries.get(&effect.key) {
        let since = entry.began;
        if effect.declared && entry.effect.call != effect.call {
            return EffectAnswer::Conflict { since };
        }
        match entry.state {
            EntryState::InFlight if entry.owner != by.id => return EffectAnswer::InFlight { since },
            EntryState::Completed => {
                let (at, result) = (entry.ended.unwrap_or(since), entry.result.clone());
                return EffectAnswer::Completed { at, result };
            }
            EntryState::Unknown if !(claim.covers(entry) || claim.resend) => return entry.doubted(),
            EntryState::InFlight | EntryState::Unknown => {}
        }
    }
    match entries.values().find(|entry| entry.blocks(effect, by.task, now) && !claim.covers(entry)) {
        Some(other) => other.doubted(),
        None => EffectAnswer::New,
    }
}

/// Begins an effect of which `ask` has said that it is new.
pub(super) fn begin(entries: &mut Entries, claim: &EffectClaim, by: Beginner<'_>) {
    let doubt = entries.get(&claim.effect.key).and_then(|earlier| match earlier.state {
        EntryState::Unknown => Some(earlier.ended.unwrap_or(earlier.began)),
        EntryState::InFlight => earlier.doubt,
        EntryState::Completed => None,
    });
    let entry = Entry {
        effect: claim.effect.clone(),
        task: by.task.to_owned(),
        owner: by.id.to_owned(),
        began: by.now,
        lease_until: by.lease_until,
        retain: claim.retain,
        doubt,
        ..Entry::default()
    };
    entries.insert(claim.effect.key.clone(), entry);
}

/// Takes in what became of an effect that `id` began. An entry that another one owns by now, or of which somebody else found out
/// what happened, is left alone.
pub(super) fn end(entries: &mut Entries, claim: Option<&EffectClaim>, by: Beginner<'_>, end: &EffectEnd) {
    let key = match claim {
        Some(claim) => Some(claim.effect.key.clone()),
        None => entries.values().find(|entry| entry.owner == by.id).map(|entry| entry.effect.key.clone()),
    };
    let Some(key) = key else { return };
    if let (EffectEnd::Completed { .. }, Some(claim)) = (end, claim) {
        if !entries.contains_key(&key) && claim.effect.once {
            // its doubt was ended as absent, wrongly: it happened after all
            begin(entries, claim, by);
        }
        waive(entries, claim, by);
    }
    let Some(entry) = entries.get_mut(&key).filter(|entry| entry.owner == by.id) else { return };
    if entry.state == EntryState::Completed {
        if let (EffectEnd::Completed { result }, None) = (end, &entry.result) {
            entry.result.clone_from(result);
        }
        return;
    }
    match end {
        EffectEnd::Completed { result } if entry.effect.once => entry.complete(result.clone(), None, by.now),
        EffectEnd::Unknown => {
            entry.state = EntryState::Unknown;
            entry.ended = Some(by.now);
        }
        EffectEnd::Free if entry.failed(by.now) => {}
        EffectEnd::Free | EffectEnd::Completed { .. } => {
            entries.remove(&key);
        }
    }
}

/// Takes in what a call brought after all that was given up and is in doubt since. It ends that doubt, and nothing that others
/// have found out or begun meanwhile: what goes against that is noted beside it.
pub(super) fn late(entries: &mut Entries, late: &LateEnd, task: &str, now: f64) {
    let LateEnd { owner, effect, end } = late;
    let (key, by) = (&effect.effect.key, Beginner { id: owner, task, now, lease_until: now });
    match end {
        EffectEnd::Completed { result } => {
            waive(entries, effect, by);
            happened(entries, effect, by, result.as_ref());
        }
        EffectEnd::Free => {
            let Some(entry) = entries.get_mut(key).filter(|entry| entry.owner == *owner) else { return };
            if entry.state == EntryState::Completed {
                entry.late = Some(LateWord { at: now, landed: false });
            } else if !entry.failed(now) {
                entries.remove(key);
            }
        }
        EffectEnd::Unknown => {}
    }
}

fn happened(entries: &mut Entries, effect: &EffectClaim, by: Beginner<'_>, result: Option<&String>) {
    let (key, word) = (&effect.effect.key, LateWord { at: by.now, landed: true });
    let Some(entry) = entries.get_mut(key) else {
        if effect.effect.once {
            // its doubt was ended as absent, wrongly
            begin(entries, effect, by);
            if let Some(entry) = entries.get_mut(key) {
                entry.complete(result.cloned(), None, by.now);
                entry.late = Some(word);
            }
        }
        return;
    };
    if entry.in_doubt(by.now) {
        if entry.effect.once {
            entry.complete(result.cloned(), None, by.now);
        } else {
            entries.remove(key);
        }
    } else if entry.state == EntryState::InFlight {
        // another call is at it; under a key that the tool takes, twice is once
        if !effect.resend {
            entry.late = Some(word);
            entry.result = result.cloned();
        }
    } else if entry.result.is_none() && entry.owner == by.id {
        entry.result = result.cloned();
    }
}

/// A person let an effect run in spite of these doubts, and it happened: they stand in the way of their own keys alone.
fn waive(entries: &mut Entries, claim: &EffectClaim, by: Beginner<'_>) {
    if !claim.again {
        return;
    }
    let blocks = |entry: &Entry| entry.blocks(&claim.effect, by.task, by.now) && claim.covers(entry);
    for entry in entries.values_mut().filter(|entry| blocks(entry)) {
        entry.age(by.now);
        entry.waived = true;
    }
    entries.retain(|_, entry| !entry.waived || entry.effect.once);
}

/// Takes in what was found out about a doubt; false where there is none.
pub fn resolve(entries: &mut Entries, resolution: &Resolution, now: f64) -> bool {
    let Some(entry) = entries.get_mut(&resolution.key).filter(|entry| entry.in_doubt(now)) else { return false };
    entry.age(now);
    match resolution.landed {
        None => entry.checked = entry.checked.saturating_add(1),
        Some(true) if entry.effect.once => {
            entry.complete(resolution.result.clone(), Some(resolution.by.clone()), now);
        }
        Some(_) => {
            entries.remove(&resolution.key);
        }
    }
    true
}
