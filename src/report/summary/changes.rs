//! The changes in `summary.json`.

use crate::analysis::Analysis;
use crate::analysis::bill::BillLine;
use crate::analysis::changes::Change;
use crate::trace::Nanos;
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
    pub attributed_us: f64,
    /// The part of `attributed_us` that is a difference in the device's busy time.
    pub busy_us: f64,
    /// Price of the change in µs: what it does to the step time, by replay; `null` if the traces cannot be replayed.
    pub price_us: Option<f64>,
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

/// A line of the bill, as a JSON object.
#[derive(Debug, Clone, Serialize)]
#[doc(hidden)]
pub struct BillSummary {
    /// What the line is about, such as `change`, `wait` or `host`.
    pub kind: &'static str,
    /// A sentence that says what happened.
    pub sentence: String,
    /// What the line does to the step time in µs, by replay; `null` if the traces cannot be replayed.
    pub price_us: Option<f64>,
    /// The time in µs that is attributed to the line; `null` if prices are known.
    pub attributed_us: Option<f64>,
    /// The lowest, the median and the highest price over all pairs of runs, in µs; `null` with one run per side.
    pub price_over_runs_us: Option<[f64; 3]>,
    /// Whether the price has the same sign for all pairs of runs; `null` if a side has a single run.
    pub apart: Option<bool>,
    /// Position in `changes`; `null` if the line is not a change.
    pub change: Option<usize>,
    /// What to try or to check; empty if unknown.
    pub hint: String,
}

pub(super) fn bill(analysis: &Analysis) -> Vec<BillSummary> {
    let bill = analysis.bill();
    let of = |line: &BillLine| {
        let price = Some(line.price.as_micros());
        BillSummary {
            kind: line.kind.label(),
            sentence: line.sentence.clone(),
            price_us: price.filter(|_| bill.is_priced()),
            attributed_us: price.filter(|_| !bill.is_priced()),
            price_over_runs_us: line
                .over_runs
                .map(|runs| [runs.low, runs.median, runs.high].map(Nanos::as_micros)),
            apart: line.over_runs.and_then(|runs| runs.is_apart),
            change: line.change,
            hint: line.advice.clone(),
        }
    };
    bill.lines().iter().map(of).collect()
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
    changes.map(|(at, change)| summary(change, analysis.bill().price_of_change(at))).collect()
}

fn summary(change: &Change, price: Option<Nanos>) -> ChangeSummary {
    ChangeSummary {
        kind: change.kind.label(),
        certainty: change.certainty.label(),
        sentence: change.sentence.clone(),
        attributed_us: change.cost.as_micros(),
        busy_us: change.busy.as_micros(),
        price_us: price.map(Nanos::as_micros),
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
        kernel_speed_us: changes.without_change()[0].cost.as_micros(),
        host_speed_us: changes.host_speed().as_micros(),
        between_calls_us: changes.between_calls().as_micros(),
        overlap_us: changes.overlap().as_micros(),
        unexplained_us: changes.unexplained().as_micros(),
    }
}
