//! Matches the calls of two outlines: threads first, then the calls on the matched threads, down to the GPU events.
//!
//! The children of each matched pair form two sequences. These sequences are aligned (`sequence`, `score`, `runs`,
//! `slide`), and the calls that are still unmatched go through the passes of [`Pass`]. A gap is a run of unmatched
//! calls between two matches.
//!
//! Identical subtrees are matched in one step. Pairs whose children are still to be aligned wait on a stack, so the
//! recursion depth does not grow with the depth of a trace. A call is *free* while it has no counterpart.
//! `docs/development/alignment.md` explains the whole algorithm.

mod apart;
mod bare_layers;
mod columns;
mod compare;
mod exchanged;
mod extra_layers;
mod gaps;
mod in_order;
mod inner;
mod launches;
mod layers;
mod lcs;
mod left_behind;
mod links;
mod movable;
mod moved_runs;
mod moves;
mod plain;
mod recurring;
mod renames;
mod runs;
mod score;
mod sequence;
mod slide;
mod threads;
mod vocabulary;

use super::Relation;
use super::bags::Bags;
use super::crossing::Crossing;
use super::outline::Outline;
use super::pairing::Pairing;
use super::passes::{Pass, Passes};
use super::windows::Window;
use crate::program::Program;
use crate::side::{PerSide, Side};
use crate::tree::{CallId, CallKind, CallTree};
use links::Links;
use moves::Likeness;
use recurring::Recurring;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

pub(super) use threads::{ThreadPairs, pair_threads};
pub(super) use vocabulary::Vocabulary;

/// Aligns two trees whose threads are already matched.
pub(super) fn align(
    programs: PerSide<&Program>,
    outlines: PerSide<&Outline<'_>>,
    threads: &ThreadPairs,
    (crossing, pins): (Option<&Crossing<'_>>, &[(u32, u32)]),
    without: Passes,
    windows: &[Window],
) -> Pairing {
    let trees = programs.map(|program| &**program.tree());
    let links = Links::new(outlines.map(Outline::len));
    links.add_cut_threads(threads.cut);
    let lone_threads = PerSide::from_fn(|side| {
        let roots = threads.pairs.iter().map(|&(a, b)| PerSide::new(a, b)[side]);
        threads::lone_threads(outlines[side], roots)
    });
    let words = Vocabulary::new(trees, outlines, windows);
    let lone_threads = lone_threads.as_ref();
    let words = &words;
    let both = Both {
        programs,
        trees,
        outlines,
        words,
        links: &links,
        lone_threads,
        crossing,
        compiled: columns::compiled_side(trees, outlines),
        without,
    };
    let mut aligner = Aligner::new(both);
    aligner.run(Pass::Pinned, |aligner| aligner.pair_pins(pins));
    aligner.align_threads(&threads.pairs);
    links.into_pairing()
}

/// The two trees and everything else that the aligners on all threads share.
#[derive(Clone, Copy)]
struct Both<'a> {
    programs: PerSide<&'a Program>,
    trees: PerSide<&'a CallTree>,
    outlines: PerSide<&'a Outline<'a>>,
    words: &'a Vocabulary,
    links: &'a Links,
    lone_threads: PerSide<&'a FxHashSet<threads::LoneThread>>,
    crossing: Option<&'a Crossing<'a>>,
    /// The side that has compiled regions or graph launches, if the other side has none.
    compiled: Option<Side>,
    /// Passes to skip.
    without: Passes,
}

/// The calls below a matched pair that the alignment of siblings left unmatched.
struct LeftOver<'s> {
    /// The lists that were aligned: first the children, then the contents of expanded wrappers.
    lists: &'s [PerSide<Vec<u32>>],
    /// The runs of unmatched calls between two matches.
    gaps: &'s [PerSide<Vec<u32>>],
    /// The calls in all gaps.
    calls: &'s PerSide<Vec<u32>>,
}

/// A pass over the calls that the alignment of siblings left unmatched.
type OverGaps = fn(&mut Aligner<'_>, &LeftOver<'_>);

/// The passes over unmatched calls; the pass with the most certain matches comes first.
const OVER_GAPS: [(Pass, OverGaps); 7] = [
    (Pass::EqualNear, |me, left| me.pair_moved(left.calls, Likeness::EqualNear)),
    (Pass::MovedRuns, |me, left| me.pair_moved_runs(left.gaps)),
    (Pass::Launches, |me, left| left.gaps.iter().for_each(|gap| me.pair_launches(gap))),
    (Pass::Renamed, |me, left| left.gaps.iter().for_each(|gap| me.pair_renamed(gap))),
    (Pass::SimilarNear, |me, left| me.pair_moved(left.calls, Likeness::SimilarNear)),
    (Pass::RenamedNeighbours, |me, left| me.pair_renamed_beside(left.lists, left.calls)),
    (Pass::Far, |me, left| me.pair_moved(left.calls, Likeness::Far)),
];

struct Aligner<'a> {
    both: Both<'a>,
    trees: PerSide<&'a CallTree>,
    outlines: PerSide<&'a Outline<'a>>,
    bags: Bags<'a>,
    pass: Pass,
    /// Stack of matched pairs whose children are still to be aligned; the last pair on the stack is aligned next.
    pending: Vec<(u32, u32)>,
    /// The matches below earlier pairs, which are copied to later pairs with identical calls.
    recurring: Recurring,
    /// The calls below the matched pair whose children are being aligned.
    scope: PerSide<Range<u32>>,
    /// Length of the longer of the two lists that are being aligned.
    siblings: usize,
    /// Preorder positions of the calls in the baseline list that is being aligned.
    row: Vec<u32>,
    /// For each unmatched call in the lists, the number of siblings in its gap. The maps of both
    /// sides are empty if no gap is crowded.
    crowds: PerSide<FxHashMap<u32, usize>>,
}

impl<'a> Aligner<'a> {
    fn new(both: Both<'a>) -> Self {
        Aligner {
            both,
            trees: both.trees,
            outlines: both.outlines,
            bags: Bags::new(both.outlines),
            pass: Pass::Siblings,
            pending: Vec::new(),
            recurring: Recurring::default(),
            scope: PerSide::from_fn(|_| 0..0),
            siblings: 0,
            row: Vec::new(),
            crowds: PerSide::default(),
        }
    }

    /// Runs a pass unless the options skip it.
    fn run<T: Default>(&mut self, pass: Pass, work: impl FnOnce(&mut Self) -> T) -> T {
        if self.both.without.contains(pass) {
            return T::default();
        }
        let outer = std::mem::replace(&mut self.pass, pass);
        let result = work(self);
        self.pass = outer;
        result
    }

    /// Matches the calls that the user pinned to each other, and aligns their contents.
    fn pair_pins(&mut self, pins: &[(u32, u32)]) {
        for &(a, b) in pins {
            // A call inside a pinned call may be pinned as well.
            if self.is_free(Side::Baseline, a) && self.is_free(Side::Candidate, b) {
                self.pair_in_place(a, b);
            }
        }
        self.descend();
    }

    fn is_free(&self, side: Side, call: u32) -> bool {
        self.both.links.is_free(side, call)
    }

    fn link(&mut self, a: u32, b: u32, relation: Relation) {
        self.both.links.link(a, b, (relation, self.pass));
    }

    /// Matches two calls and queues their children for alignment.
    fn pair(&mut self, a: u32, b: u32, relation: Relation) {
        self.link(a, b, relation);
        if self.have_children(a, b) {
            self.pending.push((a, b));
        }
    }

    fn have_children(&self, a: u32, b: u32) -> bool {
        self.outlines.baseline.has_children(a) && self.outlines.candidate.has_children(b)
    }

    /// Matches two calls without marking them as moved. The relation is `Same` if both calls have
    /// the same key, otherwise `Renamed`.
    fn pair_in_place(&mut self, a: u32, b: u32) {
        let (x, y) = (self.outlines.baseline, self.outlines.candidate);
        let same = x.keys[a as usize] == y.keys[b as usize];
        self.pair(a, b, if same { Relation::Same } else { Relation::Renamed });
    }

    /// Aligns the children of a matched pair.
    fn align_below(&mut self, a: u32, b: u32) {
        let is_identical = self.run(Pass::Identical, |me| me.pair_identical(a, b));
        if !is_identical && !self.pair_as_before(a, b) {
            // If a late pass matched a call as moved, calls inside it may already have counterparts.
            let lists = self.free_of(&self.children(a, b));
            self.scope = PerSide::new(
                a + 1..self.outlines.baseline.end(a),
                b + 1..self.outlines.candidate.end(b),
            );
            match self.both.crossing.map(|crossing| crossing.divided(self.outlines, &lists)) {
                None => self.align_around_regions(lists),
                Some(parts) => parts.into_iter().for_each(|lists| self.align_around_regions(lists)),
            }
        }
    }

    /// Aligns two lists of siblings, except for compiled regions and the calls that they replaced.
    fn align_around_regions(&mut self, lists: PerSide<Vec<u32>>) {
        let (trees, outlines) = (self.trees, self.outlines);
        let parts = self
            .both
            .compiled
            .and_then(|side| columns::between_regions(trees, outlines, side, &lists));
        match parts {
            None => self.align_lists(lists),
            Some(parts) => parts.into_iter().for_each(|lists| self.align_lists(lists)),
        }
    }

    /// The calls to align below a matched pair, usually the children of both calls. If both calls are graph launches,
    /// the capture may be known for only one of them. In this case, only the GPU events are aligned, because the other
    /// side has no captured calls around its events.
    fn children(&self, a: u32, b: u32) -> PerSide<Vec<u32>> {
        let calls = PerSide::new(a, b);
        let is_bare = |side: Side| {
            let (tree, call) = (self.trees[side], CallId(calls[side]));
            tree.is_graph_launch(call).then(|| tree.is_bare_replay(call))
        };
        let [one, two] = Side::BOTH.map(is_bare);
        match one.zip(two) {
            Some((one, two)) if one != two => PerSide::from_fn(|side| {
                let (tree, call) = (self.trees[side], CallId(calls[side]));
                let start = |call: CallId| tree.event(call).map(|event| tree.trace().start(event));
                let below = tree.subtree(call).filter(|&call| tree.kind(call) == CallKind::Gpu);
                let mut events: Vec<CallId> = below.collect();
                events.sort_by_key(|&event| (start(event), event));
                events.into_iter().map(|event| event.0).collect()
            }),
            Some(_) | None => PerSide::from_fn(|side| self.outlines[side].children(calls[side])),
        }
    }

    /// If two subtrees are identical, matches them call by call.
    fn pair_identical(&mut self, a: u32, b: u32) -> bool {
        let (x, y) = (self.outlines.baseline, self.outlines.candidate);
        let identical = x.exact[a as usize] == y.exact[b as usize]
            && x.size(a) == y.size(b)
            && x.subtree(a)
                .zip(y.subtree(b))
                .all(|(i, j)| x.keys[i as usize] == y.keys[j as usize] && x.size(i) == y.size(j))
            && x.subtree(a)
                .zip(y.subtree(b))
                .skip(1)
                .all(|(i, j)| self.is_free(Side::Baseline, i) && self.is_free(Side::Candidate, j));
        if identical {
            for (i, j) in x.subtree(a).zip(y.subtree(b)).skip(1) {
                self.link(i, j, Relation::Same);
            }
        }
        identical
    }

    /// Aligns two lists of siblings and, in the gaps, the contents of wrappers.
    fn align_lists(&mut self, mut lists: PerSide<Vec<u32>>) {
        self.run(Pass::ExtraLayers, |me| me.set_aside_extra_layers(&mut lists));
        let mut gaps = Vec::new();
        let (first, mut done) = (self.pending.len(), Vec::new());
        self.siblings = lists.baseline.len().max(lists.candidate.len());
        self.row.clear();
        let baseline = self.outlines.baseline;
        self.row.extend(lists.baseline.iter().map(|&call| baseline.position(call)));
        let mut work = vec![lists];
        while let Some(lists) = work.pop() {
            let found = self.align_siblings(lists.as_ref().map(Vec::as_slice));
            // Swaps are detected before wrappers are expanded, because a call that swapped places with its
            // neighbor is not a wrapper.
            self.note_crowds(&found);
            self.run(Pass::Neighbours, |me| me.pair_moved(&joined(&found), Likeness::Beside));
            for gap in found {
                let gap = self.free_of(&gap);
                match self.opened(&gap) {
                    // Some calls inside the expanded wrappers may already be matched.
                    Some(opened) => work.push(self.free_of(&opened)),
                    None => gaps.push(gap),
                }
            }
            done.push(lists);
        }
        let left_over = joined(&gaps);
        self.note_crowds(&gaps);
        let left = LeftOver { lists: &done, gaps: &gaps, calls: &left_over };
        for (pass, run) in OVER_GAPS {
            self.run(pass, |me| run(me, &left));
        }
        self.run(Pass::EqualInOrder, |me| me.keep_equal_in_order(&done, first));
        self.bags.tidy();
    }

    /// The calls of a gap that no pass has matched yet.
    fn free_of(&self, gap: &PerSide<Vec<u32>>) -> PerSide<Vec<u32>> {
        PerSide::from_fn(|side| {
            gap[side].iter().copied().filter(|&call| self.is_free(side, call)).collect()
        })
    }

    /// Matches the siblings that are in the same order on both sides; returns the runs of unmatched calls between the
    /// matches.
    fn align_siblings(&mut self, lists: PerSide<&[u32]>) -> Vec<PerSide<Vec<u32>>> {
        // The order of GPU events is evidence only if the events come from the same launch.
        let together = !self.stand_below_no_launch(lists);
        let mut siblings = score::Siblings::new(&self.both, &mut self.bags, lists, together);
        let aligned = sequence::align(&mut siblings);
        self.both.links.add_cut_blocks(aligned.cut_blocks);
        if aligned.cut_blocks > 0 {
            self.recurring.forget_open();
        }
        let pairs = aligned.pairs.into_iter().map(|(i, j)| siblings.calls(i, j));
        let mut pairs: Vec<_> = pairs.collect();
        self.run(Pass::InstanceNumbers, |me| me.pair_renumbered(lists, &mut pairs));
        let (firm, unlike): (Vec<_>, Vec<_>) =
            pairs.into_iter().partition(|&(a, b)| self.is_equal(a, b));
        self.run(Pass::Siblings, |me| firm.into_iter().for_each(|(a, b)| me.pair_in_place(a, b)));
        self.run(Pass::Swapped, |me| me.pair_exchanged(lists, &unlike));
        let still_free =
            |me: &Self, a, b| me.is_free(Side::Baseline, a) && me.is_free(Side::Candidate, b);
        self.run(Pass::Siblings, |me| {
            for (a, b) in unlike {
                if still_free(me, a, b) {
                    me.pair_in_place(a, b);
                }
            }
        });
        self.gaps_of(lists)
    }

    fn is_equal(&self, a: u32, b: u32) -> bool {
        self.outlines.baseline.exact[a as usize] == self.outlines.candidate.exact[b as usize]
    }

    /// The gaps between matched calls that did not move.
    fn gaps_of(&self, lists: PerSide<&[u32]>) -> Vec<PerSide<Vec<u32>>> {
        let mut gaps = Vec::new();
        let mut gap: PerSide<Vec<u32>> = PerSide::default();
        let mut rest = lists.candidate.iter().copied();
        for &a in lists.baseline {
            match self.both.links.partner(Side::Baseline, a) {
                None => gap.baseline.push(a),
                Some(_) if self.both.links.is_moved(Side::Baseline, a) => {}
                Some(partner) => {
                    let before = rest.by_ref().take_while(|&b| b != partner);
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

    fn stand_below_no_launch(&self, lists: PerSide<&[u32]>) -> bool {
        let tree = self.trees.baseline;
        let first = lists.baseline.first().map(|&call| CallId(call));
        first.is_some_and(|call| tree.launch(call).is_none())
    }

    /// Matches variants of the same op and returns the gap with all variants expanded.
    fn pair_variants(
        &mut self,
        gap: &PerSide<Vec<u32>>,
        variants: &[(u32, u32)],
    ) -> PerSide<Vec<u32>> {
        for &(a, b) in variants {
            self.link(a, b, Relation::Renamed);
        }
        PerSide::from_fn(|side| {
            let open = |&call: &u32| {
                if self.is_free(side, call) {
                    vec![call]
                } else {
                    self.outlines[side].children(call)
                }
            };
            gap[side].iter().flat_map(open).collect()
        })
    }

    /// Expands calls in a gap, one level deep. If the gap contains variants of the same op, the variants are matched
    /// and expanded; otherwise, wrappers are expanded. `None` if no call is expanded.
    fn opened(&mut self, gap: &PerSide<Vec<u32>>) -> Option<PerSide<Vec<u32>>> {
        if gap.baseline.is_empty() || gap.candidate.is_empty() {
            return None;
        }
        let variants = self.run(Pass::Variants, |me| {
            let variants = me.view(gap).variants();
            (!variants.is_empty()).then(|| me.pair_variants(gap, &variants))
        });
        variants.or_else(|| self.run(Pass::Wrappers, |me| me.view(gap).opened()))
    }

    fn view<'s>(&'s mut self, gap: &'s PerSide<Vec<u32>>) -> gaps::Gap<'a, 's> {
        gaps::Gap {
            outlines: self.outlines,
            bags: &mut self.bags,
            words: self.both.words,
            runs: gap.as_ref().map(Vec::as_slice),
        }
    }

    fn pair_renamed(&mut self, gap: &PerSide<Vec<u32>>) {
        let free = self.free_of(gap);
        for (a, b) in self.view(&free).renamed() {
            self.pair_in_place(a, b);
        }
    }
}

fn joined(gaps: &[PerSide<Vec<u32>>]) -> PerSide<Vec<u32>> {
    PerSide::from_fn(|side| gaps.iter().flat_map(|gap| gap[side].iter().copied()).collect())
}
