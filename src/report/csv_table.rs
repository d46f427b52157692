//! Rows of text → CSV: UTF-8, comma, quoted where needed, `\n` at the end of each line.

use crate::error::{Error, Result};
use crate::trace::{Nanos, Uid};
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

/// A table that is being written.
pub(crate) struct CsvTable<W: Write> {
    writer: csv::Writer<W>,
    /// The row that is being written: a whole one goes into the buffer much faster than its cells.
    record: csv::ByteRecord,
}

impl<W: Write> CsvTable<W> {
    /// A table with these columns.
    pub(crate) fn new(out: W, columns: &[&str]) -> io::Result<Self> {
        let mut writer = csv::WriterBuilder::new().buffer_capacity(1 << 14).from_writer(out);
        writer.write_record(columns)?;
        Ok(CsvTable { writer, record: csv::ByteRecord::new() })
    }

    /// Writes one row; it has as many cells as the table has columns.
    pub(crate) fn row(&mut self, cells: &[&str]) -> io::Result<()> {
        self.record.clear();
        cells.iter().for_each(|cell| self.record.push_field(cell.as_bytes()));
        Ok(self.writer.write_byte_record(&self.record)?)
    }

    /// Writes what is still buffered.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// The rows of a CSV file without its header.
pub(crate) fn read_rows(path: &Path) -> Result<Vec<Vec<String>>> {
    let failed = |error: csv::Error| Error::io(path, "read the table", error.into());
    let mut reader = csv::Reader::from_path(path).map_err(failed)?;
    reader
        .records()
        .map(|record| Ok(record.map_err(failed)?.iter().map(str::to_owned).collect()))
        .collect()
}

/// The rows of a CSV text, its header first.
pub(crate) fn parse_rows(text: &[u8]) -> io::Result<Vec<Vec<String>>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text);
    reader.records().map(|record| Ok(record?.iter().map(str::to_owned).collect())).collect()
}

/// Milliseconds with every digit: six decimals.
pub(crate) fn millis(time: Nanos) -> String {
    let sign = if time.0 < 0 { "-" } else { "" };
    let nanos = time.0.unsigned_abs();
    format!("{sign}{}.{:06}", nanos / 1_000_000, nanos % 1_000_000)
}

/// A ratio with six decimals; empty where it is undefined.
pub(crate) fn optional_ratio(ratio: Option<f64>) -> String {
    ratio.map_or_else(String::new, |ratio| format!("{ratio:.6}"))
}

/// A number, or nothing.
pub(crate) fn optional<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// A uid as tables write it: -1 where there is none.
pub(crate) fn uid(uid: Option<Uid>) -> String {
    let mut text = String::new();
    push_uid(&mut text, uid);
    text
}

/// The same, behind what a text holds already.
pub(crate) fn push_uid(text: &mut String, uid: Option<Uid>) {
    match uid {
        Some(Uid(uid)) => write!(text, "{uid}").expect("a text takes all"),
        None => text.push_str("-1"),
    }
}

/// A list of names as a JSON array, which Python reads with `json.loads` or `ast.literal_eval`.
pub(crate) fn name_list(names: &[&str]) -> String {
    serde_json::to_string(names).expect("names are text")
}
