//! The `same_kernels` table: one row per kernel that both sides run below matched ops, and one row for all other
//! events.

use super::table::{ColumnType, Columns, Table};
use super::tallies::{Judged, counts_and_totals, delta_and_ratio, means, presence, runs};
use crate::analysis::Analysis;
use crate::analysis::account::Tally;
use crate::analysis::kernels::{SameKernelRow, SameKernels, judge_tallies};
use std::sync::Arc;

/// Name of the last row, which adds up all other events. These are the events outside of matched ops, and the events
/// whose kernel runs below the matched op on only one side.
const OTHERS: &str = "(other kernels)";

type Row = Judged<SameKernelRow>;

pub(super) fn table(name: &'static str, analysis: Arc<Analysis>) -> Table {
    Columns::default()
        .text(
            "kernel",
            "name of the kernel; `(other kernels)` for the sum of all other events",
            |_: &Analysis, r: &Row| r.group.kernel.as_str().into(),
        )
        .text("cpu_op", "the matched op (`a | b` if it was renamed), or the launch API", |_, r| {
            r.group.op.as_str().into()
        })
        .sides(
            "input_shape_*",
            (ColumnType::Text, ""),
            "`Input Dims` of the two ops",
            |_, r, side| r.group.shapes[side].as_str().into(),
        )
        .and(counts_and_totals(tally))
        .and(means(tally))
        .and(delta_and_ratio(tally))
        .ratio(
            "mean_ratio",
            "candidate / baseline of the mean times: compares the speed of the same code, independent of how often \
             it runs",
            |_, r| r.group.tally.mean_ratio().into(),
        )
        .and(presence(tally))
        .word(
            "verdict",
            "result of the significance test, with runs or steps as repeats; see `verdicts.csv`",
            |_, r| r.verdict().into(),
        )
        .and(super::verdicts::basis())
        .and(runs(&analysis))
        .table(
            (name, "one row per op, kernel and shapes, sorted by the total time in both traces; other kernels last"),
            analysis,
            |analysis| Box::new(rows(analysis).into_iter()),
        )
}

fn rows(analysis: &Analysis) -> Vec<Row> {
    let same = analysis.same_kernels();
    let judgements = judge_tallies(
        analysis.diff(),
        analysis.ledger(),
        &analysis.group_judge(),
        &same.tallies().collect::<Vec<_>>(),
    );
    let SameKernels { rows, others } = same.clone();
    let mut all: Vec<Row> = rows
        .into_iter()
        .zip(judgements)
        .map(|(group, judgement)| Judged { group, judgement: Some(judgement) })
        .collect();
    if !others.is_empty() {
        // The row `(other kernels)` has no verdict, because it contains different kernels on the two sides.
        let group = SameKernelRow {
            op: String::new(),
            kernel: OTHERS.to_owned(),
            shapes: Default::default(),
            tally: others,
        };
        all.push(Judged { group, judgement: None });
    }
    all
}

fn tally(row: &Row) -> &Tally {
    &row.group.tally
}
