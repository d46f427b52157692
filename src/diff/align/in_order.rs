//! If matches between equal siblings cross, swaps the counterparts so that equal siblings are matched in order.
//!
//! ```text
//! trace1  y  x₁ x₂ x₃ z  x₄         Either one x moved from the end to the front, or y and z
//! trace2  x₁ y  x₂ x₃ x₄ z          each swapped places with an adjacent x.
//! ```
//! In this example, the alignment of siblings assumes that a single x moved, which shifts the matches of all calls
//! named x by one. Equal calls differ only in their order, so their counterparts are swapped until equal calls are
//! matched in order. Two rules limit the swaps: calls that moved together stay together, and one moved call must not be
//! reported as three moved calls.

use super::aligner::Aligner;
use crate::diff::outline::Outline;
use crate::diff::relation::Relation;
use crate::diff::weights::{MANY_MORE, MUCH_NEARER};
use crate::side::{PerSide, Side};
use crate::tree::CallId;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};

/// A hash of a call's key and arguments (or of its whole subtree), together with the call's exact name.
type Kind<'a> = (u64, &'a str);
/// The properties that all pairs in a group have in common: the nearest matched ancestor on each side, and the kind of
/// the calls.
type Equal<'a> = (Option<CallId>, Option<CallId>, Kind<'a>);

impl Aligner<'_> {
    /// Swaps the counterparts of equal calls if their matches cross. Then aligns the unmatched calls between the
    /// matches. `first` is the position of the first pending pair whose calls are in `lists`.
    pub(super) fn keep_equal_in_order(&mut self, lists: &[PerSide<Vec<u32>>], first: usize) {
        let mut calls = lists.iter().flat_map(|lists| &lists.baseline);
        if !calls.any(|&call| self.both.links.is_moved(Side::Baseline, call)) {
            return;
        }
        let mut turned = self.turn_equal(lists, first, &[]);
        let alone = lists.first().map(|lists| self.lone_twins(lists)).unwrap_or_default();
        if !alone.is_empty() {
            turned |= self.turn_equal(lists, first, &alone);
        }
        for lists in lists.iter().filter(|_| turned) {
            for gap in self.gaps_of(lists.as_ref().map(Vec::as_slice)) {
                if !gap.baseline.is_empty() && !gap.candidate.is_empty() {
                    self.align_siblings(gap.as_ref().map(Vec::as_slice));
                }
            }
        }
    }

    /// Swaps the counterparts of equal calls and returns whether any counterparts were swapped. `alone` contains pairs
    /// of unmatched calls that a swap may turn into matches; if `alone` is not empty, only groups that contain one of
    /// these pairs are considered.
    fn turn_equal(
        &mut self,
        lists: &[PerSide<Vec<u32>>],
        first: usize,
        alone: &[(u32, u32)],
    ) -> bool {
        let links = self.both.links;
        let calls = lists.iter().flat_map(|lists| lists.baseline.iter().copied());
        let counterparts = calls.filter_map(|a| Some((a, links.counterpart(Side::Baseline, a)?)));
        let mut pairs: Vec<(u32, u32)> = counterparts.chain(alone.iter().copied()).collect();
        // A call can be in two lists: in its original list, where it was left unmatched, and in a later list that also
        // contains the contents of expanded wrappers.
        pairs.sort_unstable();
        pairs.dedup();
        let mut row = Row::new(&pairs, |a| match self.is_free(Side::Baseline, a) {
            true => Standing::Alone,
            false if links.is_moved(Side::Baseline, a) => Standing::Moved,
            false => Standing::InPlace,
        });
        let (outlines, trees) = (self.outlines, self.trees);
        let of_one_op = |a: u32, b: u32| {
            outlines.baseline.keys[a as usize] == outlines.candidate.keys[b as usize]
        };
        let name = |side: Side, call: u32| trees[side].name(CallId(call));
        let exact = |side: Side, call: u32| (outlines[side].exact[call as usize], name(side, call));
        let own = |side: Side, call: u32| (own_token(outlines[side], call), name(side, call));
        if alone.is_empty() {
            let groups = self
                .groups(&row, |a, b| both_are(exact(Side::Baseline, a), exact(Side::Candidate, b)));
            row.keep_in_order(&groups, |_, _| 0, of_one_op);
            // If two calls on one side are identical, swapping their counterparts does not change how many tokens
            // match, so such calls may also swap counterparts. Pairs whose contents are already matched, such as
            // expanded variants, are excluded.
            let waiting: FxHashSet<u32> = self.pending[first..].iter().map(|&(a, _)| a).collect();
            let is_open = |a: u32, b: u32| self.have_children(a, b) && !waiting.contains(&a);
            for side in Side::BOTH {
                let groups = self.groups(&row, |a, b| {
                    (!is_open(a, b)).then(|| exact(side, PerSide::new(a, b)[side]))
                });
                row.keep_in_order(&groups, |_, _| 0, of_one_op);
            }
        }
        // Similar calls must not swap counterparts just because the contents of one of them changed.
        let mut groups =
            self.groups(&row, |a, b| both_are(own(Side::Baseline, a), own(Side::Candidate, b)));
        groups.retain(|group| alone.is_empty() || row.holds_one_alone(group));
        let shared = |a: u32, b: u32| {
            let equal = exact(Side::Baseline, a).0 == exact(Side::Candidate, b).0;
            self.bags.shared(PerSide::new(a, b)) + u32::from(equal)
        };
        row.keep_in_order(&groups, shared, of_one_op);
        let turned: BTreeMap<u32, (u32, Relation)> = row.turned().collect();
        let pending = self.pending.split_off(first);
        self.pending.extend(pending.into_iter().filter(|(a, _)| !turned.contains_key(a)));
        for (&a, &(b, relation)) in &turned {
            if self.have_children(a, b) {
                self.pending.push((a, b));
            }
            let relation = if of_one_op(a, b) { relation } else { Relation::Renamed };
            links.link_again(a, b, (relation, self.pass));
        }
        !turned.is_empty()
    }

    /// Pairs of calls of the same kind whose whole subtrees are unmatched. A kind of call is included only if both
    /// sides have the same number of unmatched calls of this kind. For example, if the matches in a run of equal calls
    /// are shifted by one, the first call of the run is unmatched on one side, and the last call is unmatched on the
    /// other side. These two calls form a pair.
    fn lone_twins(&self, lists: &PerSide<Vec<u32>>) -> Vec<(u32, u32)> {
        let mut of_kinds: BTreeMap<(u64, &str), PerSide<Vec<u32>>> = BTreeMap::new();
        for side in Side::BOTH {
            let outline = self.outlines[side];
            let is_alone = |&call: &u32| {
                outline.is_op_or_frame(call)
                    && outline.subtree(call).all(|below| self.is_free(side, below))
            };
            for call in lists[side].iter().copied().filter(is_alone) {
                let kind = (own_token(outline, call), self.trees[side].name(CallId(call)));
                of_kinds.entry(kind).or_default()[side].push(call);
            }
        }
        let as_many = of_kinds.into_values().filter(|of| of.baseline.len() == of.candidate.len());
        as_many.flat_map(|of| of.baseline.into_iter().zip(of.candidate)).collect()
    }

    fn groups<'k>(
        &self,
        row: &Row<'_>,
        kind: impl Fn(u32, u32) -> Option<Kind<'k>>,
    ) -> Vec<Vec<usize>> {
        // The pairs include the contents of expanded wrappers, so the parent of a call may be
        // unmatched.
        let around = |side: Side, call: u32| {
            let mut above = self.trees[side].ancestors(CallId(call));
            above.find(|above| !self.is_free(side, above.0))
        };
        let mut known: FxHashMap<Equal<'k>, usize> = FxHashMap::default();
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (at, &(a, _)) in row.pairs.iter().enumerate() {
            let b = row.counterpart(at);
            let Some(kind) = kind(a, b) else { continue };
            let group = known.entry((around(Side::Baseline, a), around(Side::Candidate, b), kind));
            let group = *group.or_insert(groups.len());
            groups.resize_with(groups.len().max(group + 1), Vec::new);
            groups[group].push(at);
        }
        groups
    }
}

/// Returns the kind of two calls, or `None` if their kinds differ.
fn both_are<'a>(one: Kind<'a>, two: Kind<'a>) -> Option<Kind<'a>> {
    (one == two).then_some(one)
}

/// A hash of a call's key and arguments, without its contents.
fn own_token(outline: &Outline<'_>, call: u32) -> u64 {
    let (key, arguments) = (outline.keys[call as usize], outline.arguments[call as usize]);
    u64::from(key.0) << 32 | u64::from(arguments)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    InPlace,
    Moved,
    /// The pair is unmatched but may become a match.
    Alone,
}

/// Pairs in baseline order, with the positions of their candidate calls.
struct Row<'a> {
    pairs: &'a [(u32, u32)],
    /// The calls of the candidate, in preorder.
    candidate: Vec<u32>,
    /// For each pair, the position of its candidate call in `candidate`.
    to: Vec<usize>,
    /// The pairs that did not move. Each key is the position of a pair in `pairs`, and the value is the position of
    /// this pair's candidate call in `candidate`.
    in_place: BTreeMap<usize, usize>,
    /// Positions of the unmatched pairs.
    alone: BTreeSet<usize>,
}

impl<'a> Row<'a> {
    fn new(pairs: &'a [(u32, u32)], standing: impl Fn(u32) -> Standing) -> Row<'a> {
        let mut candidate: Vec<u32> = pairs.iter().map(|&(_, b)| b).collect();
        candidate.sort_unstable();
        let to = |&(_, b): &(u32, u32)| candidate.partition_point(|&other| other < b);
        let to: Vec<usize> = pairs.iter().map(to).collect();
        let (mut in_place, mut alone) = (BTreeMap::new(), BTreeSet::new());
        for (at, &(a, _)) in pairs.iter().enumerate() {
            match standing(a) {
                Standing::InPlace => {
                    in_place.insert(at, to[at]);
                }
                Standing::Alone => {
                    alone.insert(at);
                }
                Standing::Moved => {}
            }
        }
        Row { pairs, candidate, to, in_place, alone }
    }

    fn is_moved(&self, at: usize) -> bool {
        !self.in_place.contains_key(&at)
    }

    fn counterpart(&self, at: usize) -> u32 {
        self.candidate[self.to[at]]
    }

    fn holds_one_alone(&self, group: &[usize]) -> bool {
        group.iter().any(|at| self.alone.contains(at))
    }

    /// The baseline calls whose counterparts changed, each with its new counterpart and relation.
    fn turned(&self) -> impl Iterator<Item = (u32, (u32, Relation))> {
        self.pairs.iter().enumerate().filter(|&(at, &(_, b))| self.counterpart(at) != b).map(
            |(at, &(a, _))| {
                let relation = if self.is_moved(at) { Relation::Moved } else { Relation::Same };
                (a, (self.counterpart(at), relation))
            },
        )
    }

    /// Matches the equal calls of each group in order, unless the matched calls would share fewer tokens than before.
    fn keep_in_order(
        &mut self,
        groups: &[Vec<usize>],
        mut shared: impl FnMut(u32, u32) -> u32,
        of_one_op: impl Fn(u32, u32) -> bool,
    ) {
        let crossing = groups.iter().flat_map(|group| self.crossing(group));
        let mut turns: Vec<Turn> = crossing.map(|part| Turn::of(part, &self.to)).collect();
        let mut worth = |at: usize, to: usize| shared(self.pairs[at].0, self.candidate[to]);
        turns.retain(|turn| {
            let counterparts = turn.0.iter().filter(|(at, _)| !self.alone.contains(at));
            let before: u32 = counterparts.map(|&(at, _)| worth(at, self.to[at])).sum();
            let after: u32 = turn.0.iter().map(|&(at, to)| worth(at, to)).sum();
            after >= before
        });
        for turn in self.joined(turns) {
            self.turn(&turn, &of_one_op);
        }
    }

    /// Splits a group into the smallest possible subgroups such that matches from different subgroups do not cross.
    /// Subgroups with a single pair are dropped.
    fn crossing(&self, group: &[usize]) -> Vec<Vec<usize>> {
        let mut sorted: Vec<usize> = group.iter().map(|&at| self.to[at]).collect();
        sorted.sort_unstable();
        let (mut parts, mut part, mut last) = (Vec::new(), Vec::new(), 0);
        for (&at, sorted) in group.iter().zip(sorted) {
            part.push(at);
            last = last.max(self.to[at]);
            if last == sorted {
                parts.push(std::mem::take(&mut part));
            }
        }
        parts.retain(|part| part.len() > 1);
        parts
    }

    /// Merges adjacent swaps whose calls moved together.
    fn joined(&self, turns: Vec<Turn>) -> Vec<Turn> {
        let calls = turns.iter().enumerate();
        let calls = calls.flat_map(|(of, turn)| turn.0.iter().map(move |&(at, _)| (at, of)));
        let turn_of: BTreeMap<usize, usize> = calls.filter(|&(at, _)| self.is_moved(at)).collect();
        let mut first: Vec<usize> = (0..turns.len()).collect();
        let root = |first: &[usize], mut turn: usize| {
            while first[turn] != turn {
                turn = first[turn];
            }
            turn
        };
        for (&at, &one) in &turn_of {
            if let Some(&two) = turn_of.get(&(at + 1)).filter(|_| self.follows(at)) {
                let (one, two) = (root(&first, one), root(&first, two));
                first[one.max(two)] = one.min(two);
            }
        }
        let mut joined: BTreeMap<usize, Turn> = BTreeMap::new();
        for (at, turn) in turns.into_iter().enumerate() {
            joined.entry(root(&first, at)).or_default().0.extend(turn.0);
        }
        joined.into_values().collect()
    }

    /// Applies a swap unless the swap makes too many calls count as moved (see [`MUCH_NEARER`] and [`MANY_MORE`]) or
    /// separates calls that moved together.
    fn turn(&mut self, turn: &Turn, of_one_op: impl Fn(u32, u32) -> bool) {
        let calls = || turn.0.iter().copied();
        let before: Vec<(usize, usize)> = calls().map(|(at, _)| (at, self.to[at])).collect();
        let moved = calls().filter(|&(at, _)| self.is_moved(at)).count();
        let together = calls().any(|(at, _)| self.is_moved(at) && self.stays_beside(at));
        let kept_beside = self.beside(&before);
        let much_nearer = MUCH_NEARER * distance(&turn.0) <= distance(&before);
        let kept: Vec<(usize, usize)> =
            before.iter().copied().filter(|(at, _)| self.in_place.remove(at).is_some()).collect();
        let (moves, in_place): (Vec<_>, Vec<_>) =
            calls().partition(|&(at, to)| self.crosses(at, to));
        // A renamed call is matched only in place, so a moved call must have kept its name.
        let keep_names =
            moves.iter().all(|&(at, to)| of_one_op(self.pairs[at].0, self.candidate[to]));
        calls().for_each(|(at, to)| self.to[at] = to);
        let alone = calls().any(|(at, _)| self.alone.contains(&at));
        let explains = match (alone, together) {
            // A swap may include unmatched pairs only if it brings counterparts much nearer to each other. Without this
            // limit, one removed call and one added call would shift all matches between them.
            (true, _) => much_nearer,
            (false, true) => self.beside(&turn.0) >= kept_beside,
            (false, false) => {
                moves.len() <= moved + 1 || (much_nearer && moves.len() <= MANY_MORE * moved)
            }
        };
        if keep_names && explains {
            self.in_place.extend(in_place)
        } else {
            before.into_iter().for_each(|(at, to)| self.to[at] = to);
            self.in_place.extend(kept);
        }
    }

    /// Counts the pairs of adjacent calls whose counterparts are also adjacent and in the same order. Only pairs with
    /// at least one call in `calls` are counted.
    fn beside(&self, calls: &[(usize, usize)]) -> usize {
        let ends = calls.iter().flat_map(|&(at, _)| [Some(at), at.checked_sub(1)]);
        let ends: BTreeSet<usize> = ends.flatten().collect();
        ends.into_iter().filter(|&at| self.follows(at)).count()
    }

    fn stays_beside(&self, at: usize) -> bool {
        self.follows(at) || (at > 0 && self.follows(at - 1))
    }

    /// Whether the counterpart of the next call directly follows the counterpart of the call at
    /// `at`.
    fn follows(&self, at: usize) -> bool {
        self.to.get(at + 1) == Some(&(self.to[at] + 1))
    }

    fn crosses(&self, at: usize, to: usize) -> bool {
        let before = self.in_place.range(..at).next_back();
        let behind = self.in_place.range(at..).next();
        before.is_some_and(|(_, &before)| before > to)
            || behind.is_some_and(|(_, &behind)| behind < to)
    }
}

/// A swap of counterparts. Each entry contains the position of a pair, and the position of the pair's new counterpart.
#[derive(Debug, Default)]
struct Turn(Vec<(usize, usize)>);

impl Turn {
    /// Creates the swap that matches equal calls with their counterparts in order.
    fn of(part: Vec<usize>, to: &[usize]) -> Turn {
        let mut counterparts: Vec<usize> = part.iter().map(|&at| to[at]).collect();
        counterparts.sort_unstable();
        Turn(part.into_iter().zip(counterparts).collect())
    }
}

/// The sum of the distances between calls and their counterparts.
fn distance(pairs: &[(usize, usize)]) -> usize {
    pairs.iter().map(|&(at, to)| at.abs_diff(to)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Interprets each letter as a call, swaps the counterparts of the calls named `x`, and returns their new
    /// counterparts. `of_x` has an entry for each `x` in the baseline: the initial counterpart, given as an index among
    /// the candidate's calls named `x`. All other letters keep their counterparts. An `x` that is more than 3 positions
    /// away from its counterpart is unmatched at the start.
    fn counterparts(baseline: &str, candidate: &str, of_x: &[usize]) -> Vec<usize> {
        let places = |text: &str, wanted: bool| -> Vec<u32> {
            let all = text.chars().zip(0..);
            all.filter(|&(letter, _)| (letter == 'x') == wanted).map(|(_, at)| at).collect()
        };
        let (mine, theirs) = (places(baseline, true), places(candidate, true));
        let mut pairs: Vec<(u32, u32)> =
            mine.iter().zip(of_x).map(|(&a, &to)| (a, theirs[to])).collect();
        pairs.extend(places(baseline, false).into_iter().zip(places(candidate, false)));
        pairs.sort_unstable();
        let far = |&(a, b): &(u32, u32)| a.abs_diff(b) > 3;
        let lone: Vec<u32> = pairs.iter().filter(|pair| far(pair)).map(|&(a, _)| a).collect();
        let mut row =
            Row::new(
                &pairs,
                |a| if lone.contains(&a) { Standing::Alone } else { Standing::InPlace },
            );
        let group = (0..pairs.len()).filter(|&at| mine.contains(&pairs[at].0)).collect();
        row.keep_in_order(&[group], |_, _| 1, |_, _| true);
        let group = (0..pairs.len()).filter(|&at| mine.contains(&pairs[at].0));
        let number = |at| theirs.iter().position(|&b| b == row.counterpart(at)).expect("an x");
        group.map(number).collect()
    }

    #[test]
    fn the_ends_of_a_rotated_row_are_matched_with_each_other() {
        let (row, turned) = ("xyxyxyxyxy", [1, 2, 3, 4, 0]);
        assert_eq!(counterparts(row, row, &turned), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_removed_and_an_added_sibling_are_not_a_rotation() {
        let (before, after) = ("xyxyxyxyxy", "yxyxyxyxyx");
        assert_eq!(counterparts(before, after, &[4, 0, 1, 2, 3]), [4, 0, 1, 2, 3]);
    }
}
