//! Stores which call of one tree matches which call of the other, and how the two relate.

use super::Relation;
use super::passes::Pass;
use super::step_pairs::StepPairs;
use crate::side::PerSide;

/// The matching of the two trees.
#[derive(Debug, Clone, Default)]
pub(super) struct Pairing {
    /// Counterpart of each call on the other side; `NONE` for unmatched calls.
    pub(super) partners: PerSide<Vec<u32>>,
    /// How each call relates to its counterpart.
    pub(super) relations: PerSide<Vec<Relation>>,
    /// The pass that matched each call; meaningless for unmatched calls.
    pub(super) passes: PerSide<Vec<Pass>>,
    /// Number of blocks of unlike siblings that were too large to be searched completely.
    pub(super) cut_blocks: u64,
    /// Number of threads that were compared with only some of the other side's threads.
    pub(super) cut_threads: u64,
    /// The pairs of compared steps, in baseline order; `None` if steps are compared by position.
    pub(super) steps: Option<StepPairs>,
}
