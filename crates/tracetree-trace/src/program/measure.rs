//! The quantity that a comparison measures: GPU time, or host time if there are no GPU events.

use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::{CallId, CallKind, CallTree};

/// The kind of time that a comparison attributes to calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub enum Measure {
    /// The durations of kernels, copies and memsets.
    GpuTime,
    /// The self time of ops: the duration of each op minus the durations of the ops directly below
    /// it. Host time is measured if neither trace has GPU events. Python time outside of all ops is
    /// not attributed to any op and is not measured.
    HostSelfTime,
}

impl Measure {
    /// GPU time, if any trace has GPU events; otherwise host time.
    #[doc(hidden)]
    pub fn of(trees: PerSide<&CallTree>) -> Measure {
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

    /// The measured calls of a tree, in preorder.
    #[doc(hidden)]
    pub fn calls(self, tree: &CallTree) -> impl Iterator<Item = CallId> {
        let wanted = match self {
            Measure::GpuTime => CallKind::Gpu,
            Measure::HostSelfTime => CallKind::Op,
        };
        tree.calls().filter(move |&call| tree.kind(call) == wanted)
    }

    /// Index of a call in columns that store one value for each measured call; `None` if the call
    /// is not measured. Indexes are below [`Measure::slots`].
    #[inline]
    #[doc(hidden)]
    pub fn slot(self, tree: &CallTree, call: CallId) -> Option<usize> {
        match self {
            Measure::GpuTime => tree.gpu_position(call),
            Measure::HostSelfTime => (tree.kind(call) == CallKind::Op).then(|| call.index()),
        }
    }

    /// Length of columns that store one value for each measured call. GPU events are numbered
    /// separately, because most calls are not GPU events. The index of an op is its position among
    /// all calls, so columns for host time have an entry for every call.
    #[doc(hidden)]
    pub fn slots(self, tree: &CallTree) -> usize {
        match self {
            Measure::GpuTime => tree.roots().map(|root| tree.gpu_events(root)).sum(),
            Measure::HostSelfTime => tree.len(),
        }
    }

    /// How many recorded durations are used to compute the measured time of a call.
    #[doc(hidden)]
    pub fn durations(self, tree: &CallTree, call: CallId) -> u64 {
        match self {
            Measure::GpuTime => 1,
            Measure::HostSelfTime => 1 + ops_below(tree, call),
        }
    }

    /// The measured time of a call.
    #[inline]
    #[doc(hidden)]
    pub fn time(self, tree: &CallTree, call: CallId) -> Nanos {
        match self {
            Measure::GpuTime => tree.duration(call),
            Measure::HostSelfTime => op_self_time(tree, call),
        }
    }
}

/// The measured calls of a tree with running sums of their times, which give the time of any subtree.
#[derive(Debug)]
pub(super) struct Times {
    calls: Vec<CallId>,
    /// For each measured call, the total time of the measured calls before it; the last entry is
    /// the total.
    before: Vec<Nanos>,
}

impl Times {
    pub(super) fn of(tree: &CallTree, measure: Measure) -> Times {
        let calls: Vec<CallId> = measure.calls(tree).collect();
        let mut before = vec![Nanos::ZERO];
        let mut time = Nanos::ZERO;
        before.extend(calls.iter().map(|&call| {
            time += measure.time(tree, call);
            time
        }));
        Times { calls, before }
    }

    /// The measured time of a call and all calls below it.
    pub(super) fn below(&self, tree: &CallTree, call: CallId) -> Nanos {
        let before = |end: CallId| self.calls.partition_point(|&measured| measured < end);
        self.before[before(tree.end(call))] - self.before[before(call)]
    }

    /// The measured time of all calls.
    pub(super) fn total(&self) -> Nanos {
        self.before.last().copied().unwrap_or(Nanos::ZERO)
    }
}

/// Number of ops directly below an op.
fn ops_below(tree: &CallTree, op: CallId) -> u64 {
    let mut count = 0;
    let mut next = op.0 + 1;
    let end = tree.end(op).0;
    while next < end {
        let call = CallId(next);
        let is_op = tree.kind(call) == CallKind::Op;
        count += u64::from(is_op);
        next = if is_op { tree.end(call).0 } else { next + 1 };
    }
    count
}

/// Self time of an op: its duration minus the durations of the ops directly below it. The time of
/// Python frames between the op and these ops counts as self time of the op.
fn op_self_time(tree: &CallTree, op: CallId) -> Nanos {
    if let Some(time) = tree.crowded_self_time(op) {
        return time;
    }
    let mut below = Nanos::ZERO;
    let mut next = op.0 + 1;
    let end = tree.end(op).0;
    while next < end {
        let call = CallId(next);
        next += 1;
        let is_op = tree.kind(call) == CallKind::Op;
        if is_op {
            below += tree.duration(call);
        }
        // If calls below a frame were nested too deeply, they became siblings in the tree, so their
        // times overlap. The time of ops below such a frame therefore counts as self time of the op
        // above the frame.
        if is_op || tree.is_crowded(call) {
            next = tree.end(call).0;
        }
    }
    (tree.duration(op) - below).max(Nanos::ZERO)
}
