//! Time rules. Each rule limits how much one time measure may increase over the baseline.

use super::Limit;
use super::severity::{Scope, Severity};

/// A time measure of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimeMeasure {
    /// The step time that `diff` reports: the step's busy time plus its idle time.
    StepWall,
    /// The total time of the kernels, copies and memsets launched in the step.
    GpuTime,
    /// The total self time of the ops in the step. Measured only if the traces contain no GPU work.
    HostTime,
    /// The time during which the GPU is idle.
    Idle,
    /// The communication time that does not overlap with computation.
    ExposedCommunication,
}

impl TimeMeasure {
    /// All time measures.
    pub const ALL: [TimeMeasure; 5] = [
        TimeMeasure::StepWall,
        TimeMeasure::GpuTime,
        TimeMeasure::HostTime,
        TimeMeasure::Idle,
        TimeMeasure::ExposedCommunication,
    ];

    /// The measure's name in rule files.
    pub fn label(self) -> &'static str {
        match self {
            TimeMeasure::StepWall => "step_wall",
            TimeMeasure::GpuTime => "gpu_time",
            TimeMeasure::HostTime => "host_time",
            TimeMeasure::Idle => "idle",
            TimeMeasure::ExposedCommunication => "exposed_communication",
        }
    }

    /// Whether the measure is also computed for parts of a step, not only for whole steps.
    pub fn is_of_places(self) -> bool {
        matches!(self, TimeMeasure::GpuTime | TimeMeasure::HostTime)
    }
}

/// A rule that limits a time relative to the baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeRule {
    /// The limited measure.
    pub measure: TimeMeasure,
    /// Where the rule applies.
    pub scope: Scope,
    /// The allowed increase.
    pub limit: Limit,
    /// The minimum increase in µs: a smaller increase is never a violation, even if it exceeds `limit`.
    pub least_us: f64,
    /// Whether the rule can be violated if there is only one run per side.
    pub hard: bool,
    /// The severity of a violation.
    pub severity: Severity,
    /// Whether the user configured the rule. A default rule is skipped if its measure is missing.
    pub is_asked: bool,
}

/// Whether times decide about the outcome of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Timing {
    /// A time above its limit is a violation, or makes the gate inconclusive.
    #[default]
    Decide,
    /// A time above its limit is reported as a warning. This is the setting for machines whose times are too noisy for
    /// a decision.
    Report,
}

impl Timing {
    /// All values.
    pub const ALL: [Timing; 2] = [Timing::Decide, Timing::Report];

    /// The value's name in rule files: `decide` or `report`.
    pub fn label(self) -> &'static str {
        match self {
            Timing::Decide => "decide",
            Timing::Report => "report",
        }
    }

    /// The severity of a rule about a time, given the severity that the rule has if times decide.
    pub(crate) fn severity(self, severity: Severity) -> Severity {
        match self {
            Timing::Decide => severity,
            Timing::Report => severity.max(Severity::Warning),
        }
    }
}

/// Default limit for the step time and the host time, in percent.
const USUAL_WALL: f64 = 10.0;
/// Default limit for the GPU time, in percent.
const USUAL_GPU: f64 = 5.0;
/// Default minimum increase in µs: a smaller increase does not violate a rule.
const USUAL_LEAST: f64 = 50.0;

impl TimeRule {
    /// Creates a rule that applies to whole steps and counts as configured by the user.
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

    /// The default rules.
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
