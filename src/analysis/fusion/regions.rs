//! A compiled region and what it replaced → what each kernel in it stands for.
//!
//! ```text
//! trace1    mm [a]   add   mul   mm [b]   mean   pow
//! trace2    mm [a]   fused_add_mul    mm [b]   fused_mean_pow
//! ```
//! What the region calls as it stands, such as a product, is aligned by op and shapes. Between two such
//! pairs each op goes to the first kernel that names it, in order; what is left over goes to a kernel of
//! the region that names it, wherever that runs. What nothing names stays open, on both sides.

use super::KernelChange;
use super::explain::{FusionEvidence, Leaf, leaves};
use super::pieces::Pieces;
use crate::diff::{MergedId, Region};
use crate::side::PerSide;
use crate::tree::CallId;

/// Longer products of two lists are not aligned, but gone through in order.
const LONGEST: usize = 4_000_000;

/// A kernel of a region, or what is left over in one, with what it stands for.
pub(super) struct Part {
    pub(super) node: MergedId,
    pub(super) kernels: PerSide<Vec<CallId>>,
    pub(super) change: KernelChange,
}

/// The parts of all regions in which something was fused or is left open.
pub(super) fn parts(pieces: &Pieces<'_>) -> Vec<Part> {
    pieces.analysis.diff().regions().iter().flat_map(|region| of_region(pieces, region)).collect()
}

fn of_region(pieces: &Pieces<'_>, region: &Region) -> Vec<Part> {
    let (analysis, side) = (pieces.analysis, region.side);
    let inside = |side, call: CallId| -> Vec<CallId> {
        analysis.tree(side).subtree(call).filter(|&below| is_piece(pieces, side, below)).collect()
    };
    let fused = leaves(analysis, side, &inside(side, region.call));
    let replaced: Vec<CallId> =
        region.replaced.iter().flat_map(|&call| inside(side.other(), call)).collect();
    let replaced = leaves(analysis, side.other(), &replaced);
    let stands_for = assigned(&fused, &replaced);
    let node = analysis.diff().region_node(region);
    let part = |short: Vec<CallId>, long: Vec<CallId>, change| {
        let mut kernels =
            PerSide::from_fn(|of| if of == side { short.clone() } else { long.clone() });
        kernels.baseline.sort_unstable();
        kernels.candidate.sort_unstable();
        Part { node, kernels, change }
    };
    let mut parts = Vec::new();
    let (mut open, mut unexplained) = (Vec::new(), Vec::new());
    for (at, leaf) in fused.iter().enumerate() {
        let ops: Vec<&Leaf<'_>> = replaced
            .iter()
            .zip(&stands_for)
            .filter(|(_, to)| **to == Some(at))
            .map(|(op, _)| op)
            .collect();
        match ops.len() {
            0 => open.extend(&leaf.kernels),
            1 => {}
            _ => {
                let long = ops.iter().flat_map(|op| op.kernels.iter().copied()).collect();
                let change = KernelChange::FusedIn(side, FusionEvidence::Names);
                parts.push(part(leaf.kernels.clone(), long, change));
            }
        }
    }
    for (op, to) in replaced.iter().zip(&stands_for) {
        if to.is_none() {
            unexplained.extend(&op.kernels);
        }
    }
    if !open.is_empty() || !unexplained.is_empty() {
        parts.push(part(open, unexplained, KernelChange::Count));
    }
    parts
}

fn is_piece(pieces: &Pieces<'_>, side: crate::side::Side, call: CallId) -> bool {
    pieces.analysis.row_index(side, call).is_some() && pieces.has(side, call)
}

/// For each op that was replaced the position of the kernel that stands for it.
fn assigned(fused: &[Leaf<'_>], replaced: &[Leaf<'_>]) -> Vec<Option<usize>> {
    let mut stands_for: Vec<Option<usize>> = vec![None; replaced.len()];
    let anchors = anchors(fused, replaced);
    for &(at, op) in &anchors {
        stands_for[op] = Some(at);
    }
    // Between two anchors, in order.
    let (mut from, mut first) = (0, 0);
    for (until, last) in anchors.iter().copied().chain([(fused.len(), replaced.len())]) {
        let mut at = from;
        for op in first..last {
            let next = (at..until).find(|&at| names(&fused[at], &replaced[op]));
            if let Some(next) = next {
                stands_for[op] = Some(next);
                at = next;
            }
        }
        (from, first) = (until + 1, last + 1);
    }
    for (op, to) in stands_for.iter_mut().enumerate() {
        if to.is_none() {
            *to = fused.iter().position(|leaf| names(leaf, &replaced[op]));
        }
    }
    stands_for
}

/// Whether a compiler named a kernel after this op, among others.
fn names(fused: &Leaf<'_>, op: &Leaf<'_>) -> bool {
    fused.is_generated && fused.all.contain_all(&op.op)
}

/// Ops that the region calls as they stand, with those of their name and shapes: as many as keep their
/// order.
fn anchors(fused: &[Leaf<'_>], replaced: &[Leaf<'_>]) -> Vec<(usize, usize)> {
    let is_like = |at: usize, op: usize| {
        let (one, other) = (&fused[at], &replaced[op]);
        !one.is_generated && one.op == other.op && one.shapes_agree(other)
    };
    if fused.len() * replaced.len() > LONGEST {
        let mut next = 0;
        let mut found = Vec::new();
        for at in 0..fused.len() {
            if let Some(op) = (next..replaced.len()).find(|&op| is_like(at, op)) {
                found.push((at, op));
                next = op + 1;
            }
        }
        return found;
    }
    let width = replaced.len() + 1;
    let mut best = vec![0u32; (fused.len() + 1) * width];
    for at in (0..fused.len()).rev() {
        for op in (0..replaced.len()).rev() {
            let skip = best[(at + 1) * width + op].max(best[at * width + op + 1]);
            let take = best[(at + 1) * width + op + 1] + 1;
            best[at * width + op] = if is_like(at, op) { skip.max(take) } else { skip };
        }
    }
    let (mut at, mut op) = (0, 0);
    let mut found = Vec::new();
    while at < fused.len() && op < replaced.len() {
        let here = best[at * width + op];
        if is_like(at, op) && here == best[(at + 1) * width + op + 1] + 1 {
            found.push((at, op));
            (at, op) = (at + 1, op + 1);
        } else if here == best[(at + 1) * width + op] {
            at += 1;
        } else {
            op += 1;
        }
    }
    found
}
