//! Equal siblings keep their order where other calls passed them.
//!
//! ```text
//! trace1  y  x₁ x₂ x₃ z  x₄         one x that moved from the end to the front explains these lists as
//! trace2  x₁ y  x₂ x₃ x₄ z          well as y and z that changed places with the x beside them
//! ```
//! By the path the pairs of the x turn by one then. Nothing tells equal calls apart but their order, so they
//! exchange partners. What moved together with a call beside it stays with that one, and one call that moved
//! is not told as three.

use super::Aligner;
use super::weights::MUCH_NEARER;
use crate::diff::Relation;
use crate::side::{PerSide, Side};
use crate::tree::CallId;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// What equal calls share: the parents on both sides, a hash of what they are or hold, and the name to the letter.
type Equal<'a> = (Option<CallId>, Option<CallId>, u64, &'a str);

impl Aligner<'_> {
    /// Lets equal calls of `lists` exchange partners where their pairs cross, and looks again at what is left
    /// over between them then. The pairs of the lists begin at `first` of those that are pending.
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

    /// Lets equal calls exchange partners; with `alone`, calls that may become partners by that, only in the rows
    /// of these. Returns whether any did.
    fn turn_equal(
        &mut self,
        lists: &[PerSide<Vec<u32>>],
        first: usize,
        alone: &[(u32, u32)],
    ) -> bool {
        let links = self.both.links;
        let calls = lists.iter().flat_map(|lists| lists.baseline.iter().copied());
        let partners = calls.filter_map(|a| Some((a, links.partner(Side::Baseline, a)?)));
        let mut pairs: Vec<(u32, u32)> = partners.chain(alone.iter().copied()).collect();
        // A call that is left over stands in the list with opened wrappers, too.
        pairs.sort_unstable();
        pairs.dedup();
        let mut row = Row::new(&pairs, |a| match self.is_free(Side::Baseline, a) {
            true => Standing::Alone,
            false if links.is_moved(Side::Baseline, a) => Standing::Moved,
            false => Standing::InPlace,
        });
        if alone.is_empty() {
            let exact = |me: &Self, a: u32, b: u32| {
                me.is_equal(a, b).then(|| me.outlines.baseline.exact[a as usize])
            };
            let groups = self.groups(&row, exact);
            row.keep_in_order(&groups, |_, _| 0);
        }
        // One that was changed inside is no reason for its equals to turn.
        let own = |me: &Self, a: u32, b: u32| {
            let [one, two] = [me.own_token(Side::Baseline, a), me.own_token(Side::Candidate, b)];
            (one == two).then_some(one)
        };
        let mut groups = self.groups(&row, own);
        groups.retain(|group| alone.is_empty() || row.holds_one_alone(group));
        row.keep_in_order(&groups, |a, b| {
            self.bags.shared(PerSide::new(a, b)) + u32::from(self.is_equal(a, b))
        });
        let turned: BTreeMap<u32, (u32, Relation)> = row.turned().collect();
        for (a, b) in &mut self.pending[first..] {
            *b = turned.get(a).map_or(*b, |&(partner, _)| partner);
        }
        for (&a, &(b, relation)) in &turned {
            if self.is_free(Side::Baseline, a) {
                self.pending.push((a, b));
            }
            links.link_again(a, b, relation);
        }
        !turned.is_empty()
    }

    /// Calls of two lists that are alone with all they hold, where both sides have as many of one kind: in a row
    /// that is turned by one, what is left over at its two ends.
    fn lone_twins(&self, lists: &PerSide<Vec<u32>>) -> Vec<(u32, u32)> {
        let mut of_kinds: BTreeMap<(u64, &str), PerSide<Vec<u32>>> = BTreeMap::new();
        for side in Side::BOTH {
            let outline = self.outlines[side];
            let is_alone = |&call: &u32| {
                outline.is_op_or_frame(call)
                    && outline.subtree(call).all(|below| self.is_free(side, below))
            };
            for call in lists[side].iter().copied().filter(is_alone) {
                let kind = (self.own_token(side, call), self.trees[side].name(CallId(call)));
                of_kinds.entry(kind).or_default()[side].push(call);
            }
        }
        let as_many = of_kinds.into_values().filter(|of| of.baseline.len() == of.candidate.len());
        as_many.flat_map(|of| of.baseline.into_iter().zip(of.candidate)).collect()
    }

    /// Positions of the pairs of a row that share a token, the parents of both sides and the name.
    fn groups(
        &self,
        row: &Row<'_>,
        token: impl Fn(&Self, u32, u32) -> Option<u64>,
    ) -> Vec<Vec<usize>> {
        let (one, two) = (self.trees.baseline, self.trees.candidate);
        let mut known: FxHashMap<Equal<'_>, usize> = FxHashMap::default();
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (at, &(a, _)) in row.pairs.iter().enumerate() {
            let b = row.partner(at);
            let (x, y) = (CallId(a), CallId(b));
            let Some(token) = token(self, a, b).filter(|_| one.name(x) == two.name(y)) else {
                continue;
            };
            let group = known.entry((one.parent(x), two.parent(y), token, one.name(x)));
            let group = *group.or_insert(groups.len());
            groups.resize_with(groups.len().max(group + 1), Vec::new);
            groups[group].push(at);
        }
        groups
    }

    /// What a call is, whatever it holds.
    fn own_token(&self, side: Side, call: u32) -> u64 {
        let outline = self.outlines[side];
        let (key, arguments) = (outline.keys[call as usize], outline.arguments[call as usize]);
        u64::from(key.0) << 32 | u64::from(arguments)
    }
}

/// How the calls of a pair stand to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    InPlace,
    Moved,
    /// No partners yet, but they may become members of a row.
    Alone,
}

/// Pairs in the order of the baseline, and which of them stand in the same order in the candidate.
struct Row<'a> {
    pairs: &'a [(u32, u32)],
    /// The calls of the candidate in their order.
    candidate: Vec<u32>,
    /// For each pair, the position of its partner in `candidate`.
    to: Vec<usize>,
    /// Those of them that did not move.
    in_place: BTreeMap<usize, usize>,
    /// Positions of calls that are no partners yet.
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

    fn partner(&self, at: usize) -> u32 {
        self.candidate[self.to[at]]
    }

    fn holds_one_alone(&self, group: &[usize]) -> bool {
        group.iter().any(|at| self.alone.contains(at))
    }

    /// The calls that have new partners.
    fn turned(&self) -> impl Iterator<Item = (u32, (u32, Relation))> {
        self.pairs.iter().enumerate().filter(|&(at, &(_, b))| self.partner(at) != b).map(
            |(at, &(a, _))| {
                let relation = if self.is_moved(at) { Relation::Moved } else { Relation::Same };
                (a, (self.partner(at), relation))
            },
        )
    }

    /// Orders the partners of equal calls in each group, where nothing that two calls share is lost by that.
    fn keep_in_order(&mut self, groups: &[Vec<usize>], mut shared: impl FnMut(u32, u32) -> u32) {
        let crossing = groups.iter().flat_map(|group| self.crossing(group));
        let mut turns: Vec<Turn> = crossing.map(|part| Turn::of(part, &self.to)).collect();
        let mut worth = |at: usize, to: usize| shared(self.pairs[at].0, self.candidate[to]);
        turns.retain(|turn| {
            let partners = turn.0.iter().filter(|(at, _)| !self.alone.contains(at));
            let before: u32 = partners.map(|&(at, _)| worth(at, self.to[at])).sum();
            let after: u32 = turn.0.iter().map(|&(at, to)| worth(at, to)).sum();
            after >= before
        });
        for turn in self.joined(turns) {
            self.turn(&turn);
        }
    }

    /// The smallest parts of a group whose pairs cross those of no other part.
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

    /// Joins turns of calls that moved together, one beside the other.
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

    /// Gives equal calls their new partners, unless more of them move then and not much less far, or calls that
    /// moved together are parted.
    fn turn(&mut self, turn: &Turn) {
        let calls = || turn.0.iter().copied();
        let before: Vec<(usize, usize)> = calls().map(|(at, _)| (at, self.to[at])).collect();
        let moved = calls().filter(|&(at, _)| self.is_moved(at)).count();
        let together = calls().any(|(at, _)| self.is_moved(at) && self.stays_beside(at));
        let kept_beside = self.beside(&before);
        let much_nearer = MUCH_NEARER * distance(&turn.0) <= distance(&before);
        let kept: Vec<(usize, usize)> =
            before.iter().copied().filter(|(at, _)| self.in_place.remove(at).is_some()).collect();
        let in_place: Vec<_> = calls().filter(|&(at, to)| !self.crosses(at, to)).collect();
        let moves = turn.0.len() - in_place.len();
        calls().for_each(|(at, to)| self.to[at] = to);
        let alone = calls().any(|(at, _)| self.alone.contains(&at));
        let turns = match (alone, together) {
            // Otherwise one that is gone and another that is new would turn all between them.
            (true, _) => much_nearer,
            (false, true) => self.beside(&turn.0) >= kept_beside,
            (false, false) => moves <= moved + 1 || much_nearer,
        };
        match turns {
            true => self.in_place.extend(in_place),
            false => {
                before.into_iter().for_each(|(at, to)| self.to[at] = to);
                self.in_place.extend(kept);
            }
        }
    }

    /// How often these calls and their neighbours have partners that are neighbours.
    fn beside(&self, calls: &[(usize, usize)]) -> usize {
        let ends = calls.iter().flat_map(|&(at, _)| [Some(at), at.checked_sub(1)]);
        let ends: BTreeSet<usize> = ends.flatten().collect();
        ends.into_iter().filter(|&at| self.follows(at)).count()
    }

    fn stays_beside(&self, at: usize) -> bool {
        self.follows(at) || (at > 0 && self.follows(at - 1))
    }

    /// Whether the partner of the next call is the one next to the partner.
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

/// Positions of pairs whose calls exchange partners, with the positions of the new ones.
#[derive(Debug, Default)]
struct Turn(Vec<(usize, usize)>);

impl Turn {
    /// Equal calls in order, with their partners in order.
    fn of(part: Vec<usize>, to: &[usize]) -> Turn {
        let mut partners: Vec<usize> = part.iter().map(|&at| to[at]).collect();
        partners.sort_unstable();
        Turn(part.into_iter().zip(partners).collect())
    }
}

/// How far all partners are from the same place.
fn distance(pairs: &[(usize, usize)]) -> usize {
    pairs.iter().map(|&(at, to)| at.abs_diff(to)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The partners of the calls `x`, which are equal, among others that stay, by the number of each `x`; two that
    /// stand far from each other are no partners yet.
    fn partners(baseline: &str, candidate: &str, of_x: &[usize]) -> Vec<usize> {
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
        let mut row = Row::new(&pairs, |a| match lone.contains(&a) {
            true => Standing::Alone,
            false => Standing::InPlace,
        });
        let group = (0..pairs.len()).filter(|&at| mine.contains(&pairs[at].0)).collect();
        row.keep_in_order(&[group], |_, _| 1);
        let group = (0..pairs.len()).filter(|&at| mine.contains(&pairs[at].0));
        let number = |at| theirs.iter().position(|&b| b == row.partner(at)).expect("an x");
        group.map(number).collect()
    }

    #[test]
    fn a_row_that_is_turned_by_one_takes_what_is_left_over_at_its_ends() {
        let (row, turned) = ("xyxyxyxyxy", [1, 2, 3, 4, 0]);
        assert_eq!(partners(row, row, &turned), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn one_that_is_gone_and_another_that_is_new_turn_nothing() {
        let (before, after) = ("xyxyxyxyxy", "yxyxyxyxyx");
        assert_eq!(partners(before, after, &[4, 0, 1, 2, 3]), [4, 0, 1, 2, 3]);
    }
}
