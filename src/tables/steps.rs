//! The `steps` table: one row per step, followed by rows for the work outside of steps. A baseline step and a candidate
//! step can share a row.

use super::table::{ColumnType, Columns, Table};
use super::{figures, runs};
use crate::analysis::Analysis;
use crate::analysis::runs::{StepTime, runs_of_step};
use crate::analysis::steps::{PhaseRow, StepPlace, StepRow, phase_rows};
use crate::side::Side;
use std::sync::Arc;

pub(super) fn table(name: &'static str, analysis: Arc<Analysis>) -> Table {
    const TEXT: (ColumnType, &str) = (ColumnType::Text, "");
    const WORD: (ColumnType, &str) = (ColumnType::Word, "");
    const WHOLE: (ColumnType, &str) = (ColumnType::Whole, "");
    Columns::default()
        .text(
            "step",
            "position of the step, from 0 as in `--steps`: in the baseline, or in the candidate if only the \
             candidate has the step; `(outside steps)`; `(launch not in trace)`",
            |a: &Analysis, r: &StepRow| place(a, r.place).into(),
        )
        .sides("step_*", WHOLE, "position of the step on each side, from 0", |a, r, side| {
            r.steps[side].as_ref().map(|step| a.options().displayed_step(step.id)).into()
        })
        .sides("name_*", TEXT, "name of the step's annotation", |_, r, side| {
            r.steps[side].as_ref().map(|step| step.name.as_str()).into()
        })
        .sides(
            "phase_*",
            WORD,
            "phase of the step's batches, if all batches are in the same phase",
            |_, r, side| {
                let phase = r.steps[side].as_ref().and_then(|step| step.phase);
                phase.map(|phase| phase.label()).into()
            },
        )
        .and(figures::columns(|row| &row.figures))
        .and(runs::columns(&analysis, times))
        .and(runs::each(
            &analysis,
            "run_times_us_*",
            "with several runs per side: time of the step in each run",
            times,
        ))
        .and(runs::each(
            &analysis,
            "run_walls_us_*",
            "with several runs per side: busy plus idle time of the step in each run",
            walls,
        ))
        .table(
            (
                name,
                "one row per step, then rows for the work outside of steps; a step shares a row with its \
                 counterpart if one trace has more steps, otherwise with the step at the same position",
            ),
            analysis,
            |analysis| Box::new(analysis.step_rows().iter().cloned()),
        )
}

fn place(analysis: &Analysis, place: StepPlace) -> String {
    match place {
        StepPlace::Step(step) => analysis.options().displayed_step(step).to_string(),
        StepPlace::Outside => "(outside steps)".to_owned(),
        StepPlace::NotCaptured => crate::tree::UNLINKED.to_owned(),
    }
}

fn times(analysis: &Analysis, row: &StepRow, side: Side) -> Option<Vec<f64>> {
    of_runs(analysis, row, side, |step| step.time_us)
}

fn walls(analysis: &Analysis, row: &StepRow, side: Side) -> Option<Vec<f64>> {
    of_runs(analysis, row, side, |step| step.wall_us)
}

/// For each run on one side that has a step matching this row's step, the time of the matching step.
fn of_runs(
    analysis: &Analysis,
    row: &StepRow,
    side: Side,
    pick: fn(&StepTime) -> f64,
) -> Option<Vec<f64>> {
    let steps =
        runs_of_step(analysis.step_times(), analysis.runs(), side, row.steps[side].as_ref()?.id);
    (!steps.is_empty()).then(|| steps.iter().map(pick).collect())
}

/// The `phases` table: one row for each phase that occurs in at least one of the two traces.
pub(super) fn phases(name: &'static str, analysis: Arc<Analysis>) -> Table {
    Columns::default()
        .word("phase", "the phase", |_: &Analysis, r: &PhaseRow| r.phase.label().into())
        .sides("steps_*", (ColumnType::Whole, ""), "number of steps in the trace", |_, r, side| {
            r.figures[side].steps.into()
        })
        .and(figures::columns(|row| &row.figures))
        .and(runs::columns(&analysis, |a, row, side| runs::of_events(a, &row.events[side], side)))
        .table((name, "one row per phase that occurs in either trace"), analysis, |analysis| {
            Box::new(phase_rows(analysis.diff(), analysis.ledger()).into_iter())
        })
}
