//! `diff_stats_unique_args_summary`: the account, grouped by name and arguments.

use super::table::{ColumnType, Columns, Table};
use super::{arguments, efficiency};
use crate::analysis::{Analysis, Efficiency, UniqueArgsSummary};
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use std::sync::Arc;

/// A group of rows, and what was done in it.
struct Group {
    group: UniqueArgsSummary,
    efficiency: PerSide<Efficiency>,
}

impl Group {
    fn new(analysis: &Analysis, group: UniqueArgsSummary) -> Group {
        let events = |side: Side| {
            let rows = group.rows.iter().map(|&at| &analysis.rows()[at]);
            rows.flat_map(move |row| &row.events[side])
        };
        let did = |side: Side| analysis.efficiency(side).of_events(events(side));
        Group { efficiency: PerSide::from_fn(did), group }
    }
}

pub(super) fn table(name: &'static str, analysis: Arc<Analysis>) -> Table {
    Columns::new()
        .text("name", "name of the rows", |_: &Analysis, g: &Group| {
            g.group.sums.name.as_str().into()
        })
        .and(arguments::columns(|a: &Analysis, g: &Group, argument, side| {
            a.argument_text(&a.rows()[g.group.first_row], argument, side).into()
        }))
        .whole("row_count", "rows", |_, g| g.group.sums.row_count.into())
        .and(times())
        .whole("first_row_id", "`row_id` of the first one", |_, g| g.group.first_row.into())
        .and(efficiency::columns(|group: &Group| &group.efficiency))
        .table(
            (name, "name and arguments of both sides, largest baseline time first"),
            analysis,
            |analysis| {
                let groups = analysis.by_unique_args().into_iter();
                Box::new(groups.map(|group| Group::new(analysis, group)))
            },
        )
}

fn times() -> Columns<Analysis, Group> {
    let mean = |group: &Group, time: Nanos| time.as_micros() / group.group.sums.row_count as f64;
    Columns::new()
        .sides(
            "kernel_time_*_sum",
            (ColumnType::Time, "µs"),
            "over the rows",
            |_: &Analysis, g: &Group, side| g.group.sums.time[side].into(),
        )
        .sides(
            "kernel_time_*_mean",
            (ColumnType::Decimal(3), "µs"),
            "over the rows",
            move |_, g, side| mean(g, g.group.sums.time[side]).into(),
        )
        .micros_difference("diff_sum", "of the rows' differences", |_, g| {
            g.group.sums.time.difference().into()
        })
        .decimal("diff_mean", (3, "µs"), "of the rows' differences", move |_, g| {
            mean(g, g.group.sums.time.difference()).into()
        })
        .micros(
            "abs_diff_sum",
            "sum of the distances: larger than the distance of the sums where some rows gain and \
             others lose",
            |_, g| g.group.sums.abs_difference.into(),
        )
        .ratio("ratio", "of the sums", |_, g| g.group.sums.ratio().into())
}
