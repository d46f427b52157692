//! Describes the wall time for `summary.json`.

use crate::analysis::Analysis;
use crate::analysis::steps::WallBasis;
use crate::analysis::wall::IdleKind;
use crate::report::text::Narrative;
use crate::side::Side;
use crate::trace::Nanos;
use serde::Serialize;
use std::collections::BTreeMap;

/// The wall time of both sides.
#[derive(Debug, Clone, Serialize)]
#[doc(hidden)]
pub struct WallSummary {
    /// A sentence that states the result.
    pub answer: String,
    /// `steps`, or `events` if a side has no steps; in this case, all figures describe the whole window.
    pub basis: &'static str,
    /// Whether busy and idle time add up exactly to the wall time.
    pub is_exact: bool,
    /// The baseline.
    pub trace1: WallSide,
    /// The candidate.
    pub trace2: WallSide,
    /// Difference in a step's own wall time, candidate − baseline, in µs.
    pub step_difference_us: f64,
}

/// The wall time of one side. All times except `step_wall_us` are sums over the recorded window.
#[derive(Debug, Clone, Serialize)]
#[doc(hidden)]
pub struct WallSide {
    /// Number of compared steps; 1 if the window is compared as a whole.
    pub steps: u64,
    /// Length of the recording in µs: the sum of the busy time, the idle time, the time of excluded work, and the time
    /// of steps without a counterpart.
    pub wall_us: f64,
    /// Time in µs during which work from the compared steps was running.
    pub busy_us: f64,
    /// Time in µs during which no work was running.
    pub idle_us: f64,
    /// Time of excluded work, in µs: work that was launched before the window or was not selected. The time includes
    /// the idle gaps before this work.
    pub before_window_us: f64,
    /// Time of steps without a counterpart, in µs.
    pub unpaired_steps_us: f64,
    /// Idle time in µs, by kind.
    pub idle_by_kind_us: BTreeMap<&'static str, f64>,
    /// Own wall time of a step in µs, which is the sum of its busy time and its idle time.
    pub step_wall_us: f64,
    /// Fraction of a step's own wall time that is idle; `null` for an empty window.
    pub idle_share: Option<f64>,
}

impl WallSummary {
    /// Ratio of the wall times of a step, candidate / baseline; `None` if the baseline has no time.
    pub(super) fn step_ratio(&self) -> Option<f64> {
        (self.trace1.step_wall_us > 0.0)
            .then(|| self.trace2.step_wall_us / self.trace1.step_wall_us)
    }
}

pub(super) fn wall(analysis: &Analysis) -> WallSummary {
    let wall = analysis.wall();
    let step = |side: Side| wall.totals(side).step_ms() * 1e3;
    WallSummary {
        answer: Narrative::of(analysis).answer(),
        basis: match analysis.compared().basis() {
            WallBasis::Steps => "steps",
            WallBasis::Events => "events",
        },
        is_exact: wall.is_exact(),
        trace1: side(analysis, Side::Baseline),
        trace2: side(analysis, Side::Candidate),
        step_difference_us: step(Side::Candidate) - step(Side::Baseline),
    }
}

fn side(analysis: &Analysis, side: Side) -> WallSide {
    let (wall, totals) = (analysis.wall(), analysis.wall().totals(side));
    let by_kind = IdleKind::ALL.map(|kind| (kind.label(), wall.idle_of_kind(side, kind)));
    let some = by_kind.into_iter().filter(|(_, time)| *time > Nanos::ZERO);
    WallSide {
        steps: totals.steps,
        wall_us: totals.wall.as_micros(),
        busy_us: totals.busy.as_micros(),
        idle_us: totals.idle.as_micros(),
        before_window_us: totals.before.as_micros(),
        unpaired_steps_us: totals.alone.as_micros(),
        idle_by_kind_us: some.map(|(kind, time)| (kind, time.as_micros())).collect(),
        step_wall_us: totals.step_ms() * 1e3,
        idle_share: totals.idle_share(),
    }
}
