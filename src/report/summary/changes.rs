//! The changes in `summary.json`.

use crate::analysis::Analysis;
use crate::analysis::changes::Change;
use crate::analysis::replay::Effect;
use serde::Serialize;

/// A change in the program, as a JSON object.
#[derive(Debug, Clone, Serialize)]
#[doc(hidden)]
pub struct ChangeSummary {
    /// The kind of change, such as `math_mode`.
    pub kind: &'static str,
    /// `certain`, or `likely` if it was inferred.
    pub certainty: &'static str,
    /// A sentence that says what changed.
    pub sentence: String,
    /// Cost of the change in µs: candidate − baseline, per step. The costs of all changes and the
    /// fields of [`SameProgram`] add up to the step-time difference.
    pub cost_us: f64,
    /// The part of `cost_us` that is a difference in the device's busy time.
    pub busy_us: f64,
    /// Effect on the step time, in µs, if only this change is made to the baseline's step. Estimated by
    /// replay; `null` if the traces cannot be replayed.
    pub effect_alone_us: Option<f64>,
    /// Effect on the step time, in µs, if this change is made to a step that already contains all other
    /// changes. Estimated by replay; `null` if the traces cannot be replayed.
    pub effect_last_us: Option<f64>,
    /// Total number of changed calls in all compared steps. The number includes matched ops that differ and outermost
    /// unmatched calls.
    pub sites: usize,
    /// First call site of the change (module class and user frame); empty if unknown.
    pub r#where: String,
    /// The usual cause of this kind of change; empty if there is none.
    pub hint: &'static str,
    /// The first node of the merged tree with this change; `null` if the change concerns no call.
    pub node: Option<usize>,
}

/// The parts of the step-time difference that no change explains, in µs.
#[derive(Debug, Clone, Serialize)]
#[doc(hidden)]
pub struct SameProgram {
    /// Whether the two programs are identical.
    pub is_identical: bool,
    /// Time difference at matched calls that have the same arguments and kernels.
    pub kernel_speed_us: f64,
    /// Difference in idle time that is explained by the host time of matched calls.
    pub host_speed_us: f64,
    /// Difference in idle time while the host is between recorded calls.
    pub between_calls_us: f64,
    /// Difference in idle time at matched calls, without the part that the host time of these calls
    /// explains.
    pub overlap_us: f64,
    /// Time difference that cannot be attributed to a call.
    pub unexplained_us: f64,
}

pub(super) fn changes(analysis: &Analysis) -> Vec<ChangeSummary> {
    let changes = analysis.changes().list().iter().enumerate();
    changes.map(|(at, change)| summary(change, analysis.effect_of_change(at))).collect()
}

fn summary(change: &Change, effect: Option<Effect>) -> ChangeSummary {
    ChangeSummary {
        kind: change.kind.label(),
        certainty: change.certainty.label(),
        sentence: change.sentence.clone(),
        cost_us: change.cost.as_micros(),
        busy_us: change.busy.as_micros(),
        effect_alone_us: effect.map(|effect| effect.alone.as_micros()),
        effect_last_us: effect.map(|effect| effect.last.as_micros()),
        sites: change.nodes.len(),
        r#where: change.place.clone(),
        hint: change.usual(),
        node: change.nodes.first().map(|node| node.index()),
    }
}

pub(super) fn same_program(analysis: &Analysis) -> SameProgram {
    let changes = analysis.changes();
    SameProgram {
        is_identical: changes.is_identical(),
        kernel_speed_us: changes.kernel_speed().as_micros(),
        host_speed_us: changes.host_speed().as_micros(),
        between_calls_us: changes.between_calls().as_micros(),
        overlap_us: changes.overlap().as_micros(),
        unexplained_us: changes.unexplained().as_micros(),
    }
}
