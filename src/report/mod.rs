//! Writes an [`Analysis`] as a report folder: tables as CSV, the merged tree as text, summaries as
//! JSON, and the formats requested with [`Emit`], such as a page, Markdown, a workbook, a flame
//! graph or a Perfetto file.
//!
//! Files are written in parallel to a staging folder next to or inside the target, and moved into place when all files
//! are complete. A failed run therefore leaves no partial report. A run that is killed while moving files leaves a
//! `manifest.json` that marks the report as incomplete. Files of an earlier report that are not part of the new report
//! are removed. Files in the target that do not belong to a report are kept and never overwritten, unless
//! [`Existing::Replace`] is set.

#[cfg(feature = "arrow")]
mod arrow;
mod brief;
mod cell;
mod csv;
mod emit;
#[cfg(feature = "flamegraph")]
mod flame;
mod folder;
#[cfg(feature = "html")]
mod html;
mod json;
mod lag;
mod lists;
mod manifest;
mod markdown;
mod nodes;
#[cfg(feature = "parquet")]
mod parquet;
mod perfetto;
mod read_back;
mod read_uid_map;
mod shared;
mod staging;
mod summary;
mod text;
mod unfinished;
#[cfg(feature = "xlsx")]
mod xlsx;

#[cfg(feature = "arrow")]
pub use arrow::{ArrowReader, ArrowTable, column_name};
#[doc(hidden)]
pub use brief::{Brief, short};
pub use brief::{LONGEST_BRIEF, write_brief};
pub use csv::{CsvTexts, write_csv, write_csv_with};
pub use emit::{Emit, Existing, ReportOptions, TableFormat, TableSet};
#[cfg(feature = "html")]
pub use html::{
    FleetBillLine, FleetDot, FleetLag, FleetLast, FleetOutlierRow, FleetOutliers, FleetPage,
    FleetRankLine, HeatMap, write_fleet_page,
};
pub use json::{DescribedTrace, write_info_json, write_rows_json};
pub use lag::{LagText, lag_text};
pub use manifest::was_interrupted;
#[cfg(feature = "parquet")]
pub use parquet::{Origin, read_texts, write_parquet};
pub use read_back::{read_inputs, read_row};
pub use read_uid_map::read_uid_map;
pub use summary::{
    BillSummary, ChangeSummary, LargeDifference, NameDifference, Part, RunsSummary, SCHEMA_VERSION,
    SameProgram, SideNote, SideSummary, StepVerdict, Summary, VerdictSummary, WallSide,
    WallSummary, largest_differences, summarise, write_summary,
};
pub use text::{
    Action, Layer, Line, Narrative, Port, PortItem, evidence, node_name, sentence as verdict,
};
#[doc(hidden)]
pub use text::{Unit, Width, both, code, measure_words, one_line, plain, shorten, times};
pub use unfinished::Unfinished;

use crate::analysis::Analysis;
use crate::error::Result;
use crate::tables::TableKind;
use shared::Shared;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

/// One file of a report.
enum ReportFile {
    /// A table in a given format.
    Table(TableKind, TableFormat),
    /// A file that is not a table, given by its name and the function that writes it.
    Other(&'static str, WriteFile),
}

/// Writes a file of the report. The path argument is a folder for temporary files.
type WriteFile = fn(&Shared, &ReportOptions, &Path, &mut dyn Write) -> io::Result<()>;

impl ReportFile {
    /// Name of the file in the report folder.
    fn name(&self) -> String {
        match self {
            ReportFile::Table(kind, format) => format!("{kind}.{format}"),
            ReportFile::Other(name, _) => (*name).to_owned(),
        }
    }

    /// Whether the file shows prices or effects by replay. Such a file is written after they are computed.
    fn shows_prices(&self) -> bool {
        match self {
            ReportFile::Table(kind, _) => matches!(
                kind,
                TableKind::Bill
                    | TableKind::Changes
                    | TableKind::ChangeSites
                    | TableKind::WhatIf
                    | TableKind::CriticalPath
            ),
            ReportFile::Other(name, _) => name.starts_with("report.") || *name == "summary.json",
        }
    }

    fn write(
        &self,
        shared: &Shared,
        options: &ReportOptions,
        folder: &Path,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        match self {
            ReportFile::Table(kind, TableFormat::Csv) => write_csv_with(
                &kind.of_at_most(&shared.analysis, options.instance_rows),
                options.csv_texts,
                out,
            ),
            #[cfg(feature = "parquet")]
            ReportFile::Table(kind, TableFormat::Parquet) => write_parquet(
                &kind.of_at_most(&shared.analysis, options.instance_rows),
                &Origin::of(&shared.analysis),
                out,
            ),
            ReportFile::Other(_, write) => write(shared, options, folder, out),
        }
    }
}

/// The files that every report contains in addition to the tables. The merged tree comes first, because writing it
/// takes longest; `summary.json` comes last, because programs wait for it.
const ALWAYS: [ReportFile; 4] = [
    ReportFile::Other("merged_tree_output.txt", |shared, options, _, out| {
        text::merged_tree::write(&shared.analysis, options.full_tree_nodes, out)
    }),
    ReportFile::Other("cpu_op_map.json", |shared, _, _, out| {
        json::op_map::write(&shared.analysis, out)
    }),
    ReportFile::Other("lag.svg", |shared, _, _, out| lag::write_svg(&shared.analysis, out)),
    ReportFile::Other("summary.json", |shared, _, _, out| write_summary(shared.summary(), out)),
];

/// The Python stacks of all ops and kernels; part of reports with all tables.
const STACKS: ReportFile = ReportFile::Other("stacks.json", |shared, _, _, out| {
    json::stacks::write(&shared.analysis, out)
});

/// The tables of every report.
const USUAL: [TableKind; 7] = [
    TableKind::Rows,
    TableKind::UniqueArgs,
    TableKind::Names,
    TableKind::KernelEvents,
    TableKind::UidMap,
    TableKind::Bill,
    TableKind::ChangeSites,
];

/// The tables of every report in which they have rows.
const IF_ANY: [TableKind; 5] = [
    TableKind::Kernels,
    TableKind::Steps,
    TableKind::Porting,
    TableKind::Memory,
    TableKind::Efficiency,
];

/// The files for an additional format.
fn files_of(emit: Emit) -> Vec<ReportFile> {
    use ReportFile::Other;
    match emit {
        #[cfg(feature = "html")]
        Emit::Html => vec![Other("report.html", |shared, _, _, out| html::write(shared, out))],
        Emit::Markdown => {
            vec![Other("report.md", |shared, _, _, out| {
                markdown::write(shared, markdown::NAMES, out)
            })]
        }
        #[cfg(feature = "xlsx")]
        Emit::Xlsx => {
            vec![Other("report.xlsx", |shared, _, folder, out| xlsx::write(shared, folder, out))]
        }
        #[cfg(feature = "flamegraph")]
        Emit::Flamegraph => vec![
            Other("folded.txt", |shared, _, _, out| flame::write_folded(&shared.analysis, out)),
            Other("flamegraph.svg", |shared, _, _, out| flame::write_svg(&shared.analysis, out)),
        ],
        Emit::Perfetto => vec![Other("perfetto.json.gz", |shared, options, _, out| {
            perfetto::write(&shared.analysis, options, out)
        })],
    }
}

/// The report of an analysis: a folder with the files that [`ReportOptions`] selects.
#[derive(Debug, Clone)]
pub struct Report {
    shared: Arc<Shared>,
    options: ReportOptions,
}

impl Report {
    /// Creates a report with the default options.
    ///
    /// ```
    /// use tracetree::{Analysis, CallTree, Report, Trace, TraceDiff};
    ///
    /// let before = Trace::open("examples/traces/resnet.rocm.json.gz")?;
    /// let after = Trace::open("examples/traces/resnet.cuda.json.gz")?;
    /// let (baseline, candidate) = (CallTree::build(before), CallTree::build(after));
    /// let diff = TraceDiff::new(baseline, candidate);
    /// let folder = std::env::temp_dir().join(format!("tracetree-report-{}", std::process::id()));
    /// let files = Report::new(Analysis::new(diff)).write(&folder)?;
    /// assert!(files.contains(&"uid_map.csv".to_owned()));
    /// # std::fs::remove_dir_all(&folder).expect("the folder was written");
    /// # Ok::<(), tracetree::Error>(())
    /// ```
    pub fn new(analysis: impl Into<Arc<Analysis>>) -> Report {
        Report::with_options(analysis, ReportOptions::default())
    }

    /// Creates a report with the given options.
    pub fn with_options(analysis: impl Into<Arc<Analysis>>, options: ReportOptions) -> Report {
        Report { shared: Arc::new(Shared::new(analysis.into())), options }
    }

    /// The content of `summary.json`, computed once.
    pub fn summary(&self) -> &Summary {
        self.shared.summary()
    }

    /// All notes about the inputs and the comparison, computed once.
    #[doc(hidden)]
    pub fn notes(&self) -> &[SideNote] {
        self.shared.notes()
    }

    /// The narrative of the comparison, computed once.
    #[doc(hidden)]
    pub fn narrative(&self) -> &Narrative {
        self.shared.narrative()
    }

    /// The largest time differences by name and lowest common node, largest first; computed once.
    #[doc(hidden)]
    pub fn largest_differences(&self) -> &[LargeDifference] {
        self.shared.largest()
    }

    /// Whether `diff_stats_kernels.csv` groups equal GPU events; see [`ReportOptions::instance_rows`].
    #[doc(hidden)]
    pub fn has_grouped_events(&self) -> bool {
        TableKind::KernelEvents.is_folded(&self.shared.analysis, self.options.instance_rows)
    }

    /// Writes the report into `folder`, which is created if missing. Returns the names of the
    /// written files.
    ///
    /// # Errors
    /// Fails if the path is a file, or if the folder cannot be created or written. Also fails if the folder contains a
    /// file that has the name of a report file but was not written by tracetree. A failure leaves no partial report.
    pub fn write(&self, folder: impl AsRef<Path>) -> Result<Vec<String>> {
        let has_rows = |kind: TableKind| !kind.of(&self.shared.analysis).is_empty();
        let files = self.options.files(&has_rows);
        let (folder, known) = (folder.as_ref(), known_files());
        folder::write_into(folder, &files, &known, &self.shared, &self.options)
    }
}

/// All files that a report can contain.
fn known_files() -> Vec<ReportFile> {
    let mut known: Vec<ReportFile> = Emit::ALL.iter().copied().flat_map(files_of).collect();
    for &format in TableFormat::ALL {
        known.extend(TableKind::ALL.map(|kind| ReportFile::Table(kind, format)));
    }
    known.extend(ALWAYS);
    known.push(STACKS);
    known
}

impl ReportOptions {
    /// The tables that this report contains; `has_rows` decides about tables that are not always written.
    fn table_kinds(&self, has_rows: &dyn Fn(TableKind) -> bool) -> Vec<TableKind> {
        match self.table_set {
            TableSet::Usual => {
                let with_rows = IF_ANY.into_iter().filter(|&kind| has_rows(kind));
                USUAL.into_iter().chain(with_rows).collect()
            }
            TableSet::All => TableKind::ALL.to_vec(),
        }
    }

    /// The files that this report contains; `has_rows` decides about tables that are not always written.
    fn files(&self, has_rows: &dyn Fn(TableKind) -> bool) -> Vec<ReportFile> {
        let wanted = Emit::ALL.iter().copied().filter(|emit| self.emits.contains(emit));
        // The slowest files come first, so no thread is still busy with a slow file at the end.
        let [merged_tree, others @ ..] = ALWAYS;
        let mut files = vec![merged_tree];
        files.extend(wanted.flat_map(files_of));
        let formats = TableFormat::ALL.iter().filter(|format| self.tables.contains(format));
        let kinds = if self.tables.is_empty() { Vec::new() } else { self.table_kinds(has_rows) };
        for &format in formats {
            files.extend(kinds.iter().map(|&kind| ReportFile::Table(kind, format)));
        }
        files.extend(others);
        if self.table_set == TableSet::All {
            files.push(STACKS);
        }
        files
    }

    /// Checks that a report with these options can be written into `folder`. The check needs no trace, so it can be
    /// made before a comparison.
    ///
    /// # Errors
    /// Fails if `folder` is a file, or if the report would replace a file that tracetree did not write
    /// (unless [`ReportOptions::existing`] allows that).
    #[doc(hidden)]
    pub fn check_target(&self, folder: impl AsRef<Path>) -> Result<()> {
        let folder = folder.as_ref();
        if crate::storage::is_remote(folder) {
            Ok(())
        } else {
            folder::check_target(folder, &self.files(&|_| true), &known_files(), self.existing)
        }
    }
}

/// Writes the merged tree as text with one line per node: line `n` is the node with id `n - 1`.
///
/// # Errors
/// Fails if `out` cannot be written to.
#[doc(hidden)]
pub fn write_merged_tree(analysis: &Analysis, out: &mut dyn Write) -> io::Result<()> {
    text::merged_tree::write(analysis, usize::MAX, out)
}

/// Writes the report as Markdown, with the `top` largest differences. The output has at most 64,000 bytes.
///
/// # Errors
/// Fails if `out` cannot be written to.
#[doc(hidden)]
pub fn write_markdown(analysis: &Arc<Analysis>, top: usize, out: &mut dyn Write) -> io::Result<()> {
    markdown::write(&Shared::new(analysis.clone()), top, out)
}
