//! Kernels that only one side has below a node → the pair of ops next to them that does their work on
//! the other side.
//!
//! ```text
//! trace1                    trace2
//! aten::addmm               aten::addmm          its kernel says gelu: it took the gelu in
//! >> aten::gelu
//!
//! aten::linear (192 → 64)   aten::linear (192 → 192)    three of a third of the width: one by shape,
//! >> aten::linear                                       whichever of them has the partner
//! >> aten::linear
//! ```

use super::explain::{FusionEvidence, Leaf, leaves, put_together};
use super::pieces::Pieces;
use super::{KernelChange, instances::OneSided};
use crate::program::Words;
use crate::side::{PerSide, Side};
use crate::tree::CallId;
use std::collections::{BTreeMap, BTreeSet};

/// The kernels of a pair of ops with those that were taken in, and what that is.
pub(super) struct Absorbed {
    pub(super) kernels: PerSide<Vec<CallId>>,
    pub(super) change: KernelChange,
    /// Positions of the runs of one-sided kernels that were taken in.
    pub(super) runs: Vec<usize>,
}

/// Finds all pairs of ops that took in runs of one-sided kernels beside them; each run belongs to one.
pub(super) fn find(pieces: &Pieces<'_>, runs: &[OneSided]) -> Vec<Absorbed> {
    // The rows beside each run, and the runs beside each row.
    let mut beside: BTreeMap<(usize, Side), Vec<usize>> = BTreeMap::new();
    for (at, run) in runs.iter().enumerate() {
        for row in neighbours(pieces, run.side, &run.kernels).into_iter().flatten() {
            beside.entry((row, run.side)).or_default().push(at);
        }
    }
    let mut used: BTreeSet<usize> = BTreeSet::new();
    let mut found = Vec::new();
    // By shapes first: they tell of all runs around a pair.
    for together in [true, false] {
        for (&(row, side), near) in &beside {
            let near: Vec<usize> = near.iter().copied().filter(|at| !used.contains(at)).collect();
            let absorbed = match together {
                true => by_shapes(pieces, row, side, runs, near),
                false => near.into_iter().find_map(|at| by_names(pieces, row, side, runs, at)),
            };
            if let Some(absorbed) = absorbed {
                used.extend(absorbed.runs.iter().copied());
                found.push(absorbed);
            }
        }
    }
    found
}

/// The runs around a pair, as far as they are ops of its name, put together with it.
fn by_shapes(
    pieces: &Pieces<'_>,
    row: usize,
    side: Side,
    runs: &[OneSided],
    near: Vec<usize>,
) -> Option<Absorbed> {
    let (mut kernels, here, there) = of_row(pieces, row, side)?;
    let [own] = &here[..] else { return None };
    let name = own.op.clone();
    let is_like = |&at: &usize| {
        let leaves = leaves(pieces.analysis, side, &runs[at].kernels);
        leaves.iter().all(|leaf| leaf.op == name)
    };
    let near: Vec<usize> = near.into_iter().filter(is_like).collect();
    let parts = near.iter().flat_map(|&at| leaves(pieces.analysis, side, &runs[at].kernels));
    let all: Vec<Leaf<'_>> = here.iter().cloned().chain(parts).collect();
    if all.len() < 2 || !put_together(&there, &all) {
        return None;
    }
    kernels[side].extend(near.iter().flat_map(|&at| &runs[at].kernels));
    kernels[side].sort_unstable();
    let change = KernelChange::FusedIn(side.other(), FusionEvidence::Shapes);
    Some(Absorbed { kernels, change, runs: near })
}

/// A run whose ops the partner's names say, and the names on this side do not.
fn by_names(
    pieces: &Pieces<'_>,
    row: usize,
    side: Side,
    runs: &[OneSided],
    at: usize,
) -> Option<Absorbed> {
    let (mut kernels, here, there) = of_row(pieces, row, side)?;
    let taken = leaves(pieces.analysis, side, &runs[at].kernels);
    if !taken.iter().all(|leaf| only_there(&leaf.op, &here, &there)) {
        return None;
    }
    kernels[side].extend(&runs[at].kernels);
    kernels[side].sort_unstable();
    let change = KernelChange::FusedIn(side.other(), FusionEvidence::Names);
    Some(Absorbed { kernels, change, runs: vec![at] })
}

/// The kernels of a row, and its leaves on this side and on the other one.
fn of_row<'a>(
    pieces: &Pieces<'a>,
    row: usize,
    side: Side,
) -> Option<(PerSide<Vec<CallId>>, Vec<Leaf<'a>>, Vec<Leaf<'a>>)> {
    let row = &pieces.analysis.rows()[row];
    let kernels = PerSide::from_fn(|side| -> Vec<CallId> {
        row.events[side].iter().copied().filter(|&event| pieces.has(side, event)).collect()
    });
    let both = !kernels.baseline.is_empty() && !kernels.candidate.is_empty();
    both.then(|| {
        let here = leaves(pieces.analysis, side, &kernels[side]);
        let there = leaves(pieces.analysis, side.other(), &kernels[side.other()]);
        (kernels, here, there)
    })
}

/// Whether the names of the partner say this op, and those on this side do not.
fn only_there(op: &Words, here: &[Leaf<'_>], there: &[Leaf<'_>]) -> bool {
    let said = |leaves: &[Leaf<'_>]| leaves.iter().any(|leaf| leaf.all.contain_all(op));
    said(there) && !said(here)
}

/// The rows of both sides that launch right before these kernels and right behind them.
fn neighbours(pieces: &Pieces<'_>, side: Side, kernels: &[CallId]) -> [Option<usize>; 2] {
    let analysis = pieces.analysis;
    let tree = analysis.tree(side);
    let (Some(&first), Some(&last)) = (kernels.first(), kernels.last()) else {
        return [None, None];
    };
    let Some(thread) = tree.ancestors(first).last() else { return [None, None] };
    let is_piece =
        |&call: &CallId| analysis.row_index(side, call).is_some() && pieces.has(side, call);
    let pair = |call: CallId| {
        let row = analysis.row_index(side, call)?;
        let calls = &analysis.rows()[row].calls;
        (calls.baseline.is_some() && calls.candidate.is_some()).then_some(row)
    };
    let before = (thread.0..first.0).rev().map(CallId).find(is_piece);
    let end = thread.0 + tree.size(thread) as u32;
    let behind = (last.0 + 1..end).map(CallId).find(is_piece);
    [before.and_then(pair), behind.and_then(pair)]
}
