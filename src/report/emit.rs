//! Defines the options of a report: table formats, additional formats, and their settings.

use super::csv::CsvTexts;
use super::unfinished::Unfinished;
use crate::error::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// A report format that can be written in addition to the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Emit {
    /// `report.html`: an interactive page.
    #[cfg(feature = "html")]
    Html,
    /// `report.md`: Markdown for an issue or a GitHub step summary.
    Markdown,
    /// `report.xlsx`: a workbook with one sheet per table.
    #[cfg(feature = "xlsx")]
    Xlsx,
    /// `flamegraph.svg` and `folded.txt`.
    #[cfg(feature = "flamegraph")]
    Flamegraph,
    /// `perfetto.json.gz`: both traces on one timeline.
    Perfetto,
}

impl Emit {
    /// All additional formats available in this build.
    pub const ALL: &[Emit] = &[
        #[cfg(feature = "html")]
        Emit::Html,
        Emit::Markdown,
        #[cfg(feature = "xlsx")]
        Emit::Xlsx,
        #[cfg(feature = "flamegraph")]
        Emit::Flamegraph,
        Emit::Perfetto,
    ];

    /// The format's name on the command line: `html`, `md`, `xlsx`, `svg`, `perfetto`.
    pub fn label(self) -> &'static str {
        match self {
            #[cfg(feature = "html")]
            Emit::Html => "html",
            Emit::Markdown => "md",
            #[cfg(feature = "xlsx")]
            Emit::Xlsx => "xlsx",
            #[cfg(feature = "flamegraph")]
            Emit::Flamegraph => "svg",
            Emit::Perfetto => "perfetto",
        }
    }
}

impl fmt::Display for Emit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

impl FromStr for Emit {
    type Err = Error;

    fn from_str(text: &str) -> Result<Emit> {
        Emit::ALL.iter().copied().find(|emit| emit.label() == text).ok_or_else(|| {
            if ["html", "xlsx", "svg"].contains(&text) {
                return Error::left_out(text);
            }
            let known: Vec<&str> = Emit::ALL.iter().map(|emit| emit.label()).collect();
            let message = format!("is not a report format; known formats: {}", known.join(", "));
            Error::usage(text, message)
        })
    }
}

/// A file format of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum TableFormat {
    /// Comma-separated values, with TraceLens's column titles.
    Csv,
    /// Parquet: typed columns with dictionaries, compressed with zstd; columns are named as in
    /// Arrow.
    #[cfg(feature = "parquet")]
    Parquet,
}

impl TableFormat {
    /// All table formats available in this build.
    pub const ALL: &[TableFormat] = &[
        TableFormat::Csv,
        #[cfg(feature = "parquet")]
        TableFormat::Parquet,
    ];
}

impl FromStr for TableFormat {
    type Err = Error;

    fn from_str(text: &str) -> Result<TableFormat> {
        let found = TableFormat::ALL.iter().copied().find(|format| format.to_string() == text);
        found.ok_or_else(|| match text {
            "parquet" => Error::left_out(text),
            _ => Error::usage(text, "is not a table format; the formats are csv and parquet"),
        })
    }
}

impl fmt::Display for TableFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TableFormat::Csv => "csv",
            #[cfg(feature = "parquet")]
            TableFormat::Parquet => "parquet",
        })
    }
}

/// Which tables a report contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TableSet {
    /// The tables that most people open. Of these, `kernels`, `steps`, `porting`, `memory` and `efficiency` are written
    /// only if they have rows.
    #[default]
    Usual,
    /// All tables, also those without rows.
    All,
}

/// Whether a report may overwrite files that have the names of report files but were not written by tracetree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[doc(hidden)]
pub enum Existing {
    /// Files that tracetree did not write are kept, and writing the report fails.
    #[default]
    Keep,
    /// Files that tracetree did not write are overwritten.
    Replace,
}

/// Options that select the files of a report and limit their size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportOptions {
    /// The table formats to write; order and repetition do not matter.
    pub tables: Vec<TableFormat>,
    /// Which tables to write.
    pub table_set: TableSet,
    /// The additional formats; order and repetition do not matter.
    pub emits: Vec<Emit>,
    /// Maximum number of merged-tree nodes in `perfetto.json.gz`. A matched node produces one slice
    /// per side.
    pub perfetto_slices: usize,
    /// If a merged tree has at most this many nodes, `merged_tree_output.txt` contains the full tree. In larger trees,
    /// consecutive identical siblings (such as layers) and consecutive identical steps are drawn only once.
    pub full_tree_nodes: usize,
    /// If there are at most this many GPU events, `diff_stats_kernels.csv` has one row per event. Otherwise, each row
    /// represents all events that differ only in their times, steps and ids; the column `events` contains the number of
    /// these events.
    pub instance_rows: usize,
    /// How strings are written to CSV tables.
    pub csv_texts: CsvTexts,
    /// Whether to overwrite existing files that tracetree did not write.
    pub existing: Existing,
    /// The staging folders that are currently being written. Keep a clone of this list if you want to remove the
    /// folders when the process is interrupted.
    pub unfinished: Unfinished,
}

impl Default for ReportOptions {
    /// Selects the usual tables as CSV, the page and Markdown. Limits a Perfetto file to 200,000 nodes, draws merged trees of
    /// up to 1,000,000 nodes in full, and lists up to 1,000,000 GPU events one by one.
    fn default() -> ReportOptions {
        let emits = vec![
            #[cfg(feature = "html")]
            Emit::Html,
            Emit::Markdown,
        ];
        ReportOptions {
            tables: vec![TableFormat::Csv],
            table_set: TableSet::Usual,
            emits,
            perfetto_slices: 200_000,
            full_tree_nodes: 1_000_000,
            instance_rows: 1_000_000,
            csv_texts: CsvTexts::default(),
            existing: Existing::default(),
            unfinished: Unfinished::default(),
        }
    }
}
