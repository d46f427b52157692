//! `causes`: why the wall time differs, as a list that adds up.

use super::runs;
use super::table::{ColumnType, Columns, Table};
use crate::analysis::{Analysis, Cause, RunFigures};
use crate::side::Side;
use std::sync::Arc;

pub(super) fn table(name: &'static str, analysis: Arc<Analysis>) -> Table {
    const TIME: (ColumnType, &str) = (ColumnType::Time, "µs");
    const WHOLE: (ColumnType, &str) = (ColumnType::Whole, "");
    const TEXT: (ColumnType, &str) = (ColumnType::Text, "");
    Columns::new()
        .word("reason", "why; see above", |_: &Analysis, r: &Cause| r.reason.label().into())
        .text(
            "place",
            "the lowest common call that it stands at or below, of all instances of one module class",
            |_, r| r.place.as_str().into(),
        )
        .text("module_class", "class of the innermost module around it", |_, r| {
            r.module.as_str().into()
        })
        .micros_difference(
            "diff_per_step",
            "candidate − baseline per step (per window where the sides have no steps); adds up to the difference of the walls",
            |_, r| r.difference.into(),
        )
        .sides("time_*", TIME, "its part of the wall, over all steps that are compared (where one side has more, those that have a partner)", |_, r, side| {
            r.time[side].into()
        })
        .sides("count_*", WHOLE, "instances of the op, or gaps", |_, r, side| {
            r.count[side].into()
        })
        .sides("arguments_*", TEXT, "shapes and types of the op", |_, r, side| {
            r.arguments[side].as_str().into()
        })
        .text("evidence", "what shows it: times per step, of the steps that are compared, and counts as well if each step has as many", |_, r| r.evidence.as_str().into())
        .sides("kernels_*", (ColumnType::Names, ""), "kernels that ran, the longest first", |_, r, side| {
            super::Cell::Names(r.kernels[side].iter().map(String::as_str).collect())
        })
        .whole("node", "the first node of `merged_tree_output.txt` that has it, from 0", |_, r| {
            r.node.map(|id| id.index()).into()
        })
        .and(runs::columns(&analysis, |a, r, side| {
            times(a, r, side).map(|times| RunFigures::of(&times))
        }))
        .and(runs::each(
            &analysis,
            "run_times_us_*",
            "with several runs a side: the time of each of them in a step, of its work or of waiting",
            times,
        ))
        .table(
            (name, "cause of a difference of the wall time, the largest first; they add up to the difference"),
            analysis,
            |analysis| Box::new(analysis.causes().list().iter().cloned()),
        )
}

/// What the work or the waiting of a cause took in a step of each run; `None` for what was launched
/// before the window.
fn times(analysis: &Analysis, cause: &Cause, side: Side) -> Option<Vec<f64>> {
    if cause.rows.is_empty() {
        return analysis.idle_cause_of_runs(side, cause);
    }
    Some(analysis.busy_cause_of_runs(side, cause))
}
