//! The `diff_stats` table: one line for each attribution row.

use super::table::{Cell, ColumnType, Columns, Table};
use super::{arguments, efficiency, runs, uids};
use crate::analysis::Analysis;
use crate::analysis::account::Row;
use crate::analysis::efficiency::Efficiency;
use crate::analysis::kernels::row_category;
use crate::side::PerSide;
use std::sync::Arc;

/// The index of an attribution row, and the efficiency of that row on each side.
struct Position {
    at: usize,
    efficiency: PerSide<Efficiency>,
}

impl Position {
    fn new(analysis: &Analysis, at: usize) -> Position {
        let row = &analysis.rows()[at];
        let efficiency =
            PerSide::from_fn(|side| analysis.efficiency()[side].of_events(&row.events[side]));
        Position { at, efficiency }
    }

    fn row<'c>(&self, analysis: &'c Analysis) -> &'c Row {
        &analysis.rows()[self.at]
    }
}

type Rows = Columns<Analysis, Position>;

pub(super) fn table(name: &'static str, analysis: Arc<Analysis>) -> Table {
    let done = efficiency::columns(|row: &Position| &row.efficiency);
    let runs = runs::columns(&analysis, |a, r: &Position, side| runs::of_rows(a, &[r.at], side));
    identity().and(times()).and(places()).and(done).and(runs).table(
        (name, "one line per attribution row, in the order of the merged tree; GPU events whose launch is not in \
                the trace come last"),
        analysis,
        |analysis| Box::new((0..analysis.rows().len()).map(|at| Position::new(analysis, at))),
    )
}

fn identity() -> Rows {
    Columns::default()
        .text(
            "name",
            "the lowest common op; `a | b` if the outermost op was renamed or the two names are aliases; the launch \
             API if no op encloses the launch; `(launch not in trace)`",
            |a: &Analysis, r: &Position| r.row(a).name(a.diff()).into(),
        )
        .and(arguments::columns(|a: &Analysis, r: &Position, argument, side| {
            r.row(a).argument_text(a.diff(), argument, side).into()
        }))
}

fn times() -> Rows {
    const TIME: (ColumnType, &str) = (ColumnType::Time, "µs");
    Columns::default()
        .sides(
            "kernel_time_*",
            TIME,
            "sum of the durations of the row's GPU events",
            |a: &Analysis, r: &Position, side| r.row(a).time[side].into(),
        )
        .sides(
            "kernel_names_*",
            (ColumnType::Names, ""),
            "names of the row's GPU events, sorted by start",
            |a, r, side| Cell::Names(r.row(a).event_names(a.diff(), side)),
        )
        .sides(
            "busy_time_*",
            TIME,
            "union of the intervals of the row's GPU events; less than the sum if the events overlap",
            |a, r, side| r.row(a).busy[side].into(),
        )
        .sides("host_time_*", TIME, "duration of the op or launch on the host", |a, r, side| {
            r.row(a).host_time[side].into()
        })
        .sides(
            "host_self_time_*",
            TIME,
            "duration on the host, excluding the host calls directly below",
            |a, r, side| r.row(a).host_self_time[side].into(),
        )
        .micros_difference("diff", "`kernel_time_trace2` − `kernel_time_trace1`", |a, r| {
            r.row(a).difference().into()
        })
        .ratio(
            "ratio",
            "`kernel_time_trace2` / `kernel_time_trace1`; empty if either is 0",
            |a, r| r.row(a).ratio().into(),
        )
}

fn places() -> Rows {
    Columns::default()
        .word(
            "presence",
            "`both`, `trace1_only`, `trace2_only`: which side has GPU events in the row",
            |a: &Analysis, r: &Position| r.row(a).presence().label().into(),
        )
        .word(
            "category",
            "kind of work, see `categories.csv`; if the row has several kinds, the kind with the most time",
            |a, r| row_category(a.diff(), a.ledger(), a.categories(), r.row(a)).into(),
        )
        .whole(
            "step",
            "position of the step that launched the row's events, from 0, as in `steps.csv` (the baseline's step if \
             there is one); empty outside of steps",
            |a, r| r.row(a).step(a.diff()).map(|step| a.options().displayed_step(step)).into(),
        )
        .text(
            "nn_module",
            "innermost `nn.Module` around the op, with its instance number",
            |a, r| r.row(a).module(a.diff()).into(),
        )
        .text(
            "lowest_common_ancestor_name",
            "the op itself if both traces have it, otherwise the nearest enclosing call that both traces have",
            |a, r| r.row(a).lowest_common_name(a.diff()).into(),
        )
        .whole(
            "lowest_common_ancestor_id",
            "id of the lowest common call in the merged tree; rows with equal ids belong to the same call",
            |a, r| r.row(a).lowest_common.map(|id| id.index()).into(),
        )
        .and(uids::columns("the op or launch in each trace", |a, r: &Position, side| {
            r.row(a).calls[side]
        }))
        .whole("row_id", "position of the row, from 0", |_, r| r.at.into())
}
