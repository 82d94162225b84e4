//! What was done again and again since anything new came of it, by anybody in the task.
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::bounds::{make_room, CALLS};

/// So often the same may be written with nothing new in between before it changes nothing any more: two writes that undo
/// each other are a loop, however well they land.
const LANDINGS: u32 = 3;
/// So many agents may look for themselves at what another one has seen, one after the other, with nothing new in between.
const SHARED_LOOKS: u32 = 32;
/// So many targets may be looked at for the first time, one after the other, with nothing new in between.
const TARGETS: u32 = 24;

/// By loose identity. Forgotten as soon as a call brings something new, a write is new to the task, a poll moves on, or a
/// person speaks.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Fruitless {
    landings: FxHashMap<u64, u32>,
    looks: FxHashMap<u64, u32>,
    targets: u32,
}

impl Fruitless {
    /// A write landed, or something was sent. Whether that is fruitless by now.
    pub(crate) fn lands(&mut self, call: u64) -> bool {
        counted(&mut self.landings, call) > LANDINGS
    }

    /// An agent looked at what another one has seen. Whether that is fruitless by now.
    pub(crate) fn looks(&mut self, call: u64) -> bool {
        counted(&mut self.looks, call) > SHARED_LOOKS
    }

    /// A target was looked at for the first time. Whether that is fruitless by now.
    pub(crate) fn looks_at_target(&mut self) -> bool {
        self.targets = self.targets.saturating_add(1);
        self.targets > TARGETS
    }

    pub(crate) fn clear(&mut self) {
        self.landings.clear();
        self.looks.clear();
        self.targets = 0;
    }
}

fn counted(table: &mut FxHashMap<u64, u32>, call: u64) -> u32 {
    make_room(table, &call, CALLS);
    let count = table.entry(call).or_default();
    *count = count.saturating_add(1);
    *count
}
