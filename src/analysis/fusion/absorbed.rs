//! Finds matched ops that absorbed kernels directly before or after them. On one side, such an op also does the work
//! that separate kernels do on the other side.
//!
//! ```text
//! trace1                    trace2
//! aten::addmm               aten::addmm          its kernel name contains gelu: it absorbed the gelu
//! >> aten::gelu
//!
//! aten::linear (192 → 64)   aten::linear (192 → 192)    three linears, each a third as wide: one is
//! >> aten::linear                                       matched, the others are absorbed by shape
//! >> aten::linear
//! ```

use super::change::{FusionEvidence, KernelChange, Part};
use super::explain::{self, put_together};
use super::leaves::Leaf;
use super::pieces::Pieces;
use crate::diff::MergedId;
use crate::program::Words;
use crate::side::{PerSide, Side};
use crate::tree::CallId;
use std::collections::{BTreeMap, BTreeSet};

/// The kernels that only one side runs in an interval between two common children of a node.
#[derive(Debug)]
pub(super) struct OneSided {
    pub(super) node: MergedId,
    pub(super) side: Side,
    pub(super) kernels: Vec<CallId>,
}

/// A matched op absorbs fewer than this many ops with the same name.
const MOST: usize = 8;

/// The groups of unmatched kernels directly before and directly after a matched op on one side. A group is given by its
/// position in `runs`.
#[derive(Debug, Default, Clone, Copy)]
struct Beside {
    before: Option<usize>,
    behind: Option<usize>,
}

/// Finds all matched ops that absorbed unmatched kernels directly before or after them, with the kernels of the op on
/// both sides, including the absorbed kernels. Each kernel is absorbed by at most one op.
pub(super) fn find(pieces: &Pieces<'_>, runs: &[OneSided]) -> Vec<Part> {
    let mut beside: BTreeMap<(usize, Side), Beside> = BTreeMap::new();
    for (at, run) in runs.iter().enumerate() {
        let [before, behind] = neighbours(pieces, run.side, &run.kernels);
        if let Some(row) = before {
            beside.entry((row, run.side)).or_default().behind = Some(at);
        }
        if let Some(row) = behind {
            beside.entry((row, run.side)).or_default().before = Some(at);
        }
    }
    let mut used: BTreeSet<(Side, CallId)> = BTreeSet::new();
    let mut found = Vec::new();
    // Shapes are tried before names, because shapes explain all ops next to a matched op at once, while a name explains
    // only the ops that it mentions.
    for together in [true, false] {
        for (&(row, side), near) in &beside {
            let free = |at: Option<usize>| -> Vec<Leaf<'_>> {
                let kernels = at.map_or(&[][..], |at| &runs[at].kernels);
                let is_free = |leaf: &Leaf<'_>| !used.contains(&(side, leaf.kernels[0]));
                pieces.leaves.of(side, kernels).into_iter().filter(is_free).collect()
            };
            let (before, behind) = (free(near.before), free(near.behind));
            let taken = if together {
                by_shapes(pieces, (row, side), &before, &behind)
            } else {
                by_names(pieces, (row, side), &before)
                    .or_else(|| by_names(pieces, (row, side), &behind))
            };
            let Some((kernels, change, taken)) = taken else { continue };
            used.extend(taken.iter().map(|&kernel| (side, kernel)));
            let run = [near.before, near.behind].into_iter().flatten();
            let mut holding = run.filter(|&at| runs[at].kernels.contains(&taken[0]));
            if let Some(run) = holding.next() {
                found.push(Part { node: runs[run].node, kernels, change });
            }
        }
    }
    found.extend(facing(pieces, runs, &used));
    found
}

/// Finds fusions among unmatched kernels. Unmatched kernels of the two sides are compared if they run between the same
/// two matched ops, even at different depths of the tree.
fn facing(pieces: &Pieces<'_>, runs: &[OneSided], used: &BTreeSet<(Side, CallId)>) -> Vec<Part> {
    let mut gaps: BTreeMap<(usize, usize), PerSide<Vec<usize>>> = BTreeMap::new();
    for (at, run) in runs.iter().enumerate() {
        let is_free = run.kernels.iter().all(|&kernel| !used.contains(&(run.side, kernel)));
        if let ([Some(before), Some(behind)], true) =
            (neighbours(pieces, run.side, &run.kernels), is_free)
        {
            gaps.entry((before, behind)).or_default()[run.side].push(at);
        }
    }
    let merged = pieces.diff.merged();
    let judged = gaps.into_values().filter_map(|gap| {
        let kernels = PerSide::from_fn(|side| -> Vec<CallId> {
            let mut all: Vec<CallId> =
                gap[side].iter().flat_map(|&at| runs[at].kernels.iter().copied()).collect();
            all.sort_unstable();
            all
        });
        let nodes = Side::BOTH.iter().flat_map(|&side| &gap[side]).map(|&at| runs[at].node);
        let node = nodes.min_by_key(|&node| (merged.depth(node), node))?;
        if kernels.baseline.is_empty() || kernels.candidate.is_empty() {
            return None;
        }
        let change = explain::change(pieces, &kernels);
        matches!(change, KernelChange::FusedIn(..)).then_some(Part { node, kernels, change })
    });
    judged.collect()
}

/// The kernels of a matched op on both sides including the absorbed kernels, the change of the kernel count, and the
/// absorbed kernels.
type Taken = (PerSide<Vec<CallId>>, KernelChange, Vec<CallId>);

/// Finds ops that a matched op absorbed, based on shapes. On `side`, the absorbed ops have the same name as the matched
/// op and run directly before or after it. On the other side, the matched op takes the combined inputs of all these
/// ops.
fn by_shapes(
    pieces: &Pieces<'_>,
    (row, side): (usize, Side),
    before: &[Leaf<'_>],
    behind: &[Leaf<'_>],
) -> Option<Taken> {
    let (kernels, here, there) = of_row(pieces, row, side)?;
    let [own] = &here[..] else { return None };
    let is_like = |leaf: &&Leaf<'_>| leaf.is_same_op(own);
    let before: Vec<&Leaf<'_>> = before.iter().rev().take_while(is_like).take(MOST).collect();
    let behind: Vec<&Leaf<'_>> = behind.iter().take_while(is_like).take(MOST).collect();
    // Prefer calls before the matched op, because the calls after it may belong to the next matched op with the same
    // name.
    let splits =
        (1..MOST).flat_map(|parts| (0..=parts).rev().map(move |first| (first, parts - first)));
    let mut fitting = splits.filter(|&(first, last)| first <= before.len() && last <= behind.len());
    let of_split = |(first, last): (usize, usize)| before[..first].iter().chain(&behind[..last]);
    let (first, last) = fitting.find(|&split| {
        let parts = of_split(split).map(|&leaf| leaf.clone());
        let all: Vec<Leaf<'_>> = here.iter().cloned().chain(parts).collect();
        put_together(&there, &all)
    })?;
    let taken = of_split((first, last)).flat_map(|leaf| leaf.kernels.iter().copied()).collect();
    Some(with(kernels, side, taken, FusionEvidence::Shapes))
}

/// Absorbs the ops in `run` if the names in the row mention them only on the other side: the names on the other side
/// mention all of these ops, and the names on `side` mention none of them.
fn by_names(pieces: &Pieces<'_>, (row, side): (usize, Side), run: &[Leaf<'_>]) -> Option<Taken> {
    let (kernels, here, there) = of_row(pieces, row, side)?;
    let all_said = run.iter().all(|leaf| only_there(&leaf.op, &here, &there));
    let taken: Vec<CallId> = run.iter().flat_map(|leaf| leaf.kernels.iter().copied()).collect();
    (all_said && !taken.is_empty()).then(|| with(kernels, side, taken, FusionEvidence::Names))
}

fn with(
    mut kernels: PerSide<Vec<CallId>>,
    side: Side,
    taken: Vec<CallId>,
    evidence: FusionEvidence,
) -> Taken {
    kernels[side].extend(&taken);
    kernels[side].sort_unstable();
    (kernels, KernelChange::FusedIn(side.other(), evidence), taken)
}

/// The kernels of an attribution row on both sides, and its leaves on `side` and on the other side.
type OfRow<'a> = (PerSide<Vec<CallId>>, Vec<Leaf<'a>>, Vec<Leaf<'a>>);

/// The kernels and leaves of an attribution row; `None` unless both sides have kernels in the row.
fn of_row<'a>(pieces: &Pieces<'a>, row: usize, side: Side) -> Option<OfRow<'a>> {
    let row = &pieces.ledger.rows()[row];
    let kernels = PerSide::from_fn(|side| -> Vec<CallId> {
        row.events[side].iter().copied().filter(|&event| pieces.has(side, event)).collect()
    });
    let both = !kernels.baseline.is_empty() && !kernels.candidate.is_empty();
    both.then(|| {
        let here = pieces.leaves.of(side, &kernels[side]);
        let there = pieces.leaves.of(side.other(), &kernels[side.other()]);
        (kernels, here, there)
    })
}

/// Whether a name of a leaf in `there` mentions the op, and no name of a leaf in `here` does.
fn only_there(op: &Words, here: &[Leaf<'_>], there: &[Leaf<'_>]) -> bool {
    let said = |leaves: &[Leaf<'_>]| leaves.iter().any(|leaf| leaf.all.contain_all(op));
    said(there) && !said(here)
}

/// The attribution rows of the kernels that are launched directly before and directly after `kernels`. A row is `None`
/// if only one side has its call.
fn neighbours(pieces: &Pieces<'_>, side: Side, kernels: &[CallId]) -> [Option<usize>; 2] {
    let tree = pieces.diff.tree(side);
    let (Some(&first), Some(&last)) = (kernels.first(), kernels.last()) else {
        return [None, None];
    };
    let Some(thread) = tree.ancestors(first).last() else { return [None, None] };
    let is_piece = |&call: &CallId| pieces.is_piece(side, call);
    let pair = |call: CallId| {
        let row = pieces.ledger.row_index(pieces.diff, side, call)?;
        let calls = &pieces.ledger.rows()[row].calls;
        (calls.baseline.is_some() && calls.candidate.is_some()).then_some(row)
    };
    let before = (thread.0..first.0).rev().map(CallId).find(is_piece);
    let end = thread.0 + tree.size(thread) as u32;
    let behind = (last.0 + 1..end).map(CallId).find(is_piece);
    [before.and_then(pair), behind.and_then(pair)]
}
