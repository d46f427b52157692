//! Computes the wall time per step for a single trace, without a comparison.
//!
//! The `diff` headline shows this step time, `gate` uses it as `step_wall`, and the runs on a side are ranked
//! by it. The step time is the mean over the steps. The busy + idle time per step in [`Wall`](super::Wall)
//! has the same value.

use super::part::Part;
use super::window::{Recorded, Window, everything_that_ran, window};
use crate::analysis::steps::WallBasis;
use crate::program::{Measure, Program};
use crate::trace::Nanos;
use crate::tree::CallId;
use std::cmp::Ordering;

/// The wall time of the steps of one trace: busy and idle time, excluding work that was launched before
/// the first step.
#[derive(Debug, Clone, Copy, Default)]
#[doc(hidden)]
pub struct StepWall {
    own: Nanos,
    steps: u64,
}

impl StepWall {
    /// The wall time of a trace. A trace without steps counts as one step that spans all measured events.
    pub fn of(program: &Program, measure: Measure) -> StepWall {
        let basis = if program.steps().is_empty() { WallBasis::Events } else { WallBasis::Steps };
        let calls: Vec<CallId> = measure.calls(program.tree()).collect();
        let tree = program.tree();
        let of = Recorded { tree, steps: program.steps(), measure, calls: &calls };
        let window = window(of, basis);
        let before = match measure {
            Measure::GpuTime => before(of, window, basis),
            Measure::HostSelfTime => Nanos::ZERO,
        };
        StepWall { own: window.wall() - before, steps: window.steps }
    }

    /// The mean wall time per step, in µs.
    pub fn micros(self) -> f64 {
        self.own.as_micros() / self.steps.max(1) as f64
    }
}

/// Time of work that was launched before the window or was not selected. Gaps that end with such work are included.
fn before(of: Recorded<'_>, window: Window, basis: WallBasis) -> Nanos {
    let (mut reached, mut before) = (window.start, Nanos::ZERO);
    let all = everything_that_ran(of, window, basis).into_iter();
    for ran in all.take_while(|ran| ran.start < window.end) {
        let (_, end) = window.clip(ran.start, ran.end);
        if end > reached {
            if ran.part == Part::Before {
                before += end - reached;
            }
            reached = end;
        }
    }
    before
}

impl PartialEq for StepWall {
    fn eq(&self, other: &StepWall) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for StepWall {}

impl Ord for StepWall {
    fn cmp(&self, other: &StepWall) -> Ordering {
        let times = |wall: &StepWall, steps: u64| i128::from(wall.own.0) * i128::from(steps);
        times(self, other.steps).cmp(&times(other, self.steps))
    }
}

impl PartialOrd for StepWall {
    fn partial_cmp(&self, other: &StepWall) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
