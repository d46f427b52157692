//! The `diff_stats_names_summary` table: attribution rows grouped by name.

use super::runs;
use super::table::{Column, ColumnType, Columns, Table};
use crate::analysis::Analysis;
use crate::analysis::account::RowGroup;
use std::sync::Arc;

pub(super) fn table(name: &'static str, analysis: Arc<Analysis>) -> Table {
    const MILLIS: (ColumnType, &str) = (ColumnType::Time, "ms");
    let difference = Column::new(
        "diff_sum_ms",
        ColumnType::Time,
        "sum of the differences of the grouped rows",
        |_: &Analysis, g: &RowGroup| g.time.difference().into(),
    );
    let distance = Column::new(
        "abs_diff_sum_ms",
        ColumnType::Time,
        "sum of the absolute differences of the grouped rows",
        |_: &Analysis, g: &RowGroup| g.abs_difference.into(),
    );
    Columns::default()
        .text("name", "name of the attribution rows", |_: &Analysis, g: &RowGroup| {
            g.name.as_str().into()
        })
        .whole("row_count", "number of rows", |_, g| g.row_count().into())
        .sides("kernel_time_*_sum_ms", MILLIS, "sum over the grouped rows", |_, g, side| {
            g.time[side].into()
        })
        .column(difference.unit("ms").difference())
        .column(distance.unit("ms"))
        .and(runs::columns(&analysis, |a, g: &RowGroup, side| runs::of_rows(a, &g.rows, side)))
        .table((name, "one row per name, largest baseline time first"), analysis, |analysis| {
            Box::new(analysis.by_name().iter().cloned())
        })
}
