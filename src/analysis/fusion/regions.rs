//! Determines which kernel of a compiled region does the work of each op that the region replaced.
//!
//! ```text
//! trace1    mm [a]   add   mul   mm [b]   mean   pow
//! trace2    mm [a]   fused_add_mul    mm [b]   fused_mean_pow
//! ```
//! Replaced ops that the region still calls, such as matrix products, are aligned with these calls by name and shapes.
//! In the gap between two such alignments, ops that the region still calls are aligned by name alone if both sides call
//! them the same number of times. Each remaining op in a gap is assigned to a kernel in the same gap that may contain
//! it, in order. If there are enough kernels, ops with the same name that are still unassigned are assigned to
//! different kernels. Any other unassigned op is assigned to a later kernel if possible, because a compiler defers the
//! ops that it fuses; otherwise, it is assigned to an earlier kernel. A kernel without assigned ops is joined to a
//! nearby kernel if its name mentions an op that is assigned to the nearby kernel. For example, the second kernel of a
//! two-step reduction has no ops of its own. Ops and kernels that cannot be matched by name remain unassigned.

use super::change::{FusionEvidence, KernelChange, Part};
use super::leaves::Leaf;
use super::pieces::Pieces;
use crate::diff::Region;
use crate::side::PerSide;
use crate::tree::CallId;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Maximum product of the lengths of two lists that are aligned by longest common subsequence. Longer lists are matched
/// greedily, in order.
const LONGEST: usize = 4_000_000;

/// The parts of all compiled regions. A part is a kernel, with the kernels joined to it and its assigned ops, or all
/// unassigned kernels and ops of the region. A kernel with exactly one assigned op is omitted, because nothing was
/// fused.
pub(super) fn parts(pieces: &Pieces<'_>) -> Vec<Part> {
    pieces.diff.regions().iter().flat_map(|region| of_region(pieces, region)).collect()
}

fn of_region(pieces: &Pieces<'_>, region: &Region) -> Vec<Part> {
    let (diff, side) = (pieces.diff, region.side);
    let inside = |side, call: CallId| -> Vec<CallId> {
        diff.tree(side).subtree(call).filter(|&below| pieces.is_piece(side, below)).collect()
    };
    let fused = pieces.leaves.of(side, &inside(side, region.call));
    let replaced: Vec<CallId> =
        region.replaced.iter().flat_map(|&call| inside(side.other(), call)).collect();
    let replaced = pieces.leaves.of(side.other(), &replaced);
    let Assigned { stands_for, belongs_to } = assigned(&fused, &replaced);
    let mut together_with: Vec<Vec<&Leaf<'_>>> = vec![Vec::new(); fused.len()];
    for (leaf, &first) in fused.iter().zip(&belongs_to) {
        together_with[first].push(leaf);
    }
    let mut ops_of: Vec<Vec<&Leaf<'_>>> = vec![Vec::new(); fused.len()];
    for (op, to) in replaced.iter().zip(&stands_for) {
        to.iter().for_each(|&at| ops_of[at].push(op));
    }
    let node = diff.region_node(region);
    let part = |short: Vec<CallId>, long: Vec<CallId>, change| {
        let mut kernels =
            PerSide::from_fn(|of| if of == side { short.clone() } else { long.clone() });
        kernels.baseline.sort_unstable();
        kernels.candidate.sort_unstable();
        Part { node, kernels, change }
    };
    let mut parts = Vec::new();
    let (mut open, mut unexplained) = (Vec::new(), Vec::new());
    for first in (0..fused.len()).filter(|&at| belongs_to[at] == at) {
        let (together, ops) = (&together_with[first], &ops_of[first]);
        let all = |leaves: &[&Leaf<'_>]| -> Vec<CallId> {
            leaves.iter().flat_map(|leaf| leaf.kernels.iter().copied()).collect()
        };
        match (together.len(), ops.len()) {
            (_, 0) => open.extend(all(together)),
            (1, 1) => {}
            (kernels, fused) => {
                let change = if kernels < fused {
                    KernelChange::FusedIn(side, FusionEvidence::Names)
                } else {
                    KernelChange::Count
                };
                parts.push(part(all(together), all(ops), change));
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

/// The assignment of replaced ops to the kernels of a region.
struct Assigned {
    /// For each replaced op, the position of the kernel to which it is assigned; `None` if it is unassigned.
    stands_for: Vec<Option<usize>>,
    /// For each kernel, the position of the kernel to which it is joined, or its own position if it is not joined.
    belongs_to: Vec<usize>,
}

/// The kernels and the replaced ops between two consecutive alignments.
struct Gap {
    fused: Range<usize>,
    replaced: Range<usize>,
}

fn assigned(fused: &[Leaf<'_>], replaced: &[Leaf<'_>]) -> Assigned {
    let mut pairs = anchors(fused, replaced);
    let named: Vec<_> = gaps(&pairs, fused, replaced)
        .iter()
        .flat_map(|gap| of_equal_names(gap, fused, replaced))
        .collect();
    pairs.extend(named);
    pairs.sort_unstable();
    let mut stands_for: Vec<Option<usize>> = vec![None; replaced.len()];
    for &(at, op) in &pairs {
        stands_for[op] = Some(at);
    }
    let gaps = gaps(&pairs, fused, replaced);
    for gap in &gaps {
        let mut from = gap.fused.start;
        for op in gap.replaced.clone() {
            let made_of = |&at: &usize| fused[at].is_made_of(&replaced[op]);
            if let Some(at) = (from..gap.fused.end).find(made_of) {
                stands_for[op] = Some(at);
                from = at;
            }
        }
    }
    one_each(fused, replaced, &gaps, &mut stands_for);
    for gap in &gaps {
        for op in gap.replaced.clone().filter(|&op| stands_for[op].is_none()).collect::<Vec<_>>() {
            let made_of = |&at: &usize| fused[at].is_made_of(&replaced[op]);
            let behind = (gap.fused.start..fused.len()).find(made_of);
            stands_for[op] = behind.or_else(|| (0..gap.fused.start).rev().find(made_of));
        }
    }
    let belongs_to = joined(fused, replaced, &gaps, &stands_for);
    Assigned { stands_for, belongs_to }
}

fn gaps(pairs: &[(usize, usize)], fused: &[Leaf<'_>], replaced: &[Leaf<'_>]) -> Vec<Gap> {
    let mut from = (0, 0);
    let ends = pairs.iter().copied().chain([(fused.len(), replaced.len())]);
    ends.map(|(at, op)| {
        let gap = Gap { fused: from.0..at, replaced: from.1..op };
        from = (at + 1, op + 1);
        gap
    })
    .collect()
}

/// Aligns replaced ops in a gap with ops that the region still calls under the same name but with different shapes,
/// such as attention with fewer heads. The ops are aligned in order if the region calls no other op in the gap, and
/// both sides call the op the same number of times.
fn of_equal_names(gap: &Gap, fused: &[Leaf<'_>], replaced: &[Leaf<'_>]) -> Vec<(usize, usize)> {
    let kept: Vec<usize> = gap.fused.clone().filter(|&at| !fused[at].is_generated).collect();
    let Some(&first) = kept.first() else { return Vec::new() };
    let is_like = |leaf: &Leaf<'_>| leaf.is_same_op(&fused[first]);
    let ops: Vec<usize> = gap.replaced.clone().filter(|&op| is_like(&replaced[op])).collect();
    if kept.iter().all(|&at| is_like(&fused[at])) && kept.len() == ops.len() {
        kept.into_iter().zip(ops).collect()
    } else {
        Vec::new()
    }
}

/// Assigns the unassigned ops with the same name and shapes to different kernels, in order. Only kernels to which no
/// such op is assigned yet are used. If there are too few of them, the ops remain unassigned.
fn one_each(
    fused: &[Leaf<'_>],
    replaced: &[Leaf<'_>],
    gaps: &[Gap],
    stands_for: &mut [Option<usize>],
) {
    let left_over: Vec<(usize, usize)> = gaps
        .iter()
        .flat_map(|gap| gap.replaced.clone().map(|op| (op, gap.fused.start)))
        .filter(|&(op, _)| stands_for[op].is_none())
        .collect();
    let mut starts: Vec<Option<usize>> = vec![None; replaced.len()];
    left_over.iter().for_each(|&(op, start)| starts[op] = Some(start));
    let mut of_name: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
    for (op, leaf) in replaced.iter().enumerate() {
        of_name.entry(leaf.op_number).or_default().push(op);
    }
    let mut done = vec![false; replaced.len()];
    for &(first, _) in &left_over {
        if done[first] {
            continue;
        }
        let is_like = |op: &usize| replaced[*op].shapes_agree(&replaced[first]);
        let of_name = of_name[&replaced[first].op_number].iter().copied();
        let like: Vec<usize> = of_name.filter(is_like).collect();
        let ops: Vec<(usize, usize)> =
            like.iter().filter_map(|&op| Some((op, starts[op]?))).collect();
        ops.iter().for_each(|&(op, _)| done[op] = true);
        let has_one: Vec<usize> = like.iter().filter_map(|&op| stands_for[op]).collect();
        let kernels: Vec<usize> = (0..fused.len())
            .filter(|at| fused[*at].is_made_of(&replaced[first]) && !has_one.contains(at))
            .collect();
        if kernels.len() < ops.len() {
            continue;
        }
        let mut free = kernels.into_iter().peekable();
        for (op, start) in ops {
            while free.next_if(|&at| at < start).is_some() {}
            stands_for[op] = free.next();
        }
    }
}

/// Joins each kernel without assigned ops to a kernel in the same gap, if its name mentions an op that is assigned to
/// that kernel.
fn joined(
    fused: &[Leaf<'_>],
    replaced: &[Leaf<'_>],
    gaps: &[Gap],
    stands_for: &[Option<usize>],
) -> Vec<usize> {
    let mut ops_of: Vec<Vec<usize>> = vec![Vec::new(); fused.len()];
    for (op, to) in stands_for.iter().enumerate() {
        if let Some(at) = to {
            ops_of[*at].push(op);
        }
    }
    let mut belongs_to: Vec<usize> = (0..fused.len()).collect();
    for gap in gaps {
        for at in gap.fused.clone().filter(|&at| ops_of[at].is_empty()) {
            let shares = |&other: &usize| {
                fused[other].is_generated
                    && ops_of[other].iter().any(|&op| fused[at].is_named_after(&replaced[op]))
            };
            let before = (gap.fused.start..at).rev().find(shares);
            if let Some(other) = before.or_else(|| (at + 1..gap.fused.end).find(shares)) {
                belongs_to[at] = other;
            }
        }
    }
    belongs_to
}

/// Aligns the ops that the region still calls with the replaced ops by longest common subsequence. Two ops can be
/// aligned if they have the same name and shapes.
fn anchors(fused: &[Leaf<'_>], replaced: &[Leaf<'_>]) -> Vec<(usize, usize)> {
    let is_like = |at: usize, op: usize| {
        let (one, other) = (&fused[at], &replaced[op]);
        !one.is_generated && one.is_same_op(other) && one.shapes_agree(other)
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
