//! `categories.csv`: one line for each kind of work in each phase.

use super::csv_table::CsvTable;
use super::tally_cells::{counts_and_totals, delta_and_ratio, percent};
use crate::analysis::{Analysis, CategoryRow, Tally, Verdict};
use crate::side::Side;
use std::io::{self, Write};

const COLUMNS: [&str; 13] = [
    "category",
    "phase",
    "count_trace1",
    "count_trace2",
    "total_us_trace1",
    "total_us_trace2",
    "share_pct_trace1",
    "share_pct_trace2",
    "delta_us",
    "ratio",
    "contribution_pct",
    "presence",
    "verdict",
];

pub(super) fn write(analysis: &Analysis, out: &mut dyn Write) -> io::Result<()> {
    let mut table = CsvTable::new(out, &COLUMNS)?;
    let rows = analysis.by_category();
    let tallies: Vec<&Tally> = rows.iter().map(|row| &row.tally).collect();
    for (row, judgement) in rows.iter().zip(analysis.judge_tallies(&tallies)) {
        let cells = cells(analysis, row, judgement.verdict);
        table.row(&cells.iter().map(String::as_str).collect::<Vec<_>>())?;
    }
    table.finish()
}

fn cells(analysis: &Analysis, row: &CategoryRow, verdict: Verdict) -> Vec<String> {
    let account = analysis.account();
    let (name, tally) = (analysis.options().categories.name(row.category), &row.tally);
    let mut cells = vec![name.to_owned(), row.phase.label().to_owned()];
    cells.extend(counts_and_totals(tally));
    cells.extend(Side::BOTH.map(|side| percent(tally.total(side), account.totals[side].time)));
    cells.extend(delta_and_ratio(tally));
    cells.push(percent(tally.difference(), account.difference()));
    cells.push(tally.presence().label().to_owned());
    cells.push(verdict.label().to_owned());
    cells
}
