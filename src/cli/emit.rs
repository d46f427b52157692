//! `--emit` and its kin → what the report holds; and the browser that shows it.

use super::headings;
use super::output::Console;
use clap::{Args, ValueEnum};
use std::path::Path;
use tracetree::report::{CsvTexts, Emit, Existing, ReportOptions, TableFormat, Unfinished};

#[derive(Args)]
pub(super) struct EmitArgs {
    /// What the report holds besides the tables; several with commas.
    #[arg(
        long,
        value_name = "FORMAT,…",
        value_delimiter = ',',
        default_values = ["html", "md"],
        num_args = 1, help_heading = headings::REPORT)]
    emit: Vec<EmitName>,
    /// How the tables are written.
    #[arg(long, value_name = "FORMAT", default_value = "csv", help_heading = headings::REPORT)]
    tables: TablesName,
    /// Leave out report.html.
    #[arg(long, help_heading = headings::REPORT)]
    no_html: bool,
    /// Show report.html in a browser.
    #[arg(long, conflicts_with = "no_html", help_heading = headings::REPORT)]
    open: bool,
    /// Most pairs and single calls in perfetto.json.gz; those with the least time are left out.
    #[arg(long, value_name = "N", default_value_t = ReportOptions::default().perfetto_slices, help_heading = headings::REPORT)]
    perfetto_slices: usize,
    /// Write texts in CSV as they are in the trace. By default ' goes before those that a spreadsheet would take
    /// for a formula (they begin with = + - @), and control characters are escaped.
    #[arg(long, help_heading = headings::REPORT)]
    csv_raw: bool,
    /// The default now.
    #[arg(long, hide = true, conflicts_with = "csv_raw")]
    csv_safe: bool,
    /// Overwrite files of the report's names that tracetree did not write.
    #[arg(long, help_heading = headings::REPORT)]
    force: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum EmitName {
    /// report.html, a page to look at.
    Html,
    /// report.md, for an issue or a step summary.
    Md,
    /// report.xlsx, a workbook.
    Xlsx,
    /// flamegraph.svg and folded.txt.
    Svg,
    /// perfetto.json.gz, both traces on one timeline.
    Perfetto,
    /// All of these.
    All,
    /// The tables alone.
    None,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum TablesName {
    /// Comma-separated values.
    Csv,
    /// Parquet, for pandas, Polars, DuckDB and the like.
    Parquet,
    /// Each table as both.
    Both,
}

impl TablesName {
    pub(super) fn formats(self) -> Vec<TableFormat> {
        match self {
            TablesName::Csv => vec![TableFormat::Csv],
            TablesName::Parquet => vec![TableFormat::Parquet],
            TablesName::Both => TableFormat::ALL.to_vec(),
        }
    }
}

impl EmitName {
    fn formats(self) -> &'static [Emit] {
        match self {
            EmitName::Html => &[Emit::Html],
            EmitName::Md => &[Emit::Markdown],
            EmitName::Xlsx => &[Emit::Xlsx],
            EmitName::Svg => &[Emit::Flamegraph],
            EmitName::Perfetto => &[Emit::Perfetto],
            EmitName::All => Emit::ALL,
            EmitName::None => &[],
        }
    }
}

impl EmitArgs {
    /// What the library is asked to write.
    pub(super) fn options(&self, unfinished: Unfinished) -> ReportOptions {
        let mut emits: Vec<Emit> =
            self.emit.iter().flat_map(|name| name.formats()).copied().collect();
        if self.open {
            emits.push(Emit::Html);
        }
        emits.retain(|&emit| emit != Emit::Html || !self.no_html);
        ReportOptions {
            tables: self.tables.formats(),
            emits,
            perfetto_slices: self.perfetto_slices,
            csv_texts: self.csv_texts(),
            existing: if self.force { Existing::Replace } else { Existing::Keep },
            unfinished,
        }
    }

    /// The texts in tables.
    pub(super) fn csv_texts(&self) -> CsvTexts {
        if self.csv_raw { CsvTexts::AsTheyAre } else { CsvTexts::ForSpreadsheets }
    }

    /// Shows the page of a report where that is asked for. A machine without a browser is no error.
    pub(super) fn show(&self, folder: &Path, console: &mut Console) {
        let page = folder.join("report.html");
        if self.open && open::that_detached(&page).is_err() {
            console.tell(&format!("no browser could be started; open {} in one", page.display()));
        }
    }
}
