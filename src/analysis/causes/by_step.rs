//! The time of a cause, step by step → the few steps that most of its difference is in.
//!
//! A step that hangs for 60 ms once in five steps is no program that takes 12 ms longer: the evidence of
//! a cause says which of the two it is.

use crate::analysis::robust::{self, Few};
use crate::analysis::{Analysis, Row};
use crate::diff::MergedId;
use crate::program::StepId;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;

/// The time of one cause in each step of both sides.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ByStep {
    times: PerSide<Vec<Nanos>>,
    /// Time of both sides of which no step is known.
    outside: Nanos,
}

impl ByStep {
    /// Of the busy time of rows, by their positions.
    pub(super) fn of_rows(analysis: &Analysis, rows: &[usize]) -> ByStep {
        let (wall, mut sums) = (analysis.wall(), ByStep::default());
        for &at in rows {
            for side in Side::BOTH {
                let time = wall.busy()[at][side] - wall.busy_alone()[at][side];
                sums.add(side, step_of_row(analysis, &analysis.rows()[at], side), time);
            }
        }
        sums
    }

    /// Adds idle time whose owner is a node.
    pub(super) fn add_idle(&mut self, analysis: &Analysis, owner: MergedId, time: PerSide<Nanos>) {
        let node = analysis.diff().merged().node(owner);
        for side in Side::BOTH {
            let step = node.call(side).and_then(|call| analysis.steps(side).step(call));
            self.add(side, step, time[side]);
        }
    }

    /// Adds all of another one.
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

    /// The few steps that most of the difference is in; `None` where it is in most steps, and where the
    /// step of much of the time is not known.
    pub(super) fn few(&self, analysis: &Analysis) -> Option<Few> {
        let known: Nanos = Side::BOTH.iter().flat_map(|&side| &self.times[side]).copied().sum();
        let samples = PerSide::from_fn(|side| {
            let steps = (0..analysis.steps(side).len() as u32).map(StepId);
            let compared = steps.filter(|&step| !analysis.wall().is_step_alone(side, step));
            let time = |step: StepId| self.times[side].get(step.index()).copied();
            compared.map(|step| time(step).unwrap_or_default().as_micros()).collect()
        });
        (OTHERS * self.outside.0 <= known.0).then(|| robust::few(&samples)).flatten()
    }
}

/// At most one part in so many may be outside of steps.
const OTHERS: i64 = 10;

/// The step that the work of a row on one side was launched in.
fn step_of_row(analysis: &Analysis, row: &Row, side: Side) -> Option<StepId> {
    let call = row.events[side].first().copied().or(row.calls[side])?;
    analysis.steps(side).step(call)
}
