//! Answers that were acted upon: nothing was found, and so something was made. To ask for the next thing then is no search
//! in vain, although it finds nothing either.
use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::bounds::{make_room, PLACES};
use crate::call::Call;
use crate::detect::same_result::place;

/// The writes that are remembered, of one agent.
const WRITES: usize = 32;
/// So many reads of one tool (and target) in a row may find nothing new because the one before was acted upon.
const PASSED: u32 = 24;

/// What an agent wrote for the first time, and when it last asked which tool.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ActedUpon {
    now: u64,
    writes: VecDeque<Landed>,
    reads: FxHashMap<u64, Asked>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Landed {
    at: u64,
    touches: Box<[u32]>,
    target: Option<u64>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Asked {
    at: u64,
    passed: u32,
}

impl Landed {
    /// Whether it and the read say both, by a tag or by their target, that it concerns the read.
    fn concerns(&self, read: &Call) -> bool {
        if !self.touches.is_empty() && !read.tool.reads.is_empty() {
            return self.touches.iter().any(|tag| read.tool.reads.contains(tag));
        }
        self.target.is_some() && self.target == read.target
    }
}

impl ActedUpon {
    /// A write landed that the task had not made before.
    pub(crate) fn wrote(&mut self, write: &Call) {
        self.now = self.now.saturating_add(1);
        if self.writes.len() >= WRITES {
            self.writes.pop_front();
        }
        self.writes.push_back(Landed { at: self.now, touches: write.tool.touches.clone(), target: write.target });
    }

    /// A read came back, `in_vain` where it is a question of its own and brought nothing new. Whether it is passed over: what
    /// the tool (and target) answered before was acted upon.
    pub(crate) fn read(&mut self, read: &Call, in_vain: bool) -> bool {
        let place = place(read);
        let before = self.reads.get(&place).copied();
        let passed = before.filter(|_| in_vain).map_or(0, |before| {
            let acted = self.writes.iter().any(|write| write.at > before.at && write.concerns(read));
            if acted && before.passed < PASSED {
                before.passed.saturating_add(1)
            } else {
                0
            }
        });
        make_room(&mut self.reads, &place, PLACES);
        self.reads.insert(place, Asked { at: self.now, passed });
        passed > 0
    }
}
