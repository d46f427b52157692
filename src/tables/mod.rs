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
        match self {
            TableKind::Rows => "diff_stats",
            TableKind::UniqueArgs => "diff_stats_unique_args_summary",
            TableKind::Names => "diff_stats_names_summary",
            TableKind::KernelEvents => "diff_stats_kernels",
            TableKind::Categories => "categories",
            TableKind::Kernels => "kernels",
            TableKind::SameKernels => "same_kernels",
            TableKind::Fusion => "fusion",
            TableKind::Efficiency => "efficiency",
            TableKind::Porting => "porting",
            TableKind::UidMap => "uid_map",
            TableKind::Steps => "steps",
            TableKind::StepPairs => "step_pairs",
            TableKind::BatchClasses => "batch_classes",
            TableKind::Phases => "phases",
            TableKind::Layers => "layers",
            TableKind::LayerOps => "layer_ops",
            TableKind::Bill => "bill",
            TableKind::Changes => "changes",
            TableKind::ChangeSites => "change_sites",
            TableKind::WhatIf => "whatif",
            TableKind::CriticalPath => "critical_path",
            TableKind::Idle => "idle",
            TableKind::Graphs => "graphs",
            TableKind::Ops => "ops",
            TableKind::ApiCalls => "api_calls",
            TableKind::Memory => "memory",
            TableKind::MemoryTimeline => "memory_timeline",
            TableKind::MemoryPeaks => "memory_peaks",
            TableKind::Regions => "regions",
            TableKind::Overlap => "overlap",
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
        let analysis = analysis.clone();
        match self {
            TableKind::Rows => rows::table(self.name(), analysis),
            TableKind::UniqueArgs => unique_args::table(self.name(), analysis),
            TableKind::Names => unique_args::names(self.name(), analysis),
            TableKind::KernelEvents => kernel_events::table(self.name(), analysis),
            TableKind::Categories => categories::table(self.name(), analysis),
            TableKind::Kernels => kernels::table(self.name(), analysis),
            TableKind::SameKernels => same_kernels::table(self.name(), analysis),
            TableKind::Fusion => fusion::table(self.name(), analysis),
            TableKind::Efficiency => efficiency::table(self.name(), analysis),
            TableKind::Porting => porting::table(self.name(), analysis),
            TableKind::UidMap => uid_map::table(self.name(), analysis),
            TableKind::Steps => steps::table(self.name(), analysis),
            TableKind::StepPairs => step_pairs::table(self.name(), analysis),
            TableKind::BatchClasses => step_pairs::classes(self.name(), analysis),
            TableKind::Phases => steps::phases(self.name(), analysis),
            TableKind::Layers => layers::table(self.name(), analysis),
            TableKind::LayerOps => layer_ops::table(self.name(), analysis),
            TableKind::Bill => bill::table(self.name(), analysis),
            TableKind::Changes => changes::table(self.name(), analysis),
            TableKind::ChangeSites => changes::sites(self.name(), analysis),
            TableKind::WhatIf => what_if::table(self.name(), analysis),
            TableKind::CriticalPath => what_if::critical_path(self.name(), analysis),
            TableKind::Idle => idle::table(self.name(), analysis),
            TableKind::Graphs => graphs::table(self.name(), analysis),
            TableKind::Ops => named_calls::ops(self.name(), analysis),
            TableKind::ApiCalls => named_calls::api_calls(self.name(), analysis),
            TableKind::Memory => memory::table(self.name(), analysis),
            TableKind::MemoryTimeline => memory::timeline(self.name(), analysis),
            TableKind::MemoryPeaks => memory_peaks::table(self.name(), analysis),
            TableKind::Regions => annotated::table(self.name(), analysis),
            TableKind::Overlap => overlap::table(self.name(), analysis),
        }
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
