//! Extracts the type, start, duration and stream from a record of a kernel profile. Columns are found by name.

use std::borrow::Cow;
use std::path::Path;

use csv::ByteRecord;

use super::collectives::Stream;
use super::kernel_type::KernelType;
use super::{input, micros};
use tracetree_trace::error::{Error, ErrorKind, Place, Result};
use tracetree_trace::trace::Nanos;

const TYPE: &str = "Type";
const START: &str = "Start Time(us)";
const DURATION: &str = "Duration(us)";
const STREAM: &str = "Stream ID";

/// The positions of the columns that are read. Only the stream column may be missing.
pub(crate) struct Columns {
    kernel_type: usize,
    start: usize,
    duration: usize,
    stream: Option<usize>,
}

/// A parsed record of the profile.
pub(crate) enum Row {
    /// A record of a kernel that ran.
    Kernel(KernelRow),
    /// A record that is not counted, because its cell in the column `column` is empty or `N/A`.
    Incomplete {
        /// Name of the column.
        column: &'static str,
        /// Line of the record in the file, from 1.
        line: u64,
    },
}

/// A record with a type and a duration.
pub(crate) struct KernelRow {
    /// Line of the record in the file, from 1.
    pub(crate) line: u64,
    pub(crate) kernel_type: KernelType,
    /// Start of the kernel; `None` if the cell is empty or `N/A`.
    pub(crate) start: Option<Nanos>,
    pub(crate) duration: Nanos,
    pub(crate) stream: Stream,
}

impl Columns {
    /// Finds the columns in the header; their order does not matter.
    ///
    /// # Errors
    /// Fails if a required column is missing. The error message lists the missing columns and all columns in the file.
    pub(crate) fn find(header: &ByteRecord, path: &Path) -> Result<Columns> {
        let names: Vec<Cow<'_, str>> = header.iter().map(String::from_utf8_lossy).collect();
        let find = |wanted: &str| names.iter().position(|name| name.trim() == wanted);
        match (find(TYPE), find(START), find(DURATION)) {
            (Some(kernel_type), Some(start), Some(duration)) => {
                Ok(Columns { kernel_type, start, duration, stream: find(STREAM) })
            }
            _ => {
                let missing = [TYPE, START, DURATION].into_iter().filter(|n| find(n).is_none());
                Err(missing_columns(missing, &names, path))
            }
        }
    }

    /// Reads a row from `record`.
    ///
    /// # Errors
    /// Fails if the start or the duration is not a number, if the duration is negative, or if the record ends before a
    /// column that is read.
    pub(crate) fn row(&self, record: &ByteRecord, path: &Path) -> Result<Row> {
        let cells = Cells { record, path };
        let line = cells.line();
        let Some(kernel_type) = cells.cell(self.kernel_type, TYPE)?.and_then(KernelType::new)
        else {
            return Ok(Row::Incomplete { column: TYPE, line });
        };
        let Some(duration) = cells.duration(self.duration)? else {
            return Ok(Row::Incomplete { column: DURATION, line });
        };
        let start = cells.time(self.start, START)?;
        let stream = cells.stream(self.stream)?;
        Ok(Row::Kernel(KernelRow { line, kernel_type, start, duration, stream }))
    }
}

struct Cells<'a> {
    record: &'a ByteRecord,
    path: &'a Path,
}

impl<'a> Cells<'a> {
    /// The contents of a cell; `None` if the cell is empty or contains `N/A`.
    fn cell(&self, column: usize, name: &str) -> Result<Option<Cow<'a, str>>> {
        let Some(bytes) = self.record.get(column) else {
            let cells = self.record.len();
            return Err(self.error(&format!("the line ends after {cells} cells, before `{name}`")));
        };
        let text = String::from_utf8_lossy(bytes);
        Ok(match text.trim() {
            "" | "N/A" => None,
            _ => Some(text),
        })
    }

    fn time(&self, column: usize, name: &str) -> Result<Option<Nanos>> {
        let Some(text) = self.cell(column, name)? else { return Ok(None) };
        let time = micros::parse(&text);
        let unreadable = || format!("{} in `{name}` is not a number of µs", input::quoted(&text));
        Ok(Some(time.ok_or_else(|| self.error(&unreadable()))?))
    }

    fn duration(&self, column: usize) -> Result<Option<Nanos>> {
        match self.time(column, DURATION)? {
            Some(duration) if duration < Nanos::ZERO => {
                Err(self.error(&format!("the duration is negative: {duration} µs")))
            }
            duration => Ok(duration),
        }
    }

    fn stream(&self, column: Option<usize>) -> Result<Stream> {
        let Some(column) = column else { return Ok(Stream::NotRecorded) };
        let text = self.cell(column, STREAM)?;
        Ok(text.map_or(Stream::None, |text| Stream::On(text.trim().to_owned())))
    }

    fn line(&self) -> u64 {
        self.record.position().map_or(0, csv::Position::line)
    }

    fn error(&self, message: &str) -> Error {
        let offset = self.record.position().map_or(0, csv::Position::byte);
        let message = format!("line {}: {message}", self.line());
        Error::new(ErrorKind::Malformed, self.path, message)
            .at(Place { offset, event: None })
            .remedy("export the profile again; the file may be truncated or edited")
    }
}

fn missing_columns<'a>(
    missing: impl Iterator<Item = &'a str>,
    found: &[Cow<'_, str>],
    path: &Path,
) -> Error {
    let missing: Vec<String> = missing.map(|name| format!("`{name}`")).collect();
    let message = format!(
        "the kernel profile has no column {}; columns found: {}",
        missing.join(", "),
        input::listed(found)
    );
    Error::new(ErrorKind::Malformed, path, message)
        .remedy("pass the model's trace first, then the profiler's kernel_details.csv")
}
