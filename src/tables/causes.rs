//! The `causes` table: why the wall time differs. The causes add up to the difference.

use super::runs;
use super::table::{ColumnType, Columns, Table};
use crate::analysis::Analysis;
use crate::analysis::causes::Cause;
use crate::analysis::runs::RunFigures;
use crate::side::Side;
use std::sync::Arc;

pub(super) fn table(name: &'static str, analysis: Arc<Analysis>) -> Table {
    const TIME: (ColumnType, &str) = (ColumnType::Time, "µs");
    const WHOLE: (ColumnType, &str) = (ColumnType::Whole, "");
    const TEXT: (ColumnType, &str) = (ColumnType::Text, "");
    Columns::default()
        .word(
            "reason",
            "reason for the difference; docs/reference/bill.md lists the reasons",
            |_: &Analysis, r: &Cause| r.reason.label().into(),
        )
        .text(
            "place",
            "the lowest common call at or above the cause; all instances of a module class share one row",
            |_, r| r.place.as_str().into(),
        )
        .text("module_class", "class of the innermost module around the call", |_, r| {
            r.module.as_str().into()
        })
        .micros_difference(
            "diff_per_step",
            "candidate − baseline per step (per window if the sides have no steps); all rows add up to the \
             difference in wall time",
            |_, r| r.difference.into(),
        )
        .sides(
            "time_*",
            TIME,
            "the cause's part of the wall time, summed over all compared steps; if one side has more steps, only \
             steps with a counterpart are compared",
            |_, r, side| r.time[side].into(),
        )
        .sides("count_*", WHOLE, "number of instances of the op, or of idle gaps", |_, r, side| {
            r.count[side].into()
        })
        .sides("arguments_*", TEXT, "shapes and types of the op's arguments", |_, r, side| {
            r.arguments[side].as_str().into()
        })
        .text(
            "evidence",
            "times per compared step, and counts per step if all steps have equal counts",
            |_, r| r.evidence.as_str().into(),
        )
        .sides(
            "kernels_*",
            (ColumnType::Names, ""),
            "kernels that ran, longest first",
            |_, r, side| super::Cell::Names(r.kernels[side].iter().map(String::as_str).collect()),
        )
        .whole("node", "first line with this cause in `merged_tree_output.txt`, counted from 0", |_, r| {
            r.node.map(|id| id.index()).into()
        })
        .and(runs::columns(&analysis, |a, r, side| {
            times(a, r, side).map(|times| RunFigures::of(&times))
        }))
        .and(runs::each(
            &analysis,
            "run_times_us_*",
            "with several runs per side: busy or idle time per step due to this cause, in each run",
            times,
        ))
        .table(
            (
                name,
                "one row per cause of the difference in wall time, largest first; the causes add up to the \
                 difference",
            ),
            analysis,
            |analysis| Box::new(analysis.causes().list().iter().cloned()),
        )
}

/// Time per step that a cause takes in each run, as GPU work or as idle time. Returns `None` for work launched
/// before the window, or if the runs cannot be compared.
fn times(analysis: &Analysis, cause: &Cause, side: Side) -> Option<Vec<f64>> {
    if cause.rows.is_empty() {
        return analysis.run_times().of_idle_cause(side, cause);
    }
    Some(analysis.run_times().of_busy_cause(side, cause))
}
