//! `kernels.csv`: one line for each kernel under each op that launches it.

use super::csv_table::CsvTable;
use super::tally_cells::{counts_and_totals, delta_and_ratio, means, micros};
use crate::analysis::{Analysis, KernelRow, Tally, Verdict};
use crate::side::Side;
use crate::trace::Nanos;
use std::io::{self, Write};

const COLUMNS: [&str; 22] = [
    "kernel",
    "category",
    "category_source",
    "cpu_op",
    "count_trace1",
    "count_trace2",
    "total_us_trace1",
    "total_us_trace2",
    "mean_us_trace1",
    "mean_us_trace2",
    "min_us_trace1",
    "min_us_trace2",
    "max_us_trace1",
    "max_us_trace2",
    "p50_us_trace1",
    "p50_us_trace2",
    "delta_us",
    "ratio",
    "presence",
    "verdict",
    "stacks_trace1",
    "stacks_trace2",
];

pub(super) fn write(analysis: &Analysis, out: &mut dyn Write) -> io::Result<()> {
    let mut table = CsvTable::new(out, &COLUMNS)?;
    let rows = analysis.by_kernel();
    let tallies: Vec<&Tally> = rows.iter().map(|row| &row.tally).collect();
    for (row, judgement) in rows.iter().zip(analysis.judge_tallies(&tallies)) {
        let cells = cells(analysis, row, judgement.verdict);
        table.row(&cells.iter().map(String::as_str).collect::<Vec<_>>())?;
    }
    table.finish()
}

fn cells(analysis: &Analysis, row: &KernelRow, verdict: Verdict) -> Vec<String> {
    let tally = &row.tally;
    let mut cells = vec![
        row.kernel.clone(),
        analysis.options().categories.name(row.category.id).to_owned(),
        row.category.source.label().to_owned(),
        row.op.clone(),
    ];
    let extreme = |of: fn(&Tally, Side) -> Option<Nanos>| {
        Side::BOTH.map(|side| of(tally, side).map_or_else(String::new, |time| time.to_string()))
    };
    cells.extend(counts_and_totals(tally));
    cells.extend(means(tally));
    cells.extend(extreme(Tally::min));
    cells.extend(extreme(Tally::max));
    cells.extend(Side::BOTH.map(|side| micros(tally.median_us(side))));
    cells.extend(delta_and_ratio(tally));
    cells.push(tally.presence().label().to_owned());
    cells.push(verdict.label().to_owned());
    let stacks = analysis.stacks(&tally.events);
    cells.extend(Side::BOTH.map(|side| super::stacks_json::cell(&stacks[side])));
    cells
}
