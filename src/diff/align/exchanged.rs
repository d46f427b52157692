//! Matches siblings that swapped places. Because of the swap, the alignment put dissimilar calls opposite each other.
//!
//! ```text
//! trace1  to(int)    to(float)        in this order, both pairs have equal names and nearly equal
//! trace2  to(float)  to(int)          contents; the arguments show that they were swapped
//!
//! trace1  t          addmm            t was renamed to u and is on the other side of addmm; addmm is
//! trace2  addmm      u                reported as the moved call, because renames are matched in place
//! ```

use super::aligner::Aligner;
use super::inner::first_arguments;
use crate::diff::relation::Relation;
use crate::side::{PerSide, Side};
use crate::tree::CallId;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::hash::{Hash, Hasher};

/// The degrees of similarity that are used to match swapped calls, strongest first.
#[derive(Debug, Clone, Copy)]
enum Likeness {
    /// The whole subtrees are identical, with all calls in the same order.
    Whole,
    /// The whole subtrees contain the same calls, in any order.
    Content,
    /// Both calls have the same key and the same arguments. For a call without arguments, the arguments of the first
    /// nested call that has any are compared.
    Itself,
}

impl Aligner<'_> {
    /// Matches calls that swapped places within the two lists. `unlike` contains pairs of unmatched calls that the
    /// alignment put opposite each other although they are not identical.
    pub(super) fn pair_exchanged(&mut self, lists: PerSide<&[u32]>, unlike: &[(u32, u32)]) {
        if lists.baseline.len() < 2 || lists.candidate.len() < 2 {
            return;
        }
        let mut unlike = unlike.to_vec();
        for likeness in [Likeness::Whole, Likeness::Content, Likeness::Itself] {
            if unlike.is_empty() {
                break;
            }
            self.pair_likes(lists, &unlike, likeness);
            unlike.retain(|&(a, b)| {
                self.is_free(Side::Baseline, a) && self.is_free(Side::Candidate, b)
            });
        }
    }

    /// Dissolves matches between calls with different instance numbers if the calls with equal numbers can be matched
    /// instead. For example, `Linear_1` is matched with `Linear_2`, but the baseline also has an unmatched `Linear_2`,
    /// and the candidate has an unmatched `Linear_1`. The calls with equal numbers are then matched as moved.
    pub(super) fn pair_renumbered(&mut self, lists: PerSide<&[u32]>, pairs: &mut Vec<(u32, u32)>) {
        let (outlines, trees) = (self.outlines, self.trees);
        let key = |side: Side, call: u32| outlines[side].keys[call as usize];
        let token = |side: Side, call: u32| (key(side, call), trees[side].name(CallId(call)));
        let differ = |&(a, b): &(u32, u32)| {
            let (mine, theirs) = (token(Side::Baseline, a), token(Side::Candidate, b));
            mine.0 == theirs.0 && mine.1 != theirs.1
        };
        if !pairs.iter().any(differ) {
            return;
        }
        let taken = PerSide::from_fn(|side| {
            let calls = pairs.iter().map(|&(a, b)| if side == Side::Baseline { a } else { b });
            calls.collect::<FxHashSet<_>>()
        });
        let mut free = PerSide::from_fn(|side| {
            let free = lists[side].iter().copied().filter(|call| !taken[side].contains(call));
            free.map(|call| (token(side, call), call)).collect::<FxHashMap<_, _>>()
        });
        let mut exchanged = Vec::new();
        pairs.retain(|&(a, b)| {
            let (mine, theirs) = (token(Side::Baseline, a), token(Side::Candidate, b));
            let twins = (free.candidate.get(&mine), free.baseline.get(&theirs));
            let (true, (Some(&twin), Some(&other))) = (differ(&(a, b)), twins) else {
                return true;
            };
            // Identical subtrees are stronger evidence than instance numbers, which only reflect the order of
            // creation.
            let is_exchange = self.is_equal(other, twin) && !self.is_equal(a, twin);
            let is_renumbered =
                !is_exchange && self.hold_the_same(a, twin) && self.hold_the_same(other, b);
            if self.is_equal(a, b) && !is_renumbered {
                return true;
            }
            free.candidate.remove(&mine);
            free.baseline.remove(&theirs);
            exchanged.extend([(a, twin), (other, b)]);
            false
        });
        for (a, b) in exchanged {
            self.pair(a, b, Relation::Moved);
        }
    }

    /// Whether two calls share at least nine tenths of their tokens, in any order. Two instances of a module meet this
    /// condition even if one instance lacks a call or runs its calls in a different order, but not if their shapes
    /// differ.
    fn hold_the_same(&mut self, a: u32, b: u32) -> bool {
        let larger = self.outlines.baseline.weight(a).max(self.outlines.candidate.weight(b));
        10 * self.bags.shared(PerSide::new(a, b)) >= 9 * larger
    }

    fn pair_likes(&mut self, lists: PerSide<&[u32]>, unlike: &[(u32, u32)], likeness: Likeness) {
        let free: PerSide<Vec<u32>> = PerSide::from_fn(|side| {
            lists[side].iter().copied().filter(|&call| self.is_free(side, call)).collect()
        });
        if !self.may_exchange(likeness, &free, unlike) {
            return;
        }
        let tokens: PerSide<FxHashMap<u32, u64>> = PerSide::from_fn(|side| {
            free[side].iter().map(|&call| (call, self.token(likeness, side, call))).collect()
        });
        let open = tokens.as_ref().map(|tokens| tokens.values().copied().collect());
        let open: PerSide<FxHashSet<u64>> = open;
        let mut settled: PerSide<FxHashSet<u32>> = PerSide::default();
        for &(a, b) in unlike {
            let (mine, theirs) = (tokens.baseline[&a], tokens.candidate[&b]);
            let exchanged =
                mine != theirs && open.candidate.contains(&mine) && open.baseline.contains(&theirs);
            if !exchanged {
                settled.baseline.insert(a);
                settled.candidate.insert(b);
            }
        }
        if settled.baseline.len() == unlike.len() {
            return;
        }
        let searched = PerSide::from_fn(|side| {
            let calls = lists[side].iter().copied();
            let open = |call: &u32| self.is_free(side, *call) && !settled[side].contains(call);
            calls.filter(open).collect()
        });
        let tells_kernels = matches!(likeness, Likeness::Whole);
        self.pair_near(&searched, tells_kernels, |side, call| tokens[side][&call]);
    }

    /// Quickly checks whether the calls of any pair in `unlike` may have swapped places. For each of the two calls,
    /// there must be a third, unmatched call on the opposite side that may be similar to it. Only calls with the same
    /// number of tokens can have the same contents.
    fn may_exchange(
        &self,
        likeness: Likeness,
        free: &PerSide<Vec<u32>>,
        unlike: &[(u32, u32)],
    ) -> bool {
        let weight = |side: Side, call: u32| match likeness {
            Likeness::Content => self.outlines[side].weight(call),
            Likeness::Whole | Likeness::Itself => 0,
        };
        let counts = PerSide::from_fn(|side| {
            let mut counts: FxHashMap<u32, usize> = FxHashMap::default();
            for &call in &free[side] {
                *counts.entry(weight(side, call)).or_default() += 1;
            }
            counts
        });
        let others = |side: Side, wanted: u32, but: u32| {
            let of_weight = counts[side].get(&wanted).copied().unwrap_or(0);
            of_weight > usize::from(weight(side, but) == wanted)
        };
        unlike.iter().any(|&(a, b)| {
            others(Side::Candidate, weight(Side::Baseline, a), b)
                && others(Side::Baseline, weight(Side::Candidate, b), a)
        })
    }

    fn token(&mut self, likeness: Likeness, side: Side, call: u32) -> u64 {
        let outline = self.outlines[side];
        let mut hasher = FxHasher::default();
        match likeness {
            Likeness::Whole => return outline.exact[call as usize],
            Likeness::Content => {
                let bag = self.bags.of(side, call);
                self.bags.entries(bag).hash(&mut hasher);
            }
            Likeness::Itself => {
                (outline.keys[call as usize].0, first_arguments(outline, call)).hash(&mut hasher);
            }
        }
        hasher.finish()
    }

    /// Matches renamed calls that also swapped places with an adjacent call.
    pub(super) fn pair_renamed_beside(
        &mut self,
        lists: &[PerSide<Vec<u32>>],
        left_over: &PerSide<Vec<u32>>,
    ) {
        let left = self.free_of(left_over);
        if left.baseline.is_empty() || left.candidate.is_empty() {
            return;
        }
        for lists in lists {
            let [mine, theirs] = Side::BOTH.map(|side| self.beside_free(side, &lists[side]));
            let calls = lists.baseline.iter();
            let passed = calls.filter_map(|y| {
                let counterpart = self.stays(*y)?;
                Some((*y, counterpart, *mine.get(y)?, *theirs.get(&counterpart)?))
            });
            let passed: Vec<_> = passed.collect();
            for (y, counterpart, (before, behind), (before_counterpart, behind_counterpart)) in
                passed
            {
                let passed = [before.zip(behind_counterpart), behind.zip(before_counterpart)];
                for (a, b) in passed.into_iter().flatten() {
                    let free = self.is_free(Side::Baseline, a) && self.is_free(Side::Candidate, b);
                    let gap = PerSide::new(vec![a], vec![b]);
                    if free && self.view(&gap).is_renamed() {
                        self.pair_in_place(a, b);
                        self.both.links.mark_moved(y, counterpart);
                        break;
                    }
                }
            }
        }
    }

    /// For each matched call, the unmatched calls immediately before and after it.
    fn beside_free(&self, side: Side, list: &[u32]) -> FxHashMap<u32, (Option<u32>, Option<u32>)> {
        let mut beside: FxHashMap<u32, (Option<u32>, Option<u32>)> = FxHashMap::default();
        for pair in list.windows(2) {
            let (one, two) = (pair[0], pair[1]);
            match (self.is_free(side, one), self.is_free(side, two)) {
                (true, false) => beside.entry(two).or_default().0 = Some(one),
                (false, true) => beside.entry(one).or_default().1 = Some(two),
                (true, true) | (false, false) => {}
            }
        }
        beside
    }

    /// The counterpart of `call`, if `call` is an op or a frame and its name and position are unchanged.
    fn stays(&self, call: u32) -> Option<u32> {
        let links = self.both.links;
        let counterpart = links.counterpart(Side::Baseline, call)?;
        let is_kept = self.outlines.baseline.is_op_or_frame(call);
        (is_kept && links.is_same(Side::Baseline, call)).then_some(counterpart)
    }
}
