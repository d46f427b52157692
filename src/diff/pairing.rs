//! Which call of one tree matches which call of the other, and how the two relate.

use super::Relation;
use super::passes::Pass;
use super::step_pairs::StepPairs;
use crate::side::PerSide;

/// The matching of the two trees.
#[derive(Debug, Clone, Default)]
pub(super) struct Pairing {
    /// Counterpart of each call on the other side, `NONE` if it has none.
    pub(super) partners: PerSide<Vec<u32>>,
    /// How each call relates to its counterpart.
    pub(super) relations: PerSide<Vec<Relation>>,
    /// The pass that matched each call; meaningless for calls without a counterpart.
    pub(super) passes: PerSide<Vec<Pass>>,
    /// Blocks of unlike siblings that were too large to be searched completely.
    pub(super) cut_blocks: u64,
    /// Threads that were compared with only some of the other side's threads.
    pub(super) cut_threads: u64,
    /// The steps that are compared, ordered by the baseline; `None` if they are compared by position.
    pub(super) steps: Option<StepPairs>,
}
