//! The `phases` table: one row for each phase that occurs in at least one of the two traces.

use super::table::{ColumnType, Columns, Table};
use super::{figures, runs};
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
        .and(runs::columns(&analysis, |a, row, side| runs::of_events(a, &row.events[side], side)))
        .table((name, "one row per phase that occurs in either trace"), analysis, |analysis| {
            Box::new(phase_rows(analysis.diff(), analysis.ledger()).into_iter())
        })
}
