//! Compares the traces of many ranks in two folders, rank by rank, and summarizes the results.
//!
//! ```text
//! folders ─Plan::make─▶ Plan ─Mapping::map─▶ a shard for each pair ─Fleet::reduce─▶ Fleet ─write─▶ files
//!                     heads only   anywhere, in any order          kilobytes per rank
//! ```
//! Each pair can be compared independently, on any machine, and the result of a pair takes only a few kilobytes. The
//! engine that runs [`Mapping::map`] is responsible for scheduling, retries and data movement. [`map_all`] is an engine
//! that uses the cores of this machine; the Python package provides an engine that uses Ray.

// Only `tracetree::storage` writes files.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod brief;
mod collectives;
mod engine;
mod facts;
mod findings;
mod headline;
mod heads;
mod map;
mod matching;
mod output;
#[cfg(feature = "html")]
mod page;
mod pairing;
mod pattern;
mod plan;
mod rank_table;
mod reduce;
mod role;
mod rows;
mod shard;
mod slowed;
mod so_far;
mod stats;
mod status;
mod tables;

pub use collectives::{CollectiveWait, Collectives, straggler};
pub use engine::map_all;
pub use headline::Headline;
pub use map::{Mapped, Mapping, SHARDS, Work};
pub use output::FleetFiles;
pub use pattern::ranges;
pub use plan::{
    FLEET_SCHEMA, Plan, PlanOptions, PlannedFile, PlannedPair, Unmatched, is_folder, whole_path,
};
pub use reduce::{Counts, Lost, read_lost};
pub use rows::{
    ClassRow, CollectiveRow, Finding, GroupRow, LineRow, OutlierRow, PairRow, PartRow, RankRow,
    RoleRow, Shared, Spread, StepRow,
};
pub use so_far::SoFar;
pub use status::Status;

use tracetree::Side;
use tracetree::trace::{Nanos, ReadOptions};

/// The comparison of many ranks. The default is an empty fleet, whose tables have columns but no rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fleet {
    /// The folder with the baseline traces.
    pub baseline: String,
    /// The folder with the candidate traces.
    pub candidate: String,
    /// All planned pairs and unmatched traces, with their outcomes.
    pub pairs: Vec<PairRow>,
    /// The ranks whose pairs were compared.
    pub ranks: Vec<RankRow>,
    /// The roles: groups of ranks that run the same ops.
    pub roles: Vec<RoleRow>,
    /// For each role, statistics of the ranks' times for each op, category and layer.
    pub parts: Vec<PartRow>,
    /// Ranks whose time for an op, category or layer is an outlier among the ranks with the same role.
    pub outliers: Vec<OutlierRow>,
    /// Collectives, matched across ranks.
    pub collectives: Vec<CollectiveRow>,
    /// Totals of each process group, over all its collectives.
    pub groups: Vec<GroupRow>,
    /// The steps of all ranks.
    pub steps: Vec<StepRow>,
    /// The lines of the bills, each with the ranks that share it. Changes come first.
    pub bill: Vec<LineRow>,
    /// The classes of work; empty unless the sides ran on different devices.
    pub classes: Vec<ClassRow>,
    /// Number of ranks whose baseline and candidate programs are identical.
    pub identical: u64,
    /// Names of the ranks whose programs are identical; empty if there are none.
    pub identical_list: String,
    /// A short string that lists the ranks whose programs are identical, such as `0-3`.
    identical_pattern: String,
    /// The findings to look at first.
    pub findings: Vec<Finding>,
    /// Notes about irregularities in the folders and shards.
    pub notes: Vec<String>,
    /// The wait of each rank in each candidate collective, for the page. Each entry contains the number of the
    /// collective, the index of the rank, and the wait.
    waits: Vec<(u64, usize, Nanos)>,
    /// Ops that got slower on single ranks, the largest difference first.
    slowed_ops: Vec<rows::SlowedOp>,
}

impl Fleet {
    /// The fleet with the paths of its inputs as `reading` shows them.
    #[must_use]
    pub fn shown(mut self, reading: &ReadOptions) -> Fleet {
        let show = |text: &mut String| *text = reading.shown(text);
        show(&mut self.baseline);
        show(&mut self.candidate);
        for pair in &mut self.pairs {
            Side::BOTH.into_iter().for_each(|side| show(&mut pair.files[side]));
            show(&mut pair.message);
        }
        for rank in &mut self.ranks {
            Side::BOTH.into_iter().for_each(|side| show(&mut rank.files[side]));
        }
        self.notes.iter_mut().for_each(show);
        self
    }
}
