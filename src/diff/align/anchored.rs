//! Two lists of siblings and the anchors below them → matches of everything above the anchors, and the
//! pieces of the lists between those matches.
//!
//! ```text
//! trace1   mm₁  add₂  relu₃  x  mm₄          numbers: anchors
//! trace2   W(mm₁  V(add₂  relu₃))  mm₄       W and V contain anchors of several calls opposite: opened
//! ```
//! Two calls opposite each other are matched if their keys are equal and most of their anchors are common.
//! Otherwise the call that contains more of them is a wrapper, and is replaced by its children.

use super::Aligner;
use super::flat::Anchors;
use crate::diff::Relation;
use crate::diff::outline::Outline;
use crate::side::{PerSide, Side};
use std::ops::Range;

/// Calls of one chain to look through for a key: wrappers nest about this deep.
const CHAIN: usize = 16;

/// Calls still to be looked at, the next one last.
type Waiting = Vec<u32>;

impl Aligner<'_> {
    /// Matches siblings by their anchors. Returns the pieces of the lists, with the calls that are free.
    pub(super) fn align_anchored(&mut self, lists: PerSide<Vec<u32>>) -> Vec<PerSide<Vec<u32>>> {
        let anchors = self.both.anchors;
        let is_anchored = |side: Side| {
            lists[side]
                .iter()
                .any(|&call| !anchors.below(self.outlines[side], side, call).is_empty())
        };
        if anchors.is_empty() || !Side::BOTH.into_iter().all(is_anchored) {
            return vec![lists];
        }
        let mut waiting: PerSide<Waiting> = lists.map(|list| list.into_iter().rev().collect());
        let mut pieces: Vec<PerSide<Vec<u32>>> = Vec::new();
        let mut piece: PerSide<Vec<u32>> = PerSide::default();
        let mut opened: Vec<(u32, u32)> = Vec::new();
        loop {
            for side in Side::BOTH {
                let outline = self.outlines[side];
                let links = self.both.links;
                let is_passed = |call: &mut u32| {
                    anchors.below(outline, side, *call).is_empty() || !links.is_free(side, *call)
                };
                while let Some(call) = waiting[side].pop_if(|call| is_passed(call)) {
                    if links.is_free(side, call) {
                        piece[side].push(call);
                    }
                }
            }
            let (Some(&a), Some(&b)) = (waiting.baseline.last(), waiting.candidate.last()) else {
                break;
            };
            let calls = PerSide::new(a, b);
            let below =
                PerSide::from_fn(|side| anchors.below(self.outlines[side], side, calls[side]));
            let common = overlap(&below.baseline, &below.candidate);
            if common == 0 {
                // Its anchors are elsewhere.
                let first = match below.baseline.start < below.candidate.start {
                    true => Side::Baseline,
                    false => Side::Candidate,
                };
                waiting[first].pop();
                piece[first].push(calls[first]);
                continue;
            }
            let lengths = below.as_ref().map(|range| range.end - range.start);
            let union = lengths.baseline + lengths.candidate - common;
            if self.can_be_anchored(a, b) && 2 * common >= union {
                waiting.baseline.pop();
                waiting.candidate.pop();
                self.pair_in_place(a, b);
                pieces.push(std::mem::take(&mut piece));
                continue;
            }
            let open = self.wrappers(calls, lengths);
            if open.baseline && open.candidate {
                opened.push((a, b));
            }
            for side in Side::BOTH.into_iter().filter(|&side| open[side]) {
                waiting[side].pop();
                let children = self.outlines[side].children(calls[side]);
                waiting[side].extend(children.into_iter().rev());
            }
        }
        for side in Side::BOTH {
            piece[side].extend(waiting[side].drain(..).rev());
        }
        pieces.push(piece);
        for (a, b) in opened {
            let gap = PerSide::new(vec![a], vec![b]);
            for (a, b) in self.view(&gap).renamed() {
                self.link(a, b, Relation::Renamed);
            }
        }
        pieces.retain(|piece| Side::BOTH.iter().any(|&side| !piece[side].is_empty()));
        pieces
    }

    /// Whether two calls that contain common anchors may be a match.
    fn can_be_anchored(&self, a: u32, b: u32) -> bool {
        let anchors = self.both.anchors;
        let are_both =
            anchors.is_anchor(Side::Baseline, a) && anchors.is_anchor(Side::Candidate, b);
        are_both
            || self.outlines.baseline.keys[a as usize] == self.outlines.candidate.keys[b as usize]
    }

    /// Which of two unlike calls to open.
    fn wrappers(&self, calls: PerSide<u32>, lengths: PerSide<u32>) -> PerSide<bool> {
        let anchors = self.both.anchors;
        let may_open = PerSide::from_fn(|side| !anchors.is_anchor(side, calls[side]));
        if lengths.baseline != lengths.candidate || !may_open.baseline || !may_open.candidate {
            let larger = lengths.baseline > lengths.candidate;
            let first = if larger { Side::Baseline } else { Side::Candidate };
            let side = if may_open[first] { first } else { first.other() };
            return PerSide::seen_from(side, true, false);
        }
        let holds = |side: Side| {
            let (mine, theirs) = (self.outlines[side], self.outlines[side.other()]);
            let key = theirs.keys[calls[side.other()] as usize];
            let next = |&call: &u32| {
                mine.each_child(call).find(|&below| {
                    anchors.below(mine, side, below) == anchors.below(mine, side, calls[side])
                })
            };
            std::iter::successors(next(&calls[side]), next)
                .take(CHAIN)
                .any(|below| mine.keys[below as usize] == key)
        };
        match (holds(Side::Baseline), holds(Side::Candidate)) {
            (true, false) => PerSide::new(true, false),
            (false, true) => PerSide::new(false, true),
            (true, true) | (false, false) => PerSide::new(true, true),
        }
    }

    /// Matches anchors that are still free: their callers have no counterpart.
    pub(super) fn pair_left_anchors(&mut self) {
        let anchors = self.both.anchors;
        for (a, b) in anchors.pairs() {
            let is_free = self.is_free(Side::Baseline, a) && self.is_free(Side::Candidate, b);
            let is_equal =
                self.outlines.baseline.keys[a as usize] == self.outlines.candidate.keys[b as usize];
            if is_free && is_equal {
                self.pair(a, b, Relation::Moved);
            }
        }
        self.descend();
    }
}

/// Whether two calls contain anchors, but none in common.
pub(super) fn contradicts(
    anchors: &Anchors,
    outlines: PerSide<&Outline<'_>>,
    a: u32,
    b: u32,
) -> bool {
    let one = anchors.below(outlines.baseline, Side::Baseline, a);
    let two = anchors.below(outlines.candidate, Side::Candidate, b);
    !one.is_empty() && !two.is_empty() && overlap(&one, &two) == 0
}

fn overlap(one: &Range<u32>, two: &Range<u32>) -> u32 {
    one.end.min(two.end).saturating_sub(one.start.max(two.start))
}
