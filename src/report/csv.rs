//! A table → CSV: UTF-8, comma, quoted where needed, `\n` at the end of each line.

use super::cell::push_cell;
use crate::error::{Error, Result};
use crate::tables::{Cell, ColumnInfo, RowSink, Table};
use std::io::{self, Write};
use std::path::Path;

/// Which texts stand in the cells of a CSV file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CsvTexts {
    /// As they are in the trace: what programs want to read.
    #[default]
    AsTheyAre,
    /// With `'` before those that a spreadsheet would take for a formula: they begin with `=`, `+`,
    /// `-`, `@`, a tab or a carriage return.
    ForSpreadsheets,
}

impl CsvTexts {
    /// What stands before a text.
    fn prefix(self, text: &str) -> &'static str {
        match self {
            CsvTexts::ForSpreadsheets if text.starts_with(['=', '+', '-', '@', '\t', '\r']) => "'",
            CsvTexts::ForSpreadsheets | CsvTexts::AsTheyAre => "",
        }
    }
}

/// Writes a table as CSV, its titles first, with the texts as they are.
///
/// # Errors
/// If `out` cannot be written to.
pub fn write_csv(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    write_csv_with(table, CsvTexts::AsTheyAre, out)
}

/// Like [`write_csv`], with such texts.
///
/// # Errors
/// If `out` cannot be written to.
pub fn write_csv_with(table: &Table, texts: CsvTexts, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = csv::WriterBuilder::new().buffer_capacity(1 << 16).from_writer(out);
    writer.write_record(table.columns().iter().map(|column| &column.name))?;
    let columns = table.columns();
    let (record, text) = (csv::ByteRecord::new(), String::new());
    let mut lines = Lines { writer, columns, texts, record, text };
    table.visit(&mut lines)?;
    lines.writer.flush()
}

/// A CSV text that is being written.
struct Lines<'t, W: Write> {
    writer: csv::Writer<W>,
    columns: &'t [ColumnInfo],
    texts: CsvTexts,
    /// The row that is being written: a whole one goes into the buffer much faster than its cells.
    record: csv::ByteRecord,
    text: String,
}

impl<W: Write> RowSink for Lines<'_, W> {
    fn cell(&mut self, cell: Cell<'_>) {
        match &cell {
            Cell::Text(text) if self.texts.prefix(text).is_empty() => {
                self.record.push_field(text.as_bytes());
            }
            Cell::Text(_) | Cell::Names(_) | Cell::Json(_) => {
                self.text.clear();
                push_cell(&mut self.text, &self.columns[self.record.len()], &cell);
                self.text.insert_str(0, self.texts.prefix(&self.text));
                self.record.push_field(self.text.as_bytes());
            }
            Cell::Empty | Cell::Whole(_) | Cell::Time(_) | Cell::Decimal(_) | Cell::Flag(_) => {
                self.text.clear();
                push_cell(&mut self.text, &self.columns[self.record.len()], &cell);
                self.record.push_field(self.text.as_bytes());
            }
        }
    }

    fn end_row(&mut self) -> io::Result<()> {
        self.writer.write_byte_record(&self.record)?;
        self.record.clear();
        Ok(())
    }
}

/// The rows of a CSV file without its header.
pub(super) fn read_rows(path: &Path) -> Result<Vec<Vec<String>>> {
    let failed = |error: csv::Error| Error::io(path, "read the table", error.into());
    let mut reader = csv::Reader::from_path(path).map_err(failed)?;
    reader
        .records()
        .map(|record| Ok(record.map_err(failed)?.iter().map(str::to_owned).collect()))
        .collect()
}
