//! Which thread is which: by what runs on them, not by their numbers.
//!
//! Threads exchange their roles between runs, and one thread's work may be split over two. Threads
//! are paired by what they have in common, most first; what an unpaired thread ran is then looked
//! for among what the paired ones could not place.

use super::Aligner;
use crate::diff::keys::Key;
use crate::side::{PerSide, Side};
use crate::tree::CallKind;
use rustc_hash::FxHashSet;

/// Tokens that threads must have before they are called foreign: in a few calls, chance decides.
const FOREIGN: u32 = 64;

impl Aligner<'_> {
    pub(super) fn align_threads(&mut self) {
        let roots = PerSide::from_fn(|side| self.outlines[side].roots());
        for (a, b) in self.thread_pairs(&roots) {
            self.pair_in_place(a, b);
        }
        self.descend();
        self.rescue_split_threads(&roots);
    }

    /// Pairs of thread roots, and of the roots of unlinked GPU events.
    fn thread_pairs(&mut self, roots: &PerSide<Vec<u32>>) -> Vec<(u32, u32)> {
        let mut candidates = Vec::new();
        for (i, &a) in roots.baseline.iter().enumerate() {
            for (j, &b) in roots.candidate.iter().enumerate() {
                if let Some(shared) = self.thread_likeness(a, b) {
                    let distance = i.abs_diff(j);
                    candidates.push((std::cmp::Reverse(shared), distance, a, b));
                }
            }
        }
        candidates.sort_unstable();
        self.bags.tidy();
        let mut taken = PerSide::new(Vec::new(), Vec::new());
        for (_, _, a, b) in candidates {
            if !taken.baseline.contains(&a) && !taken.candidate.contains(&b) {
                taken.baseline.push(a);
                taken.candidate.push(b);
            }
        }
        taken.baseline.into_iter().zip(taken.candidate).collect()
    }

    /// What two roots have in common; `None` where they must not be paired.
    fn thread_likeness(&mut self, a: u32, b: u32) -> Option<u32> {
        let (x, y) = (self.outlines.baseline, self.outlines.candidate);
        if x.keys[a as usize] != y.keys[b as usize] {
            return None;
        }
        if x.kind(a) == CallKind::Unlinked {
            return Some(0);
        }
        let below = self.bags.below(Side::Baseline, a);
        let other = self.bags.below(Side::Candidate, b);
        let shared = self.bags.common(below, other);
        if self.are_foreign(PerSide::new(a, b)) {
            return None;
        }
        let alike = shared > 0 || below.size == other.size || self.ask_the_same(a, b);
        alike.then_some(shared)
    }

    /// Whether two threads share nothing but that they launch: no op, frame, shape or kernel.
    fn are_foreign(&mut self, roots: PerSide<u32>) -> bool {
        let below = PerSide::from_fn(|side| self.bags.below(side, roots[side]));
        let outlines = self.outlines;
        let could_tell = Side::BOTH.into_iter().all(|side| {
            let mut calls = roots[side] + 1..outlines[side].end(roots[side]);
            below[side].size >= FOREIGN && calls.any(|call| outlines[side].is_op_or_frame(call))
        });
        could_tell && {
            let launches = PerSide::from_fn(|side| self.bags.launches(side, roots[side]));
            self.bags.common(below.baseline, below.candidate)
                == self.bags.common(launches.baseline, launches.candidate)
        }
    }

    /// Whether both threads make the same runtime calls without GPU work, which are no evidence
    /// where there is better.
    fn ask_the_same(&self, a: u32, b: u32) -> bool {
        let queries = PerSide::new(a, b);
        let queries = PerSide::from_fn(|side| {
            let outline = self.outlines[side];
            let mut calls = outline.children(queries[side]);
            calls.retain(|&call| outline.is_query(call));
            calls.into_iter().map(|call| outline.keys[call as usize]).collect::<FxHashSet<Key>>()
        });
        !queries.baseline.is_disjoint(&queries.candidate)
    }

    /// Looks for what unpaired threads ran among what the threads of the other side have left over.
    fn rescue_split_threads(&mut self, roots: &PerSide<Vec<u32>>) {
        for side in Side::BOTH {
            for &root in &roots[side] {
                if !self.is_free(side, root) || self.outlines[side].kind(root) != CallKind::Thread {
                    continue;
                }
                let mine = self.outlines[side].children(root);
                let Some(theirs) = self.best_left_over(side, root, &roots[side.other()]) else {
                    continue;
                };
                self.align_lists(PerSide::seen_from(side, mine, theirs));
                self.descend();
            }
        }
    }

    /// The unpaired calls of the thread on the other side that has most in common with `root`, from
    /// wherever in its tree they stand: half of a loop may run on another thread.
    fn best_left_over(&mut self, side: Side, root: u32, others: &[u32]) -> Option<Vec<u32>> {
        let wanted = self.bags.below(side, root);
        let mut best: Option<(u32, Vec<u32>)> = None;
        for &other in others {
            if self.are_foreign(PerSide::seen_from(side, root, other)) {
                continue;
            }
            let free = self.unpaired_below(side.other(), other);
            let theirs = self.bags.of_all(side.other(), &free);
            let shared = self.bags.common(wanted, theirs);
            if shared > best.as_ref().map_or(0, |&(most, _)| most) {
                best = Some((shared, free));
            }
        }
        self.bags.tidy();
        best.map(|(_, free)| free)
    }

    /// The outermost calls below `root` in which nothing is paired, in order.
    fn unpaired_below(&self, side: Side, root: u32) -> Vec<u32> {
        let outline = self.outlines[side];
        let mut found = Vec::new();
        let mut call = root + 1;
        while call < outline.end(root) {
            let subtree = call..outline.end(call);
            let free = subtree.clone().all(|below| self.is_free(side, below));
            if free {
                found.push(call);
            }
            call = if free { subtree.end } else { call + 1 };
        }
        found
    }
}
