//! Defines the columns shared by tables whose rows are groups of GPU events.

use super::runs;
use super::table::{ColumnType, Columns};
use crate::analysis::Analysis;
use crate::analysis::account::Tally;
use crate::side::Side;

/// The time of a tally's events in each run (see [`runs::columns`]).
pub(super) fn of_runs(analysis: &Analysis, tally: &Tally, side: Side) -> Option<Vec<f64>> {
    runs::of_events(analysis, &tally.events[side], side)
}

pub(super) fn counts_and_totals<R: 'static>(
    tally: for<'c> fn(&'c R) -> &'c Tally,
) -> Columns<Analysis, R> {
    Columns::default()
        .sides(
            "count_*",
            (ColumnType::Whole, ""),
            "number of events",
            move |_: &Analysis, r: &R, side| tally(r).count(side).into(),
        )
        .sides(
            "total_us_*",
            (ColumnType::Time, "µs"),
            "total time of the events",
            move |_, r, side| tally(r).total(side).into(),
        )
}

pub(super) fn means<R: 'static>(tally: for<'c> fn(&'c R) -> &'c Tally) -> Columns<Analysis, R> {
    const MEAN: (ColumnType, &str) = (ColumnType::Decimal(3), "µs");
    Columns::default().sides(
        "mean_us_*",
        MEAN,
        "mean time of an event; empty without events",
        move |_: &Analysis, r: &R, side| tally(r).mean_us(side).into(),
    )
}

pub(super) fn delta_and_ratio<R: 'static>(
    tally: for<'c> fn(&'c R) -> &'c Tally,
) -> Columns<Analysis, R> {
    Columns::default()
        .micros_difference(
            "diff_us",
            "candidate − baseline of the total times",
            move |_: &Analysis, r: &R| tally(r).difference().into(),
        )
        .ratio(
            "ratio",
            "candidate / baseline of the total times; empty if either is zero",
            move |_, r| tally(r).ratio().into(),
        )
}

/// The column `presence`, which shows whether a row has events on both sides or on only one side.
pub(super) fn presence<R: 'static>(tally: for<'c> fn(&'c R) -> &'c Tally) -> Columns<Analysis, R> {
    Columns::default().word(
        "presence",
        "`both`, `trace1_only`, `trace2_only`",
        move |_: &Analysis, r: &R| tally(r).presence().label().into(),
    )
}
