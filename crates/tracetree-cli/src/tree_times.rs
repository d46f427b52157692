//! Computes two GPU times for each call: its total time including descendants, and the time of the GPU events that
//! the call itself launches.
//!
//! ```text
//! aten::conv2d               GPU 14 µs, self 0 µs
//! ├── aten::convolution      GPU 12 µs, self 12 µs
//! │   └── hipLaunchKernel    GPU 12 µs
//! │       └── gemm            12 µs
//! └── aten::add_             GPU 2 µs, self 2 µs
//! ```

use clap::ValueEnum;
use std::cmp::Reverse;
use tracetree::trace::Nanos;
use tracetree::tree::{CallId, CallKind, CallTree};

/// Order of calls with the same parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Sort {
    /// Calls are in the order in which they were made.
    Called,
    /// Calls with the most GPU time, including descendants, come first; host time is used if the
    /// trace has no GPU work.
    Total,
    /// Calls are sorted by the largest self time of the call and its descendants.
    #[value(name = "self")]
    Own,
    /// Calls that allocate the most bytes, including descendants, come first; only calls that allocate are shown.
    Memory,
}

/// The GPU times of each call or, if the trace has no GPU work, the host times.
pub(super) struct Times {
    has_gpu_work: bool,
    total: Vec<Nanos>,
    own: Vec<Nanos>,
    /// For each call, the largest value of `own` among the call and its descendants.
    most: Vec<Nanos>,
}

impl Times {
    pub(super) fn of(tree: &CallTree) -> Times {
        let has_gpu_work = tree.roots().any(|root| tree.is_gpu_path(root));
        let zero = || vec![Nanos::ZERO; tree.len()];
        let mut times = Times { has_gpu_work, total: zero(), own: zero(), most: zero() };
        // In preorder, every call comes after its ancestors. In reverse order, the sum of a call is therefore complete
        // before it is used.
        let calls: Vec<CallId> = tree.calls().collect();
        for &call in calls.iter().rev() {
            times.add(tree, call);
        }
        times
    }

    fn add(&mut self, tree: &CallTree, call: CallId) {
        let at = call.index();
        match (self.has_gpu_work, tree.kind(call)) {
            (true, CallKind::Gpu) => {
                self.total[at] = tree.duration(call);
                if let Some(op) = launching(tree, call) {
                    self.own[op.index()] += self.total[at];
                    self.most[op.index()] = self.most[op.index()].max(self.own[op.index()]);
                }
            }
            (true, _) => {}
            (false, _) => {
                (self.total[at], self.own[at]) = (tree.duration(call), tree.self_time(call));
                self.most[at] = self.most[at].max(self.own[at]);
            }
        }
        if let Some(above) = tree.parent(call) {
            let (total, most) = (self.total[at], self.most[at]);
            if self.has_gpu_work {
                self.total[above.index()] += total;
            }
            self.most[above.index()] = self.most[above.index()].max(most);
        }
    }

    /// The total and the self GPU time of a call; `None` if the trace has no GPU work.
    pub(super) fn gpu(&self, call: CallId) -> Option<(Nanos, Nanos)> {
        self.has_gpu_work.then(|| (self.total[call.index()], self.own[call.index()]))
    }

    /// The calls of a tree, parents before children, with siblings in the requested order.
    /// `memory` contains the bytes that each call allocates.
    pub(super) fn in_order(&self, tree: &CallTree, sort: Sort, memory: &[i64]) -> Vec<CallId> {
        let by = |call: CallId| match sort {
            Sort::Called => 0,
            Sort::Total => self.total[call.index()].0,
            Sort::Own => self.most[call.index()].0,
            Sort::Memory => memory[call.index()],
        };
        // The stack pops the last call first, so siblings are pushed in reverse.
        let reversed = |calls: &mut Vec<CallId>| {
            calls.sort_by_key(|&call| (by(call), Reverse(call)));
        };
        let mut order = Vec::with_capacity(tree.len());
        let mut open: Vec<CallId> = tree.roots().collect();
        reversed(&mut open);
        while let Some(call) = open.pop() {
            order.push(call);
            let mut below: Vec<CallId> = tree.children(call).collect();
            reversed(&mut below);
            open.extend(below);
        }
        order
    }
}

/// The call that launched a GPU event: the nearest ancestor that is neither a runtime call nor a GPU event.
fn launching(tree: &CallTree, gpu_event: CallId) -> Option<CallId> {
    tree.ancestors(gpu_event)
        .find(|&above| !matches!(tree.kind(above), CallKind::Runtime | CallKind::Gpu))
}
