//! The totals of both traces, and the proof that the rows add up to them.

use super::intervals::busy_time;
use super::rows::{Row, RowKind};
use crate::diff::TraceDiff;
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
    pub(super) fn of(diff: &TraceDiff) -> Measure {
        let gpu = Side::BOTH.iter().any(|&side| {
            let tree = diff.tree(side);
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
    pub(super) fn calls(self, tree: &CallTree) -> impl Iterator<Item = CallId> {
        let wanted = match self {
            Measure::GpuTime => CallKind::Gpu,
            Measure::HostSelfTime => CallKind::Op,
        };
        tree.calls().filter(move |&call| tree.kind(call) == wanted)
    }

    /// Number of a call in columns that only accounted calls have; `None` for all others. The
    /// numbers are below [`Measure::slots`].
    pub(super) fn slot(self, tree: &CallTree, call: CallId) -> Option<usize> {
        match self {
            Measure::GpuTime => tree.gpu_position(call),
            Measure::HostSelfTime => (tree.kind(call) == CallKind::Op).then(|| call.index()),
        }
    }

    /// Length of the columns that only accounted calls have: many ops, but few GPU events, are
    /// among the calls of a tree.
    pub(super) fn slots(self, tree: &CallTree) -> usize {
        match self {
            Measure::GpuTime => tree.roots().map(|root| tree.gpu_events(root)).sum(),
            Measure::HostSelfTime => tree.len(),
        }
    }

    /// The accounted time of one call.
    pub(super) fn time(self, tree: &CallTree, call: CallId) -> Nanos {
        match self {
            Measure::GpuTime => tree.duration(call),
            Measure::HostSelfTime => op_self_time(tree, call),
        }
    }
}

/// Time of an op outside of the ops below it; frames between them count as part of the op.
fn op_self_time(tree: &CallTree, op: CallId) -> Nanos {
    let mut below = Nanos::ZERO;
    let mut next = op.0 + 1;
    let end = op.0 + tree.size(op) as u32;
    while next < end {
        let call = CallId(next);
        next += 1;
        if tree.kind(call) == CallKind::Op {
            below += tree.duration(call);
            next = call.0 + tree.size(call) as u32;
        }
    }
    (tree.duration(op) - below).max(Nanos::ZERO)
}

/// The accounted time of one trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Number of accounted events.
    pub events: u64,
    /// Sum of their times.
    pub time: Nanos,
    /// Union of their intervals; the same as `time` for host self time.
    pub busy: Nanos,
    /// Part of `time` in rows that both traces have. The three parts add up to `time`.
    pub paired: Nanos,
    /// Part of `time` in rows that only this trace has.
    pub one_sided: Nanos,
    /// Part of `time` whose launch is not in the trace.
    pub unlinked: Nanos,
}

/// The totals of both traces, and what the rows add up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    /// Counted over the events of each trace, without the rows.
    pub totals: PerSide<Totals>,
    /// Sum of `kernel_time` over all rows.
    pub rows: PerSide<Nanos>,
}

impl Account {
    pub(super) fn new(diff: &TraceDiff, measure: Measure, rows: &[Row]) -> Account {
        Account {
            totals: PerSide::from_fn(|side| totals(diff.tree(side), measure, rows, side)),
            rows: PerSide::from_fn(|side| rows.iter().map(|row| row.time[side]).sum()),
        }
    }

    /// Whether the rows of both sides add up to the events, exactly.
    pub fn is_exact(&self) -> bool {
        Side::BOTH.iter().all(|&side| self.rows[side] == self.totals[side].time)
    }

    /// Candidate − baseline.
    pub fn difference(&self) -> Nanos {
        self.totals.candidate.time - self.totals.baseline.time
    }

    /// Candidate / baseline; `None` where the baseline has no time.
    pub fn ratio(&self) -> Option<f64> {
        ratio(PerSide::new(self.totals.baseline.time, self.totals.candidate.time))
    }
}

/// Candidate / baseline; `None` where that is undefined.
pub fn ratio(time: PerSide<Nanos>) -> Option<f64> {
    (time.baseline > Nanos::ZERO && time.candidate > Nanos::ZERO)
        .then(|| time.candidate.0 as f64 / time.baseline.0 as f64)
}

fn totals(tree: &CallTree, measure: Measure, rows: &[Row], side: Side) -> Totals {
    let spans = |call: CallId| {
        let event = tree.event(call).expect("accounted calls are events");
        (tree.trace().start(event), tree.trace().end(event))
    };
    let time: Nanos = measure.calls(tree).map(|call| measure.time(tree, call)).sum();
    let is_linked = |row: &Row| row.kind != RowKind::Unlinked;
    let part = |wanted: &dyn Fn(&Row) -> bool| -> Nanos {
        rows.iter().filter(|row| wanted(row)).map(|row| row.time[side]).sum()
    };
    Totals {
        events: measure.calls(tree).count() as u64,
        time,
        busy: match measure {
            Measure::GpuTime => busy_time(measure.calls(tree).map(spans).collect()),
            Measure::HostSelfTime => time,
        },
        paired: part(&|row| is_linked(row) && !row.events[side.other()].is_empty()),
        one_sided: part(&|row| is_linked(row) && row.events[side.other()].is_empty()),
        unlinked: part(&|row| !is_linked(row)),
    }
}
