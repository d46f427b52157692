//! [`Analysis`] → report folder: tables as CSV, the merged tree as text, summaries as JSON; and what
//! the user asks for with [`Emit`]: a page, Markdown, a workbook, a flame graph, a Perfetto file.
//!
//! Files are written side by side into a folder of their own, next to the target or in it, and moved
//! into place when all of them are complete, so that a failed run leaves no half report. Files in
//! the target that are not part of a report are left alone.

mod categories_csv;
pub(crate) mod csv_table;
mod diff_stats;
mod emit;
mod facets;
mod figure_cells;
mod figures;
mod flame;
mod folder;
mod fusion_csv;
mod html;
mod info;
mod kernel_table;
mod kernels_csv;
mod labels;
mod largest;
mod layer_op_table;
mod layer_table;
mod markdown;
mod merged_tree;
mod op_map;
mod perfetto;
mod phase_table;
mod prune;
mod same_kernels_csv;
mod stack_tree;
mod stacks_json;
mod step_table;
mod summaries;
mod summary;
mod sums;
mod tally_cells;
mod uid_table;
mod verdict;
mod verdict_summary;
mod verdict_table;
mod xlsx;

pub use emit::{Emit, ReportOptions};
pub use figures::{Unit, one_line, percent, shorten, times};
pub use info::{
    write_info_fields, write_info_head, write_info_head_fields, write_info_json, write_info_line,
};
pub use labels::node_name;
pub use largest::{LargeDifference, Part, largest_differences};
pub(crate) use summary::write_json;
pub use summary::{
    NameDifference, SCHEMA_VERSION, SideNote, SideSummary, Summary, summarise, write_summary,
};
pub use uid_table::read_uid_map;
pub use verdict::{evidence, sentence as verdict};
pub use verdict_summary::{Change, VerdictSummary};

use crate::analysis::Analysis;
use crate::error::Result;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

/// One file of the report: its name, and what writes it.
struct ReportFile {
    name: &'static str,
    write: fn(&Analysis, &ReportOptions, &mut dyn Write) -> io::Result<()>,
}

/// The files that every report has.
const TABLES: [ReportFile; 18] = [
    file("merged_tree_output.txt", |analysis, _, out| merged_tree::write(analysis, out)),
    file("diff_stats.csv", |analysis, _, out| diff_stats::write(analysis, out)),
    file("diff_stats_unique_args_summary.csv", |analysis, _, out| {
        summaries::write_unique_args(analysis, out)
    }),
    file("diff_stats_names_summary.csv", |analysis, _, out| summaries::write_names(analysis, out)),
    file("diff_stats_kernels.csv", |analysis, _, out| kernel_table::write(analysis, out)),
    file("categories.csv", |analysis, _, out| categories_csv::write(analysis, out)),
    file("kernels.csv", |analysis, _, out| kernels_csv::write(analysis, out)),
    file("same_kernels.csv", |analysis, _, out| same_kernels_csv::write(analysis, out)),
    file("fusion.csv", |analysis, _, out| fusion_csv::write(analysis, out)),
    file("stacks.json", |analysis, _, out| stacks_json::write(analysis, out)),
    file("uid_map.csv", |analysis, _, out| uid_table::write(analysis, out)),
    file("cpu_op_map.json", |analysis, _, out| op_map::write(analysis, out)),
    file("steps.csv", |analysis, _, out| step_table::write(analysis, out)),
    file("phases.csv", |analysis, _, out| phase_table::write(analysis, out)),
    file("layers.csv", |analysis, _, out| layer_table::write(analysis, out)),
    file("layer_ops.csv", |analysis, _, out| layer_op_table::write(analysis, out)),
    file("verdicts.csv", |analysis, _, out| verdict_table::write(analysis, out)),
    file("summary.json", |analysis, _, out| summary::write(analysis, out)),
];

const HTML: [ReportFile; 1] = [file("report.html", |analysis, _, out| html::write(analysis, out))];
const MARKDOWN: [ReportFile; 1] =
    [file("report.md", |analysis, _, out| markdown::write(analysis, markdown::NAMES, out))];
const XLSX: [ReportFile; 1] =
    [file("report.xlsx", |analysis, options, out| xlsx::write(analysis, options, &TABLES, out))];
const FLAMEGRAPH: [ReportFile; 2] = [
    file("folded.txt", |analysis, _, out| flame::write_folded(analysis, out)),
    file("flamegraph.svg", |analysis, _, out| flame::write_svg(analysis, out)),
];
const PERFETTO: [ReportFile; 1] = [file("perfetto.json.gz", perfetto::write)];

const fn file(
    name: &'static str,
    write: fn(&Analysis, &ReportOptions, &mut dyn Write) -> io::Result<()>,
) -> ReportFile {
    ReportFile { name, write }
}

/// The files of a format.
fn files_of(emit: Emit) -> &'static [ReportFile] {
    match emit {
        Emit::Html => &HTML,
        Emit::Markdown => &MARKDOWN,
        Emit::Xlsx => &XLSX,
        Emit::Flamegraph => &FLAMEGRAPH,
        Emit::Perfetto => &PERFETTO,
    }
}

/// The report of an analysis: a folder of tables, and of what [`ReportOptions`] names.
#[derive(Debug, Clone)]
pub struct Report {
    analysis: Arc<Analysis>,
    options: ReportOptions,
}

impl Report {
    /// The report with what [`ReportOptions::default`] names.
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
    /// assert!(files.contains(&"uid_map.csv"));
    /// # std::fs::remove_dir_all(&folder).expect("the folder was written");
    /// # Ok::<(), tracetree::Error>(())
    /// ```
    pub fn new(analysis: impl Into<Arc<Analysis>>) -> Report {
        Report::with_options(analysis, ReportOptions::default())
    }

    /// The report with what `options` names.
    pub fn with_options(analysis: impl Into<Arc<Analysis>>, options: ReportOptions) -> Report {
        Report { analysis: analysis.into(), options }
    }

    /// Writes the report into `folder`, which is created if it is missing. Returns the names of the
    /// files written.
    ///
    /// # Errors
    /// If the folder cannot be created or written, or is a file. Nothing is left half-written.
    pub fn write(&self, folder: impl AsRef<Path>) -> Result<Vec<&'static str>> {
        let wanted = Emit::ALL.into_iter().filter(|emit| self.options.emits.contains(emit));
        // What takes longest comes first, so that no thread waits for it in the end.
        let [merged_tree, tables @ ..] = &TABLES;
        let pages = wanted.flat_map(files_of);
        let files: Vec<&ReportFile> =
            std::iter::once(merged_tree).chain(pages).chain(tables).collect();
        folder::write_into(folder.as_ref(), &files, &self.analysis, &self.options)
    }
}

/// Writes the merged tree as text, one line for each node: line `n` is the node with id `n - 1`.
///
/// # Errors
/// If `out` cannot be written to.
pub fn write_merged_tree(analysis: &Analysis, out: &mut dyn Write) -> io::Result<()> {
    merged_tree::write(analysis, out)
}

/// Writes the names summary as CSV.
///
/// # Errors
/// If `out` cannot be written to.
pub fn write_names_summary(analysis: &Analysis, out: &mut dyn Write) -> io::Result<()> {
    summaries::write_names(analysis, out)
}

/// Writes the report as Markdown with the `top` largest differences, at most 64,000 bytes.
///
/// # Errors
/// If `out` cannot be written to.
pub fn write_markdown(analysis: &Analysis, top: usize, out: &mut dyn Write) -> io::Result<()> {
    markdown::write(analysis, top, out)
}
