//! Matches the calls of two outlines: threads first, then the calls on the matched threads, down to the GPU events.
//!
//! The children of each matched pair form two sequences. These sequences are aligned (`sequence`, `score`, `runs`,
//! `slide`), and the calls that are still unmatched go through the passes of [`Pass`]. A gap is a run of unmatched
//! calls between two matches.
//!
//! Identical subtrees are matched in one step. Pairs whose children are still to be aligned wait on a stack, so the
//! recursion depth does not grow with the depth of a trace. A call is *free* while it has no counterpart.
//! `docs/development/algorithm.md` explains the whole algorithm.

mod aligner;
mod anchors;
mod apart;
mod as_before;
mod bare_layers;
mod columns;
mod compare;
mod exchanged;
mod extra_layers;
mod gaps;
mod inner;
mod launches;
mod layers;
mod lcs;
mod left_behind;
mod links;
mod lone_threads;
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

use super::crossing::Crossing;
use super::outline::Outline;
use super::pairing::Pairing;
use super::passes::{Pass, Passes};
use super::relation::Relation;
use super::windows::Window;
use crate::program::Program;
use crate::side::{PerSide, Side};
use crate::tree::{CallId, CallKind};
use aligner::{Aligner, Both};
use inner::is_one_inside_other;
use links::Links;
use renames::Renames;

pub(super) use plain::shared_in_order;
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
        lone_threads::lone_threads(outlines[side], roots)
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

impl<'a> Aligner<'a> {
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
        if self.run(Pass::Siblings, |me| me.pair_only_siblings(&lists)) {
            return;
        }
        self.run(Pass::ExtraLayers, |me| me.set_aside_extra_layers(&mut lists));
        let mut gaps = Vec::new();
        self.row.clear();
        let baseline = self.outlines.baseline;
        self.row.extend(lists.baseline.iter().map(|&call| (baseline.position(call), call)));
        self.is_loop = false;
        let mut work = vec![lists];
        while let Some(lists) = work.pop() {
            let found = self.align_siblings(lists.as_ref().map(Vec::as_slice));
            // Swaps are detected before wrappers are expanded, because a call that swapped places with its
            // neighbor is not a wrapper.
            self.note_crowds(&found);
            self.run(Pass::Neighbours, |me| me.pair_neighbours(&joined(&found)));
            for gap in found {
                let gap = self.free_of(&gap);
                match self.opened(&gap) {
                    // Some calls inside the expanded wrappers may already be matched.
                    Some(opened) => work.push(self.free_of(&opened)),
                    None => gaps.push(gap),
                }
            }
        }
        let left_over = joined(&gaps);
        self.note_crowds(&gaps);
        self.run(Pass::EqualNear, |me| me.pair_moved(&left_over));
        self.run(Pass::Launches, |me| gaps.iter().for_each(|gap| me.pair_launches(gap)));
        self.run(Pass::Renamed, |me| gaps.iter().for_each(|gap| me.pair_renamed(gap)));
        self.run(Pass::SimilarNear, |me| me.pair_similar(&left_over));
        self.bags.tidy();
    }

    /// Matches two calls without siblings, which is the most common case and needs no search. Returns `false` if they may
    /// not be counterparts, or if there are more calls.
    fn pair_only_siblings(&mut self, lists: &PerSide<Vec<u32>>) -> bool {
        let (&[a], &[b]) = (&lists.baseline[..], &lists.candidate[..]) else { return false };
        let (x, y) = (self.outlines.baseline, self.outlines.candidate);
        let is_pair = if x.keys[a as usize] == y.keys[b as usize] {
            self.is_equal(a, b) || x.is_gpu(a) || !is_one_inside_other(self.outlines, a, b)
        } else {
            let is_launched = self.trees.baseline.launch(CallId(a)).is_some();
            x.is_gpu(a) && y.is_gpu(b) && is_launched
        };
        if is_pair {
            self.pair_in_place(a, b);
        }
        is_pair
    }

    /// Matches the siblings that are in the same order on both sides; returns the runs of unmatched calls between the
    /// matches.
    fn align_siblings(&mut self, lists: PerSide<&[u32]>) -> Vec<PerSide<Vec<u32>>> {
        // The order of GPU events is evidence only if the events come from the same launch.
        let together = self.are_launched(lists);
        let mut siblings = score::Siblings::new(&self.both, &mut self.bags, lists, together);
        let aligned = sequence::align(&mut siblings);
        self.both.links.add_cut_blocks(aligned.cut_blocks);
        self.is_loop |= aligned.has_anchors;
        if aligned.cut_blocks > 0 {
            self.recurring.forget_open();
        }
        let pairs = aligned.pairs.into_iter().map(|(i, j)| siblings.calls(i, j));
        let pairs: Vec<_> = pairs.collect();
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

    fn are_launched(&self, lists: PerSide<&[u32]>) -> bool {
        let tree = self.trees.baseline;
        let first = lists.baseline.first().map(|&call| CallId(call));
        first.is_none_or(|call| tree.launch(call).is_some())
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
        let runs = free.as_ref().map(Vec::as_slice);
        let mut renames = Renames::new(self.outlines, &mut self.bags, self.both.words, runs);
        for (i, j) in sequence::align(&mut renames).pairs {
            self.pair_in_place(runs.baseline[i], runs.candidate[j]);
        }
    }
}

fn joined(gaps: &[PerSide<Vec<u32>>]) -> PerSide<Vec<u32>> {
    PerSide::from_fn(|side| gaps.iter().flat_map(|gap| gap[side].iter().copied()).collect())
}
