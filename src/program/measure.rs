//! What the account of a comparison is about: GPU events, or host time where there are none.

use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::{CallId, CallKind, CallTree};

/// What the rows account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Durations of kernels, copies and memsets.
    GpuTime,
    /// Time of ops outside of the ops below them, where neither trace has GPU events. Python time
    /// between ops is no op's and is not accounted.
    HostSelfTime,
}

impl Measure {
    pub(crate) fn of(trees: PerSide<&CallTree>) -> Measure {
        let gpu = Side::BOTH.iter().any(|&side| {
            let tree = trees[side];
            tree.roots().any(|root| tree.is_gpu_path(root))
        });
        if gpu { Measure::GpuTime } else { Measure::HostSelfTime }
    }

    /// `gpu_time` or `host_self_time`.
    pub fn label(self) -> &'static str {
        match self {
            Measure::GpuTime => "gpu_time",
            Measure::HostSelfTime => "host_self_time",
        }
    }

    /// The calls of a tree that are accounted, in preorder.
    pub(crate) fn calls(self, tree: &CallTree) -> impl Iterator<Item = CallId> {
        let wanted = match self {
            Measure::GpuTime => CallKind::Gpu,
            Measure::HostSelfTime => CallKind::Op,
        };
        tree.calls().filter(move |&call| tree.kind(call) == wanted)
    }

    /// Number of a call in columns that only accounted calls have; `None` for all others. The
    /// numbers are below [`Measure::slots`].
    pub(crate) fn slot(self, tree: &CallTree, call: CallId) -> Option<usize> {
        match self {
            Measure::GpuTime => tree.gpu_position(call),
            Measure::HostSelfTime => (tree.kind(call) == CallKind::Op).then(|| call.index()),
        }
    }

    /// Length of the columns that only accounted calls have: many ops, but few GPU events, are
    /// among the calls of a tree.
    pub(crate) fn slots(self, tree: &CallTree) -> usize {
        match self {
            Measure::GpuTime => tree.roots().map(|root| tree.gpu_events(root)).sum(),
            Measure::HostSelfTime => tree.len(),
        }
    }

    /// The accounted time of one call.
    pub(crate) fn time(self, tree: &CallTree, call: CallId) -> Nanos {
        match self {
            Measure::GpuTime => tree.duration(call),
            Measure::HostSelfTime => op_self_time(tree, call),
        }
    }
}

/// Time of an op outside of the ops below it; frames between them count as part of the op.
fn op_self_time(tree: &CallTree, op: CallId) -> Nanos {
    if tree.is_crowded(op) {
        return tree.duration(op);
    }
    if tree.parent(op).is_some_and(|above| tree.is_crowded(above)) {
        return Nanos::ZERO;
    }
    let mut below = Nanos::ZERO;
    let mut next = op.0 + 1;
    let end = op.0 + tree.size(op) as u32;
    while next < end {
        let call = CallId(next);
        next += 1;
        let is_op = tree.kind(call) == CallKind::Op;
        if is_op {
            below += tree.duration(call);
        }
        // Below a crowded frame the ops overlap, and the time is that of the op above the frame.
        if is_op || tree.is_crowded(call) {
            next = call.0 + tree.size(call) as u32;
        }
    }
    (tree.duration(op) - below).max(Nanos::ZERO)
}
