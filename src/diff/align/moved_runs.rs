//! Matches runs of siblings that moved, such as the calls of a layer that runs at another position, without frames.
//!
//! ```text
//! trace1   a b c d e f   k l m n o p          unmatched: a b c d e f in both traces
//! trace2   k l m n o p   a b c d e f
//! ```
//! A single call that moved far is matched only if it is unique. The calls of a layer occur in every other layer as well,
//! so they are matched only as a run: its calls are equal, one by one and in the same order. Runs that occur several
//! times are matched in order.

use super::Aligner;
use crate::diff::Relation;
use crate::diff::weights::MOVED_RUN;
use crate::side::{PerSide, Side};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};

impl Aligner<'_> {
    /// Matches equal runs of unmatched siblings in any two gaps, if both sides have the same number of such runs.
    pub(super) fn pair_moved_runs(&mut self, gaps: &[PerSide<Vec<u32>>]) {
        let runs = PerSide::from_fn(|side| self.free_runs(side, gaps));
        if runs.baseline.is_empty() || runs.candidate.is_empty() {
            return;
        }
        let theirs = self.windows(Side::Candidate, &runs.candidate);
        let mine = self.windows(Side::Baseline, &runs.baseline);
        let mut first: Vec<(&[u32], &[u32])> = Vec::new();
        for (hash, places) in &mine {
            if let Some(others) = theirs.get(hash).filter(|others| others.len() == places.len()) {
                first.extend(places.iter().copied().zip(others.iter().copied()));
            }
        }
        first.sort_unstable();
        for (mine, theirs) in first {
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

    /// The unmatched calls of each gap, in gaps with at least [`MOVED_RUN`] of them.
    fn free_runs(&self, side: Side, gaps: &[PerSide<Vec<u32>>]) -> Vec<Vec<u32>> {
        let is_free = |call: &u32| self.is_free(side, *call);
        let free = gaps.iter().map(|gap| gap[side].iter().copied().filter(is_free).collect());
        free.filter(|run: &Vec<u32>| run.len() >= MOVED_RUN).collect()
    }

    /// All sequences of [`MOVED_RUN`] adjacent calls in the runs, in order, by the hash of their subtrees.
    fn windows<'r>(&self, side: Side, runs: &'r [Vec<u32>]) -> FxHashMap<u64, Vec<&'r [u32]>> {
        let mut all: FxHashMap<u64, Vec<&[u32]>> = FxHashMap::default();
        for window in runs.iter().flat_map(|run| run.windows(MOVED_RUN)) {
            let mut hasher = FxHasher::default();
            window
                .iter()
                .for_each(|&call| self.outlines[side].shape[call as usize].hash(&mut hasher));
            all.entry(hasher.finish()).or_default().push(window);
        }
        all
    }
}
