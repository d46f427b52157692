//! Defines the last columns of tables with times, which show how a time varies among the runs. These columns exist only
//! if both sides have several runs.

use super::table::{ColumnType, Columns};
use crate::analysis::Analysis;
use crate::analysis::runs::{RunFigures, are_apart, events_of_rows, has_runs};
use crate::side::Side;
use crate::tree::CallId;

const MICROS: (ColumnType, &str) = (ColumnType::Decimal(3), "µs");

/// Columns for the number of runs on each side, for the median and the spread of a time over these runs, and for whether
/// the runs of the sides overlap. If a side has a single run, there are no such columns. The function `times` returns the
/// time per step in each run of a side, in µs, or `None` if there is nothing to compare.
pub(super) fn columns<R: 'static>(
    analysis: &Analysis,
    times: fn(&Analysis, &R, Side) -> Option<Vec<f64>>,
) -> Columns<Analysis, R> {
    if !has_runs(analysis.runs()) {
        return Columns::default();
    }
    let figures = move |a: &Analysis, r: &R, side| times(a, r, side).map(|of| RunFigures::of(&of));
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
        .word(
            "apart",
            "with several runs per side: `yes` if every run of one side takes longer than every run of the other side",
            move |a, r| {
                let [one, two] = Side::BOTH.map(|side| times(a, r, side));
                let apart = one.zip(two).map(|(one, two)| are_apart(&one, &two));
                apart.map(|apart| if apart { "yes" } else { "no" }).into()
            },
        )
}

/// The time in each run of the given events of the median run.
pub(super) fn of_events(analysis: &Analysis, events: &[CallId], side: Side) -> Option<Vec<f64>> {
    Some(analysis.run_times().each(side, events))
}

/// The time in each run of the given attribution rows. `rows` contains the indices of the rows.
pub(super) fn of_rows(analysis: &Analysis, rows: &[usize], side: Side) -> Option<Vec<f64>> {
    of_events(analysis, &events_of_rows(analysis.ledger(), rows, side), side)
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
