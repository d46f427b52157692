//! A [`CallTree`] → the GPU time of each call: at and below it, and of what it launches itself.
//!
//! ```text
//! aten::conv2d               GPU 14 us, self 0 us
//! ├── aten::convolution      GPU 12 us, self 12 us
//! │   └── hipLaunchKernel    GPU 12 us
//! │       └── gemm            12 us
//! └── aten::add_             GPU 2 us, self 2 us
//! ```

use clap::ValueEnum;
use std::cmp::Reverse;
use tracetree::trace::Nanos;
use tracetree::tree::{CallId, CallKind, CallTree};

/// In which order calls of one parent are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Sort {
    /// As they were called.
    Called,
    /// Most GPU time at and below first; host time where the trace has no GPU work.
    Total,
    /// What holds the call with most GPU time of its own first.
    #[value(name = "self")]
    Own,
}

/// Times in ns, by call.
pub(super) struct Times {
    has_gpu_work: bool,
    total: Vec<Nanos>,
    own: Vec<Nanos>,
    /// The most of `own` at and below each call.
    most: Vec<Nanos>,
}

impl Times {
    pub(super) fn of(tree: &CallTree) -> Times {
        let has_gpu_work = tree.roots().any(|root| tree.is_gpu_path(root));
        let zero = || vec![Nanos::ZERO; tree.len()];
        let mut times = Times { has_gpu_work, total: zero(), own: zero(), most: zero() };
        // Calls below stand behind those above, so that from the end sums are complete when they are read.
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

    /// GPU time at and below a call, and of what it launches itself; `None` where the trace has none.
    pub(super) fn gpu(&self, call: CallId) -> Option<(Nanos, Nanos)> {
        self.has_gpu_work.then(|| (self.total[call.index()], self.own[call.index()]))
    }

    /// The calls of a tree, those above before those below, and each list of siblings in this order.
    pub(super) fn in_order(&self, tree: &CallTree, sort: Sort) -> Vec<CallId> {
        if sort == Sort::Called {
            return tree.calls().collect();
        }
        let by = if sort == Sort::Total { &self.total } else { &self.most };
        // A stack gives the last first.
        let reversed = |calls: &mut Vec<CallId>| {
            calls.sort_by_key(|call| (by[call.index()], Reverse(*call)));
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

/// The call that launches a GPU event: the nearest above that is no call of a runtime.
fn launching(tree: &CallTree, gpu_event: CallId) -> Option<CallId> {
    tree.ancestors(gpu_event)
        .find(|&above| !matches!(tree.kind(above), CallKind::Runtime | CallKind::Gpu))
}
