//! Where the two traces differ: each point of difference with its lowest common node.

use super::{MergedId, MergedNode, TraceDiff};
use crate::side::Side;

/// How the plain names of the profiler's own frames begin.
const PROFILER: &str = "torch/profiler/";

/// A point of difference: a call that has no partner of the same name, below one that has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Difference {
    /// The node at which the traces part: one-sided or renamed.
    pub node: MergedId,
    /// The lowest common node above it; `None` where not even the thread is common.
    pub lowest_common: Option<MergedId>,
    /// Calls in the subtree of the node, on each side that has one.
    pub calls: u32,
    /// GPU events in the subtree of the node, on each side that has one.
    pub gpu_events: u32,
}

impl TraceDiff {
    /// All points of difference in preorder. Runtime calls without GPU work are no structure and
    /// make none; kernels under other names make one only where their launch is no pair. Captured
    /// calls make none where the other side launches the same graph and has no capture of it, and neither do
    /// calls of steps without a counterpart and frames of the profiler itself. They are
    /// found when they are asked for first, and kept.
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

    fn is_difference(&self, node: MergedNode) -> bool {
        Side::BOTH.iter().any(|&side| {
            node.call(side).is_some_and(|call| {
                !self.relation(side, call).is_common() && self.is_structure(side, call)
            })
        })
    }

    fn is_structure(&self, side: Side, call: crate::tree::CallId) -> bool {
        use crate::tree::CallKind;
        let tree = self.tree(side);
        let is_no_change = self.is_known_deeper(side, call)
            || self.is_left_out(side, call)
            || self.is_of_profiler(side, call);
        if is_no_change {
            return false;
        }
        match tree.kind(call) {
            CallKind::Runtime => tree.is_gpu_path(call),
            CallKind::Gpu => tree.launch(call).is_none() || self.partner(side, call).is_none(),
            CallKind::Thread | CallKind::Unlinked | CallKind::Frame | CallKind::Op => true,
        }
    }

    /// Whether a call that one side has alone is the profiler's own: with `profile_memory` it calls more.
    fn is_of_profiler(&self, side: Side, call: crate::tree::CallId) -> bool {
        let tree = self.tree(side);
        let mut alone = std::iter::once(call)
            .chain(tree.ancestors(call))
            .take_while(|&above| self.partner(side, above).is_none());
        alone.any(|above| self.plain_name(side, above).starts_with(PROFILER))
    }

    /// A node directly below another difference belongs to that one.
    fn is_inside_difference(&self, id: MergedId) -> bool {
        self.merged().parent(id).is_some_and(|parent| {
            let node = self.merged().node(parent);
            self.is_difference(node)
        })
    }

    fn difference(&self, id: MergedId, node: MergedNode) -> Difference {
        let per_side = |measure: &dyn Fn(Side, crate::tree::CallId) -> usize| -> u32 {
            Side::BOTH
                .iter()
                .filter_map(|&side| node.call(side).map(|call| measure(side, call) as u32))
                .sum()
        };
        let mut above = self.merged().parent(id);
        while let Some(parent) = above {
            let common = Side::BOTH.iter().all(|&side| {
                self.merged()
                    .node(parent)
                    .call(side)
                    .is_some_and(|call| self.relation(side, call).is_common())
            });
            if common {
                break;
            }
            above = self.merged().parent(parent);
        }
        Difference {
            node: id,
            lowest_common: above,
            calls: per_side(&|side, call| self.tree(side).size(call)),
            gpu_events: per_side(&|side, call| self.tree(side).gpu_events(call)),
        }
    }
}
