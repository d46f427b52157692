//! Matches launches by their position, even if their kernels have different names.
//!
//! ```text
//! trace1   x  launch(gemm)                 y         a matrix product was split: the launch of the longest kernel is
//! trace2   x  launch(clear) launch(gemm2)  y         the counterpart
//! ```

use super::aligner::Aligner;
use crate::diff::keys::Key;
use crate::side::{PerSide, Side};
use crate::tree::{CallId, CallKind};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

impl Aligner<'_> {
    /// Matches the launches in a gap, separately for each kind of launch. If both sides have the same number of
    /// launches, the launches are matched in order. One side may have a single launch where the opposite side has
    /// several, for example because a matrix product was split. The single launch is then matched with the launch of
    /// the longest kernel. The matched calls around the gap are enough evidence for these matches, so kernel names do
    /// not matter.
    pub(super) fn pair_launches(&mut self, gap: &PerSide<Vec<u32>>) {
        let mut launches: FxHashMap<Key, PerSide<Vec<u32>>> = FxHashMap::default();
        for side in Side::BOTH {
            let outline = self.outlines[side];
            let free = gap[side].iter().filter(|&&call| self.is_free(side, call));
            for &call in free.filter(|&&call| outline.is_launch(call)) {
                launches.entry(outline.keys[call as usize]).or_default()[side].push(call);
            }
        }
        for of_kind in launches.into_values() {
            if of_kind.baseline.len() != of_kind.candidate.len() {
                // Which launches match may depend on kernel durations. These durations may be different in later pairs
                // with identical calls, so the matches must not be copied to later pairs.
                self.recurring.forget_open();
            }
            let [mine, theirs] = Side::BOTH.map(|side| match of_kind[side.other()].len() {
                1 => self.longest(side, &of_kind[side]),
                _ => of_kind[side].clone(),
            });
            if mine.len() == theirs.len() {
                for (a, b) in mine.into_iter().zip(theirs) {
                    if !self.are_of_free_ops(a, b) {
                        self.pair_in_place(a, b);
                    }
                }
            }
        }
    }

    /// Whether two launches with different kernels belong to two unmatched ops. Their position is then no evidence.
    fn are_of_free_ops(&self, a: u32, b: u32) -> bool {
        let is_of_free_op = |side: Side, call: u32| {
            let op = self.trees[side].parent(CallId(call)).map(|op| op.0);
            op.is_some_and(|op| {
                self.outlines[side].kind(op) == CallKind::Op && self.is_free(side, op)
            })
        };
        !self.is_equal(a, b)
            && is_of_free_op(Side::Baseline, a)
            && is_of_free_op(Side::Candidate, b)
    }

    /// The launch with the longest kernel; on a tie, the first such launch. The helper kernels of a
    /// split product, which clear its output or sum its parts, are shorter.
    fn longest(&self, side: Side, launches: &[u32]) -> Vec<u32> {
        let tree = self.trees[side];
        let duration = |call: u32| {
            let below = tree.children(CallId(call));
            below
                .filter(|&below| tree.kind(below) == CallKind::Gpu)
                .map(|gpu| tree.duration(gpu))
                .max()
        };
        let longest = launches.iter().copied().max_by_key(|&call| (duration(call), Reverse(call)));
        longest.into_iter().collect()
    }
}
