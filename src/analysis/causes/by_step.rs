//! Checks whether a few steps contain most of a cause's time difference, and finds these steps.
//!
//! A program that hangs for 60 ms in one of five steps has a different problem from a program that takes 12 ms longer
//! in every step. The evidence for a cause therefore says whether its time difference is concentrated in a few steps.

use crate::analysis::account::{Ledger, Row};
use crate::analysis::robust::Few;
use crate::analysis::steps::StepPairs;
use crate::analysis::wall::Wall;
use crate::diff::{MergedId, TraceDiff};
use crate::program::StepId;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;

/// The time of one cause in each step, for each side.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ByStep {
    times: PerSide<Vec<Nanos>>,
    /// The part of the cause's time that cannot be assigned to a step, summed over both sides.
    outside: Nanos,
}

impl ByStep {
    /// Adds up the busy time of the attribution rows at the given positions, separately for each
    /// step.
    pub(super) fn of_rows(
        diff: &TraceDiff,
        ledger: &Ledger,
        wall: &Wall,
        rows: &[usize],
    ) -> ByStep {
        let (wall, mut sums) = (wall, ByStep::default());
        for &at in rows {
            for side in Side::BOTH {
                let time = wall.busy()[at][side];
                sums.add(side, step_of_row(diff, &ledger.rows()[at], side), time);
            }
        }
        sums
    }

    /// Adds the idle time that is attributed to a node to the steps that contain the node's calls.
    pub(super) fn add_idle(&mut self, diff: &TraceDiff, owner: MergedId, time: PerSide<Nanos>) {
        let node = diff.merged().node(owner);
        for side in Side::BOTH {
            let step = node.call(side).and_then(|call| diff.steps(side).step(call));
            self.add(side, step, time[side]);
        }
    }

    pub(super) fn absorb(&mut self, other: &ByStep) {
        self.outside += other.outside;
        for side in Side::BOTH {
            for (step, &time) in (0..).map(StepId).zip(&other.times[side]) {
                self.add(side, Some(step), time);
            }
        }
    }

    fn add(&mut self, side: Side, step: Option<StepId>, time: Nanos) {
        let Some(step) = step else {
            self.outside += time;
            return;
        };
        let times = &mut self.times[side];
        if times.len() <= step.index() {
            times.resize(step.index() + 1, Nanos::ZERO);
        }
        times[step.index()] += time;
    }

    /// Finds the few steps that contain most of the time difference. Returns `None` if the difference is spread over
    /// many steps, or if too much of the time cannot be assigned to a step.
    pub(super) fn few(&self, diff: &TraceDiff, compared: &StepPairs) -> Option<Few> {
        let known: Nanos = Side::BOTH.iter().flat_map(|&side| &self.times[side]).copied().sum();
        let samples = PerSide::from_fn(|side| {
            let steps = (0..diff.steps(side).len() as u32).map(StepId);
            let compared = steps.filter(|&step| !compared.is_alone(side, step));
            let time = |step: StepId| self.times[side].get(step.index()).copied();
            compared.map(|step| time(step).unwrap_or_default().as_micros()).collect()
        });
        (OTHERS * self.outside.0 <= known.0).then(|| Few::among(&samples)).flatten()
    }
}

/// Steps are reported only if the time that cannot be assigned to a step is at most 1/`OTHERS` of the time that can.
const OTHERS: i64 = 10;

/// The step that launched a row's work on one side.
fn step_of_row(diff: &TraceDiff, row: &Row, side: Side) -> Option<StepId> {
    let call = row.events[side].first().copied().or(row.calls[side])?;
    diff.steps(side).step(call)
}
