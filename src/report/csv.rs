//! A table → CSV: UTF-8, comma, quoted where needed, `\n` at the end of each line.

use super::cell::push_cell;
use crate::error::{Error, Result};
use crate::escape;
use crate::tables::{Cell, ColumnInfo, RowSink, Table};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;
use std::rc::Rc;

/// Bytes of lines that are written at once.
const BUFFER: usize = 1 << 16;
/// Most bytes of texts that are known, about.
const MOST_KNOWN: usize = 1 << 19;
/// Why a field is always written.
const IN_MEMORY: &str = "memory takes all";

/// Which texts stand in the cells of a CSV file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CsvTexts {
    /// As they are in the trace.
    AsTheyAre,
    /// Safe to open and to print: `'` before those that a spreadsheet would take for a formula (they begin with
    /// `=`, `+`, `-`, `@` and are no number), and control characters escaped.
    #[default]
    ForSpreadsheets,
}

impl CsvTexts {
    /// A text as it is written into a cell.
    fn cell(self, text: &str) -> Cow<'_, str> {
        match self {
            CsvTexts::AsTheyAre => Cow::Borrowed(text),
            CsvTexts::ForSpreadsheets => escape::cell(text),
        }
    }
}

/// Writes a table as CSV, its titles first, with texts that are [safe](CsvTexts::ForSpreadsheets) to open.
///
/// # Errors
/// If `out` cannot be written to.
pub fn write_csv(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    write_csv_with(table, CsvTexts::default(), out)
}

/// Like [`write_csv`], with such texts.
///
/// # Errors
/// If `out` cannot be written to.
pub fn write_csv_with(table: &Table, texts: CsvTexts, out: &mut dyn Write) -> io::Result<()> {
    let columns = table.columns();
    // In CSV a line of one empty cell would be none.
    debug_assert!(columns.len() > 1, "{} has one column", table.name());
    let buffer = String::with_capacity(BUFFER + BUFFER / 4);
    let (quoted, text) = (Quoted::new(texts, columns.len()), String::new());
    let mut lines = Lines { out, columns, column: 0, buffer, quoted, text };
    for column in columns {
        lines.cell(Cell::from(column.name.as_str()));
    }
    lines.end_row()?;
    table.visit(&mut lines)?;
    lines.flush()
}

/// A CSV text that is being written.
struct Lines<'t> {
    out: &'t mut dyn Write,
    columns: &'t [ColumnInfo],
    /// The column of the next cell.
    column: usize,
    /// Whole lines, and the one that is being written.
    buffer: String,
    quoted: Quoted,
    /// Room for the text of one cell.
    text: String,
}

impl Lines<'_> {
    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(self.buffer.as_bytes())?;
        self.buffer.clear();
        Ok(())
    }
}

impl RowSink for Lines<'_> {
    fn cell(&mut self, cell: Cell<'_>) {
        if self.column > 0 {
            self.buffer.push(',');
        }
        let column = &self.columns[self.column];
        match &cell {
            Cell::Text(text) => self.quoted.push(self.column, text, &mut self.buffer),
            Cell::Names(_) | Cell::Json(_) => {
                self.text.clear();
                push_cell(&mut self.text, column, &cell);
                self.quoted.push(self.column, &self.text, &mut self.buffer);
            }
            // Digits and words of ours are in CSV what they are.
            Cell::Empty | Cell::Whole(_) | Cell::Time(_) | Cell::Decimal(_) | Cell::Flag(_) => {
                push_cell(&mut self.buffer, column, &cell);
            }
        }
        self.column += 1;
    }

    fn end_row(&mut self) -> io::Result<()> {
        self.buffer.push('\n');
        self.column = 0;
        if self.buffer.len() < BUFFER { Ok(()) } else { self.flush() }
    }
}

/// Texts as they stand in a CSV file, each made once: a table repeats names and shapes thousands of times,
/// most of them from row to row.
struct Quoted {
    texts: CsvTexts,
    /// By number, a text and how it stands in the file.
    known: Vec<(Rc<str>, Box<str>)>,
    numbers: FxHashMap<Rc<str>, usize>,
    /// The number of the last text of each column.
    last: Vec<usize>,
    /// Bytes of what is known.
    size: usize,
}

impl Quoted {
    fn new(texts: CsvTexts, columns: usize) -> Quoted {
        let (known, numbers) = (Vec::new(), FxHashMap::default());
        Quoted { texts, known, numbers, last: vec![0; columns], size: 0 }
    }

    /// Appends a text of a column to a line.
    fn push(&mut self, column: usize, text: &str, line: &mut String) {
        let last = self.known.get(self.last[column]);
        if let Some((_, quoted)) = last.filter(|(known, _)| **known == *text) {
            return line.push_str(quoted);
        }
        let number = self.number(text);
        self.last[column] = number;
        line.push_str(&self.known[number].1);
    }

    fn number(&mut self, text: &str) -> usize {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        if self.size > MOST_KNOWN {
            *self = Quoted::new(self.texts, self.last.len());
        }
        let (text, quoted) = (Rc::<str>::from(text), self.quote(text));
        self.size += text.len() + quoted.len();
        self.numbers.insert(text.clone(), self.known.len());
        self.known.push((text, quoted));
        self.known.len() - 1
    }

    fn quote(&self, text: &str) -> Box<str> {
        let text = self.texts.cell(text);
        let room = text.len() + 8;
        let mut writer = csv::WriterBuilder::new().buffer_capacity(room).from_writer(Vec::new());
        // Behind another field: a line of one empty field is quoted.
        writer.write_record(["", &*text]).expect(IN_MEMORY);
        let line = String::from_utf8(writer.into_inner().expect(IN_MEMORY)).expect("a text");
        line[",".len()..line.len() - "\n".len()].into()
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

#[cfg(test)]
mod tests {
    use super::{CsvTexts, MOST_KNOWN, Quoted};

    #[test]
    fn a_text_is_quoted_the_same_however_often_it_comes_and_whatever_is_forgotten() {
        let mut quoted = Quoted::new(CsvTexts::ForSpreadsheets, 2);
        let long = "x".repeat(MOST_KNOWN);
        let texts =
            [("", ""), ("a,b", "\"a,b\""), ("say \"no\"", "\"say \"\"no\"\"\""), ("=1", "'=1")];
        for round in 0..3 {
            for (text, expected) in texts {
                let mut line = String::from("before,");
                quoted.push(0, text, &mut line);
                quoted.push(round % 2, text, &mut line);
                assert_eq!(line, format!("before,{expected}{expected}"), "round {round}");
            }
            quoted.push(1, &long, &mut String::new());
            assert!(quoted.size < 3 * MOST_KNOWN);
        }
    }
}
