//! Finds the innermost call on a thread at a given time.

use crate::order::Order as _;
use crate::trace::{Nanos, ThreadId};
use crate::tree::{CallId, CallKind, CallTree};
use rustc_hash::{FxHashMap, FxHashSet};

/// The host calls of some threads, sorted by start.
pub(super) struct Callers<'t> {
    tree: &'t CallTree,
    calls: FxHashMap<ThreadId, Vec<(Nanos, CallId)>>,
}

impl<'t> Callers<'t> {
    pub(super) fn of(tree: &'t CallTree, threads: &FxHashSet<ThreadId>) -> Callers<'t> {
        let mut calls: FxHashMap<ThreadId, Vec<(Nanos, CallId)>> = FxHashMap::default();
        for root in tree.roots().filter(|&root| tree.kind(root) == CallKind::Thread) {
            let Some(thread) = tree.thread(root).filter(|thread| threads.contains(thread)) else {
                continue;
            };
            // Captured calls are skipped, because they did not run when the graph was replayed.
            let is_host = |&call: &CallId| {
                matches!(tree.kind(call), CallKind::Frame | CallKind::Op | CallKind::Runtime)
                    && !tree.is_captured(call)
            };
            let of_thread = calls.entry(thread).or_default();
            of_thread.extend(tree.subtree(root).filter(is_host).filter_map(|call| {
                let start = tree.trace().start(tree.event(call)?);
                Some((start, call))
            }));
            of_thread.order_by_key(|&(start, call)| (start, call));
        }
        Callers { tree, calls }
    }

    /// The innermost call on `thread` at `time`; `None` if no call was open.
    pub(super) fn at(&self, thread: ThreadId, time: Nanos) -> Option<CallId> {
        let calls = self.calls.get(&thread)?;
        let before = calls.partition_point(|&(start, _)| start <= time);
        let (_, last) = *calls.get(before.checked_sub(1)?)?;
        let trace = self.tree.trace();
        std::iter::once(last)
            .chain(self.tree.ancestors(last))
            .find(|&call| self.tree.event(call).is_some_and(|event| time <= trace.end(event)))
    }
}
