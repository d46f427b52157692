//! Writes a table as CSV in UTF-8: comma-separated, quoted where needed, with each line ended by
//! `\n`.

use super::cell::push_cell;
use crate::error::{Error, ErrorKind, Result};
use crate::escape;
use crate::tables::{Cell, ColumnInfo, RowSink, Table};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;
use std::rc::Rc;

/// Size of the output buffer in bytes.
const BUFFER: usize = 1 << 16;
/// When the cache of quoted strings exceeds this size in bytes, it is cleared.
const MOST_KNOWN: usize = 1 << 19;
const IN_MEMORY: &str = "writing to memory cannot fail";

/// Whether strings are written to a CSV file verbatim or are made safe for spreadsheets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[doc(hidden)]
pub enum CsvTexts {
    /// Strings are written verbatim, as in the trace.
    AsTheyAre,
    /// Strings are made safe for opening the file in a spreadsheet and for printing it in a terminal. A leading `'` is
    /// added to strings that a spreadsheet would treat as a formula: strings that start with `=`, `+`, `-` or `@` and
    /// are not numbers. Control characters are escaped.
    #[default]
    ForSpreadsheets,
}

impl CsvTexts {
    /// Returns the content of a cell, before quotes are added.
    fn cell(self, text: &str) -> Cow<'_, str> {
        match self {
            CsvTexts::AsTheyAre => Cow::Borrowed(text),
            CsvTexts::ForSpreadsheets => escape::cell(text),
        }
    }
}

/// Writes a table as CSV with a header line and [spreadsheet-safe](CsvTexts::ForSpreadsheets) strings.
///
/// # Errors
/// Fails if `out` cannot be written to.
#[doc(hidden)]
pub fn write_csv(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    write_csv_with(table, CsvTexts::default(), out)
}

/// Same as [`write_csv`], with a choice of how strings are written.
///
/// # Errors
/// Fails if `out` cannot be written to.
#[doc(hidden)]
pub fn write_csv_with(table: &Table, texts: CsvTexts, out: &mut dyn Write) -> io::Result<()> {
    let columns = table.columns();
    // Every table has at least two columns: with a single column, an empty cell would produce an
    // empty line.
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

struct Lines<'t> {
    out: &'t mut dyn Write,
    columns: &'t [ColumnInfo],
    /// Index of the column that is written next.
    column: usize,
    /// Buffer for complete lines and the current line.
    buffer: String,
    quoted: Quoted,
    /// Scratch buffer for the content of one cell.
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
            // Numbers and fixed strings never need quotes.
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

/// A cache of quoted strings. A table repeats names and shapes thousands of times, mostly in consecutive rows.
struct Quoted {
    texts: CsvTexts,
    /// The cached strings, each with its quoted form.
    known: Vec<(Rc<str>, Box<str>)>,
    numbers: FxHashMap<Rc<str>, usize>,
    /// For each column, the index of the string that was written last.
    last: Vec<usize>,
    /// Total size of all cached strings in bytes.
    size: usize,
}

impl Quoted {
    fn new(texts: CsvTexts, columns: usize) -> Quoted {
        let (known, numbers) = (Vec::new(), FxHashMap::default());
        Quoted { texts, known, numbers, last: vec![0; columns], size: 0 }
    }

    /// Appends the string of a cell to the line, quoted where needed.
    #[inline]
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
        // The string is written after an empty first field, because the writer would quote an empty string that is the
        // only field on its line.
        writer.write_record(["", &*text]).expect(IN_MEMORY);
        let line = String::from_utf8(writer.into_inner().expect(IN_MEMORY)).expect("a text");
        line[",".len()..line.len() - "\n".len()].into()
    }
}

/// Reads the rows of a CSV file, without the header.
pub(super) fn read_rows(path: &Path) -> Result<Vec<Vec<String>>> {
    let failed = |error: csv::Error| Error::io(path, "read the table", error.into());
    let mut reader = csv::Reader::from_path(path).map_err(failed)?;
    reader
        .records()
        .map(|record| Ok(record.map_err(failed)?.iter().map(str::to_owned).collect()))
        .collect()
}

/// The cells in two columns of the first row that has a given value in a column. Returns `None` if there is no such row.
pub(super) fn find_cells(
    path: &Path,
    (key, value): (&str, &str),
    wanted: [&str; 2],
) -> Result<Option<[String; 2]>> {
    let failed = |error: csv::Error| Error::io(path, "read the table", error.into());
    let mut reader = csv::Reader::from_path(path).map_err(failed)?;
    let header = reader.headers().map_err(failed)?.clone();
    let place = |name: &str| {
        header.iter().position(|column| column == name).ok_or_else(|| {
            Error::new(ErrorKind::Malformed, path, format!("has no column {name}"))
                .remedy("write the report again")
        })
    };
    let (key, wanted) = (place(key)?, [place(wanted[0])?, place(wanted[1])?]);
    for record in reader.records() {
        let record = record.map_err(failed)?;
        if record.get(key) == Some(value) {
            return Ok(Some(wanted.map(|at| record.get(at).unwrap_or_default().to_owned())));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::{CsvTexts, MOST_KNOWN, Quoted};

    #[test]
    fn a_text_is_quoted_the_same_with_and_without_the_cache() {
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
