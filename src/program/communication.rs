//! [`CallTree`] → which of its calls are communication with other ranks: the one place that decides.
//!
//! The launching op tells first, since engines bring collectives of their own with names of all sorts;
//! then the collective's name that the profiler wrote beside a kernel, then the kernel's own name.

use crate::trace::{self, Category, TextId, Trace};
use crate::tree::{CallId, CallKind, CallTree};

/// What says that a call is communication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// The op that the call is, or that launched it.
    Op,
    /// The collective's name beside the kernel, or the kernel's own name.
    Event,
}

/// What the names of a trace say of communication. Names are few and calls are many, so that each
/// name is looked at once.
#[derive(Debug, Clone)]
pub(crate) struct Communication {
    /// By text: as the name of an op, and as that of a kernel.
    ops: Vec<bool>,
    kernels: Vec<bool>,
}

impl Communication {
    /// Looks at the names of all ops and kernels.
    pub(crate) fn of(trace: &Trace) -> Communication {
        let mut known = vec![(false, false); trace.texts().len()];
        let (mut ops, mut kernels) = (vec![false; known.len()], vec![false; known.len()]);
        for event in trace.events() {
            let name = trace.name_id(event);
            let known = &mut known[name.index()];
            let is = |of: fn(&str) -> bool| of(trace.text(name));
            match trace.category(event) {
                Category::CpuOp if !known.0 => {
                    known.0 = true;
                    ops[name.index()] = is(trace::is_communication_op);
                }
                Category::Kernel if !known.1 => {
                    known.1 = true;
                    kernels[name.index()] = is(trace::is_communication_kernel);
                }
                Category::CpuOp
                | Category::Kernel
                | Category::PythonFunction
                | Category::Runtime
                | Category::Memcpy
                | Category::Memset
                | Category::UserAnnotation
                | Category::GpuUserAnnotation => {}
            }
        }
        Communication { ops, kernels }
    }

    /// Whether a call of the trace is communication: see [`Communication::evidence`].
    pub(crate) fn is(&self, tree: &CallTree, call: CallId) -> bool {
        self.evidence(tree, call).is_some()
    }

    /// What says that a call is communication: a kernel that a communicating op launched or whose
    /// name says it, or such an op itself. Copies and memsets are none, whoever made them.
    pub(crate) fn evidence(&self, tree: &CallTree, call: CallId) -> Option<Evidence> {
        match tree.kind(call) {
            CallKind::Gpu => self.of_gpu_event(tree, call),
            CallKind::Op => self.ops[name(tree, call)?.index()].then_some(Evidence::Op),
            CallKind::Thread | CallKind::Frame | CallKind::Runtime | CallKind::Unlinked => None,
        }
    }

    fn of_gpu_event(&self, tree: &CallTree, call: CallId) -> Option<Evidence> {
        let event = tree.event(call)?;
        if tree.trace().category(event) != Category::Kernel {
            return None;
        }
        let op = launching_op(tree, call).and_then(|op| name(tree, op));
        if op.is_some_and(|op| self.ops[op.index()]) {
            return Some(Evidence::Op);
        }
        let says_it = tree.trace().collectives().get(event).is_some()
            || self.kernels[tree.trace().name_id(event).index()];
        says_it.then_some(Evidence::Event)
    }
}

fn name(tree: &CallTree, call: CallId) -> Option<TextId> {
    Some(tree.trace().name_id(tree.event(call)?))
}

/// The op that launched a GPU event: the nearest one above.
fn launching_op(tree: &CallTree, call: CallId) -> Option<CallId> {
    tree.ancestors(call).find(|&above| tree.kind(above) == CallKind::Op)
}
