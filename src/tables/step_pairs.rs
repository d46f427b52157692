//! The `step_pairs` table lists which steps were compared and why. The `batch_classes` table groups the compared
//! steps of inference engines by phase and batch size.

use super::figures;
use super::table::{ColumnType, Columns, Table};
use crate::analysis::Analysis;
use crate::analysis::steps::{BatchClassRow, StepPairRow, batch_class_rows, step_pair_rows};
use std::sync::Arc;

const TEXT: (ColumnType, &str) = (ColumnType::Text, "");
const WHOLE: (ColumnType, &str) = (ColumnType::Whole, "");

pub(super) fn table(name: &'static str, analysis: Arc<Analysis>) -> Table {
    Columns::default()
        .sides(
            "step_*",
            WHOLE,
            "position of the step on each side, from 0; empty on a side without a counterpart",
            |a: &Analysis, r: &StepPairRow, side| {
                r.steps[side].as_ref().map(|step| a.options().displayed_step(step.id)).into()
            },
        )
        .sides("name_*", TEXT, "name of the step's annotation", |_, r, side| {
            r.steps[side].as_ref().map(|step| step.name.as_str()).into()
        })
        .sides("batch_class_*", TEXT, "phase and size of the step's batch, if annotated", |_, r, side| {
            r.classes[side].map(|class| class.to_string()).into()
        })
        .word(
            "matched_by",
            "why the two steps are compared. `same_batch`: batches with equal numbers of requests and tokens; \
             `batch_class`: the most similar batch in the same class; `calls`: the most similar calls; `position`: \
             the same position among the steps. Empty for a step without a counterpart, which is excluded from all \
             comparisons",
            |_, r| r.evidence.map(|evidence| evidence.label()).into(),
        )
        .table((name, "one row per step in either trace, with its counterpart"), analysis, |analysis| {
            Box::new(step_pair_rows(analysis.diff(), analysis.step_rows()).into_iter())
        })
}

pub(super) fn classes(name: &'static str, analysis: Arc<Analysis>) -> Table {
    Columns::default()
        .text(
            "batch_class",
            "phase, and number of tokens (for a decode: number of requests), rounded up to a power of two",
            |_: &Analysis, r: &BatchClassRow| r.class.to_string().into(),
        )
        .word("phase", "the phase", |_, r| r.class.phase.label().into())
        .sides("steps_*", WHOLE, "number of steps in the trace", |_, r, side| r.steps[side].into())
        .sides(
            "compared_steps_*",
            WHOLE,
            "number of steps with a counterpart; all figures cover only these steps",
            |_, r, side| r.figures[side].steps.into(),
        )
        .and(figures::columns(|row| &row.figures))
        .table(
            (name, "one row per batch class of an inference engine; no rows if batches are not annotated"),
            analysis,
            |analysis| Box::new(batch_class_rows(analysis.diff(), analysis.step_rows()).into_iter()),
        )
}
