//! The `overlap` table: how much of each step's GPU work runs concurrently.

use super::table::{ColumnType, Columns, Table};
use crate::analysis::Analysis;
use crate::analysis::steps::{Overlap, OverlapRow, overlap_rows};
use crate::side::Side;
use crate::trace::Nanos;
use std::sync::Arc;

const WHOLE: (ColumnType, &str) = (ColumnType::Whole, "");

pub(super) fn table(name: &'static str, analysis: Arc<Analysis>) -> Table {
    let step = |a: &Analysis, row: &OverlapRow, side: Side| {
        Some(a.options().displayed_step(row.step.as_ref()?[side]?))
    };
    Columns::default()
        .text(
            "step",
            "`(whole trace)`, or the position of the step, from 0: in the baseline, or in the candidate if only the \
             candidate has the step",
            move |a: &Analysis, row: &OverlapRow| {
                let step = step(a, row, Side::Baseline).or_else(|| step(a, row, Side::Candidate));
                step.map_or("(whole trace)".to_owned(), |step| step.to_string()).into()
            },
        )
        .sides("step_*", WHOLE, "position of the step on each side, from 0", move |a, row, side| {
            step(a, row, side).into()
        })
        .sides(
            "streams_*",
            WHOLE,
            "number of streams that run GPU events launched in the step",
            |_, row, side| row.figures[side].map(|f| f.streams).into(),
        )
        .and(time("gpu_busy_us", "time in which at least one GPU event launched in the step runs", |f| f.busy))
        .and(time(
            "concurrent_us",
            "part of `gpu_busy_us` in which events on at least two streams run",
            |f| f.concurrent,
        ))
        .and(time("communicating_us", "time in which a communication kernel runs", |f| {
            f.communication
        }))
        .and(time(
            "overlapped_communication_us",
            "part of `communicating_us` in which a compute kernel of the step also runs",
            |f| f.overlapped_communication,
        ))
        .table(
            (name, "one row for all GPU work, then one row per matched step; no rows without GPU events"),
            analysis,
            |analysis| Box::new(overlap_rows(analysis.diff(), analysis.ledger(), analysis.compared()).into_iter()),
        )
}

/// Creates three columns for one time of the overlap: the time on each side, and the difference
/// (candidate − baseline).
fn time(
    stem: &'static str,
    meaning: &'static str,
    of: fn(&Overlap) -> Nanos,
) -> Columns<Analysis, OverlapRow> {
    Columns::default().compared(
        stem,
        (ColumnType::Time, "µs"),
        [meaning, "candidate − baseline"],
        move |_: &Analysis, row: &OverlapRow, side| row.figures[side].as_ref().map(of).into(),
    )
}
