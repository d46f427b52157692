//! [`CallTree`] → which of its calls are communication with other ranks: the one place that decides.
//!
//! The launching op tells first, since engines bring collectives of their own with names of all sorts;
//! then the collective's name that the profiler wrote beside a kernel, then the kernel's own name.

use crate::trace::{self, Category};
use crate::tree::{CallId, CallKind, CallTree};

/// What says that a call is communication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// The op that the call is, or that launched it.
    Op,
    /// The collective's name beside the kernel, or the kernel's own name.
    Event,
}

/// Whether a call is communication: see [`evidence`].
pub(crate) fn is_communication(tree: &CallTree, call: CallId) -> bool {
    evidence(tree, call).is_some()
}

/// What says that a call is communication: a kernel that a communicating op launched or whose name
/// says it, or such an op itself. Copies and memsets are none, whoever made them.
pub(crate) fn evidence(tree: &CallTree, call: CallId) -> Option<Evidence> {
    match tree.kind(call) {
        CallKind::Gpu => of_gpu_event(tree, call),
        CallKind::Op => trace::is_communication_op(tree.name(call)).then_some(Evidence::Op),
        CallKind::Thread | CallKind::Frame | CallKind::Runtime | CallKind::Unlinked => None,
    }
}

fn of_gpu_event(tree: &CallTree, call: CallId) -> Option<Evidence> {
    let event = tree.event(call)?;
    if tree.trace().category(event) != Category::Kernel {
        return None;
    }
    if launching_op(tree, call).is_some_and(|op| trace::is_communication_op(tree.name(op))) {
        return Some(Evidence::Op);
    }
    let says_it = tree.trace().collectives().get(event).is_some()
        || trace::is_communication_kernel(tree.name(call));
    says_it.then_some(Evidence::Event)
}

/// The op that launched a GPU event: the nearest one above.
fn launching_op(tree: &CallTree, call: CallId) -> Option<CallId> {
    tree.ancestors(call).find(|&above| tree.kind(above) == CallKind::Op)
}
