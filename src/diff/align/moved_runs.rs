//! Matches runs of siblings that moved, such as the calls of a layer that runs at another position, without frames.
//!
//! ```text
//! trace1   a b c d e f   k l m n o p          unmatched: a b c d e f in both traces
//! trace2   k l m n o p   a b c d e f
//! ```
//! A single call that moved far is matched only if it is unique. The calls of a layer occur in every other layer as well,
//! so they are matched only as a run: its calls are equal, one by one and in the same order. Runs that occur several
//! times are matched in order.

use super::aligner::Aligner;
use crate::diff::relation::Relation;
use crate::diff::weights::MOVED_RUN;
use crate::side::{PerSide, Side};
use rustc_hash::FxHasher;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

impl Aligner<'_> {
    /// Matches equal runs of unmatched siblings in any two gaps, if both sides have the same number of such runs. One
    /// repetition of a loop does not move past another.
    pub(super) fn pair_moved_runs(&mut self, gaps: &[PerSide<Vec<u32>>]) {
        if self.is_loop {
            return;
        }
        let runs = self.free_runs(gaps);
        if runs.baseline.is_empty() || runs.candidate.is_empty() {
            return;
        }
        let theirs = self.windows(Side::Candidate, &runs.candidate);
        let mut equal: Vec<(&[u32], &[u32])> = Vec::new();
        for (hash, mine) in self.windows(Side::Baseline, &runs.baseline) {
            if let Some(theirs) = theirs.get(&hash).filter(|theirs| theirs.len() == mine.len()) {
                equal.extend(mine.into_iter().zip(theirs.iter().copied()));
            }
        }
        equal.sort_unstable();
        for (mine, theirs) in equal {
            for (&a, &b) in mine.iter().zip(theirs) {
                if self.is_free(Side::Baseline, a)
                    && self.is_free(Side::Candidate, b)
                    && self.can_have_moved(a, b)
                {
                    self.pair(a, b, Relation::Moved);
                }
            }
        }
    }

    /// The unmatched calls of each gap that may have moved, in gaps with at least [`MOVED_RUN`] of them.
    fn free_runs(&self, gaps: &[PerSide<Vec<u32>>]) -> PerSide<Vec<Vec<u32>>> {
        let may_move = |me: &Self, side: Side, call: u32| {
            me.outlines[side].is_op_or_frame(call) || me.outlines[side].is_launch(call)
        };
        let mut runs: PerSide<Vec<Vec<u32>>> = PerSide::default();
        for gap in gaps {
            let free = self.that_may_move(gap, may_move);
            for side in Side::BOTH.into_iter().filter(|&side| free[side].len() >= MOVED_RUN) {
                runs[side].push(free[side].clone());
            }
        }
        runs
    }

    /// All sequences of [`MOVED_RUN`] adjacent calls in the runs, in order, by a hash of their subtrees. The hash includes
    /// the kernel names of bare launches, because nothing else distinguishes these.
    fn windows<'r>(&self, side: Side, runs: &'r [Vec<u32>]) -> BTreeMap<u64, Vec<&'r [u32]>> {
        let outline = self.outlines[side];
        let mut all: BTreeMap<u64, Vec<&[u32]>> = BTreeMap::new();
        for window in runs.iter().flat_map(|run| run.windows(MOVED_RUN)) {
            let mut hasher = FxHasher::default();
            for &call in window {
                let hashes = if outline.is_launch(call) { &outline.exact } else { &outline.shape };
                hashes[call as usize].hash(&mut hasher);
            }
            all.entry(hasher.finish()).or_default().push(window);
        }
        all
    }
}
