//! `categories.csv`: one line for each kind of work in each phase.

use super::csv_table::CsvTable;
use super::lookups::Lookups;
use super::tally_cells::{counts_and_totals, delta_and_ratio, percent};
use crate::analysis::{Analysis, CategoryRow};
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

pub(super) fn write(analysis: &Analysis<'_>, out: &mut dyn Write) -> io::Result<()> {
    write_with(analysis, Lookups::NONE, out)
}

/// Like [`write`], with what other analyses know.
pub(super) fn write_with(
    analysis: &Analysis<'_>,
    lookups: Lookups<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut table = CsvTable::new(out, &COLUMNS)?;
    for row in analysis.by_category(lookups.phase_of) {
        let cells = cells(analysis, lookups, row);
        table.row(&cells.iter().map(String::as_str).collect::<Vec<_>>())?;
    }
    table.finish()
}

fn cells(analysis: &Analysis<'_>, lookups: Lookups<'_>, row: CategoryRow) -> Vec<String> {
    let account = analysis.account();
    let tally = &row.tally;
    let mut cells = vec![analysis.options().categories.name(row.category).to_owned(), row.phase];
    cells.extend(counts_and_totals(tally));
    cells.extend(Side::BOTH.map(|side| percent(tally.total(side), account.totals[side].time)));
    cells.extend(delta_and_ratio(tally));
    cells.push(percent(tally.difference(), account.difference()));
    cells.push(tally.presence().to_owned());
    cells.push((lookups.verdict_of)(tally).to_owned());
    cells
}
