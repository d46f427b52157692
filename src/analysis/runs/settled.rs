//! The differences between the sides that do not occur between the runs of one side.

use super::run::Run;
use super::variation::common_call;
use crate::diff::{Difference, TraceDiff};
use crate::side::{PerSide, Side};

/// The differences between the sides, without the differences that also occur between runs of the same
/// side. Also returns the number of omitted differences.
#[doc(hidden)]
pub fn settled_differences(diff: &TraceDiff, runs: &PerSide<Vec<Run>>) -> (Vec<Difference>, usize) {
    let all = diff.differences();
    let count = all.len();
    let settled: Vec<Difference> =
        all.iter().filter(|point| !varies_among_runs(diff, runs, point)).copied().collect();
    let varying = count - settled.len();
    (settled, varying)
}

/// Whether a difference between the sides also occurs between runs of the same side. It does if another run
/// of the call's side lacks the call, or if a run of the other side has a call with this name at the same
/// point.
pub(super) fn varies_among_runs(
    diff: &TraceDiff,
    runs: &PerSide<Vec<Run>>,
    difference: &Difference,
) -> bool {
    let node = diff.merged().node(difference.node);
    let has_call = |side: &Side| node.call(*side).is_some();
    Side::BOTH.into_iter().filter(has_call).any(|side| {
        let call = node.call(side).expect("the side has this call");
        let lacks = |run: &Run| run.variation.lacks(diff, side, call);
        let is_extra = |run: &Run| {
            let above = common_call(diff, difference, side.other());
            run.variation.extra.contains(&(above, diff.tree(side).name(call).to_owned()))
        };
        runs[side].iter().any(lacks) || runs[side.other()].iter().any(is_extra)
    })
}
