//! Finds the backward steps that a compiled backward region replaced. These steps belong to the forward ops that the
//! corresponding forward region replaced.

use super::finder::Finder;
use crate::diff::relation::NONE;
use crate::side::{PerSide, Side};
use crate::tree::{CallId, CallTree};

/// This string occurs in the names of autograd engine steps that accumulate gradients. Such steps do not belong to any
/// forward op and are never compiled.
const ACCUMULATE: &str = "AccumulateGrad";

pub(super) fn is_backward(tree: &CallTree, region: CallId) -> bool {
    tree.name(region).contains("CompiledFunctionBackward")
}

impl Finder<'_> {
    /// Returns the calls that a backward region replaced: the backward steps of all forward ops that the corresponding
    /// forward region replaced. Unmatched steps without a forward op are also included if they are between these steps.
    /// If no such backward step is known, returns the unmatched calls at the region's position on the opposite side.
    pub(super) fn backward_steps(
        &self,
        side: Side,
        region: CallId,
        links: &PerSide<&[(CallId, CallId)]>,
    ) -> Vec<CallId> {
        let (tree, other) = (self.trees[side], self.trees[side.other()]);
        let is_own =
            |&&(_, step): &&(CallId, CallId)| tree.is_below(step, region) || step == region;
        let forward = links[side].iter().find(is_own).map(|link| self.taken[side][link.0.index()]);
        let forward = forward.filter(|&at| at != NONE);
        let opposite = || {
            let stretch = self.stretch(side, region);
            stretch.map_or_else(Vec::new, |stretch| self.free_calls(side.other(), &stretch))
        };
        let is_step = |call: &CallId| !other.name(*call).contains(ACCUMULATE);
        // Links between forward and backward ops are sorted by their backward ops.
        let has_forward = |call: CallId| {
            let links = links[side.other()];
            let from = links.partition_point(|link| link.1 < call);
            links.get(from).is_some_and(|link| link.1 == call)
        };
        let mut steps: Vec<CallId> = links[side.other()]
            .iter()
            .filter(|link| forward == Some(self.taken[side.other()][link.0.index()]))
            .map(|link| self.outermost_step(side.other(), link.1))
            .collect();
        let (Some(&first), Some(&last)) = (steps.iter().min(), steps.iter().max()) else {
            return opposite().into_iter().filter(is_step).collect();
        };
        let unlinked = opposite()
            .into_iter()
            .filter(|&call| call > first && call < last && is_step(&call) && !has_forward(call));
        steps.extend(unlinked);
        steps.sort_unstable();
        steps.dedup();
        steps
    }

    /// The outermost autograd engine step that encloses a backward op.
    fn outermost_step(&self, side: Side, op: CallId) -> CallId {
        let tree = self.trees[side];
        let above =
            tree.ancestors(op).take_while(|&above| tree.name(above).contains("evaluate_function"));
        above.last().unwrap_or(op)
    }
}
