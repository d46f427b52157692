//! Defines the last columns of tables with times, which show how a time varies among the runs. These columns exist only
//! if both sides have several runs.

use super::table::{ColumnType, Columns};
use crate::analysis::Analysis;
use crate::analysis::runs::{RunFigures, events_of_rows, has_runs};
use crate::analysis::verdict::Judgement;
use crate::side::Side;

const MICROS: (ColumnType, &str) = (ColumnType::Decimal(3), "µs");

/// Columns for the number of runs on each side, and for the median and the spread of a time over these runs. If a side
/// has a single run, there are no such columns. The function `figures` returns the values for a row and side, or `None`
/// if there is nothing to compare.
pub(super) fn columns<R: 'static>(
    analysis: &Analysis,
    figures: fn(&Analysis, &R, Side) -> Option<RunFigures>,
) -> Columns<Analysis, R> {
    if !has_runs(analysis.runs()) {
        return Columns::default();
    }
    Columns::default()
        .sides(
            "runs_*",
            (ColumnType::Whole, ""),
            "with several runs per side: number of runs",
            move |a: &Analysis, r: &R, side| figures(a, r, side).map(|of| of.runs).into(),
        )
        .sides(
            "run_median_us_*",
            MICROS,
            "with several runs per side: time per step, as the median over the runs (for an even number of runs, the \
             lower of the two middle values)",
            move |a, r, side| figures(a, r, side).map(|of| of.median_us).into(),
        )
        .sides(
            "run_spread_us_*",
            MICROS,
            "with several runs per side: largest difference in time per step between two runs",
            move |a, r, side| figures(a, r, side).map(|of| of.spread_us).into(),
        )
}

/// The statistics that a verdict uses for one side: the number of runs, and the median and the spread of the time over
/// these runs.
pub(super) fn of_judgement(judgement: &Judgement, side: Side) -> Option<RunFigures> {
    Some(RunFigures {
        runs: judgement.repeats[side],
        median_us: judgement.median_us[side],
        spread_us: judgement.spread_us[side],
    })
}

/// The number of runs on one side, and the median and the spread of the time that the given attribution rows take in
/// each run. `rows` contains the indices of the rows.
pub(super) fn of_rows(analysis: &Analysis, rows: &[usize], side: Side) -> Option<RunFigures> {
    Some(analysis.run_times().figures(side, &events_of_rows(analysis.ledger(), rows, side)))
}

/// Columns that list the time in each run, such as `104.000; 130.000`. Only tables that people read row by row have
/// these columns. If a side has a single run, there are no such columns.
pub(super) fn each<R: 'static>(
    analysis: &Analysis,
    pattern: &'static str,
    doc: &'static str,
    times: fn(&Analysis, &R, Side) -> Option<Vec<f64>>,
) -> Columns<Analysis, R> {
    if !has_runs(analysis.runs()) {
        return Columns::default();
    }
    Columns::default().sides(
        pattern,
        (ColumnType::Text, "µs"),
        doc,
        move |a: &Analysis, r: &R, side| times(a, r, side).map(|times| listed(&times)).into(),
    )
}

/// Formats times as `104.000; 130.000`.
fn listed(times: &[f64]) -> String {
    let times: Vec<String> = times.iter().map(|time| format!("{time:.3}")).collect();
    times.join("; ")
}
