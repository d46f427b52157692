//! What the user asks for besides the tables: formats of the report, by name.

use super::csv::CsvTexts;
use super::unfinished::Unfinished;
use crate::error::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// A format of the report besides the tables, which are always written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Emit {
    /// `report.html`: one page to look at.
    #[cfg(feature = "html")]
    Html,
    /// `report.md`: for an issue or a step summary.
    Markdown,
    /// `report.xlsx`: a workbook with a sheet for each table.
    #[cfg(feature = "xlsx")]
    Xlsx,
    /// `flamegraph.svg` and `folded.txt`.
    #[cfg(feature = "flamegraph")]
    Flamegraph,
    /// `perfetto.json.gz`: both traces as one.
    Perfetto,
}

impl Emit {
    /// All formats that this build writes.
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

    /// The name on the command line: `html`, `md`, `xlsx`, `svg`, `perfetto`.
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
            let known: Vec<&str> = Emit::ALL.iter().map(|emit| emit.label()).collect();
            let message = format!("is no format of the report; known are {}", known.join(", "));
            Error::usage(text, message)
        })
    }
}

/// How the tables are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum TableFormat {
    /// Comma-separated values, with the titles that TraceLens knows.
    Csv,
    /// Parquet: typed columns, dictionaries, zstd; columns are called as in Arrow.
    #[cfg(feature = "parquet")]
    Parquet,
}

impl TableFormat {
    /// All formats that this build writes.
    pub const ALL: &[TableFormat] = &[
        TableFormat::Csv,
        #[cfg(feature = "parquet")]
        TableFormat::Parquet,
    ];
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

/// What happens to files in the report folder that have the names of ours and that tracetree did not write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Existing {
    /// They stay, and the report is an error.
    #[default]
    Keep,
    /// The report replaces them.
    Replace,
}

/// What is written, and how much of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportOptions {
    /// How the tables are written; order and repetition do not matter.
    pub tables: Vec<TableFormat>,
    /// The formats besides the tables; order and repetition do not matter.
    pub emits: Vec<Emit>,
    /// Most nodes of the merged tree in `perfetto.json.gz`; a pair is one node and two slices.
    pub perfetto_slices: usize,
    /// The texts in the tables.
    pub csv_texts: CsvTexts,
    /// Files of others that are in the way.
    pub existing: Existing,
    /// The folders that are being written; take a clone to remove them when the process must end.
    pub unfinished: Unfinished,
}

impl Default for ReportOptions {
    /// A page and a text to paste; 200,000 nodes where a Perfetto file is asked for.
    fn default() -> ReportOptions {
        let emits = vec![
            #[cfg(feature = "html")]
            Emit::Html,
            Emit::Markdown,
        ];
        ReportOptions {
            tables: vec![TableFormat::Csv],
            emits,
            perfetto_slices: 200_000,
            csv_texts: CsvTexts::default(),
            existing: Existing::default(),
            unfinished: Unfinished::default(),
        }
    }
}
