//! Finds structural differences between two runs on one side. A difference that also occurs between runs of
//! the same side is not reported as a difference between the sides.

use crate::diff::{Difference, TraceDiff};
use crate::side::Side;
use crate::tree::CallId;
use std::collections::HashSet;

/// Structural differences between the median run and a second run on the same side.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Variation {
    /// Outermost calls of the median run that the second run lacks.
    absent: HashSet<CallId>,
    /// Outermost calls that only the second run has. Each call is identified by its name and by the nearest
    /// enclosing call that both runs have; the enclosing call is given as a call of the median run.
    pub(super) extra: HashSet<(Option<CallId>, String)>,
    /// Number of points at which the two runs differ.
    pub(super) points: usize,
}

impl Variation {
    /// Collects the variation from an analysis whose baseline is the median run and whose candidate is a
    /// second run on the same side.
    pub(super) fn of(diff: &TraceDiff) -> Variation {
        let differences = diff.differences();
        let mut variation = Variation { points: differences.len(), ..Variation::default() };
        for difference in differences {
            let node = diff.merged().node(difference.node);
            variation.absent.extend(node.call(Side::Baseline));
            if let Some(call) = node.call(Side::Candidate) {
                let name = diff.tree(Side::Candidate).name(call).to_owned();
                variation.extra.insert((common_call(diff, difference, Side::Baseline), name));
            }
        }
        variation
    }

    /// Whether the second run lacks `call`, or lacks a call that encloses `call`. `call` is a call of the
    /// median run.
    pub(super) fn lacks(&self, diff: &TraceDiff, side: Side, call: CallId) -> bool {
        let parent = |call: &CallId| diff.tree(side).parent(*call);
        std::iter::successors(Some(call), parent).any(|call| self.absent.contains(&call))
    }
}

/// The lowest common call above a point of difference, on one side.
pub(super) fn common_call(diff: &TraceDiff, difference: &Difference, side: Side) -> Option<CallId> {
    let merged = diff.merged();
    difference.lowest_common.and_then(|node| merged.node(node).call(side))
}
