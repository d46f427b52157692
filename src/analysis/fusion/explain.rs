//! Decides for a single node whether one side fused work that the other side runs as several ops.
//!
//! The fused side must have fewer kernels and fewer ops. A launch without an op counts as an op. Every op on the other
//! side must be explained by an op on the fused side, and every op on the fused side must explain at least one op on
//! the other side. An op on the other side is explained by one of its properties:
//!
//! - its name: all words of the op's name appear in the name of an op or kernel on the fused side, for
//!   example in a kernel name in which a compiler lists the fused ops (`aten::mul` ←
//!   `triton_poi_fused_add_mul_0`);
//! - its category: the fused op has a category that *replaces* several other categories, and the other side has ops in
//!   all of these categories (`attention` ← `gemm`, `softmax`, `gemm`); see `replaces` in the category rules;
//! - its shapes: one op takes the combined inputs of several ops with the same name (`mm [8, 64] [64, 192]` ← three `mm
//!   [8, 64] [64, 64]`). Each input of the fused op is as large as the corresponding input of every replaced op, or as
//!   large as these inputs together;
//! - its position: one op with one kernel replaces several ops, and the shapes of its inputs are those of the external
//!   inputs of the replaced ops.
//!
//! Copies on the other side need no explanation, because a fusion is expected to remove copies.

use super::change::{FusionEvidence, KernelChange};
use super::leaves::Leaf;
use super::pieces::Pieces;
use crate::side::{PerSide, Side};
use crate::tree::CallId;

/// The side with fewer kernels; the candidate if both sides have the same number of kernels.
pub(super) fn short_side(kernels: &PerSide<Vec<CallId>>) -> Side {
    if kernels.baseline.len() < kernels.candidate.len() { Side::Baseline } else { Side::Candidate }
}

/// Determines whether the difference in the kernel counts at a node is a fusion.
pub(super) fn change(pieces: &Pieces<'_>, kernels: &PerSide<Vec<CallId>>) -> KernelChange {
    if kernels.baseline.len() == kernels.candidate.len() {
        return KernelChange::Count;
    }
    let short = short_side(kernels);
    let of_short = pieces.leaves.of(short, &kernels[short]);
    let of_long = pieces.leaves.of(short.other(), &kernels[short.other()]);
    if of_short.len() >= of_long.len() {
        return KernelChange::Count;
    }
    match evidence(&of_short, &of_long) {
        Some(evidence) => KernelChange::FusedIn(short, evidence),
        None => KernelChange::Count,
    }
}

fn evidence(short: &[Leaf<'_>], long: &[Leaf<'_>]) -> Option<FusionEvidence> {
    let by_name = |short: &Leaf<'_>, long: &Leaf<'_>| short.all.contain_all(&long.op);
    let is_named = |leaf: &Leaf<'_>| short.iter().any(|short| by_name(short, leaf));
    // A copy needs no explanation, unless a name on the fused side mentions it.
    let moves = |leaf: &&Leaf<'_>| leaf.kind == "copy" && !is_named(leaf);
    let to_explain: Vec<&Leaf<'_>> = long.iter().filter(|leaf| !moves(leaf)).collect();
    if to_explain.is_empty() || to_explain.len() <= short.len() {
        return takes_place(short, long).then_some(FusionEvidence::Place);
    }
    let all_named = to_explain.iter().all(|long| short.iter().any(|short| by_name(short, long)))
        && short.iter().all(|short| to_explain.iter().any(|long| by_name(short, long)))
        && to_explain.iter().all(|leaf| runs_no_more_often(leaf, &to_explain, short));
    if put_together(short, long) {
        return Some(FusionEvidence::Shapes);
    }
    if all_named {
        return Some(FusionEvidence::Names);
    }
    if short.iter().all(|short| replaces(short, &to_explain)) {
        return Some(FusionEvidence::Kinds);
    }
    takes_place(short, long).then_some(FusionEvidence::Place)
}

/// Whether one op with one kernel replaces several ops and takes their external inputs. Inputs are compared by shape:
/// each input of the new op must be an input of a replaced op, and the first input tensor of the first replaced op must
/// be an input of the new op. No replaced op may have the same name as the new op.
fn takes_place(short: &[Leaf<'_>], long: &[Leaf<'_>]) -> bool {
    let [short] = short else { return false };
    let (Some(inputs), [first, ..]) = (&short.shapes, long) else { return false };
    let is_taken = |shape: &&Vec<i64>| {
        long.iter().any(|leaf| leaf.shapes.as_ref().is_some_and(|shapes| shapes.contains(*shape)))
    };
    let tensors: Vec<&Vec<i64>> = inputs.iter().filter(|shape| !shape.is_empty()).collect();
    let begins = first.shapes.as_ref().and_then(|shapes| shapes.iter().find(|s| !s.is_empty()));
    short.kernels.len() == 1
        && long.len() > 1
        && !tensors.is_empty()
        && tensors.iter().all(is_taken)
        && begins.is_some_and(|begins| tensors.contains(&begins))
        && long.iter().all(|leaf| !leaf.is_same_op(short))
}

/// Whether `short` calls the op of `leaf` at least as often as `long`, or not at all. A call explains at most one call
/// with the same name on the other side.
fn runs_no_more_often(leaf: &Leaf<'_>, long: &[&Leaf<'_>], short: &[Leaf<'_>]) -> bool {
    let of_short = short.iter().filter(|other| other.is_same_op(leaf)).count();
    let of_long = long.iter().filter(|other| other.is_same_op(leaf)).count();
    of_short == 0 || of_long <= of_short
}

/// Whether `short` is a single op that takes the combined inputs of all ops in `long`, which must have the same name.
/// Each input of the single op must be as large as the corresponding input of every op in `long`, or as large as these
/// inputs together.
pub(super) fn put_together(short: &[Leaf<'_>], long: &[Leaf<'_>]) -> bool {
    let [short] = short else { return false };
    let Some(whole) = &short.inputs else { return false };
    let parts: Option<Vec<&Vec<i64>>> = long
        .iter()
        .map(|leaf| {
            leaf.inputs.as_ref().filter(|part| leaf.is_same_op(short) && part.len() == whole.len())
        })
        .collect();
    let Some(parts) = parts else { return false };
    let shared = |at: usize| parts.iter().all(|part| part[at] == whole[at]);
    let sum = |at: usize| parts.iter().fold(0, |sum: i64, part| sum.saturating_add(part[at]));
    let summed = |at: usize| sum(at) == whole[at];
    (0..whole.len()).all(|at| shared(at) || summed(at)) && !(0..whole.len()).all(shared)
}

/// Whether the category of `short` replaces the categories of `long`. `long` must have work in all categories that
/// `short` replaces, and all other work in `long` must be auxiliary. For example, fused attention may absorb a scale
/// and a dropout along with the matrix products and the softmax.
fn replaces(short: &Leaf<'_>, long: &[&Leaf<'_>]) -> bool {
    let is_part = |leaf: &&Leaf<'_>| short.replaces.contains(&leaf.kind) || !leaf.is_specific;
    let has = |kind: &&str| long.iter().any(|leaf| leaf.kind == *kind);
    !short.replaces.is_empty() && long.iter().all(is_part) && short.replaces.iter().all(has)
}
