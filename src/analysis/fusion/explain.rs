//! The kernels of both sides at a node → whether one side fused what the other runs as several ops.
//!
//! The side with fewer kernels is the *short* one. It fused the *long* one if fewer ops (or launches
//! without an op) run there, every op of the long side is explained, and every one of the short
//! side explains something. An op is explained by
//!
//! - its name: all its words stand in the name of the other side's op or kernel, as in the list of
//!   ops that compilers name a kernel after (`aten::mul` ← `triton_poi_fused_add_mul_0`), or
//! - its kind of work: the short side's kind *replaces* those of the long side, all of them being
//!   there (`attention` ← `gemm`, `softmax`, `gemm`); `replaces` in the category rules, or
//! - its shapes: one op of the same name takes inputs that are shared or add up
//!   (`mm [8, 64] [64, 192]` ← three `mm [8, 64] [64, 64]`).
//!
//! Ops of copies need no explanation: not to copy is what fusing is for.

use super::KernelChange;
use crate::analysis::Analysis;
use crate::analysis::categories::kernel_name;
use crate::program::Words;
use crate::side::{PerSide, Side};
use crate::trace::Category;
use crate::tree::{CallId, CallKind};
use std::collections::BTreeMap;

/// Why a change is called a fusion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FusionEvidence {
    /// Names of ops or kernels list the ops that they replace.
    Names,
    /// A kind of work that is made of the others.
    Kinds,
    /// One op whose inputs are those of several ops of its name put together.
    Shapes,
}

impl FusionEvidence {
    /// As tables write it: `names`, `kinds`, `shapes`.
    pub fn label(self) -> &'static str {
        match self {
            FusionEvidence::Names => "names",
            FusionEvidence::Kinds => "kinds",
            FusionEvidence::Shapes => "shapes",
        }
    }
}

/// What launches: an op, or a GPU event without one.
#[derive(Clone)]
struct Leaf<'a> {
    /// Words of the op without its namespace; of the kernel where there is no op.
    op: Words,
    /// Words of the op and of its kernels.
    all: Words,
    /// Number of elements of each input; `None` where not recorded.
    inputs: Option<Vec<i64>>,
    kind: &'a str,
    /// Whether it is work of its own that serves no other op.
    is_specific: bool,
    replaces: Vec<&'a str>,
}

/// What the change of the kernel count at a node is.
pub(super) fn change(analysis: &Analysis, kernels: &PerSide<Vec<CallId>>) -> KernelChange {
    let counts = kernels.as_ref().map(Vec::len);
    let short = match counts.baseline < counts.candidate {
        true => Side::Baseline,
        false => Side::Candidate,
    };
    if counts.baseline == counts.candidate {
        return KernelChange::Count;
    }
    let of_short = leaves(analysis, short, &kernels[short]);
    let of_long = leaves(analysis, short.other(), &kernels[short.other()]);
    if of_short.len() >= of_long.len() {
        return KernelChange::Count;
    }
    match evidence(&of_short, &of_long) {
        Some(evidence) => KernelChange::FusedIn(short, evidence),
        None => KernelChange::Count,
    }
}

/// One leaf for each op call, or for each event without an op.
fn leaves<'a>(analysis: &'a Analysis, side: Side, kernels: &[CallId]) -> Vec<Leaf<'a>> {
    let mut groups: BTreeMap<CallId, Vec<CallId>> = BTreeMap::new();
    for &kernel in kernels {
        groups.entry(analysis.op_of(side, kernel).unwrap_or(kernel)).or_default().push(kernel);
    }
    groups.into_iter().map(|(call, kernels)| leaf(analysis, side, call, &kernels)).collect()
}

fn leaf<'a>(analysis: &'a Analysis, side: Side, call: CallId, kernels: &[CallId]) -> Leaf<'a> {
    let tree = analysis.tree(side);
    let stems: Vec<String> =
        kernels.iter().map(|&kernel| kernel_name::stem(tree.name(kernel))).collect();
    let op = match tree.kind(call) {
        CallKind::Op => tree.name(call).rsplit("::").next().unwrap_or_default(),
        CallKind::Gpu
        | CallKind::Thread
        | CallKind::Unlinked
        | CallKind::Frame
        | CallKind::Runtime => &stems[0],
    };
    let category = analysis.category(side, kernels[0]).id;
    Leaf {
        op: Words::of(op),
        all: Words::of(&format!("{op} {}", stems.join(" "))),
        inputs: inputs(analysis, side, call),
        kind: analysis.options().categories.name(category),
        is_specific: analysis.options().categories.is_specific(category),
        replaces: analysis.options().categories.replaced_by(category),
    }
}

/// Number of elements of each input of an op.
fn inputs(analysis: &Analysis, side: Side, call: CallId) -> Option<Vec<i64>> {
    let tree = analysis.tree(side);
    let dims = tree.trace().text(tree.arguments(call)?.dims);
    let dims: Vec<Vec<i64>> = serde_json::from_str(dims).ok()?;
    let elements = |dims: &Vec<i64>| match dims[..] {
        [] => 0,
        [..] => dims.iter().fold(1, |product: i64, &dim| product.saturating_mul(dim)),
    };
    Some(dims.iter().map(elements).collect())
}

fn evidence(short: &[Leaf<'_>], long: &[Leaf<'_>]) -> Option<FusionEvidence> {
    let moves = |leaf: &&Leaf<'_>| leaf.kind == "copy";
    let to_explain: Vec<&Leaf<'_>> = long.iter().filter(|leaf| !moves(leaf)).collect();
    if to_explain.is_empty() || to_explain.len() <= short.len() {
        return None;
    }
    let by_name = |short: &Leaf<'_>, long: &Leaf<'_>| short.all.contain_all(&long.op);
    let all_named = to_explain.iter().all(|long| short.iter().any(|short| by_name(short, long)))
        && short.iter().all(|short| to_explain.iter().any(|long| by_name(short, long)))
        && to_explain.iter().all(|leaf| runs_no_more_often(leaf, &to_explain, short));
    if put_together(short, long) {
        return Some(FusionEvidence::Shapes);
    }
    if all_named {
        return Some(FusionEvidence::Names);
    }
    short.iter().all(|short| replaces(short, &to_explain)).then_some(FusionEvidence::Kinds)
}

/// Whether the long side has no more calls of an op than the short one, where that has it too: an op
/// that keeps its name explains one call, not three.
fn runs_no_more_often(leaf: &Leaf<'_>, long: &[&Leaf<'_>], short: &[Leaf<'_>]) -> bool {
    let of_short = short.iter().filter(|other| other.op == leaf.op).count();
    let of_long = long.iter().filter(|other| other.op == leaf.op).count();
    of_short == 0 || of_long <= of_short
}

/// Whether the long side runs one op several times on inputs that the short side takes at once: each
/// input is the same for all, or that of the short side is the sum of the others.
fn put_together(short: &[Leaf<'_>], long: &[Leaf<'_>]) -> bool {
    let [short] = short else { return false };
    let Some(whole) = &short.inputs else { return false };
    let parts: Option<Vec<&Vec<i64>>> = long
        .iter()
        .map(|leaf| {
            leaf.inputs.as_ref().filter(|part| leaf.op == short.op && part.len() == whole.len())
        })
        .collect();
    let Some(parts) = parts else { return false };
    let shared = |at: usize| parts.iter().all(|part| part[at] == whole[at]);
    let sum = |at: usize| parts.iter().fold(0, |sum: i64, part| sum.saturating_add(part[at]));
    let summed = |at: usize| sum(at) == whole[at];
    (0..whole.len()).all(|at| shared(at) || summed(at)) && !(0..whole.len()).all(shared)
}

/// Whether the long side has all kinds of work that `short` replaces, and else only such as serves
/// other work: attention may take in a scale and a dropout with its products and its softmax.
fn replaces(short: &Leaf<'_>, long: &[&Leaf<'_>]) -> bool {
    let is_part = |leaf: &&Leaf<'_>| short.replaces.contains(&leaf.kind) || !leaf.is_specific;
    let has = |kind: &&str| long.iter().any(|leaf| leaf.kind == *kind);
    !short.replaces.is_empty() && long.iter().all(is_part) && short.replaces.iter().all(has)
}

/// Kernels that only one side has below a node → the pair of ops next to them that does their work
/// on the other side, with the kernels of both: `addmm, gelu` ← one `addmm` whose kernel says gelu.
pub(super) fn absorbed(
    analysis: &Analysis,
    side: Side,
    kernels: &[CallId],
) -> Option<(PerSide<Vec<CallId>>, KernelChange)> {
    let neighbour = neighbour(analysis, side, kernels)?;
    let row = analysis.row_of(side, neighbour)?;
    let mut of_row = PerSide::from_fn(|side| -> Vec<CallId> {
        let events = row.events[side].iter().copied();
        events.filter(|&event| is_kernel(analysis, side, event)).collect()
    });
    if of_row.as_ref().map(Vec::is_empty) != PerSide::new(false, false) {
        return None;
    }
    let (here, there) = (
        leaves(analysis, side, &of_row[side]),
        leaves(analysis, side.other(), &of_row[side.other()]),
    );
    let absorbed = leaves(analysis, side, kernels);
    let evidence = match absorbed.iter().all(|leaf| only_there(&leaf.op, &here, &there)) {
        true => FusionEvidence::Names,
        false if put_together(&there, &[here, absorbed].concat()) => FusionEvidence::Shapes,
        false => return None,
    };
    of_row[side].extend(kernels);
    of_row[side].sort_unstable();
    Some((of_row, KernelChange::FusedIn(side.other(), evidence)))
}

/// Whether the names of the partner say this op, and those on this side do not.
fn only_there(op: &Words, here: &[Leaf<'_>], there: &[Leaf<'_>]) -> bool {
    let said = |leaves: &[Leaf<'_>]| leaves.iter().any(|leaf| leaf.all.contain_all(op));
    said(there) && !said(here)
}

/// The kernel launched right before these, or right after them, on the same thread.
fn neighbour(analysis: &Analysis, side: Side, kernels: &[CallId]) -> Option<CallId> {
    let tree = analysis.tree(side);
    let (first, last) = (*kernels.first()?, *kernels.last()?);
    let thread = tree.ancestors(first).last()?;
    let is_kernel =
        |&call: &CallId| tree.kind(call) == CallKind::Gpu && is_kernel(analysis, side, call);
    let is_pair = |&call: &CallId| {
        let row = analysis.row_of(side, call);
        row.is_some_and(|row| row.calls.baseline.is_some() && row.calls.candidate.is_some())
    };
    let before = (thread.0..first.0).rev().map(CallId).find(is_kernel);
    let end = thread.0 + tree.size(thread) as u32;
    let after = || (last.0 + 1..end).map(CallId).find(is_kernel);
    before.filter(is_pair).or_else(|| after().filter(is_pair))
}

/// Whether an event is a kernel and neither copies nor sets memory.
pub(super) fn is_kernel(analysis: &Analysis, side: Side, event: CallId) -> bool {
    let tree = analysis.tree(side);
    let kind = tree.event(event).map(|event| tree.trace().category(event));
    kind == Some(Category::Kernel)
        && !matches!(analysis.category_name(side, event), "memcpy" | "memset")
}
