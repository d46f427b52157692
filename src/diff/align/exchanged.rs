//! Matches siblings that swapped places. Because of the swap, the alignment put dissimilar calls opposite each other.
//!
//! ```text
//! trace1  to(int)    to(float)        in this order, both pairs have equal names and nearly equal
//! trace2  to(float)  to(int)          contents; the arguments show that they were swapped
//! ```

use super::aligner::Aligner;
use crate::diff::counts;
use crate::diff::outline::Outline;
use crate::diff::weights::WRAPPERS;
use crate::side::{PerSide, Side};
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
        let calls = free.as_ref().map(|calls| calls.iter().copied());
        let counts = counts::of_tokens(calls, weight);
        let others = |side: Side, wanted: u32, but: u32| {
            let of_weight = counts.get(&wanted).map_or(0, |count| count[side]);
            of_weight > u32::from(weight(side, but) == wanted)
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
}

/// The arguments of a call. If a call has no arguments, as is always the case for autograd nodes and modules, returns
/// the arguments of the first nested call that has any.
fn first_arguments(outline: &Outline<'_>, call: u32) -> u32 {
    let calls = outline.subtree(call).take(WRAPPERS).filter(|&call| outline.is_op_or_frame(call));
    calls
        .map(|call| outline.arguments[call as usize])
        .find(|&arguments| arguments != 0)
        .unwrap_or(0)
}
