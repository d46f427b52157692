//! Reads the Ascend profiler's `kernel_details.csv`, and computes the total time and the number of kernels for each
//! kernel type.
//!
//! The file has 33 or 46 columns, depending on the profiler's level, so columns are found by name. Rows for AI CPU
//! control kernels are dropped, and each collective is counted once.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::collectives::{self, CollectiveRow};
use super::csv_rows::{Columns, KernelRow, Row};
use super::input;
use super::kernel_type::KernelType;
use tracetree_trace::error::{Error, ErrorKind, Place, Result};
use tracetree_trace::trace::{Nanos, Notes};

/// The measured time and the number of kernels for each kernel type, summed over all forward passes of the profile.
#[derive(Debug, Clone, Default)]
pub struct Profile {
    /// Time and count of every kernel type.
    pub kernels: BTreeMap<KernelType, MeasuredKernel>,
    /// How many rows were kept, and how many were dropped.
    pub rows: ProfileRows,
    /// Notes about irregularities in the file.
    pub notes: Notes,
}

/// The measurement of one kernel type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MeasuredKernel {
    /// Total duration of the kernels of this type.
    pub total: Nanos,
    /// Number of kernels of this type that ran.
    pub count: u64,
}

/// How many rows of a profile were kept, and how many were dropped. The four counts add up to the number of rows in the
/// file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ProfileRows {
    /// Number of rows that were counted.
    pub kept: u64,
    /// Number of duplicate rows for collectives that were already counted.
    #[serde(rename = "second_rows_of_collectives")]
    pub copies: u64,
    /// Number of rows for AI CPU control kernels.
    pub aicpu: u64,
    /// Number of rows without a type or a duration.
    pub incomplete: u64,
}

impl Profile {
    /// Reads a profile from a plain or gzipped file.
    ///
    /// # Errors
    /// Fails if the file cannot be read, columns are missing, a duration or start is not a number, a duration is
    /// negative, or there is no kernel.
    pub fn read(path: impl AsRef<Path>) -> Result<Profile> {
        let path = path.as_ref();
        Profile::from_bytes(&input::read(path, "kernel profile")?, path)
    }

    /// Parses a profile from decompressed CSV. `path` is used only in error messages.
    ///
    /// # Errors
    /// Fails for the same reasons as [`Profile::read`].
    pub fn from_bytes(bytes: &[u8], path: impl AsRef<Path>) -> Result<Profile> {
        let path = path.as_ref();
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(bytes);
        let header = reader.byte_headers().map_err(|e| not_csv(&e, path))?;
        let columns = Columns::find(header, path)?;
        let mut profile = Profile::default();
        let mut collectives = Vec::new();
        for record in reader.byte_records() {
            let record = record.map_err(|e| not_csv(&e, path))?;
            match columns.row(&record, path)? {
                Row::Kernel(row) => profile.take(row, &mut collectives),
                Row::Incomplete { column, line } => profile.leave_out(column, line),
            }
        }
        profile.take_collectives(collectives);
        if profile.kernels.is_empty() {
            return Err(without_kernels(path));
        }
        Ok(profile)
    }

    fn take(&mut self, row: KernelRow, collectives: &mut Vec<CollectiveRow>) {
        if row.kernel_type.is_aicpu() {
            self.rows.aicpu += 1;
            return;
        }
        match row.start {
            Some(start) if row.kernel_type.is_collective() => collectives.push(CollectiveRow {
                kernel_type: row.kernel_type,
                start,
                duration: row.duration,
                stream: row.stream,
            }),
            Some(_) => self.keep(row.kernel_type, row.duration),
            None => {
                self.note_no_start(&row);
                self.keep(row.kernel_type, row.duration);
            }
        }
    }

    fn leave_out(&mut self, column: &'static str, line: u64) {
        self.rows.incomplete += 1;
        self.notes.add(
            "INCOMPLETE_ROW",
            1,
            "these rows are ignored; export the profile again if it may be truncated or edited",
            || format!("the profile has rows without `{column}`; the first is in line {line}"),
        );
    }

    fn take_collectives(&mut self, rows: Vec<CollectiveRow>) {
        let read = rows.len();
        let launches = collectives::launches(rows);
        self.rows.copies += (read - launches.len()) as u64;
        for (kernel_type, duration) in launches {
            self.keep(kernel_type, duration);
        }
    }

    fn keep(&mut self, kernel_type: KernelType, duration: Nanos) {
        self.rows.kept += 1;
        let kernel = self.kernels.entry(kernel_type).or_default();
        kernel.total += duration;
        kernel.count += 1;
    }

    fn note_no_start(&mut self, row: &KernelRow) {
        let collective = u64::from(row.kernel_type.is_collective());
        let hint = "collectives that are listed twice may be counted twice; export the profile with start times";
        self.notes.add("COLLECTIVE_WITHOUT_START", collective, hint, || {
            format!("the collective in line {} has no start time", row.line)
        });
    }
}

fn not_csv(error: &csv::Error, path: &Path) -> Error {
    let built = Error::new(ErrorKind::Malformed, path, format!("not a CSV table: {error}"))
        .remedy("pass the profiler's kernel_details.csv");
    match error.position() {
        Some(position) => built.at(Place { offset: position.byte(), event: None }),
        None => built,
    }
}

fn without_kernels(path: &Path) -> Error {
    Error::new(ErrorKind::NotATrace, path, "the kernel profile contains no kernels")
        .remedy("profile at least one forward pass")
}
