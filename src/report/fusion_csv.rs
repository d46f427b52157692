//! `fusion.csv`: one line for each place where one side needs fewer kernels than the other.

use super::csv_table::{CsvTable, name_list};
use crate::analysis::{Analysis, FusionRow, KernelChange};
use crate::side::Side;
use std::collections::BTreeMap;
use std::io::{self, Write};

const COLUMNS: [&str; 16] = [
    "path",
    "change",
    "fused_in",
    "evidence",
    "kernel_count_trace1",
    "kernel_count_trace2",
    "ops_trace1",
    "ops_trace2",
    "kernels_trace1",
    "kernels_trace2",
    "total_us_trace1",
    "total_us_trace2",
    "delta_us",
    "instances",
    "agreeing",
    "lowest_common_ancestor_id",
];

pub(super) fn write(analysis: &Analysis, out: &mut dyn Write) -> io::Result<()> {
    let mut table = CsvTable::new(out, &COLUMNS)?;
    for row in analysis.fusions() {
        let cells = cells(&row);
        table.row(&cells.iter().map(String::as_str).collect::<Vec<_>>())?;
    }
    table.finish()
}

fn cells(row: &FusionRow) -> Vec<String> {
    let [change, fused_in, evidence] = match row.change {
        KernelChange::FusedIn(side, evidence) => ["fusion", side.label(), evidence.label()],
        KernelChange::Count => ["kernel_count_change", "", ""],
    };
    let mut cells =
        vec![row.path.clone(), change.to_owned(), fused_in.to_owned(), evidence.to_owned()];
    cells.extend(Side::BOTH.map(|side| row.kernel_count[side].to_string()));
    let names = |side: Side| row.ops[side].iter().map(String::as_str).collect::<Vec<_>>();
    cells.extend(Side::BOTH.map(|side| name_list(&names(side))));
    cells.extend(Side::BOTH.map(|side| json(&row.kernels[side])));
    cells.extend(Side::BOTH.map(|side| row.time[side].to_string()));
    cells.push(row.difference().to_string());
    cells.extend([row.instances, row.agreeing, row.first.index()].map(|number| number.to_string()));
    cells
}

/// Names with counts as a JSON object.
fn json(kernels: &BTreeMap<String, u64>) -> String {
    serde_json::to_string(kernels).expect("names and counts")
}
