//! Snapshots and what is shared: a task takes its entries of the ledger along, and what its last life had under way is in doubt.
use serde::{Deserialize, Serialize};

use super::Claims;
use crate::shared::{EffectEnd, Entry, EntryState, Settlement};
use crate::task::Task;

/// What a snapshot tells of the shared state.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Revival {
    /// The task's entries in the ledger; what was under way is in doubt.
    pub entries: Vec<Entry>,
    /// Claims of calls that were out: they are spent, and nobody knows what became of them.
    pub lost: Vec<Settlement>,
}

impl Task {
    /// What goes into a snapshot, of the ledger's entries that are this task's.
    pub(crate) fn revival(&self, entries: Vec<Entry>) -> Revival {
        let (now, scope) = (self.claim_time(), self.scope());
        let in_doubt = |mut entry: Entry| {
            if entry.state == EntryState::InFlight {
                entry.state = EntryState::Unknown;
                entry.ended = Some(now);
            }
            entry
        };
        let lost = self.out.values().filter_map(|out| {
            let claim = &out.held.as_deref()?.claim;
            let effect = claim.effect.as_ref().map(|_| EffectEnd::Unknown);
            Some(Settlement { id: claim.id.clone(), task: claim.task.clone(), effect, ..Settlement::default() })
        });
        let own = entries.into_iter().filter(|entry| entry.task == scope);
        Revival { entries: own.map(in_doubt).collect(), lost: lost.collect() }
    }

    /// Tells the shared state what the snapshot told that this task goes on from.
    pub fn revive(&mut self, claims: &mut dyn Claims) {
        let (Revival { entries, lost }, now) = (std::mem::take(&mut self.revival), self.claim_time());
        claims.restore(entries);
        for settlement in &lost {
            claims.settle(settlement, now);
        }
    }

    /// The same for a shared state that cannot be reached from here: it has the entries itself.
    pub fn take_lost(&mut self) -> Vec<Settlement> {
        std::mem::take(&mut self.revival).lost
    }
}
