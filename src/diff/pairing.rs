//! Stores the matching: the counterpart of each call, and the relation between the two calls.

use super::passes::Pass;
use super::relation::{NONE, Relation};
use super::step_pairs::StepPairs;
use crate::side::{PerSide, Side};

/// A matching between the calls of two trees.
#[derive(Debug, Clone, Default)]
pub(super) struct Pairing {
    /// The counterpart of each call; `NONE` for unmatched calls.
    pub(super) counterparts: PerSide<Vec<u32>>,
    /// How each call relates to its counterpart.
    pub(super) relations: PerSide<Vec<Relation>>,
    /// The pass that matched each call; meaningless for unmatched calls.
    pub(super) passes: PerSide<Vec<Pass>>,
    /// Number of blocks of dissimilar siblings that were searched only partly, because the blocks
    /// were too large.
    pub(super) cut_blocks: u64,
    /// Number of threads that were not compared with every thread on the opposite side, because
    /// there are too many threads.
    pub(super) cut_threads: u64,
    /// The pairs of compared steps, in baseline order; `None` if steps are compared by position.
    pub(super) steps: Option<StepPairs>,
}

impl Pairing {
    /// Matches a baseline call with a candidate call; both are unmatched.
    pub(super) fn link(&mut self, a: u32, b: u32, (relation, pass): (Relation, Pass)) {
        for (side, call, counterpart) in [(Side::Baseline, a, b), (Side::Candidate, b, a)] {
            self.counterparts[side][call as usize] = counterpart;
            self.relations[side][call as usize] = relation;
            self.passes[side][call as usize] = pass;
        }
    }

    /// Dissolves the match of a call, if it has one.
    pub(super) fn part(&mut self, side: Side, call: u32) {
        let counterpart = std::mem::replace(&mut self.counterparts[side][call as usize], NONE);
        if counterpart != NONE {
            self.counterparts[side.other()][counterpart as usize] = NONE;
            self.relations[side][call as usize] = Relation::only(side);
            self.relations[side.other()][counterpart as usize] = Relation::only(side.other());
        }
    }
}
