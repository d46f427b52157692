//! `same_kernels.csv`: one line for each kernel that both sides run under paired ops, and one for
//! all other GPU time.

use super::csv_table::{CsvTable, optional_ratio};
use super::tally_cells::{counts_and_totals, delta_and_ratio, means};
use crate::analysis::{Analysis, SameKernelRow, Tally};
use std::io::{self, Write};

const COLUMNS: [&str; 15] = [
    "kernel",
    "cpu_op",
    "input_shape_trace1",
    "input_shape_trace2",
    "count_trace1",
    "count_trace2",
    "total_us_trace1",
    "total_us_trace2",
    "mean_us_trace1",
    "mean_us_trace2",
    "delta_us",
    "ratio",
    "mean_ratio",
    "presence",
    "verdict",
];

/// Stands for all events that have no namesake under the partner of their op.
const OTHERS: &str = "(other kernels)";

pub(super) fn write(analysis: &Analysis, out: &mut dyn Write) -> io::Result<()> {
    let mut table = CsvTable::new(out, &COLUMNS)?;
    let same = analysis.same_kernels();
    let tallies: Vec<&Tally> = same.tallies().collect();
    let judged = analysis.judge_tallies(&tallies);
    for (SameKernelRow { op, kernel, shapes: [a, b], tally }, judgement) in
        same.rows.iter().zip(judged)
    {
        row(&mut table, [kernel, op, a, b], tally, judgement.verdict.label())?;
    }
    if !same.others.is_empty() {
        // Not the same code, so that there is nothing to judge.
        row(&mut table, [OTHERS, "", "", ""], &same.others, "")?;
    }
    table.finish()
}

fn row<W: Write>(
    table: &mut CsvTable<W>,
    names: [&str; 4],
    tally: &Tally,
    verdict: &str,
) -> io::Result<()> {
    let mut cells: Vec<String> = names.map(str::to_owned).into();
    cells.extend(counts_and_totals(tally));
    cells.extend(means(tally));
    cells.extend(delta_and_ratio(tally));
    cells.push(optional_ratio(tally.mean_ratio()));
    cells.extend([tally.presence().label().to_owned(), verdict.to_owned()]);
    table.row(&cells.iter().map(String::as_str).collect::<Vec<_>>())
}
