//! Builds `summary.json`: inputs, totals, the bill, notes, verdicts and the largest differences.

mod changes;
mod largest;
mod verdict;
mod wall;

pub use changes::{BillSummary, ChangeSummary, SameProgram};
pub use largest::{LargeDifference, Part, largest_differences};
pub use verdict::{StepVerdict, VerdictSummary};
pub use wall::{WallSide, WallSummary};

use super::json::write_json;
use crate::analysis::Analysis;
use crate::analysis::account::Totals;
use crate::analysis::runs::{RunNoise, settled_differences};
use crate::program::Measure;
use crate::side::{PerSide, Side};
use crate::trace::{Nanos, Note};
use serde::Serialize;
use std::io::{self, Write};

/// Version of the layout of `summary.json`; increased when a field changes its meaning or is removed.
pub const SCHEMA_VERSION: u32 = 5;

/// Number of names listed in `largest_differences`.
const LARGEST: usize = 20;

/// The content of `summary.json`, also used by the command line.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// The value of [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Version of tracetree.
    pub tracetree_version: &'static str,
    /// The measured quantity: `gpu_time` or `host_self_time`.
    pub measure: &'static str,
    /// The baseline.
    pub trace1: SideSummary,
    /// The candidate.
    pub trace2: SideSummary,
    /// The attribution of the wall time.
    pub wall: WallSummary,
    /// The lines into which the step-time difference is divided.
    pub bill: Vec<BillSummary>,
    /// The changes in the program, most expensive first.
    pub changes: Vec<ChangeSummary>,
    /// The time differences that no change in the program explains.
    pub same_program: SameProgram,
    /// Fraction (0 to 1) of the GPU time in the compared steps that was launched by firmly matched calls; `null` if
    /// there is no GPU time.
    pub firm_share: Option<f64>,
    /// Difference in the wall time of a step, candidate − baseline, in µs; the same as `wall.step_difference_us`.
    pub difference_us: f64,
    /// Ratio of the wall times of a step, candidate / baseline; `null` if undefined.
    pub ratio: Option<f64>,
    /// Difference in the GPU time of all compared steps, candidate − baseline, in µs; `null` without GPU events.
    pub gpu_time_difference_us: Option<f64>,
    /// Ratio of these GPU times, candidate / baseline; `null` if undefined and without GPU events.
    pub gpu_time_ratio: Option<f64>,
    /// Whether the times of the rows add up to the time of all events on both sides, exact to the
    /// nanosecond.
    pub account_is_exact: bool,
    /// Number of points of difference that do not vary between runs on the same side.
    pub points_of_difference: u64,
    /// Number of points of difference that vary between runs on the same side.
    pub varying_points: u64,
    /// Whether both sides did the same work, as far as the traces show.
    pub comparable: bool,
    /// The verdicts of the comparison and their evidence.
    pub verdict: VerdictSummary,
    /// Notes about irregularities in the traces and in the comparison.
    pub notes: Vec<SideNote>,
    /// The names with the largest absolute time difference, largest first.
    pub largest_differences: Vec<NameDifference>,
}

/// One of the two traces in the summary.
#[derive(Debug, Clone, Serialize)]
#[doc(hidden)]
pub struct SideSummary {
    /// Display name of the side: the user-provided name, or `trace1` or `trace2`.
    pub name: String,
    /// Path of the trace as the user passed it.
    pub path: String,
    /// Number of elements in `traceEvents`.
    pub events: u64,
    /// Names of the devices in the trace.
    pub devices: Vec<String>,
    /// Number of attributed events.
    pub accounted_events: u64,
    /// Sum of the durations of all attributed events, in µs.
    pub kernel_time_us: f64,
    /// Sum of the times of all rows, in µs.
    pub row_sum_us: f64,
    /// Time during which at least one attributed event was running, in µs.
    pub busy_time_us: f64,
    /// Time in rows that both traces have, in µs. `paired_us`, `one_sided_us` and `unlinked_us` add up to
    /// `kernel_time_us`.
    pub paired_us: f64,
    /// Time in rows that only this trace has, in µs.
    pub one_sided_us: f64,
    /// Time of GPU events whose launch is not in the trace, in µs.
    pub unlinked_us: f64,
    /// How much the runs on this side vary; `null` if the side has a single run.
    pub runs: Option<RunsSummary>,
}

/// How much the runs on one side vary. Differences smaller than the spread between runs are noise.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[doc(hidden)]
pub struct RunsSummary {
    /// Number of runs.
    pub count: usize,
    /// Own wall time of a step, in µs: the median over the runs; `null` unless all runs have steps.
    pub step_wall_median_us: Option<f64>,
    /// Difference between the slowest and the fastest run in the own wall time of a step, in µs.
    pub step_wall_spread_us: Option<f64>,
    /// Attributed time of a step, in µs: the median over the runs.
    pub step_time_median_us: f64,
    /// Difference between the slowest and the fastest run in the attributed time of a step, in µs.
    pub step_time_spread_us: f64,
    /// The number of points of difference between the median run and the run that differs most from it.
    pub varying_points: usize,
}

/// A note, with the side that it concerns.
#[derive(Debug, Clone, Serialize)]
#[doc(hidden)]
pub struct SideNote {
    /// `trace1` or `trace2`; `null` if the note applies to both sides.
    pub side: Option<&'static str>,
    /// The note.
    #[serde(flatten)]
    pub note: Note,
}

/// The rows that have the same name and the same lowest common node.
#[derive(Debug, Clone, Serialize)]
#[doc(hidden)]
pub struct NameDifference {
    /// The name of the rows.
    pub name: String,
    /// Name of the lowest common node above the rows; empty if the op itself is the lowest common
    /// node.
    pub below: String,
    /// Number of rows.
    pub row_count: u64,
    /// Number of ops or launches in these rows in the baseline.
    pub calls_trace1: u64,
    /// Number of ops or launches in these rows in the candidate.
    pub calls_trace2: u64,
    /// Number of attributed events in these rows in the baseline.
    pub events_trace1: u64,
    /// Number of attributed events in these rows in the candidate.
    pub events_trace2: u64,
    /// Attributed time of the rows in the baseline, in µs.
    pub kernel_time_trace1_us: f64,
    /// Attributed time of the rows in the candidate, in µs.
    pub kernel_time_trace2_us: f64,
    /// Difference in attributed time, candidate − baseline, in µs.
    pub difference_us: f64,
    /// Ratio of attributed times, candidate / baseline; `null` if undefined.
    pub ratio: Option<f64>,
}

impl SideNote {
    /// The display name of the side that the note concerns, given the names of both sides.
    #[doc(hidden)]
    pub fn side_name<'n>(&self, names: &'n PerSide<String>) -> Option<&'n str> {
        let is_here = |&side: &Side| self.side == Some(side.label());
        Side::BOTH.into_iter().find(is_here).map(|side| names[side].as_str())
    }
}

/// Summarizes an analysis.
#[doc(hidden)]
pub fn summarise(analysis: &Analysis) -> Summary {
    summarise_with(analysis, &largest_differences(analysis))
}

/// Same as [`summarise`], but uses largest differences that were already computed.
pub(super) fn summarise_with(analysis: &Analysis, largest: &[LargeDifference]) -> Summary {
    let account = analysis.account();
    let checks = analysis.comparability();
    let (settled, varying) = settled_differences(analysis.diff(), analysis.runs());
    let side = |side: Side| side_summary(analysis, side, &account.totals[side], account.rows[side]);
    let measure = analysis.ledger().measure();
    let gpu = Some(account).filter(|_| measure == Measure::GpuTime);
    let wall = wall::wall(analysis);
    Summary {
        schema_version: SCHEMA_VERSION,
        tracetree_version: env!("CARGO_PKG_VERSION"),
        measure: measure.label(),
        trace1: side(Side::Baseline),
        trace2: side(Side::Candidate),
        difference_us: wall.step_difference_us,
        ratio: wall.step_ratio(),
        gpu_time_difference_us: gpu.map(|account| account.difference().as_micros()),
        gpu_time_ratio: gpu.and_then(|account| account.ratio()),
        wall,
        bill: changes::bill(analysis),
        changes: changes::changes(analysis),
        same_program: changes::same_program(analysis),
        firm_share: analysis.changes().firm_share(),
        account_is_exact: account.is_exact(),
        points_of_difference: settled.len() as u64,
        varying_points: varying as u64,
        comparable: checks.is_comparable(),
        verdict: verdict::summarise(analysis),
        notes: notes(analysis),
        largest_differences: largest.iter().take(LARGEST).map(name_difference).collect(),
    }
}

fn side_summary(analysis: &Analysis, side: Side, totals: &Totals, rows: Nanos) -> SideSummary {
    let trace = analysis.tree(side).trace();
    SideSummary {
        name: analysis.names()[side].to_owned(),
        path: trace.source().to_owned(),
        events: trace.total_events(),
        devices: trace.header().devices.iter().map(|device| device.name.clone()).collect(),
        accounted_events: totals.events,
        kernel_time_us: totals.time.as_micros(),
        row_sum_us: rows.as_micros(),
        busy_time_us: totals.busy.as_micros(),
        paired_us: totals.paired.as_micros(),
        one_sided_us: totals.one_sided.as_micros(),
        unlinked_us: totals.unlinked.as_micros(),
        runs: analysis.run_times().noise(side).map(runs_summary),
    }
}

fn runs_summary(noise: RunNoise) -> RunsSummary {
    RunsSummary {
        count: noise.time.runs,
        step_wall_median_us: noise.wall.map(|wall| wall.median_us),
        step_wall_spread_us: noise.wall.map(|wall| wall.spread_us),
        step_time_median_us: noise.time.median_us,
        step_time_spread_us: noise.time.spread_us,
        varying_points: noise.variable,
    }
}

/// All notes about the inputs and the comparison.
pub(super) fn notes(analysis: &Analysis) -> Vec<SideNote> {
    let (diff, checks) = (analysis.diff(), analysis.comparability());
    let of_sides = PerSide::from_fn(|side| {
        let tree = diff.tree(side);
        let notes = tree.trace().notes().iter().chain(tree.notes()).chain(&checks.sides[side]);
        notes.collect::<Vec<&Note>>()
    });
    // A note that applies to both sides is listed once.
    let is_of_both = |note: &&Note| Side::BOTH.iter().all(|&side| of_sides[side].contains(note));
    let of_side = |side: Side| {
        let own = of_sides[side].iter().copied().filter(|note| !is_of_both(note));
        own.map(move |note| SideNote { side: Some(side.label()), note: note.clone() })
    };
    let of_both = of_sides
        .baseline
        .iter()
        .copied()
        .filter(is_of_both)
        .chain(diff.notes())
        .chain(analysis.notes())
        .chain(analysis.wall().notes())
        .chain(&checks.both)
        .map(|note| SideNote { side: None, note: note.clone() });
    Side::BOTH.into_iter().flat_map(of_side).chain(of_both).collect()
}

fn name_difference(group: &LargeDifference) -> NameDifference {
    NameDifference {
        ratio: group.time.ratio(),
        difference_us: group.time.difference().as_micros(),
        name: group.name.clone(),
        below: group.below.clone(),
        row_count: group.row_count,
        calls_trace1: group.calls.baseline,
        calls_trace2: group.calls.candidate,
        events_trace1: group.events.baseline,
        events_trace2: group.events.candidate,
        kernel_time_trace1_us: group.time.baseline.as_micros(),
        kernel_time_trace2_us: group.time.candidate.as_micros(),
    }
}

/// Writes a summary as the content of `summary.json`.
///
/// # Errors
/// Fails if `out` cannot be written to.
#[doc(hidden)]
pub fn write_summary(summary: &Summary, out: &mut dyn Write) -> io::Result<()> {
    write_json(summary, out)
}
