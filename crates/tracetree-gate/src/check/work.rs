//! Counts the ops, kernels, copies and waits of calls on one side.

use std::collections::BTreeSet;
use tracetree::diff::TraceDiff;
use tracetree::program::is_synchronisation;
use tracetree::side::Side;
use tracetree::trace::Category;
use tracetree::tree::{AUTOGRAD_PREFIX, CallId, CallKind};

/// Ops that make the host wait because they read a value from the GPU.
const READS: [&str; 3] = ["aten::item", "aten::_local_scalar_dense", "aten::is_nonzero"];

/// Name of the op that encloses a compiled region. More compiled regions in the candidate than in the baseline mean
/// that the compiler broke the graph more often.
const REGION: &str = "Torch-Compiled Region";

/// Counts of the work that a set of calls does in all compared steps.
#[derive(Debug, Clone, Default)]
pub(super) struct Work {
    pub(super) all_ops: u64,
    /// Number of outermost forward ops. Backward ops are not counted, because each of them is a consequence of a
    /// forward op.
    pub(super) ops: u64,
    pub(super) op_names: BTreeSet<String>,
    pub(super) regions: u64,
    pub(super) launches: u64,
    pub(super) graph_launches: u64,
    pub(super) waits: u64,
    /// Number of ops that read the value of a tensor. If no calls into the GPU runtime were recorded, these ops are
    /// counted as waits.
    pub(super) reads: u64,
    pub(super) kernels: u64,
    pub(super) kernel_names: BTreeSet<String>,
    pub(super) graph_kernels: u64,
    pub(super) copies: u64,
    pub(super) bytes: u64,
    pub(super) collectives: u64,
}

impl Work {
    /// Adds the work of a call and of the calls below that call. If the call is unmatched, its matched descendants are
    /// skipped, because they are not part of what was added or removed.
    pub(super) fn add(&mut self, diff: &TraceDiff, side: Side, root: CallId) {
        let tree = diff.tree(side);
        let is_matched =
            |call| diff.counterpart(side, call).is_some() && diff.region_of(side, call).is_none();
        let is_whole = is_matched(root);
        let (mut at, end, mut op_end) = (root, tree.end(root), root);
        while at < end {
            if at != root && !is_whole && is_matched(at) {
                at = tree.end(at);
                continue;
            }
            let is_outermost = at >= op_end;
            if tree.kind(at) == CallKind::Op && is_outermost {
                op_end = tree.end(at);
            }
            self.add_call(diff, side, at, is_outermost);
            at = CallId(at.0 + 1);
        }
    }

    fn add_call(&mut self, diff: &TraceDiff, side: Side, call: CallId, is_outermost: bool) {
        let tree = diff.tree(side);
        let name = tree.name(call);
        match tree.kind(call) {
            CallKind::Op => {
                self.all_ops += 1;
                self.regions += u64::from(name.starts_with(REGION));
                self.reads += u64::from(name == READS[0] || is_outermost && READS.contains(&name));
                let is_backward = name.starts_with(AUTOGRAD_PREFIX) || name.contains("Backward");
                if is_outermost && !is_backward {
                    self.ops += 1;
                    self.op_names.insert(diff.plain_name(side, call).to_owned());
                }
            }
            CallKind::Runtime if tree.is_captured(call) => {}
            CallKind::Runtime => {
                self.launches += u64::from(tree.is_gpu_path(call));
                self.graph_launches += u64::from(tree.is_graph_launch(call));
                self.waits += u64::from(is_synchronisation(name));
            }
            CallKind::Gpu => self.add_gpu(diff, side, call),
            CallKind::Thread | CallKind::Unlinked | CallKind::Frame => {}
        }
    }

    fn add_gpu(&mut self, diff: &TraceDiff, side: Side, call: CallId) {
        let tree = diff.tree(side);
        let Some(event) = tree.event(call) else { return };
        let trace = tree.trace();
        if trace.category(event) == Category::Memcpy {
            self.copies += 1;
            self.bytes += trace.gpu_bytes().get(event).copied().unwrap_or(0);
            return;
        }
        let launch = tree.running_launch(call);
        self.kernels += 1;
        self.graph_kernels += u64::from(launch.is_some_and(|launch| tree.is_graph_launch(launch)));
        self.collectives += u64::from(diff.program(side).communication().is(tree, call));
        self.kernel_names.insert(diff.plain_name(side, call).to_owned());
    }

    /// Whether the calls do no work: they call no ops and do not use the GPU, as in pure Python code.
    pub(super) fn is_empty(&self) -> bool {
        self.all_ops + self.launches + self.waits + self.kernels + self.copies == 0
    }

    pub(super) fn plus(&mut self, other: &Work) {
        let Work {
            all_ops,
            ops,
            op_names,
            regions,
            launches,
            graph_launches,
            waits,
            reads,
            kernels,
            kernel_names,
            graph_kernels,
            copies,
            bytes,
            collectives,
        } = other;
        self.all_ops += all_ops;
        self.ops += ops;
        self.op_names.extend(op_names.iter().cloned());
        self.regions += regions;
        self.launches += launches;
        self.graph_launches += graph_launches;
        self.waits += waits;
        self.reads += reads;
        self.kernels += kernels;
        self.kernel_names.extend(kernel_names.iter().cloned());
        self.graph_kernels += graph_kernels;
        self.copies += copies;
        self.bytes += bytes;
        self.collectives += collectives;
    }
}
