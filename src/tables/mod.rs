//! Produces the tables of an [`Analysis`]: one file per table, each column with its name, unit, type and
//! meaning.
//!
//! Tables are values ([`Table`]). The code that writes CSV files, the workbook and the column documentation treats all
//! tables alike.

mod annotated;
mod arguments;
mod bill;
mod categories;
mod changes;
mod efficiency;
mod figures;
mod fusion;
mod graphs;
mod idle;
mod kernel_events;
mod kernels;
mod layer_ops;
mod layers;
mod memory;
mod memory_peaks;
mod named_calls;
mod overlap;
mod porting;
mod rows;
mod runs;
mod same_kernels;
mod step_pairs;
mod steps;
#[doc(hidden)]
pub mod table;
mod tallies;
mod uid_map;
mod uids;
mod unique_args;
mod what_if;

pub use named_calls::ops_only_on;
pub use table::{Cell, ColumnInfo, ColumnType, RowSink, Table};

use crate::analysis::Analysis;
use crate::error::{Error, Result};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The tables of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum TableKind {
    /// The table `diff_stats`.
    Rows,
    /// The table `diff_stats_unique_args_summary`.
    UniqueArgs,
    /// The table `diff_stats_names_summary`.
    Names,
    /// The table `diff_stats_kernels`.
    KernelEvents,
    /// `categories`.
    Categories,
    /// `kernels`.
    Kernels,
    /// `same_kernels`.
    SameKernels,
    /// `fusion`.
    Fusion,
    /// `efficiency`.
    Efficiency,
    /// `porting`.
    Porting,
    /// `uid_map`.
    UidMap,
    /// `steps`.
    Steps,
    /// `step_pairs`.
    StepPairs,
    /// `batch_classes`.
    BatchClasses,
    /// `phases`.
    Phases,
    /// `layers`.
    Layers,
    /// `layer_ops`.
    LayerOps,
    /// `bill`.
    Bill,
    /// `changes`.
    Changes,
    /// `change_sites`.
    ChangeSites,
    /// `whatif`.
    WhatIf,
    /// `critical_path`.
    CriticalPath,
    /// `idle`.
    Idle,
    /// `graphs`.
    Graphs,
    /// `ops`.
    Ops,
    /// `api_calls`.
    ApiCalls,
    /// `memory`.
    Memory,
    /// `memory_timeline`.
    MemoryTimeline,
    /// `memory_peaks`.
    MemoryPeaks,
    /// `regions`.
    Regions,
    /// `overlap`.
    Overlap,
}

/// Creates a table with the given name.
type Definition = fn(&'static str, Arc<Analysis>) -> Table;

impl TableKind {
    /// All tables, in the order in which they are documented.
    pub const ALL: [TableKind; 31] = [
        TableKind::Rows,
        TableKind::UniqueArgs,
        TableKind::Names,
        TableKind::KernelEvents,
        TableKind::Categories,
        TableKind::Kernels,
        TableKind::SameKernels,
        TableKind::Fusion,
        TableKind::Efficiency,
        TableKind::Porting,
        TableKind::UidMap,
        TableKind::Steps,
        TableKind::StepPairs,
        TableKind::BatchClasses,
        TableKind::Phases,
        TableKind::Layers,
        TableKind::LayerOps,
        TableKind::Bill,
        TableKind::Changes,
        TableKind::ChangeSites,
        TableKind::WhatIf,
        TableKind::CriticalPath,
        TableKind::Idle,
        TableKind::Graphs,
        TableKind::Ops,
        TableKind::ApiCalls,
        TableKind::Memory,
        TableKind::MemoryTimeline,
        TableKind::MemoryPeaks,
        TableKind::Regions,
        TableKind::Overlap,
    ];

    /// Name of the table: its CSV file name without the extension.
    pub fn name(self) -> &'static str {
        self.definition().0
    }

    /// The name of the table, and the function that creates it.
    fn definition(self) -> (&'static str, Definition) {
        match self {
            TableKind::Rows => ("diff_stats", rows::table),
            TableKind::UniqueArgs => ("diff_stats_unique_args_summary", unique_args::table),
            TableKind::Names => ("diff_stats_names_summary", unique_args::names),
            TableKind::KernelEvents => ("diff_stats_kernels", kernel_events::table),
            TableKind::Categories => ("categories", categories::table),
            TableKind::Kernels => ("kernels", kernels::table),
            TableKind::SameKernels => ("same_kernels", same_kernels::table),
            TableKind::Fusion => ("fusion", fusion::table),
            TableKind::Efficiency => ("efficiency", efficiency::table),
            TableKind::Porting => ("porting", porting::table),
            TableKind::UidMap => ("uid_map", uid_map::table),
            TableKind::Steps => ("steps", steps::table),
            TableKind::StepPairs => ("step_pairs", step_pairs::table),
            TableKind::BatchClasses => ("batch_classes", step_pairs::classes),
            TableKind::Phases => ("phases", steps::phases),
            TableKind::Layers => ("layers", layers::table),
            TableKind::LayerOps => ("layer_ops", layer_ops::table),
            TableKind::Bill => ("bill", bill::table),
            TableKind::Changes => ("changes", changes::table),
            TableKind::ChangeSites => ("change_sites", changes::sites),
            TableKind::WhatIf => ("whatif", what_if::table),
            TableKind::CriticalPath => ("critical_path", what_if::critical_path),
            TableKind::Idle => ("idle", idle::table),
            TableKind::Graphs => ("graphs", graphs::table),
            TableKind::Ops => ("ops", named_calls::ops),
            TableKind::ApiCalls => ("api_calls", named_calls::api_calls),
            TableKind::Memory => ("memory", memory::table),
            TableKind::MemoryTimeline => ("memory_timeline", memory::timeline),
            TableKind::MemoryPeaks => ("memory_peaks", memory_peaks::table),
            TableKind::Regions => ("regions", annotated::table),
            TableKind::Overlap => ("overlap", overlap::table),
        }
    }

    /// Creates the table of the given kind.
    ///
    /// ```
    /// use tracetree::tables::TableKind;
    /// use tracetree::{Comparison, ComparisonOptions};
    ///
    /// let comparison = Comparison::open(
    ///     "examples/traces/resnet.rocm.json.gz",
    ///     "examples/traces/resnet.cuda.json.gz",
    ///     &ComparisonOptions::default(),
    /// )?;
    /// let table = TableKind::Names.of(comparison.analysis());
    /// let columns: Vec<&str> = table.columns().iter().map(|column| column.name.as_str()).collect();
    /// assert_eq!(columns[..2], ["name", "row_count"]);
    /// # Ok::<(), tracetree::Error>(())
    /// ```
    pub fn of(self, analysis: &Arc<Analysis>) -> Table {
        let (name, table) = self.definition();
        table(name, analysis.clone())
    }

    /// Like [`TableKind::of`], but shortens a table that would have one row per GPU event and more than
    /// `most` rows: it has one row per group of equal events instead.
    pub(crate) fn of_at_most(self, analysis: &Arc<Analysis>, most: usize) -> Table {
        if self.is_folded(analysis, most) {
            kernel_events::folded(self.name(), analysis.clone())
        } else {
            self.of(analysis)
        }
    }

    /// Whether [`TableKind::of_at_most`] groups equal events.
    pub(crate) fn is_folded(self, analysis: &Analysis, most: usize) -> bool {
        self == TableKind::KernelEvents && kernel_events::row_count(analysis) > most
    }
}

impl fmt::Display for TableKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for TableKind {
    type Err = Error;

    /// Parses the name of a table.
    fn from_str(name: &str) -> Result<TableKind> {
        TableKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            let known = TableKind::ALL.map(TableKind::name).join(", ");
            let message = format!("`{name}` is not a table");
            Error::usage(name, message).remedy(format!("known tables: {known}"))
        })
    }
}
