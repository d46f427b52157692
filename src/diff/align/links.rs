//! Stores the matches found so far. All threads that align parts of the traces share this store.
//!
//! While the calls below a pair are being aligned, only one aligner writes the matches of these calls. The order in
//! which threads and pieces (see `apart`) are aligned therefore does not affect the result. The columns are atomic so
//! that several threads can share them.

use crate::diff::pairing::Pairing;
use crate::diff::passes::Pass;
use crate::diff::relation::{NONE, Relation};
use crate::side::{PerSide, Side};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};

/// The possible relations of matched calls. Unmatched calls are not included: they are baseline only or candidate only.
const OF_PARTNERS: [Relation; 3] = [Relation::Same, Relation::Renamed, Relation::Moved];

/// The value stored in place of a counterpart for a call that must stay unmatched.
const ASIDE: u32 = NONE - 1;

/// The counterpart and the relation of each call.
#[derive(Debug)]
pub(super) struct Links {
    counterparts: PerSide<Vec<AtomicU32>>,
    /// The relation of each call, as a position in [`OF_PARTNERS`]; meaningless for unmatched calls.
    relations: PerSide<Vec<AtomicU8>>,
    /// The pass that matched each call, as a position in [`Pass::ALL`]; meaningless for unmatched calls.
    passes: PerSide<Vec<AtomicU8>>,
    cut_blocks: AtomicU64,
    cut_threads: AtomicU64,
}

impl Links {
    /// Creates a store without matches for the given number of calls on each side.
    pub(super) fn new(calls: PerSide<usize>) -> Links {
        Links {
            counterparts: calls.map(|calls| (0..calls).map(|_| AtomicU32::new(NONE)).collect()),
            relations: calls.map(|calls| (0..calls).map(|_| AtomicU8::new(0)).collect()),
            passes: calls.map(|calls| (0..calls).map(|_| AtomicU8::new(0)).collect()),
            cut_blocks: AtomicU64::new(0),
            cut_threads: AtomicU64::new(0),
        }
    }

    /// Matches two unmatched calls.
    pub(super) fn link(&self, a: u32, b: u32, (relation, pass): (Relation, Pass)) {
        debug_assert!(
            self.is_free(Side::Baseline, a) && self.is_free(Side::Candidate, b),
            "both calls are unmatched"
        );
        self.set(a, b, (relation, pass));
    }

    fn set(&self, a: u32, b: u32, (relation, pass): (Relation, Pass)) {
        let relation = OF_PARTNERS.iter().position(|&known| known == relation);
        let relation = relation.expect("a relation of matched calls") as u8;
        for (side, mine, theirs) in [(Side::Baseline, a, b), (Side::Candidate, b, a)] {
            self.counterparts[side][mine as usize].store(theirs, Relaxed);
            self.relations[side][mine as usize].store(relation, Relaxed);
            self.passes[side][mine as usize].store(pass as u8, Relaxed);
        }
    }

    pub(super) fn mark_moved(&self, a: u32, b: u32) {
        self.set(a, b, (Relation::Moved, self.pass(Side::Baseline, a)));
    }

    pub(super) fn pass(&self, side: Side, call: u32) -> Pass {
        Pass::ALL[usize::from(self.passes[side][call as usize].load(Relaxed))]
    }

    #[inline]
    pub(super) fn counterpart(&self, side: Side, call: u32) -> Option<u32> {
        Some(self.counterparts[side][call as usize].load(Relaxed))
            .filter(|&counterpart| counterpart < ASIDE)
    }

    /// Makes sure that an unmatched call stays unmatched: later passes ignore it.
    pub(super) fn set_aside(&self, side: Side, call: u32) {
        self.counterparts[side][call as usize].store(ASIDE, Relaxed);
    }

    #[inline]
    pub(super) fn is_free(&self, side: Side, call: u32) -> bool {
        self.counterparts[side][call as usize].load(Relaxed) == NONE
    }

    pub(super) fn is_moved(&self, side: Side, call: u32) -> bool {
        self.relation(side, call) == Relation::Moved
    }

    pub(super) fn is_same(&self, side: Side, call: u32) -> bool {
        self.relation(side, call) == Relation::Same
    }

    /// Whether a call has a counterpart with the same key.
    #[inline]
    pub(super) fn is_common(&self, side: Side, call: u32) -> bool {
        self.counterpart(side, call).is_some() && self.relation(side, call).is_common()
    }

    #[inline]
    pub(super) fn relation(&self, side: Side, call: u32) -> Relation {
        OF_PARTNERS[usize::from(self.relations[side][call as usize].load(Relaxed))]
    }

    /// Adds to the number of blocks that were too large to be searched completely.
    pub(super) fn add_cut_blocks(&self, count: u64) {
        self.cut_blocks.fetch_add(count, Relaxed);
    }

    /// Adds to the number of threads that were compared with only some of the threads on the opposite side.
    pub(super) fn add_cut_threads(&self, count: u64) {
        self.cut_threads.fetch_add(count, Relaxed);
    }

    pub(super) fn into_pairing(self) -> Pairing {
        let of_call = |counterpart: AtomicU32| match counterpart.into_inner() {
            ASIDE => NONE,
            counterpart => counterpart,
        };
        let counterparts: PerSide<Vec<u32>> =
            self.counterparts.map(|column| column.into_iter().map(of_call).collect());
        let relations = PerSide::from_fn(|side| {
            let relation = |(counterpart, relation): (&u32, &AtomicU8)| match *counterpart {
                NONE => Relation::only(side),
                _ => OF_PARTNERS[usize::from(relation.load(Relaxed))],
            };
            counterparts[side].iter().zip(&self.relations[side]).map(relation).collect()
        });
        let passes = self.passes.map(|column| {
            column.into_iter().map(|pass| Pass::ALL[usize::from(pass.into_inner())]).collect()
        });
        Pairing {
            counterparts,
            relations,
            passes,
            cut_blocks: self.cut_blocks.into_inner(),
            cut_threads: self.cut_threads.into_inner(),
            steps: None,
        }
    }
}
