//! [`Analysis`] → report folder: tables as CSV, the merged tree as text, summaries as JSON.
//!
//! Files are written side by side into a folder of their own next to the target and moved into
//! place when all of them are complete, so that a failed run leaves no half report. Files in the
//! target that are not part of a report are left alone.

mod categories_csv;
mod csv_table;
mod diff_stats;
mod figure_cells;
mod folder;
mod fusion_csv;
mod info;
mod kernel_table;
mod kernels_csv;
mod layer_op_table;
mod layer_table;
mod merged_tree;
mod op_map;
mod phase_table;
mod rank_table;
mod same_kernels_csv;
mod stacks_json;
mod step_table;
mod summaries;
mod summary;
mod tally_cells;
mod uid_table;
mod verdict_table;

pub use info::{write_info_fields, write_info_head, write_info_head_fields, write_info_line};
pub use rank_table::{RankRow, rank_objects, write_rank_table, write_ranks};
pub use summary::{
    NameDifference, SCHEMA_VERSION, SideNote, SideSummary, Summary, summarise, write_json,
};
pub use uid_table::read_uid_map;

use crate::analysis::Analysis;
use crate::error::Result;
use std::io::{self, Write};
use std::path::Path;

/// One file of the report: its name, and what writes it.
struct ReportFile {
    name: &'static str,
    write: fn(&Analysis<'_>, &mut dyn Write) -> io::Result<()>,
}

const FILES: [ReportFile; 18] = [
    ReportFile { name: "merged_tree_output.txt", write: merged_tree::write },
    ReportFile { name: "diff_stats.csv", write: diff_stats::write },
    ReportFile { name: "diff_stats_unique_args_summary.csv", write: summaries::write_unique_args },
    ReportFile { name: "diff_stats_names_summary.csv", write: summaries::write_names },
    ReportFile { name: "diff_stats_kernels.csv", write: kernel_table::write },
    ReportFile { name: "categories.csv", write: categories_csv::write },
    ReportFile { name: "kernels.csv", write: kernels_csv::write },
    ReportFile { name: "same_kernels.csv", write: same_kernels_csv::write },
    ReportFile { name: "fusion.csv", write: fusion_csv::write },
    ReportFile { name: "stacks.json", write: stacks_json::write },
    ReportFile { name: "uid_map.csv", write: uid_table::write },
    ReportFile { name: "cpu_op_map.json", write: op_map::write },
    ReportFile { name: "steps.csv", write: step_table::write },
    ReportFile { name: "phases.csv", write: phase_table::write },
    ReportFile { name: "layers.csv", write: layer_table::write },
    ReportFile { name: "layer_ops.csv", write: layer_op_table::write },
    ReportFile { name: "verdicts.csv", write: verdict_table::write },
    ReportFile { name: "summary.json", write: summary::write },
];

/// Writes the report of `analysis` into `folder`, which is created if it is missing. Returns the
/// names of the files written.
///
/// # Errors
/// If the folder cannot be created or written, or is a file. Nothing is left half-written.
pub fn write_report(analysis: &Analysis<'_>, folder: &Path) -> Result<Vec<&'static str>> {
    folder::write_into(folder, &FILES, analysis)
}

/// Writes the merged tree as text, one line for each node: line `n` is the node with id `n - 1`.
///
/// # Errors
/// If `out` cannot be written to.
pub fn write_merged_tree(analysis: &Analysis<'_>, out: &mut dyn Write) -> io::Result<()> {
    merged_tree::write(analysis, out)
}

/// Writes the names summary as CSV.
///
/// # Errors
/// If `out` cannot be written to.
pub fn write_names_summary(analysis: &Analysis<'_>, out: &mut dyn Write) -> io::Result<()> {
    summaries::write_names(analysis, out)
}
