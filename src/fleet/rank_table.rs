//! `ranks.csv`: a row per rank of a fleet, with what it waited for the others.

use super::RankRow;
use crate::error::{Error, Result};
use crate::report::csv_table::{CsvTable, optional, optional_ratio};
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

const COLUMNS: [&str; 29] = [
    "rank",
    "folder",
    "file_trace1",
    "file_trace2",
    "kernel_us_trace1",
    "kernel_us_trace2",
    "kernel_us_delta",
    "ratio",
    "busy_us_trace1",
    "busy_us_trace2",
    "busy_us_delta",
    "events_trace1",
    "events_trace2",
    "collectives_trace1",
    "collectives_trace2",
    "matched_collectives_trace1",
    "matched_collectives_trace2",
    "communication_us_trace1",
    "communication_us_trace2",
    "communication_us_delta",
    "collective_wait_us_trace1",
    "collective_wait_us_trace2",
    "collective_wait_us_delta",
    "without_wait_us_trace1",
    "without_wait_us_trace2",
    "without_wait_us_delta",
    "straggler_trace1",
    "straggler_trace2",
    "account_is_exact",
];

/// Writes `ranks.csv`.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn write_ranks(rows: &[RankRow], path: &Path) -> Result<()> {
    let write = || -> io::Result<()> {
        let mut out = BufWriter::new(File::create(path)?);
        write_rank_table(rows, &mut out)?;
        out.flush()
    };
    write().map_err(|error| Error::io(path, "write the table of ranks", error))
}

/// Writes the table of ranks as CSV.
///
/// # Errors
/// If `out` cannot be written to.
pub fn write_rank_table(rows: &[RankRow], out: &mut dyn Write) -> io::Result<()> {
    let mut table = CsvTable::new(out, &COLUMNS)?;
    for row in rows {
        let cells = cells(row);
        table.row(&cells.iter().map(String::as_str).collect::<Vec<_>>())?;
    }
    table.finish()
}

/// Writes the table of ranks as JSON objects with the columns of `ranks.csv`; numbers are numbers, and
/// what is undefined is `null`.
///
/// # Errors
/// If `out` cannot be written to.
pub fn write_rank_json(rows: &[RankRow], out: &mut dyn Write) -> io::Result<()> {
    crate::report::write_json(&rank_objects(rows), out)
}

fn rank_objects(rows: &[RankRow]) -> Vec<serde_json::Value> {
    let value = |text: String| match (text.as_str(), text.parse::<serde_json::Number>()) {
        ("", _) => serde_json::Value::Null,
        (_, Ok(number)) => serde_json::Value::Number(number),
        (_, Err(_)) => serde_json::Value::String(text),
    };
    let object = |row: &RankRow| {
        let names = COLUMNS.iter().map(|&name| name.to_owned());
        serde_json::Value::Object(names.zip(cells(row).into_iter().map(value)).collect())
    };
    rows.iter().map(object).collect()
}

fn cells(row: &RankRow) -> Vec<String> {
    let (totals, waits) = (row.totals, row.waits);
    let mut cells = vec![optional(row.rank), row.folder.clone()];
    cells.extend(Side::BOTH.map(|side| row.files[side].clone()));
    cells.extend(times(totals.map(|totals| totals.time)));
    cells.push(optional_ratio(totals.map(|totals| totals.time).ratio()));
    cells.extend(times(totals.map(|totals| totals.busy)));
    cells.extend(Side::BOTH.map(|side| totals[side].events.to_string()));
    cells.extend(Side::BOTH.map(|side| waits[side].count.to_string()));
    cells.extend(Side::BOTH.map(|side| waits[side].matched.to_string()));
    cells.extend(times(waits.map(|wait| wait.time)));
    cells.extend(times(waits.map(|wait| wait.wait)));
    cells.extend(times(PerSide::from_fn(|side| totals[side].time - waits[side].wait)));
    cells.extend(Side::BOTH.map(|side| yes(row.is_straggler[side])));
    cells.push(yes(row.account_is_exact));
    cells
}

fn times(time: PerSide<Nanos>) -> [String; 3] {
    [time.baseline, time.candidate, time.candidate - time.baseline].map(|time| time.to_string())
}

fn yes(is_so: bool) -> String {
    if is_so { "yes".to_owned() } else { String::new() }
}
