//! Aligns each additional run on a side with the median run, to find out how long each event of the median
//! run takes in the additional run.
//!
//! The rows of a report describe the median runs. The time of each measured event in an additional run is
//! assigned to the event's counterpart in the median run. If there is no counterpart, the time is assigned to
//! the row of the lowest common op. If this row has no events in the median run, the time is added up
//! separately.

mod figures;
mod per_step;
mod run;
mod times;
mod variation;

pub use figures::{RunFigures, RunNoise, StepMeans, are_apart};
pub(crate) use run::RunPrices;
pub(super) use run::step_times_of_sides;
pub use run::{Run, StepTime, StepTimes};
pub use times::{RunTimes, evidence, means_of_steps};
pub(crate) use times::{events_of_rows, has_runs, runs_of_step};

use crate::diff::{Difference, TraceDiff};
use crate::side::{PerSide, Side};
use variation::common_call;

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
fn varies_among_runs(diff: &TraceDiff, runs: &PerSide<Vec<Run>>, difference: &Difference) -> bool {
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
