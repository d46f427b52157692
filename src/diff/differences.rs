//! Finds the points where two traces differ, each with its lowest common node.

use super::{Difference, MergedId, MergedNode, TraceDiff};
use crate::side::{PerSide, Side};
use crate::tree::{CallId, CallKind};

/// Prefix of the plain names of the profiler's own frames.
const PROFILER: &str = "torch/profiler/";

impl TraceDiff {
    /// All points of difference in preorder, computed when first requested.
    ///
    /// The following are not points of difference:
    /// - runtime calls without GPU work;
    /// - renamed kernels whose launch is in the trace;
    /// - captured calls, if the capture of the matched graph launch on the opposite side is unknown;
    /// - calls in steps that have no counterpart;
    /// - frames of the profiler itself.
    ///
    /// ```
    /// use tracetree::{CallTree, Side, Trace, TraceDiff};
    ///
    /// let before = Trace::open("tests/fixtures/inserted_op/baseline.json")?;
    /// let after = Trace::open("tests/fixtures/inserted_op/candidate.json")?;
    /// let (baseline, candidate) = (CallTree::build(before), CallTree::build(after));
    /// let diff = TraceDiff::new(baseline, candidate);
    /// let differences = diff.differences();
    /// let node = diff.merged().node(differences[0].node);
    /// let inserted = node.call(Side::Candidate).map(|call| diff.tree(Side::Candidate).name(call));
    /// assert_eq!((differences.len(), inserted), (1, Some("aten::clamp")));
    /// # Ok::<(), tracetree::Error>(())
    /// ```
    pub fn differences(&self) -> &[Difference] {
        self.differences.get_or_init(|| {
            let nodes = self.merged().nodes();
            let parts =
                |&(id, node): &_| self.is_difference(node) && !self.is_inside_difference(id);
            nodes.filter(parts).map(|(id, node)| self.difference(id, node)).collect()
        })
    }

    /// Whether a node shows a difference between the programs: one of its calls has no counterpart with the same
    /// name, and this is not merely because one trace recorded less.
    #[doc(hidden)]
    pub fn is_difference(&self, node: MergedNode) -> bool {
        let differ = self.differ.get_or_init(|| {
            PerSide::from_fn(|side| {
                let differs = |call: CallId| {
                    !self.relation(side, call).is_common() && self.is_structure(side, call)
                };
                self.tree(side).calls().map(differs).collect()
            })
        });
        node.calls().any(|(side, call)| differ[side][call.index()])
    }

    fn is_structure(&self, side: Side, call: CallId) -> bool {
        let tree = self.tree(side);
        let may_be_structure = match tree.kind(call) {
            CallKind::Runtime => tree.is_gpu_path(call),
            CallKind::Gpu => tree.launch(call).is_none() || self.counterpart(side, call).is_none(),
            CallKind::Thread | CallKind::Unlinked | CallKind::Frame | CallKind::Op => true,
        };
        may_be_structure
            && !self.is_known_deeper(side, call)
            && !self.is_left_out(side, call)
            && !self.is_of_profiler(side, call)
    }

    /// Whether a call, or an unmatched call that encloses it, belongs to the profiler itself. With `profile_memory`,
    /// the profiler makes additional calls.
    fn is_of_profiler(&self, side: Side, call: CallId) -> bool {
        let tree = self.tree(side);
        let mut alone = std::iter::once(call)
            .chain(tree.ancestors(call))
            .take_while(|&above| self.counterpart(side, above).is_none());
        alone.any(|above| self.plain_name(side, above).starts_with(PROFILER))
    }

    /// Whether a node is directly below another difference and therefore part of that difference.
    fn is_inside_difference(&self, id: MergedId) -> bool {
        self.merged().parent(id).is_some_and(|parent| {
            let node = self.merged().node(parent);
            self.is_difference(node)
        })
    }

    fn difference(&self, id: MergedId, node: MergedNode) -> Difference {
        let parent = |id: MergedId| self.merged().parent(id);
        let is_common = |&above: &MergedId| {
            let mut calls = self.merged().node(above).calls();
            calls.all(|(side, call)| self.relation(side, call).is_common())
        };
        let calls = node.calls().map(|(side, call)| self.tree(side).size(call));
        let gpu_events = node.calls().map(|(side, call)| self.tree(side).gpu_events(call));
        let mut callers = std::iter::successors(parent(id), |&above| parent(above));
        Difference {
            node: id,
            lowest_common: callers.find(is_common),
            calls: calls.sum::<usize>() as u32,
            gpu_events: gpu_events.sum::<usize>() as u32,
        }
    }
}
