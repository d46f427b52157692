//! Groups the kernels of both sides into [`Instance`]s, usually by the lowest common node above the kernels.

use super::absorbed::{self, OneSided};
use super::change::{ENOUGH, KernelChange};
use super::pieces::Pieces;
use super::{explain, regions};
use crate::analysis::account::RowKind;
use crate::diff::{MergedId, MergedNode, TraceDiff};
use crate::order::Order as _;
use crate::side::{PerSide, Side};
use crate::tree::{CallId, CallKind, ModuleName};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The kernels of both sides that are compared with each other: the kernels below a common node, in one interval
/// between two common children of the node.
#[derive(Debug)]
pub(super) struct Instance<'a> {
    pub(super) node: MergedId,
    pub(super) path: String,
    /// Names of the ops that launch the kernels on each side, in launch order.
    pub(super) ops: PerSide<Vec<&'a str>>,
    pub(super) kernels: PerSide<Vec<CallId>>,
    pub(super) change: KernelChange,
    /// Minimum number of instances that must agree on `change`. If fewer agree, only the difference in the kernel
    /// counts is reported.
    pub(super) enough: usize,
    /// If the node is a thread, the kernel names on the side with fewer kernels, without details that vary between
    /// runs. They distinguish unrelated work with the same op names. Empty for all other nodes.
    pub(super) differ_by: Vec<&'a str>,
}

impl Instance<'_> {
    pub(super) fn counts(&self) -> PerSide<usize> {
        self.kernels.as_ref().map(Vec::len)
    }
}

/// All instances, in the order of the merged tree.
pub(super) fn find<'a>(pieces: &Pieces<'a>) -> Vec<Instance<'a>> {
    let mut paths = Paths { diff: pieces.diff, known: FxHashMap::default() };
    let (mut instances, mut one_sided) = (Vec::new(), Vec::new());
    let mut add = |node: MergedId, kernels: PerSide<Vec<CallId>>, change, enough| {
        let ops = PerSide::from_fn(|side| op_names(pieces.diff, side, &kernels[side]));
        let path = paths.of(node);
        // If the kernels are directly below a thread, a difference in the kernel counts is ignored, because consecutive
        // work there may be unrelated.
        let is_bare = is_thread(pieces.diff, node);
        if change != KernelChange::Count || !is_bare {
            let differ_by = if is_bare { short_names(pieces.diff, &kernels) } else { Vec::new() };
            instances.push(Instance { node, path, ops, kernels, change, enough, differ_by });
        }
    };
    for ((node, _), kernels) in kernels_of_nodes(pieces) {
        let only = |side: Side| !kernels[side].is_empty() && kernels[side.other()].is_empty();
        match Side::BOTH.into_iter().find(|&side| only(side)) {
            Some(side) => {
                one_sided.push(OneSided { node, side, kernels: kernels[side].clone() });
            }
            None => {
                let change = explain::change(pieces, &kernels);
                add(node, kernels, change, ENOUGH);
            }
        }
    }
    let absorbed = absorbed::find(pieces, &one_sided).into_iter().map(|part| (part, ENOUGH));
    let in_regions = regions::parts(pieces).into_iter().map(|part| (part, 1));
    for (part, enough) in absorbed.chain(in_regions) {
        add(part.node, part.kernels, part.change, enough);
    }
    instances.order_by_key(|instance| instance.node);
    instances
}

/// Kernel names on the side with fewer kernels, without details that vary between runs, in launch order.
fn short_names<'a>(diff: &'a TraceDiff, kernels: &PerSide<Vec<CallId>>) -> Vec<&'a str> {
    let short = explain::short_side(kernels);
    let name = |&kernel: &CallId| diff.plain_name(short, kernel);
    kernels[short].iter().map(name).collect()
}

fn op_names<'a>(diff: &'a TraceDiff, side: Side, kernels: &[CallId]) -> Vec<&'a str> {
    let mut calls: Vec<CallId> =
        kernels.iter().map(|&kernel| diff.op_of(side, kernel).unwrap_or(kernel)).collect();
    calls.dedup();
    calls.into_iter().map(|call| diff.plain_name(side, call)).collect()
}

fn is_thread(diff: &TraceDiff, node: MergedId) -> bool {
    kind(diff, node) == Some(CallKind::Thread)
}

fn is_op(diff: &TraceDiff, node: MergedId) -> bool {
    kind(diff, node) == Some(CallKind::Op)
}

fn kind(diff: &TraceDiff, node: MergedId) -> Option<CallKind> {
    let (side, call) = diff.merged().node(node).calls().next()?;
    Some(diff.tree(side).kind(call))
}

/// A lowest common node, and the index of one of the intervals between its common children.
type Place = (MergedId, u32);

/// The kernels of both sides in each interval of each lowest common node, in launch order.
fn kernels_of_nodes(pieces: &Pieces<'_>) -> BTreeMap<Place, PerSide<Vec<CallId>>> {
    let stretches = PerSide::from_fn(|side| stretches(pieces, side));
    let mut nodes: BTreeMap<Place, PerSide<Vec<CallId>>> = BTreeMap::new();
    for row in pieces.ledger.rows() {
        // Kernels whose launch is not in the trace are skipped, because they have no common node except the root.
        // Kernels in regions are handled in `regions`.
        let Some(node) = row
            .lowest_common
            .filter(|_| !matches!(row.kind, RowKind::Unlinked | RowKind::Replaced))
        else {
            continue;
        };
        for side in Side::BOTH {
            for &event in row.events[side].iter().filter(|&&event| pieces.has(side, event)) {
                let stretch = stretch(pieces.diff, &stretches, node, side, event);
                nodes.entry((node, stretch)).or_default()[side].push(event);
            }
        }
    }
    for kernels in nodes.values_mut() {
        // Call ids follow preorder, which is the launch order within a thread.
        kernels.baseline.sort_unstable();
        kernels.candidate.sort_unstable();
    }
    nodes
}

/// For each call, the number of earlier siblings that are common calls with GPU work on both sides. These siblings
/// divide the list into intervals, so the number is the index of the call's interval. These siblings may be in a different order on the other side.
///
/// ```text
/// forward
/// ├── >> aten::mul        0
/// ├── << triton_…         0
/// ├── aten::mm
/// └── >> aten::gelu       1
/// ```
fn stretches(pieces: &Pieces<'_>, side: Side) -> Vec<u32> {
    let (diff, tree) = (pieces.diff, pieces.diff.tree(side));
    let mut pairs_below = vec![0; diff.merged().len()];
    let before = tree.calls().map(|call| {
        let Some(parent) = diff.merged().parent(diff.merged().of(side, call)) else { return 0 };
        let before = pairs_below[parent.index()];
        let runs = |side: Side, call| pieces.is_above(side, call);
        // A launch directly below an op is part of the op's work, so it does not start a new interval.
        let parts = || tree.kind(call) != CallKind::Runtime || !is_op(pieces.diff, parent);
        let is_pair = || {
            diff.relation(side, call).is_common()
                && diff
                    .counterpart(side, call)
                    .is_some_and(|counterpart| runs(side.other(), counterpart))
        };
        // Check `runs` first: it is cheap, and it rules out most calls, which launch nothing.
        if runs(side, call) && is_pair() && parts() {
            pairs_below[parent.index()] += 1;
        }
        before
    });
    before.collect()
}

/// Index of the interval that contains an event, among the intervals between the common children of `node`.
fn stretch(
    diff: &TraceDiff,
    stretches: &PerSide<Vec<u32>>,
    node: MergedId,
    side: Side,
    event: CallId,
) -> u32 {
    let merged = diff.merged();
    let mut below = merged.of(side, event);
    while let Some(parent) = merged.parent(below) {
        if parent == node {
            // If this child of `node` does not exist on this side, use its interval on the other side.
            let below = merged.node(below);
            let of = |side: Side| below.call(side).map(|call| stretches[side][call.index()]);
            return of(side).or_else(|| of(side.other())).unwrap_or(0);
        }
        below = parent;
    }
    0
}

/// Builds the path of a node from its parent's path.
struct Paths<'a> {
    diff: &'a TraceDiff,
    /// For each node, the names of the modules and ops on the path to the node, including the node itself, each
    /// followed by ` / `. Unmatched nodes are left out.
    known: FxHashMap<MergedId, Rc<str>>,
}

impl Paths<'_> {
    /// The path of a node: the names of the modules and ops above it, followed by its own name, joined by ` / `.
    fn of(&mut self, node: MergedId) -> String {
        let above = self.diff.merged().parent(node);
        let around = above.map_or_else(|| "".into(), |above| self.around(above));
        format!("{around}{}", self.name(node).unwrap_or_default())
    }

    fn around(&mut self, node: MergedId) -> Rc<str> {
        let merged = self.diff.merged();
        let mut new = Vec::new();
        let mut next = Some(node);
        while let Some(at) = next.filter(|at| !self.known.contains_key(at)) {
            new.push(at);
            next = merged.parent(at);
        }
        let mut path: Rc<str> = next.map_or_else(|| "".into(), |at| self.known[&at].clone());
        for &at in new.iter().rev() {
            let is_pair = matches!(merged.node(at), MergedNode::Both(..));
            if let Some(name) = (is_pair && self.is_landmark(at)).then(|| self.name(at)).flatten() {
                path = format!("{path}{name} / ").into();
            }
            self.known.insert(at, path.clone());
        }
        path
    }

    /// Name of a node without details that vary between instances. `None` if the names of the two matched calls differ.
    fn name(&self, node: MergedId) -> Option<&str> {
        let diff = self.diff;
        if is_thread(self.diff, node) {
            return Some("thread");
        }
        let (baseline, candidate) = match diff.merged().node(node) {
            MergedNode::Both(baseline, candidate) => (baseline, candidate),
            // The node of a compiled region has a call on only one side, but represents the replaced calls as well.
            MergedNode::Only(side, call) => return Some(diff.plain_name(side, call)),
        };
        let names = [
            diff.plain_name(Side::Baseline, baseline),
            diff.plain_name(Side::Candidate, candidate),
        ]
        .map(ModuleName::instance_or_name);
        match names {
            [a, b] if a == b => Some(a),
            _ => None,
        }
    }

    fn is_landmark(&self, node: MergedId) -> bool {
        let Some(call) = self.diff.merged().node(node).call(Side::Baseline) else {
            return false;
        };
        let tree = self.diff.tree(Side::Baseline);
        tree.is_module(call) || tree.kind(call) == CallKind::Op
    }
}
