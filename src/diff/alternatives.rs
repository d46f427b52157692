//! Finds the matches in a list of siblings for which an equally good alternative exists.
//!
//! ```text
//! trace1   L L L L              moving the last three matches by one layer matches as much, because
//! trace2   L L L L L            the fifth L is free: nothing shows which L of trace2 is new
//!
//! trace1   f(1) g  f(2) g       f(2) stands on both sides, but the matches put it opposite f(1) and
//! trace2   f(2) g  f(3) g       f(3): moving them by one repetition matches more, the calls g as well
//! ```
//! An alternative moves a stretch of adjacent matches by the same number of siblings. It is found from what is free
//! next to the stretch, or from a call whose identical counterpart is free or matched with something else.

use super::outline::Outline;
use super::renamed_frames::RenamedFrames;
use super::weights::{ALTERNATIVE_STEPS, ALTERNATIVE_WORSE, ALTERNATIVES, NEIGHBORS};
use crate::side::{PerSide, Side};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::ops::Range;

/// The matches between two lists of siblings, in the order of both lists.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    pub(super) outlines: PerSide<&'a Outline<'a>>,
    pub(super) renamed: &'a RenamedFrames,
    pub(super) lists: PerSide<&'a [u32]>,
    /// Positions in the two lists.
    pub(super) pairs: &'a [(usize, usize)],
}

/// A change of position for matches from one position of `Row::pairs` on: the counterparts move by `shift` siblings.
#[derive(Debug, Clone, Copy)]
struct Move {
    at: usize,
    shift: isize,
    /// The match next to the free calls into which the matches move; `None` if the new counterpart of the match `at` is
    /// identical to the call and belongs to another match.
    edge: Option<usize>,
}

/// What a stretch of matches has in common, and what a move adds to that.
#[derive(Debug, Clone, Copy)]
struct Sums {
    gain: i32,
    before: i32,
}

/// Whether each match in a row has an alternative that is as good or better.
pub(super) fn doubtful(row: Row<'_>) -> Vec<bool> {
    let mut doubtful = vec![false; row.pairs.len()];
    for side in Side::BOTH {
        let mut search = Search::new(row, side);
        for at in search.moves() {
            search.follow(at, &mut doubtful);
        }
    }
    doubtful
}

/// The search for alternatives in which the calls of the side `still` keep their positions.
struct Search<'a> {
    row: Row<'a>,
    still: Side,
    /// Number of pairs that may still be compared.
    budget: usize,
}

impl<'a> Search<'a> {
    fn new(row: Row<'a>, still: Side) -> Search<'a> {
        let length = row.lists.baseline.len() + row.lists.candidate.len();
        Search { row, still, budget: ALTERNATIVE_STEPS * length }
    }

    /// The positions of a match: on the side that keeps its position, and on the opposite side.
    fn pair(&self, at: usize) -> (usize, usize) {
        let (i, j) = self.row.pairs[at];
        match self.still {
            Side::Baseline => (i, j),
            Side::Candidate => (j, i),
        }
    }

    fn call(&self, side: Side, at: usize) -> u32 {
        self.row.lists[side][at]
    }

    /// How much two calls have in common: 3 for identical subtrees, 2 if only kernels differ, 1 for equal names.
    fn likeness(&self, i: usize, j: usize) -> i32 {
        let (mine, theirs) = (self.row.outlines[self.still], self.row.outlines[self.still.other()]);
        let a = self.call(self.still, i) as usize;
        let b = self.call(self.still.other(), j) as usize;
        if mine.exact[a] == theirs.exact[b] {
            3
        } else if mine.shape[a] == theirs.shape[b] {
            2
        } else {
            let key = |side: Side, at: usize| {
                self.row.renamed.key(self.row.outlines, side, self.call(side, at))
            };
            i32::from(key(self.still, i) == key(self.still.other(), j))
        }
    }

    fn moves(&self) -> Vec<Move> {
        let mut moves = self.moves_to_gaps();
        moves.extend(self.moves_to_twins());
        moves
    }

    /// Moves of matches into the free siblings next to them.
    fn moves_to_gaps(&self) -> Vec<Move> {
        let others = self.row.lists[self.still.other()].len();
        let mut moves = Vec::new();
        let ends = (0..=self.row.pairs.len()).map(|at| {
            let from = if at == 0 { 0 } else { self.pair(at - 1).1 + 1 };
            let to = if at == self.row.pairs.len() { others } else { self.pair(at).1 };
            (at, from..to)
        });
        for (at, gap) in ends.filter(|(_, gap)| !gap.is_empty()) {
            if let Some(edge) = at.checked_sub(1) {
                let stretch = at.saturating_sub(NEIGHBORS)..at;
                moves.extend(self.moves_into(edge, stretch, || gap.clone()));
            }
            if at < self.row.pairs.len() {
                let stretch = at..(at + NEIGHBORS).min(self.row.pairs.len());
                moves.extend(self.moves_into(at, stretch, || gap.clone().rev()));
            }
        }
        moves
    }

    /// The moves of the matches next to a gap that give most of them a counterpart in the gap that is as good as the
    /// present one. The match at the edge may be one by chance, so the next ones are asked, too.
    fn moves_into<G: Iterator<Item = usize>>(
        &self,
        edge: usize,
        stretch: Range<usize>,
        gap: impl Fn() -> G,
    ) -> Vec<Move> {
        let mut votes: Vec<(isize, usize, usize)> = Vec::new();
        for at in stretch {
            let (i, j) = self.pair(at);
            let now = self.likeness(i, j).max(1);
            let free = gap().filter(|&free| self.likeness(i, free) >= now);
            for free in free.take(NEIGHBORS) {
                let shift = free as isize - j as isize;
                match votes.iter_mut().find(|vote| vote.0 == shift) {
                    Some(vote) => vote.2 += 1,
                    None => votes.push((shift, at, 1)),
                }
            }
        }
        votes.sort_by_key(|&(shift, _, votes)| (Reverse(votes), shift.abs()));
        votes.truncate(ALTERNATIVES);
        votes.into_iter().map(|(shift, at, _)| Move { at, shift, edge: Some(edge) }).collect()
    }

    /// Moves of matches between calls that differ, to an identical call whose own match differs as well, or that is
    /// free.
    fn moves_to_twins(&self) -> Vec<Move> {
        let (still, other) = (self.still, self.still.other());
        let differ = |at: &usize| {
            let (i, j) = self.pair(*at);
            self.likeness(i, j) < 2
        };
        let unlike: Vec<usize> = (0..self.row.pairs.len()).filter(differ).collect();
        if unlike.is_empty() {
            return Vec::new();
        }
        let mut is_settled = vec![false; self.row.lists[other].len()];
        for at in 0..self.row.pairs.len() {
            is_settled[self.pair(at).1] = true;
        }
        for &at in &unlike {
            is_settled[self.pair(at).1] = false;
        }
        let shape =
            |side: Side, at: usize| self.row.outlines[side].shape[self.call(side, at) as usize];
        let mut open: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
        for at in (0..is_settled.len()).filter(|&at| !is_settled[at]) {
            open.entry(shape(other, at)).or_default().push(at);
        }
        let twin = |at: usize| {
            let (i, j) = self.pair(at);
            let twins = open.get(&shape(still, i))?;
            let behind = twins.partition_point(|&twin| twin < j);
            let nearest = [behind.checked_sub(1), Some(behind)].into_iter().flatten();
            let nearest = nearest.filter_map(|at| twins.get(at));
            let twin = nearest.min_by_key(|twin| twin.abs_diff(j))?;
            Some(Move { at, shift: *twin as isize - j as isize, edge: None })
        };
        unlike.into_iter().filter_map(twin).collect()
    }

    /// Marks the stretch of matches that can make a move without a loss.
    fn follow(&mut self, Move { at, shift, edge }: Move, doubtful: &mut [bool]) {
        if edge.is_none() && !self.suits_its_neighbors(at, shift) {
            return;
        }
        let mut sums = Sums { gain: self.gain(at, shift).unwrap_or(0), before: 3 };
        let last = self.furthest((at + 1)..self.row.pairs.len(), shift, &mut sums);
        let first = self.furthest((0..at).rev(), shift, &mut sums);
        let stretch = first.unwrap_or(at)..=last.unwrap_or(at);
        if edge.is_none_or(|edge| stretch.contains(&edge)) {
            doubtful[stretch].fill(true);
        }
    }

    /// The last of the given matches up to which the move loses nothing.
    fn furthest(
        &mut self,
        matches: impl Iterator<Item = usize>,
        shift: isize,
        sums: &mut Sums,
    ) -> Option<usize> {
        let (mut furthest, mut all) = (None, *sums);
        for at in matches {
            let gain = self.gain(at, shift).filter(|_| self.budget > 0);
            let Some(gain) = gain else { break };
            self.budget -= 1;
            all = Sums { gain: all.gain + gain, before: all.before + 3 };
            if all.gain >= 0 || -all.gain * ALTERNATIVE_WORSE <= all.before {
                (furthest, *sums) = (Some(at), all);
            } else if all.gain < -3 * NEIGHBORS as i32 {
                break;
            }
        }
        furthest
    }

    /// Whether the matches next to `at` lose nothing by the same move. Otherwise, a call is identical to some other call
    /// only by chance.
    fn suits_its_neighbors(&self, at: usize, shift: isize) -> bool {
        let around = at.saturating_sub(NEIGHBORS)..(at + NEIGHBORS + 1).min(self.row.pairs.len());
        around.filter_map(|at| self.gain(at, shift)).sum::<i32>() >= 0
    }

    /// What moving a match adds to the likeness of the two calls; `None` if there is nothing at the new position.
    fn gain(&self, at: usize, shift: isize) -> Option<i32> {
        let (i, j) = self.pair(at);
        let moved = j.checked_add_signed(shift)?;
        let others = self.row.lists[self.still.other()].len();
        (moved < others).then(|| self.likeness(i, moved) - self.likeness(i, j))
    }
}
