//! Finds structural differences between two runs on one side. A difference that also occurs between runs of
//! the same side is not reported as a difference between the sides.

use crate::analysis::Attribution;
use crate::diff::Difference;
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
    extra: HashSet<(Option<CallId>, String)>,
    /// Number of points at which the two runs differ.
    pub(super) points: usize,
}

impl Variation {
    /// Collects the variation from an analysis whose baseline is the median run and whose candidate is a
    /// second run on the same side.
    pub(super) fn of(analysis: &Attribution) -> Variation {
        let diff = analysis.diff();
        let differences = diff.differences();
        let mut variation = Variation { points: differences.len(), ..Variation::default() };
        for difference in differences {
            let node = diff.merged().node(difference.node);
            variation.absent.extend(node.call(Side::Baseline));
            if let Some(call) = node.call(Side::Candidate) {
                let name = diff.tree(Side::Candidate).name(call).to_owned();
                variation.extra.insert((common_call(analysis, difference, Side::Baseline), name));
            }
        }
        variation
    }

    /// Whether the second run lacks `call`, or lacks a call that encloses `call`. `call` is a call of the
    /// median run.
    fn lacks(&self, analysis: &Attribution, side: Side, call: CallId) -> bool {
        let parent = |call: &CallId| analysis.tree(side).parent(*call);
        std::iter::successors(Some(call), parent).any(|call| self.absent.contains(&call))
    }
}

/// The lowest common call above a point of difference, on one side.
fn common_call(analysis: &Attribution, difference: &Difference, side: Side) -> Option<CallId> {
    let merged = analysis.diff().merged();
    difference.lowest_common.and_then(|node| merged.node(node).call(side))
}

impl Attribution {
    /// The differences between the sides, without the differences that also occur between runs of the same
    /// side. Also returns the number of omitted differences.
    #[doc(hidden)]
    pub fn settled_differences(&self) -> (Vec<Difference>, usize) {
        let all = self.diff().differences();
        let count = all.len();
        let settled: Vec<Difference> =
            all.iter().filter(|point| !varies_among_runs(self, point)).copied().collect();
        let varying = count - settled.len();
        (settled, varying)
    }
}

/// Whether a difference between the sides also occurs between runs of the same side. It does if another run
/// of the call's side lacks the call, or if a run of the other side has a call with this name at the same
/// point.
pub(crate) fn varies_among_runs(analysis: &Attribution, difference: &Difference) -> bool {
    let node = analysis.diff().merged().node(difference.node);
    let has_call = |side: &Side| node.call(*side).is_some();
    Side::BOTH.into_iter().filter(has_call).any(|side| {
        let call = node.call(side).expect("the side has this call");
        let lacks = |run: &super::Run| run.variation.lacks(analysis, side, call);
        let is_extra = |run: &super::Run| {
            let above = common_call(analysis, difference, side.other());
            run.variation.extra.contains(&(above, analysis.tree(side).name(call).to_owned()))
        };
        analysis.runs(side).iter().any(lacks) || analysis.runs(side.other()).iter().any(is_extra)
    })
}
