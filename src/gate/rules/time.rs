//! A rule about time: what is measured, how much more it may be, and how sure one has to be.

use super::{Limit, Scope, Severity};

/// What is measured of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimeMeasure {
    /// From its beginning to its end on the host.
    StepWall,
    /// The sum of kernels, copies and memsets launched in it.
    GpuTime,
    /// The time of ops outside of the ops below them, in traces without GPU.
    HostTime,
    /// Gaps on the GPU.
    Idle,
    /// Communication while nothing computes.
    ExposedCommunication,
}

impl TimeMeasure {
    /// All of them.
    pub const ALL: [TimeMeasure; 5] = [
        TimeMeasure::StepWall,
        TimeMeasure::GpuTime,
        TimeMeasure::HostTime,
        TimeMeasure::Idle,
        TimeMeasure::ExposedCommunication,
    ];

    /// As rules write it.
    pub fn label(self) -> &'static str {
        match self {
            TimeMeasure::StepWall => "step_wall",
            TimeMeasure::GpuTime => "gpu_time",
            TimeMeasure::HostTime => "host_time",
            TimeMeasure::Idle => "idle",
            TimeMeasure::ExposedCommunication => "exposed_communication",
        }
    }

    /// Whether places have it, and not whole steps alone.
    pub fn is_of_places(self) -> bool {
        matches!(self, TimeMeasure::GpuTime | TimeMeasure::HostTime)
    }
}

/// A rule about time.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeRule {
    /// What is measured.
    pub measure: TimeMeasure,
    /// Where.
    pub scope: Scope,
    /// How much more there may be.
    pub limit: Limit,
    /// And at least this much, in µs, where the limit is a share.
    pub least_us: f64,
    /// Whether one run a side is enough to fail.
    pub hard: bool,
    /// How bad it is.
    pub severity: Severity,
    /// Whether the user configured it: a default rule about something that was not measured is left out.
    pub is_asked: bool,
}

/// How much longer a step may take where no file says otherwise, in percent.
const USUAL_WALL: f64 = 10.0;
/// How much more GPU time it may have.
const USUAL_GPU: f64 = 5.0;
/// Smaller differences, in µs, are not reported.
const USUAL_LEAST: f64 = 50.0;

impl TimeRule {
    /// A rule of a user for whole steps.
    pub fn asked(measure: TimeMeasure, limit: Limit) -> TimeRule {
        TimeRule {
            measure,
            scope: Scope::default(),
            limit,
            least_us: 0.0,
            hard: false,
            severity: Severity::Error,
            is_asked: true,
        }
    }

    /// The rules that hold where no file says otherwise.
    pub(super) fn usual() -> Vec<TimeRule> {
        let usual = |(measure, percent)| TimeRule {
            least_us: USUAL_LEAST,
            is_asked: false,
            ..TimeRule::asked(measure, Limit::Percent(percent))
        };
        let measures = [
            (TimeMeasure::StepWall, USUAL_WALL),
            (TimeMeasure::GpuTime, USUAL_GPU),
            (TimeMeasure::HostTime, USUAL_WALL),
        ];
        measures.map(usual).to_vec()
    }
}
