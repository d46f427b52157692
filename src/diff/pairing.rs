//! Stores the matching: the counterpart of each call, and the relation between the two calls.

use super::passes::Pass;
use super::relation::Relation;
use super::step_pairs::StepPairs;
use crate::side::PerSide;

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
