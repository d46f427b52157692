//! The `phases` table: one row for each phase that occurs in at least one of the two traces.

use super::table::{ColumnType, Columns, Table};
use super::{figures, runs, verdicts};
use crate::analysis::Analysis;
use crate::analysis::steps::{PhaseRow, phase_rows};
use std::sync::Arc;

pub(super) fn table(name: &'static str, analysis: Arc<Analysis>) -> Table {
    Columns::default()
        .word("phase", "the phase", |_: &Analysis, r: &PhaseRow| r.phase.label().into())
        .sides("steps_*", (ColumnType::Whole, ""), "number of steps in the trace", |_, r, side| {
            r.figures[side].steps.into()
        })
        .and(figures::columns(|row| &row.figures))
        .and(verdicts::columns(|row| &row.judgement))
        .and(runs::columns(&analysis, |_, row, side| runs::of_judgement(&row.judgement, side)))
        .table((name, "one row per phase that occurs in either trace"), analysis, |analysis| {
            Box::new(
                phase_rows(analysis.diff(), analysis.ledger(), &analysis.group_judge()).into_iter(),
            )
        })
}
