//! Describes the wall time, and the causes of the wall-time difference, for `summary.json`.

use crate::analysis::Analysis;
use crate::analysis::causes::Cause;
use crate::analysis::steps::WallBasis;
use crate::analysis::wall::IdleKind;
use crate::report::text::Narrative;
use crate::side::Side;
use crate::trace::Nanos;
use serde::Serialize;
use std::collections::BTreeMap;

/// The wall time of both sides, and how its difference is attributed to causes.
#[derive(Debug, Clone, Serialize)]
#[doc(hidden)]
pub struct WallSummary {
    /// A sentence that states the result.
    pub answer: String,
    /// `steps`, or `events` if a side has no steps; in this case, all figures describe the whole window.
    pub basis: &'static str,
    /// Whether busy and idle time add up exactly to the wall time, and the causes add up exactly to the wall-time
    /// difference.
    pub is_exact: bool,
    /// The baseline.
    pub trace1: WallSide,
    /// The candidate.
    pub trace2: WallSide,
    /// Difference in a step's own wall time, candidate − baseline, in µs.
    pub step_difference_us: f64,
    /// Sum of `causes[].difference_us`: `step_difference_us` plus the difference in work launched
    /// before the window.
    pub causes_sum_us: f64,
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

/// A cause of the wall-time difference.
#[derive(Debug, Clone, Serialize)]
#[doc(hidden)]
pub struct CauseSummary {
    /// Why the time differs: `kernel_slower`, `host`, ….
    pub reason: &'static str,
    /// Call site where the cause occurs.
    pub place: String,
    /// Class of the module that encloses the call site.
    pub module_class: String,
    /// The first node of the merged tree with this cause; `null` if the cause has no specific call
    /// site.
    pub node: Option<usize>,
    /// Difference per step, candidate − baseline, in µs; the differences of all causes add up to
    /// `causes_sum_us`.
    pub difference_us: f64,
    /// Time that the cause takes in the baseline's window, in µs.
    pub time_trace1_us: f64,
    /// Time that the cause takes in the candidate's window, in µs.
    pub time_trace2_us: f64,
    /// Shapes and types of the baseline's op.
    pub arguments_trace1: String,
    /// Shapes and types of the candidate's op.
    pub arguments_trace2: String,
    /// A description of the evidence for the cause.
    pub evidence: String,
    /// A description of the few steps that contain most of the difference; `null` if the difference is spread over
    /// most steps or if its distribution over the steps is unknown.
    pub few: Option<String>,
    /// Kernel names in the baseline, longest time first.
    pub kernels_trace1: Vec<String>,
    /// Kernel names in the candidate, longest time first.
    pub kernels_trace2: Vec<String>,
}

impl WallSummary {
    /// Ratio of the wall times of a step, candidate / baseline; `None` if the baseline has no time.
    pub(super) fn step_ratio(&self) -> Option<f64> {
        (self.trace1.step_wall_us > 0.0)
            .then(|| self.trace2.step_wall_us / self.trace1.step_wall_us)
    }
}

pub(super) fn wall(analysis: &Analysis) -> WallSummary {
    let (wall, causes) = (analysis.wall(), analysis.causes());
    let step = |side: Side| wall.totals(side).step_ms() * 1e3;
    WallSummary {
        answer: Narrative::of(analysis).answer(),
        basis: match analysis.compared().basis() {
            WallBasis::Steps => "steps",
            WallBasis::Events => "events",
        },
        is_exact: wall.is_exact() && causes.is_exact(wall),
        trace1: side(analysis, Side::Baseline),
        trace2: side(analysis, Side::Candidate),
        step_difference_us: step(Side::Candidate) - step(Side::Baseline),
        causes_sum_us: causes.difference().as_micros(),
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

pub(super) fn causes(analysis: &Analysis) -> Vec<CauseSummary> {
    analysis.causes().list().iter().map(cause).collect()
}

fn cause(cause: &Cause) -> CauseSummary {
    CauseSummary {
        reason: cause.reason.label(),
        place: cause.place.clone(),
        module_class: cause.module.clone(),
        node: cause.node.map(|node| node.index()),
        difference_us: cause.difference.as_micros(),
        time_trace1_us: cause.time.baseline.as_micros(),
        time_trace2_us: cause.time.candidate.as_micros(),
        arguments_trace1: cause.arguments.baseline.clone(),
        arguments_trace2: cause.arguments.candidate.clone(),
        evidence: cause.evidence.clone(),
        few: cause.few.map(|few| few.words("steps")),
        kernels_trace1: cause.kernels.baseline.clone(),
        kernels_trace2: cause.kernels.candidate.clone(),
    }
}
