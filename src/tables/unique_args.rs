//! `diff_stats_unique_args_summary`: the account, grouped by name and arguments.

use super::arguments;
use super::table::{ColumnType, Columns, Table};
use crate::analysis::{Analysis, UniqueArgsSummary};
use crate::trace::Nanos;
use std::sync::Arc;

pub(super) fn table(name: &'static str, analysis: Arc<Analysis>) -> Table {
    Columns::new()
        .text("name", "name of the rows", |_: &Analysis, g: &UniqueArgsSummary| {
            g.sums.name.as_str().into()
        })
        .and(arguments::columns(|a: &Analysis, g: &UniqueArgsSummary, argument, side| {
            a.argument_text(&a.rows()[g.first_row], argument, side).into()
        }))
        .whole("row_count", "rows", |_, g| g.sums.row_count.into())
        .and(times())
        .whole("first_row_id", "`row_id` of the first one", |_, g| g.first_row.into())
        .table(
            (name, "name and arguments of both sides, largest baseline time first"),
            analysis,
            |analysis| Box::new(analysis.by_unique_args().into_iter()),
        )
}

fn times() -> Columns<Analysis, UniqueArgsSummary> {
    let mean =
        |group: &UniqueArgsSummary, time: Nanos| time.as_micros() / group.sums.row_count as f64;
    Columns::new()
        .sides(
            "kernel_time_*_sum",
            (ColumnType::Time, "µs"),
            "over the rows",
            |_: &Analysis, g: &UniqueArgsSummary, side| g.sums.time[side].into(),
        )
        .sides(
            "kernel_time_*_mean",
            (ColumnType::Decimal(3), "µs"),
            "over the rows",
            move |_, g, side| mean(g, g.sums.time[side]).into(),
        )
        .micros_difference("diff_sum", "of the rows' differences", |_, g| {
            g.sums.time.difference().into()
        })
        .decimal("diff_mean", (3, "µs"), "of the rows' differences", move |_, g| {
            mean(g, g.sums.time.difference()).into()
        })
        .micros(
            "abs_diff_sum",
            "sum of the distances: larger than the distance of the sums where some rows gain and \
             others lose",
            |_, g| g.sums.abs_difference.into(),
        )
        .ratio("ratio", "of the sums", |_, g| g.sums.ratio().into())
}
