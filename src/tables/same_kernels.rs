//! The `same_kernels` table: one row per kernel that both sides run below matched ops, and one row for all other
//! events.

use super::runs;
use super::table::{ColumnType, Columns, Table};
use super::tallies::{counts_and_totals, delta_and_ratio, means, of_runs, presence};
use crate::analysis::Analysis;
use crate::analysis::account::Tally;
use crate::analysis::kernels::{SameKernelRow, SameKernels};
use std::sync::Arc;

/// Name of the last row, which adds up all other events. These are the events outside of matched ops, and the events
/// whose kernel runs below the matched op on only one side.
const OTHERS: &str = "(other kernels)";

type Row = SameKernelRow;

pub(super) fn table(name: &'static str, analysis: Arc<Analysis>) -> Table {
    Columns::default()
        .text(
            "kernel",
            "name of the kernel; `(other kernels)` for the sum of all other events",
            |_: &Analysis, r: &Row| r.kernel.as_str().into(),
        )
        .text("cpu_op", "the matched op (`a | b` if it was renamed), or the launch API", |_, r| {
            r.op.as_str().into()
        })
        .sides(
            "input_shape_*",
            (ColumnType::Text, ""),
            "`Input Dims` of the two ops",
            |_, r, side| r.shapes[side].as_str().into(),
        )
        .and(counts_and_totals(tally))
        .and(means(tally))
        .and(delta_and_ratio(tally))
        .ratio(
            "mean_ratio",
            "candidate / baseline of the mean times: compares the speed of the same code, independent of how often \
             it runs",
            |_, r| r.tally.mean_ratio().into(),
        )
        .and(presence(tally))
        .and(runs::columns(&analysis, |a, row: &Row, side| of_runs(a, tally(row), side)))
        .table(
            (name, "one row per op, kernel and shapes, sorted by the total time in both traces; other kernels last"),
            analysis,
            |analysis| Box::new(rows(analysis).into_iter()),
        )
}

fn rows(analysis: &Analysis) -> Vec<Row> {
    let SameKernels { rows, others } = analysis.same_kernels().clone();
    let mut all = rows;
    if !others.is_empty() {
        all.push(SameKernelRow {
            op: String::new(),
            kernel: OTHERS.to_owned(),
            shapes: Default::default(),
            tally: others,
        });
    }
    all
}

fn tally(row: &Row) -> &Tally {
    &row.tally
}
