//! What is left over below one pair and stands out of order: moved calls.

use super::Aligner;
use crate::diff::Relation;
use crate::side::{PerSide, Side};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

impl Aligner<'_, '_> {
    /// Pairs equal subtrees of the two lists, then those equal in key and arguments.
    pub(super) fn pair_moved(&mut self, left_over: PerSide<Vec<u32>>) {
        if left_over.baseline.is_empty() || left_over.candidate.is_empty() {
            return;
        }
        let exact = |me: &Self, side: Side, call: u32| me.outlines[side].exact[call as usize];
        let shape = |me: &Self, side: Side, call: u32| me.outlines[side].shape[call as usize];
        self.pair_by(&left_over, exact);
        self.pair_by(&left_over, shape);
    }

    /// Pairs free calls of equal token, first with first.
    fn pair_by(&mut self, lists: &PerSide<Vec<u32>>, token: impl Fn(&Self, Side, u32) -> u64) {
        let mut waiting: FxHashMap<u64, VecDeque<u32>> = FxHashMap::default();
        for &call in lists.candidate.iter().filter(|&&call| self.may_move(Side::Candidate, call)) {
            waiting.entry(token(self, Side::Candidate, call)).or_default().push_back(call);
        }
        for &call in &lists.baseline {
            if !self.may_move(Side::Baseline, call) {
                continue;
            }
            let partner =
                waiting.get_mut(&token(self, Side::Baseline, call)).and_then(VecDeque::pop_front);
            if let Some(partner) = partner {
                self.pair(call, partner, Relation::Moved);
            }
        }
    }

    /// Launches and GPU events are paired by their place, not found again elsewhere.
    fn may_move(&self, side: Side, call: u32) -> bool {
        let outline = self.outlines[side];
        self.is_free(side, call)
            && !outline.is_gpu(call)
            && !outline.is_query(call)
            && !outline.is_launch(call)
    }
}
