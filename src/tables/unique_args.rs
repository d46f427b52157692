//! The `diff_stats_unique_args_summary` table, attribution rows grouped by name and arguments, and the
//! `diff_stats_names_summary` table, rows grouped by name only.

use super::table::{Column, ColumnType, Columns, Table};
use super::{arguments, efficiency, runs};
use crate::analysis::Analysis;
use crate::analysis::account::{RowGroup, by_unique_args};
use crate::analysis::efficiency::Efficiency;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use std::sync::Arc;

struct Group {
    group: RowGroup,
    efficiency: PerSide<Efficiency>,
}

impl Group {
    fn new(analysis: &Analysis, group: RowGroup) -> Group {
        let events = |side: Side| {
            let rows = group.rows.iter().map(|&at| &analysis.rows()[at]);
            rows.flat_map(move |row| &row.events[side])
        };
        let did = |side: Side| analysis.efficiency()[side].of_events(events(side));
        Group { efficiency: PerSide::from_fn(did), group }
    }
}

pub(super) fn table(name: &'static str, analysis: Arc<Analysis>) -> Table {
    Columns::default()
        .text("name", "name of the attribution rows", |_: &Analysis, g: &Group| {
            g.group.name.as_str().into()
        })
        .and(arguments::columns(|a: &Analysis, g: &Group, argument, side| {
            a.rows()[g.group.rows[0]].argument_text(a.diff(), argument, side).into()
        }))
        .whole("row_count", "number of rows", |_, g| g.group.row_count().into())
        .and(times())
        .whole("first_row_id", "`row_id` of the first grouped row", |_, g| g.group.rows[0].into())
        .and(efficiency::columns(|group: &Group| &group.efficiency))
        .and(runs::columns(&analysis, |a, g: &Group, side| runs::of_rows(a, &g.group.rows, side)))
        .table(
            (name, "one row per name and arguments on both sides, largest baseline time first"),
            analysis,
            |analysis| {
                let groups = by_unique_args(analysis.diff(), analysis.ledger()).into_iter();
                Box::new(groups.map(|group| Group::new(analysis, group)))
            },
        )
}

fn times() -> Columns<Analysis, Group> {
    let mean = |group: &Group, time: Nanos| time.as_micros() / group.group.row_count() as f64;
    Columns::default()
        .sides(
            "kernel_time_*_sum",
            (ColumnType::Time, "µs"),
            "sum over the grouped rows",
            |_: &Analysis, g: &Group, side| g.group.time[side].into(),
        )
        .sides(
            "kernel_time_*_mean",
            (ColumnType::Decimal(3), "µs"),
            "mean over the grouped rows",
            move |_, g, side| mean(g, g.group.time[side]).into(),
        )
        .micros_difference("diff_sum", "sum of the differences of the grouped rows", |_, g| {
            g.group.time.difference().into()
        })
        .decimal("diff_mean", (3, "µs"), "mean of the differences of the grouped rows", move |_, g| {
            mean(g, g.group.time.difference()).into()
        })
        .micros(
            "abs_diff_sum",
            "sum of the absolute differences of the grouped rows; larger than the difference of the sums if some \
             rows are slower and others faster",
            |_, g| g.group.abs_difference.into(),
        )
        .ratio("ratio", "candidate / baseline of the summed times", |_, g| g.group.ratio().into())
}

/// The `diff_stats_names_summary` table: attribution rows grouped by name.
pub(super) fn names(name: &'static str, analysis: Arc<Analysis>) -> Table {
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
