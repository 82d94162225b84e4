//! Numbers the symbols of a session 0, 1, 2, … in order of first appearance.
//!
//! Later passes work on these ids: counts become plain arrays, and a row is the first of its symbol exactly when its
//! id equals the number of symbols known before. The table is open addressing with linear probing; a slot holds 32
//! bits of the hash and the id, so a miss reads one cache line and never the key.

const FIRST_SLOTS: usize = 128;
/// The table grows by this: moving is dearer than memory, and `most` bounds that.
const GROWTH: usize = 4;
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
/// Added to an id in its slot, so that an all-zero slot is an empty one.
const OCCUPIED: u64 = 1;
/// The half of a slot that holds hash bits; the other half holds the id.
const TAG: u64 = 0xffff_ffff_0000_0000;

/// A reusable table from symbol to dense id.
pub(super) struct SymbolIds {
    hash_key: u64,
    slots: Vec<u64>,
    symbols: Vec<u64>,
    room: usize,
    /// Slots that suffice for all rows at hand.
    most: usize,
}

impl SymbolIds {
    pub(super) fn new(hash_key: u64) -> Self {
        Self { hash_key, slots: Vec::new(), symbols: Vec::new(), room: 0, most: 0 }
    }

    /// Forgets all symbols and shrinks the table back to a few cache lines; its memory is kept for the next session.
    /// At most `rows` symbols may follow.
    pub(super) fn clear(&mut self, rows: usize) {
        self.symbols.clear();
        self.most = rows.saturating_add(1).saturating_mul(2).next_power_of_two().max(FIRST_SLOTS);
        self.set_slots(FIRST_SLOTS);
    }

    /// Number of distinct symbols so far; also the id that the next new symbol gets.
    pub(super) fn len(&self) -> u32 {
        // at most MAX_ROWS symbols, which fit
        u32::try_from(self.symbols.len()).unwrap_or(u32::MAX)
    }

    /// The id of `symbol`, new or known.
    #[inline]
    pub(super) fn id(&mut self, symbol: u64) -> u32 {
        if self.symbols.len() >= self.room {
            self.grow();
        }
        let hash = self.hash(symbol);
        let tag = hash & TAG;
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = position(hash) & mask;
        // ends: at least half of the slots are empty
        while let Some(slot) = self.slots.get_mut(at) {
            if *slot == 0 {
                let id = self.symbols.len();
                *slot = tag | (id as u64).wrapping_add(OCCUPIED);
                self.symbols.push(symbol);
                return id as u32;
            }
            if *slot & TAG == tag {
                let id = (*slot & !TAG).wrapping_sub(OCCUPIED);
                if self.symbols.get(id as usize) == Some(&symbol) {
                    return id as u32;
                }
            }
            at = at.wrapping_add(1) & mask;
        }
        0
    }

    #[inline]
    fn hash(&self, symbol: u64) -> u64 {
        // folded multiplication: both halves of the product depend on all bits of the keyed symbol
        let product = u128::from(symbol ^ self.hash_key).wrapping_mul(u128::from(MIX));
        let folded = (product as u64) ^ ((product >> 64) as u64);
        folded.wrapping_mul(MIX) ^ (folded >> 32)
    }

    #[cold]
    fn grow(&mut self) {
        self.set_slots(self.slots.len().saturating_mul(GROWTH).min(self.most));
        let mask = self.slots.len().wrapping_sub(1);
        for (id, symbol) in self.symbols.iter().enumerate() {
            let hash = self.hash(*symbol);
            let mut at = position(hash) & mask;
            while let Some(slot) = self.slots.get_mut(at) {
                if *slot == 0 {
                    *slot = (hash & TAG) | (id as u64).wrapping_add(OCCUPIED);
                    break;
                }
                at = at.wrapping_add(1) & mask;
            }
        }
    }

    fn set_slots(&mut self, count: usize) {
        if count <= self.slots.capacity() {
            self.slots.clear();
            self.slots.resize(count, 0);
        } else {
            // frees the old table first, and gets pages that are zero already
            self.slots = Vec::new();
            self.slots = vec![0; count];
        }
        self.room = count >> 1;
    }
}

#[inline]
fn position(hash: u64) -> usize {
    hash as u32 as usize
}
