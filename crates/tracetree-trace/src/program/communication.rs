//! Decides which calls in a [`CallTree`] communicate with other ranks. Only this module decides
//! which calls count as communication.
//!
//! The launching op is checked first, because engines have their own collectives whose kernels have
//! arbitrary names. The collective name that the profiler recorded with a kernel is checked next,
//! and the kernel's own name last.

use crate::trace::{self, Category, TextId, Trace};
use crate::tree::{CallId, CallKind, CallTree};

/// Why a call counts as communication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub enum Evidence {
    /// The call is a communication op, or was launched by a communication op.
    Op,
    /// The collective name recorded with the kernel, or the kernel's own name, indicates
    /// communication.
    Event,
}

/// Which op and kernel names in a trace indicate communication. A trace has many calls but few
/// names, so each name is checked once.
#[derive(Debug, Clone)]
pub struct Communication {
    /// Both lists have one entry for each string in the trace: `ops` says whether the string names
    /// a communication op, and `kernels` says whether it names a communication kernel.
    ops: Vec<bool>,
    kernels: Vec<bool>,
}

impl Communication {
    /// Checks the names of all ops and kernels.
    pub fn of(trace: &Trace) -> Communication {
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

    /// Whether a call counts as communication. [`Communication::evidence`] lists the criteria.
    pub fn is(&self, tree: &CallTree, call: CallId) -> bool {
        self.evidence(tree, call).is_some()
    }

    /// Why a call counts as communication. Communication calls are communication ops, kernels
    /// launched by communication ops, and kernels whose name or recorded collective indicates
    /// communication. Copies and memsets never count as communication, even if a communication op
    /// launched them.
    #[doc(hidden)]
    pub fn evidence(&self, tree: &CallTree, call: CallId) -> Option<Evidence> {
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

/// The op that launched a GPU event: its nearest op ancestor.
fn launching_op(tree: &CallTree, call: CallId) -> Option<CallId> {
    tree.ancestors(call).find(|&above| tree.kind(above) == CallKind::Op)
}
