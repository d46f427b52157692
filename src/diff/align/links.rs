//! Who is whose partner, while several parts of the traces are aligned at once.
//!
//! What is below one pair is a range of calls that nobody else writes to meanwhile, so that the order in which
//! threads and their parts (`apart`) are aligned is of no consequence; the columns are atomic so that they can be
//! shared.

use super::Pairing;
use crate::diff::{NONE, Relation};
use crate::side::{PerSide, Side};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};

/// The relations that partners have; a call without one is its side's alone.
const OF_PARTNERS: [Relation; 3] = [Relation::Same, Relation::Renamed, Relation::Moved];

/// Partners and relations of the calls of both sides.
#[derive(Debug)]
pub(super) struct Links {
    partners: PerSide<Vec<AtomicU32>>,
    /// Positions in [`OF_PARTNERS`], of no meaning without a partner.
    relations: PerSide<Vec<AtomicU8>>,
    cut_blocks: AtomicU64,
    cut_threads: AtomicU64,
}

impl Links {
    /// No links between so many calls of each side.
    pub(super) fn new(calls: PerSide<usize>) -> Links {
        Links {
            partners: calls.map(|calls| (0..calls).map(|_| AtomicU32::new(NONE)).collect()),
            relations: calls.map(|calls| (0..calls).map(|_| AtomicU8::new(0)).collect()),
            cut_blocks: AtomicU64::new(0),
            cut_threads: AtomicU64::new(0),
        }
    }

    /// Makes two calls partners.
    pub(super) fn link(&self, a: u32, b: u32, relation: Relation) {
        debug_assert!(
            self.is_free(Side::Baseline, a) && self.is_free(Side::Candidate, b),
            "a call has one partner"
        );
        self.link_again(a, b, relation);
    }

    /// Makes two calls partners that have others, which are given other ones as well.
    pub(super) fn link_again(&self, a: u32, b: u32, relation: Relation) {
        let relation = OF_PARTNERS.iter().position(|&known| known == relation);
        let relation = relation.expect("a relation of partners") as u8;
        for (side, mine, theirs) in [(Side::Baseline, a, b), (Side::Candidate, b, a)] {
            self.partners[side][mine as usize].store(theirs, Relaxed);
            self.relations[side][mine as usize].store(relation, Relaxed);
        }
    }

    /// The partner of a call.
    pub(super) fn partner(&self, side: Side, call: u32) -> Option<u32> {
        Some(self.partners[side][call as usize].load(Relaxed)).filter(|&partner| partner != NONE)
    }

    /// Whether a call has no partner.
    pub(super) fn is_free(&self, side: Side, call: u32) -> bool {
        self.partner(side, call).is_none()
    }

    /// Whether a call that has a partner has it because it moved.
    pub(super) fn is_moved(&self, side: Side, call: u32) -> bool {
        self.relation(side, call) == Relation::Moved
    }

    /// Whether a call that has a partner has its key and its place.
    pub(super) fn is_same(&self, side: Side, call: u32) -> bool {
        self.relation(side, call) == Relation::Same
    }

    /// Whether a call has a partner of its key.
    pub(super) fn is_common(&self, side: Side, call: u32) -> bool {
        !self.is_free(side, call) && self.relation(side, call).is_common()
    }

    /// How a call that has a partner relates to it.
    pub(super) fn relation(&self, side: Side, call: u32) -> Relation {
        OF_PARTNERS[usize::from(self.relations[side][call as usize].load(Relaxed))]
    }

    /// Counts blocks that were too large to be searched whole.
    pub(super) fn add_cut_blocks(&self, count: u64) {
        self.cut_blocks.fetch_add(count, Relaxed);
    }

    /// Counts threads that were not held against every one of the other side.
    pub(super) fn add_cut_threads(&self, count: u64) {
        self.cut_threads.fetch_add(count, Relaxed);
    }

    /// What was found.
    pub(super) fn into_pairing(self) -> Pairing {
        let partners: PerSide<Vec<u32>> =
            self.partners.map(|column| column.into_iter().map(AtomicU32::into_inner).collect());
        let relations = PerSide::from_fn(|side| {
            let relation = |(partner, relation): (&u32, &AtomicU8)| match *partner {
                NONE => Relation::only(side),
                _ => OF_PARTNERS[usize::from(relation.load(Relaxed))],
            };
            partners[side].iter().zip(&self.relations[side]).map(relation).collect()
        });
        Pairing {
            partners,
            relations,
            cut_blocks: self.cut_blocks.into_inner(),
            cut_threads: self.cut_threads.into_inner(),
            steps: None,
        }
    }
}
