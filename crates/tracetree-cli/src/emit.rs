//! Options such as `--emit`, which select the report files, and `--open`, which shows the report in a browser.

use super::headings;
use super::output::Console;
use clap::{Args, ValueEnum};
use std::path::Path;
use tracetree::Result;
use tracetree::report::{
    CsvTexts, Emit, Existing, ReportOptions, TableFormat, TableSet, Unfinished,
};

#[derive(Args)]
pub(super) struct EmitArgs {
    /// Files to write besides the usual tables, separated by commas.
    #[arg(
        long,
        value_name = "FORMAT,…",
        value_delimiter = ',',
        default_values = ["html", "md"],
        num_args = 1, help_heading = headings::REPORT)]
    emit: Vec<EmitName>,
    /// Format of the tables.
    #[arg(long, value_name = "FORMAT", default_value = "csv", help_heading = headings::REPORT)]
    tables: TablesName,
    /// Do not write report.html.
    #[arg(long, help_heading = headings::REPORT)]
    no_html: bool,
    /// Open report.html in a browser.
    #[arg(long, conflicts_with = "no_html", help_heading = headings::REPORT)]
    open: bool,
    /// Maximum number of matched and unmatched calls in perfetto.json.gz; the shortest calls are
    /// dropped first.
    #[arg(long, value_name = "N", default_value_t = ReportOptions::default().perfetto_slices, help_heading = headings::REPORT)]
    perfetto_slices: usize,
    /// Draw all calls in merged_tree_output.txt. By default, if the tree has more than a million nodes,
    /// consecutive identical siblings and steps are drawn once.
    #[arg(long, help_heading = headings::REPORT)]
    full_tree: bool,
    /// Write one row per GPU event to diff_stats_kernels.csv. By default, if there are more than a million events,
    /// events that differ only in their times, their step and their ids share one row.
    #[arg(long, help_heading = headings::REPORT)]
    per_instance: bool,
    /// Write strings to CSV exactly as they appear in the trace. By default, strings that a spreadsheet would treat as
    /// a formula (starting with = + - @) are prefixed with ', and control characters are escaped.
    #[arg(long, help_heading = headings::REPORT)]
    csv_raw: bool,
    /// Has no effect, because strings in CSV files are escaped by default. Kept for compatibility.
    #[arg(long, hide = true, conflicts_with = "csv_raw")]
    csv_safe: bool,
    /// Overwrite existing files that have the same names as report files, even if tracetree did not write the existing
    /// files.
    #[arg(long, help_heading = headings::REPORT)]
    force: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum EmitName {
    /// report.html, an interactive page.
    Html,
    /// report.md, for an issue or a CI step summary.
    Md,
    /// report.xlsx, a workbook.
    Xlsx,
    /// flamegraph.svg and folded.txt.
    Svg,
    /// perfetto.json.gz, both traces on one timeline.
    Perfetto,
    /// All tables, also those that few people open.
    Tables,
    /// All tables and all additional formats.
    All,
    /// Only the usual tables.
    None,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum TablesName {
    /// Comma-separated values.
    Csv,
    /// Parquet, for pandas, Polars or DuckDB.
    Parquet,
    /// Both formats for each table.
    Both,
}

impl TablesName {
    /// Returns the table formats that the option value selects.
    ///
    /// # Errors
    /// Fails if this build cannot write one of the formats.
    pub(super) fn formats(self) -> Result<Vec<TableFormat>> {
        Ok(match self {
            TablesName::Csv => vec![TableFormat::Csv],
            TablesName::Parquet => vec!["parquet".parse()?],
            TablesName::Both => vec![TableFormat::Csv, "parquet".parse()?],
        })
    }
}

impl EmitName {
    /// Returns the formats that the option value selects; `all` selects every format that this build can write.
    ///
    /// # Errors
    /// Fails if this build cannot write the format.
    fn formats(self) -> Result<Vec<Emit>> {
        Ok(match self {
            EmitName::Html => vec![Emit::Html],
            EmitName::Md => vec![Emit::Markdown],
            EmitName::Xlsx => vec!["xlsx".parse()?],
            EmitName::Svg => vec!["svg".parse()?],
            EmitName::Perfetto => vec![Emit::Perfetto],
            EmitName::All => Emit::ALL.to_vec(),
            EmitName::Tables | EmitName::None => Vec::new(),
        })
    }
}

impl EmitArgs {
    /// Converts the arguments to the library's report options.
    ///
    /// # Errors
    /// Fails if this build cannot write a requested format.
    pub(super) fn options(&self, unfinished: Unfinished) -> Result<ReportOptions> {
        let mut emits = Vec::new();
        for name in &self.emit {
            emits.extend(name.formats()?);
        }
        if self.open {
            emits.push(Emit::Html);
        }
        let names_all = [EmitName::Tables, EmitName::All];
        let has_all = self.emit.iter().any(|name| names_all.contains(name));
        emits.retain(|&emit| emit != Emit::Html || !self.no_html);
        Ok(ReportOptions {
            tables: self.tables.formats()?,
            table_set: if has_all { TableSet::All } else { TableSet::Usual },
            emits,
            perfetto_slices: self.perfetto_slices,
            full_tree_nodes: if self.full_tree {
                usize::MAX
            } else {
                ReportOptions::default().full_tree_nodes
            },
            instance_rows: if self.per_instance {
                usize::MAX
            } else {
                ReportOptions::default().instance_rows
            },
            csv_texts: self.csv_texts(),
            existing: if self.force { Existing::Replace } else { Existing::Keep },
            unfinished,
        })
    }

    /// Whether strings in CSV tables are escaped or, with `--csv-raw`, written unchanged.
    pub(super) fn csv_texts(&self) -> CsvTexts {
        if self.csv_raw { CsvTexts::AsTheyAre } else { CsvTexts::ForSpreadsheets }
    }

    /// Opens the report page if `--open` was given. If there is no browser, this is not an error.
    pub(super) fn show(&self, folder: &Path, console: &mut Console) {
        let page = folder.join("report.html");
        if self.open && open::that_detached(&page).is_err() {
            console.tell(&format!("cannot start a browser; open {} in a browser", page.display()));
        }
    }
}
