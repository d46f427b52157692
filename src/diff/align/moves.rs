//! Matches moved calls: unmatched calls below the same matched pair whose order differs between the sides.
//!
//! Identical subtrees are matched first, then subtrees that differ only in kernel names, then calls with the same key
//! that share at least half of their contents. Among several possible counterparts, the nearest is chosen. Distant calls
//! are not matched, because a trace of repeated steps always contains an identical call somewhere.
//!
//! The last pass matches unmatched calls whose callers are not matched with each other, such as a
//! module that has a new caller.

use super::aligner::Aligner;
use super::inner::is_one_inside_other;
use crate::diff::relation::Relation;
use crate::diff::weights::{
    BESIDE, CROWD, LOOKED_INTO, MOVED_ELSEWHERE, NEAR, NEAREST, PART_OF_CROWD, ROUNDS,
    SIBLINGS_BESIDE, UNMISTAKABLE,
};
use crate::side::{PerSide, Side};
use crate::tree::{CallId, CallKind};
use rustc_hash::{FxHashMap, FxHashSet};

/// An unmatched call and its position in baseline preorder. For a candidate call, this is the position that the call
/// would have in the baseline.
#[derive(Clone, Copy)]
struct Lost {
    call: u32,
    place: u32,
    /// Number of siblings in the call's gap; 0 if no gap is crowded.
    crowd: usize,
}

impl Aligner<'_> {
    /// If any gap is crowded, stores the number of siblings in its gap for each unmatched call.
    pub(super) fn note_crowds(&mut self, gaps: &[PerSide<Vec<u32>>]) {
        self.crowds = PerSide::default();
        if gaps.iter().all(|gap| gap.baseline.len().max(gap.candidate.len()) < CROWD) {
            return;
        }
        for gap in gaps {
            for side in Side::BOTH {
                self.crowds[side].extend(gap[side].iter().map(|&call| (call, gap[side].len())));
            }
        }
    }

    /// Matches unmatched calls with at most one sibling between them: first identical subtrees, then subtrees that differ
    /// only in kernel names, then calls with the same key that share at least half of their contents.
    pub(super) fn pair_neighbours(&mut self, left_over: &PerSide<Vec<u32>>) {
        let hosts = self.without_wrapped(&self.hosts_that_may_move(left_over));
        let lost = self.lost(&hosts, key_of);
        self.pair_by(&lost, BESIDE, exact_of);
        self.pair_by(&lost, BESIDE, shape_of);
        self.pair_by(&lost, BESIDE, key_of);
    }

    /// Matches the unmatched calls that moved: identical subtrees that are near each other, then nearby subtrees that
    /// differ only in kernel names.
    pub(super) fn pair_moved(&mut self, left_over: &PerSide<Vec<u32>>) {
        let launches = |me: &Self, side: Side, call| me.outlines[side].is_launch(call);
        let lost = self.lost(&self.that_may_move(left_over, launches), exact_of);
        self.pair_by(&lost, BESIDE, exact_of);
        let lost = self.lost(&self.hosts_that_may_move(left_over), shape_of);
        self.pair_by(&lost, NEAR, exact_of);
        self.pair_by(&lost, NEAR, shape_of);
    }

    /// Matches nearby unmatched calls that have the same key and share at least half of their contents.
    pub(super) fn pair_similar(&mut self, left_over: &PerSide<Vec<u32>>) {
        let lost = self.lost(&self.hosts_that_may_move(left_over), key_of);
        self.pair_by(&lost, NEAR, key_of);
    }

    /// Matches calls that have the same token and are near each other. Launches are included only if the
    /// token depends on their kernels.
    pub(super) fn pair_near(
        &mut self,
        calls: &PerSide<Vec<u32>>,
        tells_kernels: bool,
        token: impl Fn(Side, u32) -> u64,
    ) {
        let may_move = |me: &Self, side: Side, call: u32| {
            let outline = me.outlines[side];
            outline.is_op_or_frame(call) || (tells_kernels && outline.is_launch(call))
        };
        let token = |_: &Self, side: Side, call: u32| token(side, call);
        let lost = self.lost(&self.that_may_move(calls, may_move), token);
        self.pair_by(&lost, NEAR, token);
    }

    /// Matches identical subtrees whose callers are not matched with each other, outermost first. The subtrees must be
    /// near each other, or large and unique among the unmatched calls of both traces.
    pub(super) fn pair_moved_elsewhere(&mut self) {
        let outlines = self.outlines;
        let large = |me: &Self, side: Side, call: u32| {
            let outline = me.outlines[side];
            outline.is_op_or_frame(call) && outline.weight(call) >= MOVED_ELSEWHERE
        };
        let free = PerSide::from_fn(|side| {
            let roots = outlines[side].roots().into_iter();
            roots.flat_map(|root| self.entirely_free_below(side, root)).collect()
        });
        let lost = self.lost(&self.that_may_move(&free, large), shape_of);
        for (mine, theirs) in self.groups_by(&lost, shape_of) {
            let is_unmistakable = match (&mine[..], &theirs[..]) {
                ([only], [_]) => outlines.baseline.weight(only.call) >= UNMISTAKABLE,
                (_, _) => false,
            };
            self.scope = outlines.map(|outline| 0..outline.len() as u32);
            // The calls in a group are not siblings, so only the distance in preorder determines whether they are near
            // each other.
            self.row.clear();
            self.pair_group(&mine, &theirs, if is_unmistakable { u32::MAX } else { NEAR });
            self.descend();
        }
    }

    /// The unmatched ops and frames that may have moved, in preorder.
    fn hosts_that_may_move(&self, left_over: &PerSide<Vec<u32>>) -> PerSide<Vec<u32>> {
        self.that_may_move(left_over, |me, side, call| me.outlines[side].is_op_or_frame(call))
    }

    /// The unmatched calls that may have moved, in preorder. `may_move` never accepts GPU events or queries, because
    /// they are only matched in place. `may_move` accepts launches only if the compared token depends on their kernels.
    fn that_may_move(
        &self,
        left_over: &PerSide<Vec<u32>>,
        may_move: impl Fn(&Self, Side, u32) -> bool,
    ) -> PerSide<Vec<u32>> {
        PerSide::from_fn(|side| {
            let calls = left_over[side].iter().copied();
            let mut calls: Vec<u32> = calls
                .filter(|&call| self.is_free(side, call) && may_move(self, side, call))
                .filter(|&call| !self.is_in_free_layer(side, call))
                .collect();
            calls.sort_unstable();
            calls
        })
    }

    /// Whether a call is in an unmatched numbered layer. Such a call has not moved, because a call cannot move from one
    /// numbered layer to another.
    fn is_in_free_layer(&self, side: Side, call: u32) -> bool {
        let (tree, keys) = (self.trees[side], &self.outlines[side].keys);
        let mut above = tree.ancestors(CallId(call)).map(|above| above.0);
        self.both.words.has_numbered()
            && above.any(|above| {
                self.both.words.is_numbered(keys[above as usize]) && self.is_free(side, above)
            })
    }

    /// The calls in `calls` whose tokens also occur among the calls of the opposite side, each with
    /// its position.
    fn lost(
        &self,
        calls: &PerSide<Vec<u32>>,
        token: impl Fn(&Self, Side, u32) -> u64,
    ) -> PerSide<Vec<Lost>> {
        if calls.baseline.is_empty() || calls.candidate.is_empty() {
            return PerSide::default();
        }
        let tokens = PerSide::from_fn(|side| {
            calls[side].iter().map(|&call| token(self, side, call)).collect::<FxHashSet<u64>>()
        });
        PerSide::from_fn(|side| {
            let theirs = &tokens[side.other()];
            let of_both = |call: &u32| theirs.contains(&token(self, side, *call));
            let calls: Vec<u32> = calls[side].iter().copied().filter(of_both).collect();
            let places = self.places(side, &calls);
            let crowd = |call: u32| self.crowds[side].get(&call).copied().unwrap_or(0);
            let lost = calls.into_iter().zip(places);
            lost.map(|(call, place)| Lost { call, place, crowd: crowd(call) }).collect()
        })
    }

    /// Drops calls that are identical to a call inside an unmatched call on the opposite side. The enclosing call may
    /// be a wrapper, and wrappers are expanded before their contents can count as moved. Kernel names are usually
    /// ignored, because all of them may differ, for example on different platforms. They are compared only if an
    /// unmatched call on the opposite side equals the call, including its kernel names.
    fn without_wrapped(&self, free: &PerSide<Vec<u32>>) -> PerSide<Vec<u32>> {
        let known = PerSide::from_fn(|side| {
            let outline = self.outlines[side];
            let below = free[side].iter().flat_map(|&call| call + 1..outline.end(call));
            let below = below.take(LOOKED_INTO);
            let hashes =
                below.map(|call| (outline.exact[call as usize], outline.shape[call as usize]));
            let (exact, shapes): (FxHashSet<u64>, FxHashSet<u64>) = hashes.unzip();
            let beside = free[side].iter().map(|&call| outline.exact[call as usize]);
            (exact, shapes, beside.collect::<FxHashSet<u64>>())
        });
        PerSide::from_fn(|side| {
            let outline = self.outlines[side];
            let (exact, shapes, beside) = &known[side.other()];
            let is_wrapped = |call: u32| {
                let (whole, shape) = (outline.exact[call as usize], outline.shape[call as usize]);
                exact.contains(&whole) || (!beside.contains(&whole) && shapes.contains(&shape))
            };
            free[side].iter().copied().filter(|&call| !is_wrapped(call)).collect()
        })
    }

    /// The positions of one side's calls in baseline preorder. The position of a candidate call depends on the last
    /// matched call before it. The position directly follows the counterpart of this matched call. If the matched call
    /// is the candidate call's caller, the position is instead the first position inside the caller's counterpart.
    fn places(&self, side: Side, calls: &[u32]) -> Vec<u32> {
        let baseline = self.outlines.baseline;
        if side == Side::Baseline {
            return calls.iter().map(|&call| baseline.position(call)).collect();
        }
        let first = calls.first().copied().unwrap_or(0);
        let paired = |&call: &u32| !self.is_free(Side::Candidate, call);
        let mut last = (0..first).rev().find(paired);
        let mut next = first;
        calls
            .iter()
            .map(|&call| {
                last = (next..call).rev().find(paired).or(last);
                next = call;
                last.map_or(0, |last| self.place_behind(last, call))
            })
            .collect()
    }

    /// The baseline position of a candidate call, derived from `last`, the last matched call before
    /// it.
    fn place_behind(&self, last: u32, call: u32) -> u32 {
        let (tree, baseline) = (self.trees.candidate, self.outlines.baseline);
        let counterpart = |call: u32| self.both.links.counterpart(Side::Candidate, call);
        let around = tree.ancestors(CallId(last)).map(|above| above.0);
        let ended = std::iter::once(last)
            .chain(around)
            .take_while(|&above| tree.end(CallId(above)).0 <= call)
            .filter_map(counterpart);
        match ended.last() {
            Some(ended) => baseline.position(baseline.end(ended)),
            None => counterpart(last).map_or(0, |last| baseline.position(last) + 1),
        }
    }

    /// Matches unmatched calls that have the same token, nearest first.
    fn pair_by(
        &mut self,
        lost: &PerSide<Vec<Lost>>,
        reach: u32,
        token: impl Fn(&Self, Side, u32) -> u64,
    ) {
        for (mine, theirs) in self.groups_by(lost, token) {
            self.pair_group(&mine, &theirs, reach);
        }
    }

    /// Groups the unmatched calls by token, and returns the groups in baseline order. A token that
    /// occurs on only one side has no group.
    fn groups_by(
        &self,
        lost: &PerSide<Vec<Lost>>,
        token: impl Fn(&Self, Side, u32) -> u64,
    ) -> Vec<(Vec<Lost>, Vec<Lost>)> {
        let mut waiting: FxHashMap<u64, Vec<Lost>> = FxHashMap::default();
        for &lost in lost.candidate.iter().filter(|lost| self.is_free(Side::Candidate, lost.call)) {
            waiting.entry(token(self, Side::Candidate, lost.call)).or_default().push(lost);
        }
        let mut groups: Vec<(Vec<Lost>, Vec<Lost>)> = Vec::new();
        let mut group_of: FxHashMap<u64, usize> = FxHashMap::default();
        for &lost in lost.baseline.iter().filter(|lost| self.is_free(Side::Baseline, lost.call)) {
            let token = token(self, Side::Baseline, lost.call);
            if let Some(theirs) = waiting.remove(&token) {
                group_of.insert(token, groups.len());
                groups.push((Vec::new(), theirs));
            }
            if let Some(&group) = group_of.get(&token) {
                groups[group].0.push(lost);
            }
        }
        groups
    }

    fn pair_group(&mut self, mine: &[Lost], theirs: &[Lost], reach: u32) {
        let (mut mine, mut theirs) = (mine.to_vec(), theirs.to_vec());
        // The search considers only the nearest possible counterparts of a call. If other calls are matched with all of
        // them, the call stays unmatched, and the search is repeated for it.
        for _ in 0..ROUNDS {
            if self.pair_nearest(&mine, &theirs, reach) == 0 {
                break;
            }
            mine.retain(|lost| self.is_free(Side::Baseline, lost.call));
            theirs.retain(|lost| self.is_free(Side::Candidate, lost.call));
        }
    }

    /// Matches each call with one of its nearest possible counterparts, unless all of them are already
    /// matched. Returns the number of new matches. Both lists are sorted by position.
    fn pair_nearest(&mut self, mine: &[Lost], theirs: &[Lost], reach: u32) -> usize {
        let near = |a: Lost| nearest(a, theirs).iter().map(move |&b| (a, b));
        let mut pairs: Vec<(Lost, Lost)> = mine.iter().copied().flat_map(near).collect();
        pairs.retain(|&(a, b)| fills(a, b) && self.is_within(a, b, reach));
        pairs.sort_by_key(|(a, b)| (a.place.abs_diff(b.place), a.call, b.call));
        let mut taken: PerSide<FxHashSet<u32>> = PerSide::default();
        let mut chosen = Vec::new();
        for (a, b) in pairs {
            let free = !taken.baseline.contains(&a.call)
                && !taken.candidate.contains(&b.call)
                && self.is_free(Side::Baseline, a.call)
                && self.is_free(Side::Candidate, b.call);
            if free
                && !self.passes_its_like(a, b)
                && self.can_have_moved(a.call, b.call)
                && self.is_alike(a.call, b.call)
            {
                taken.baseline.insert(a.call);
                taken.candidate.insert(b.call);
                chosen.push((a, b));
            }
        }
        self.uncross(&mut chosen, reach);
        for &(a, b) in &chosen {
            self.pair(a.call, b.call, Relation::Moved);
        }
        chosen.len()
    }

    /// Swaps the counterparts of equal calls if their matches cross, because equal calls are assumed to keep their
    /// order when they move. This assumption takes precedence over shorter distances.
    fn uncross(&self, pairs: &mut [(Lost, Lost)], reach: u32) {
        let exact = &self.outlines.baseline.exact;
        pairs.sort_by_key(|(a, _)| a.call);
        for _ in 0..ROUNDS {
            let mut changed = false;
            for at in 1..pairs.len() {
                let ((a, b), (c, d)) = (pairs[at - 1], pairs[at]);
                let cross = b.call > d.call && exact[a.call as usize] == exact[c.call as usize];
                if cross && self.is_within(a, d, reach) && self.is_within(c, b, reach) {
                    (pairs[at - 1].1, pairs[at].1) = (d, b);
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
    }

    fn is_within(&self, a: Lost, b: Lost, reach: u32) -> bool {
        a.place.abs_diff(b.place) <= reach || self.are_beside(a.place, b.place)
    }

    /// Whether a call would have moved past a call of its kind that stayed in place, and further than a swap of
    /// neighbors. One repetition of a loop does not move past another.
    fn passes_its_like(&self, a: Lost, b: Lost) -> bool {
        let keys = &self.outlines.baseline.keys;
        let (from, to) = (a.place.min(b.place), a.place.max(b.place));
        let first = self.row.partition_point(|&(at, _)| at < from);
        let between = self.row[first..].iter().take_while(|&&(at, _)| at < to);
        let stays = |call: u32| {
            !self.is_free(Side::Baseline, call) && !self.both.links.is_moved(Side::Baseline, call)
        };
        let mut between = between.map(|&(_, call)| call);
        self.is_loop
            && !self.are_beside(a.place, b.place)
            && between.any(|call| keys[call as usize] == keys[a.call as usize] && stays(call))
    }

    /// Whether at most one sibling lies between two positions. The size of the sibling in between does not matter: a
    /// call that swapped places with a whole forward pass still counts as being next to that pass.
    fn are_beside(&self, one: u32, two: u32) -> bool {
        let baseline = self.outlines.baseline;
        let behind = baseline.position(self.scope.baseline.end);
        let rank = |place: u32| self.row.partition_point(|&(at, _)| at <= place);
        let are_within = || {
            self.row.first().is_some_and(|&(first, _)| one.min(two) >= first)
                && one.max(two) <= behind
        };
        rank(one).abs_diff(rank(two)) <= SIBLINGS_BESIDE && are_within()
    }

    /// Whether the baseline call `a` may have moved to the position of the candidate call `b`. If the ops
    /// that call `a` and `b` have different names, the counterpart of `a`'s caller must contain `b`, or the
    /// counterpart of `b`'s caller must contain `a`. The shapes of `a` and `b` must be equal if the op moved
    /// to a different caller, or if no op calls it and it moved within the top level of a thread.
    fn can_have_moved(&self, a: u32, b: u32) -> bool {
        if self.outlines.baseline.kind(a) != CallKind::Op {
            return !self.are_repetitions(a, b)
                || shape_of(self, Side::Baseline, a) == shape_of(self, Side::Candidate, b);
        }
        let calls = PerSide::new(a, b);
        let above = PerSide::from_fn(|side| {
            let (tree, scope) = (self.trees[side], &self.scope[side]);
            let inside = tree.ancestors(CallId(calls[side])).take_while(|op| scope.contains(&op.0));
            inside.map(|op| op.0).find(|&op| self.outlines[side].kind(op) == CallKind::Op)
        });
        let is_common = match (above.baseline, above.candidate) {
            (Some(one), Some(two)) => {
                let (x, y) = (self.outlines.baseline, self.outlines.candidate);
                let is_below = |side: Side, caller: u32, call: u32| {
                    let counterpart = self.both.links.counterpart(side, caller);
                    let outline = self.outlines[side.other()];
                    counterpart.is_some_and(|above| (above + 1..outline.end(above)).contains(&call))
                };
                let is_common =
                    is_below(Side::Baseline, one, b) || is_below(Side::Candidate, two, a);
                if !is_common && x.keys[one as usize] != y.keys[two as usize] {
                    return false;
                }
                is_common
            }
            (None, _) | (_, None) => {
                let caller = self.scope.baseline.start.checked_sub(1);
                caller.is_some_and(|caller| self.outlines.baseline.is_op_or_frame(caller))
            }
        };
        is_common || self.have_equal_shapes(a, b)
    }

    /// Whether two frames are repetitions that differ, in a loop whose other repetitions are matched: `f(1)` did not
    /// become `f(5)` and move past `f(2)` to `f(4)`.
    fn are_repetitions(&self, a: u32, b: u32) -> bool {
        let calls = PerSide::new(a, b);
        let name = |side: Side, call: u32| self.trees[side].name(CallId(call));
        let is_repeated = |side: Side| {
            let (outline, call) = (self.outlines[side], calls[side]);
            let next = outline.end(call);
            self.scope[side].contains(&next)
                && outline.kind(next) == CallKind::Frame
                && !self.is_free(side, next)
                && name(side, next) == name(side, call)
        };
        let alike = self.outlines.baseline.kind(a) == CallKind::Frame
            && name(Side::Baseline, a) == name(Side::Candidate, b);
        alike && Side::BOTH.into_iter().any(is_repeated)
    }

    /// Whether the inputs of two calls have equal shapes. Calls without recorded shapes count as equal.
    fn have_equal_shapes(&self, a: u32, b: u32) -> bool {
        let calls = PerSide::new(a, b);
        let [mine, theirs] = Side::BOTH.map(|side| {
            let (tree, trace) = (self.trees[side], self.trees[side].trace());
            let event = tree.event(CallId(calls[side]));
            let id = event.and_then(|event| trace.arguments_id(event));
            id.map(|id| trace.text(trace.arguments(id).dims))
        });
        mine.zip(theirs).is_none_or(|(mine, theirs)| mine == theirs)
    }

    /// Whether the subtrees of two calls share at least half of their tokens.
    fn is_alike(&mut self, a: u32, b: u32) -> bool {
        let (x, y) = (self.outlines.baseline, self.outlines.candidate);
        if x.shape[a as usize] == y.shape[b as usize] {
            return true;
        }
        let shared = self.bags.shared(PerSide::new(a, b));
        !is_one_inside_other(self.outlines, a, b) && 2 * shared >= x.weight(a).max(y.weight(b))
    }
}

/// Whether the gaps of two calls have similar sizes, so that the calls may be matched as moved. The sizes matter only if
/// some gap is crowded. Without this rule, a removed call would match one of many added layers, because a call always shares
/// some tokens with a layer.
fn fills(a: Lost, b: Lost) -> bool {
    let (small, large) = (a.crowd.min(b.crowd), a.crowd.max(b.crowd));
    large == 0 || PART_OF_CROWD * small >= large
}

/// The calls in `others` (sorted by position) that are nearest to `call`.
fn nearest(call: Lost, others: &[Lost]) -> &[Lost] {
    let at = others.partition_point(|other| other.place < call.place);
    &others[at.saturating_sub(NEAREST)..(at + NEAREST).min(others.len())]
}

fn exact_of(aligner: &Aligner<'_>, side: Side, call: u32) -> u64 {
    aligner.outlines[side].exact[call as usize]
}

/// The hash of a call's subtree, without kernel names.
fn shape_of(aligner: &Aligner<'_>, side: Side, call: u32) -> u64 {
    aligner.outlines[side].shape[call as usize]
}

fn key_of(aligner: &Aligner<'_>, side: Side, call: u32) -> u64 {
    u64::from(aligner.outlines[side].keys[call as usize].0)
}
