//! The state of the alignment, and its elementary steps: which calls are free, and how two calls are matched.

use super::links::Links;
use super::lone_threads::LoneThread;
use super::recurring::Recurring;
use super::vocabulary::Vocabulary;
use crate::diff::bags::Bags;
use crate::diff::crossing::Crossing;
use crate::diff::outline::Outline;
use crate::diff::passes::{Pass, Passes};
use crate::diff::relation::Relation;
use crate::program::Program;
use crate::side::{PerSide, Side};
use crate::tree::CallTree;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

/// The two trees and everything else that the aligners on all threads share.
#[derive(Clone, Copy)]
pub(super) struct Both<'a> {
    pub(super) programs: PerSide<&'a Program>,
    pub(super) trees: PerSide<&'a CallTree>,
    pub(super) outlines: PerSide<&'a Outline<'a>>,
    pub(super) words: &'a Vocabulary,
    pub(super) links: &'a Links,
    pub(super) lone_threads: PerSide<&'a FxHashSet<LoneThread>>,
    pub(super) crossing: Option<&'a Crossing<'a>>,
    /// The side that has compiled regions or graph launches, if the other side has none.
    pub(super) compiled: Option<Side>,
    /// Passes to skip.
    pub(super) without: Passes,
}

pub(super) struct Aligner<'a> {
    pub(super) both: Both<'a>,
    pub(super) trees: PerSide<&'a CallTree>,
    pub(super) outlines: PerSide<&'a Outline<'a>>,
    pub(super) bags: Bags<'a>,
    pub(super) pass: Pass,
    /// Stack of matched pairs whose children are still to be aligned; the last pair on the stack is aligned next.
    pub(super) pending: Vec<(u32, u32)>,
    /// The matches below earlier pairs, which are copied to later pairs with identical calls.
    pub(super) recurring: Recurring,
    /// The calls below the matched pair whose children are being aligned.
    pub(super) scope: PerSide<Range<u32>>,
    /// The calls in the baseline list that is being aligned, each with its preorder position.
    pub(super) row: Vec<(u32, u32)>,
    /// Whether the lists that are being aligned are repetitions of a loop, which `anchors` recognized.
    pub(super) is_loop: bool,
    /// For each unmatched call in the lists, the number of siblings in its gap. The maps of both
    /// sides are empty if no gap is crowded.
    pub(super) crowds: PerSide<FxHashMap<u32, usize>>,
}

impl<'a> Aligner<'a> {
    pub(super) fn new(both: Both<'a>) -> Self {
        Aligner {
            both,
            trees: both.trees,
            outlines: both.outlines,
            bags: Bags::new(both.outlines),
            pass: Pass::Siblings,
            pending: Vec::new(),
            recurring: Recurring::default(),
            scope: PerSide::from_fn(|_| 0..0),
            row: Vec::new(),
            is_loop: false,
            crowds: PerSide::default(),
        }
    }

    /// Runs a pass unless the options skip it.
    pub(super) fn run<T: Default>(&mut self, pass: Pass, work: impl FnOnce(&mut Self) -> T) -> T {
        if self.both.without.contains(pass) {
            return T::default();
        }
        let outer = std::mem::replace(&mut self.pass, pass);
        let result = work(self);
        self.pass = outer;
        result
    }

    pub(super) fn is_free(&self, side: Side, call: u32) -> bool {
        self.both.links.is_free(side, call)
    }

    pub(super) fn link(&mut self, a: u32, b: u32, relation: Relation) {
        self.both.links.link(a, b, (relation, self.pass));
    }

    /// Matches two calls and queues their children for alignment.
    pub(super) fn pair(&mut self, a: u32, b: u32, relation: Relation) {
        self.link(a, b, relation);
        if self.have_children(a, b) {
            self.pending.push((a, b));
        }
    }

    pub(super) fn have_children(&self, a: u32, b: u32) -> bool {
        self.outlines.baseline.has_children(a) && self.outlines.candidate.has_children(b)
    }

    /// Matches two calls without marking them as moved. The relation is `Same` if both calls have
    /// the same key, otherwise `Renamed`.
    pub(super) fn pair_in_place(&mut self, a: u32, b: u32) {
        let (x, y) = (self.outlines.baseline, self.outlines.candidate);
        let same = x.keys[a as usize] == y.keys[b as usize];
        self.pair(a, b, if same { Relation::Same } else { Relation::Renamed });
    }

    /// The calls of a gap that no pass has matched yet.
    pub(super) fn free_of(&self, gap: &PerSide<Vec<u32>>) -> PerSide<Vec<u32>> {
        PerSide::from_fn(|side| {
            gap[side].iter().copied().filter(|&call| self.is_free(side, call)).collect()
        })
    }

    pub(super) fn is_equal(&self, a: u32, b: u32) -> bool {
        self.outlines.baseline.exact[a as usize] == self.outlines.candidate.exact[b as usize]
    }

    /// The gaps between matched calls that did not move.
    pub(super) fn gaps_of(&self, lists: PerSide<&[u32]>) -> Vec<PerSide<Vec<u32>>> {
        let mut gaps = Vec::new();
        let mut gap: PerSide<Vec<u32>> = PerSide::default();
        let mut rest = lists.candidate.iter().copied();
        for &a in lists.baseline {
            match self.both.links.counterpart(Side::Baseline, a) {
                None => gap.baseline.push(a),
                Some(_) if self.both.links.is_moved(Side::Baseline, a) => {}
                Some(counterpart) => {
                    let before = rest.by_ref().take_while(|&b| b != counterpart);
                    gap.candidate.extend(before.filter(|&b| self.is_free(Side::Candidate, b)));
                    gaps.push(std::mem::take(&mut gap));
                }
            }
        }
        gap.candidate.extend(rest.filter(|&b| self.is_free(Side::Candidate, b)));
        gaps.push(gap);
        gaps.retain(|gap| !gap.baseline.is_empty() || !gap.candidate.is_empty());
        gaps
    }
}
