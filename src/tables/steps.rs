//! `steps`: the steps of both sides, paired by position, then the work outside of them.

use super::figures;
use super::table::{ColumnType, Columns, Table};
use crate::analysis::{Analysis, StepPlace, StepRow};
use std::sync::Arc;

pub(super) fn table(name: &'static str, analysis: Arc<Analysis>) -> Table {
    const TEXT: (ColumnType, &str) = (ColumnType::Text, "");
    const WORD: (ColumnType, &str) = (ColumnType::Word, "");
    Columns::new()
        .text(
            "step",
            "position of the step, from 0 (what `--steps` takes); `(outside steps)`; `(launch not in trace)`",
            |a: &Analysis, r: &StepRow| place(a, r.place).into(),
        )
        .sides("name_*", TEXT, "text of the annotation", |_, r, side| {
            r.steps[side].as_ref().map(|step| step.name.as_str()).into()
        })
        .sides("phase_*", WORD, "phase of its batches where they agree", |_, r, side| {
            let phase = r.steps[side].as_ref().and_then(|step| step.phase);
            phase.map(|phase| phase.label()).into()
        })
        .and(figures::columns(|row| &row.figures))
        .table(
            (name, "step of both traces, paired by position, and the work outside of steps"),
            analysis,
            |analysis| Box::new(analysis.step_rows().into_iter()),
        )
}

fn place(analysis: &Analysis, place: StepPlace) -> String {
    match place {
        StepPlace::Step(step) => analysis.told_step(step).to_string(),
        StepPlace::Outside => "(outside steps)".to_owned(),
        StepPlace::NotCaptured => crate::tree::UNLINKED.to_owned(),
    }
}
