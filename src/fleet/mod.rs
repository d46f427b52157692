//! Two folders of ranks → a comparison of each rank, and what all of them say together.
//!
//! ```text
//! folders ─Plan::make─▶ Plan ─Mapping::map─▶ a shard for each pair ─Fleet::reduce─▶ Fleet ─write─▶ files
//!                     heads only   anywhere, in any order          kilobytes a rank
//! ```
//! A pair is compared by itself, on whatever machine, and leaves a few kilobytes. Scheduling, retrying and
//! moving data is for the engine that runs [`Mapping::map`]; here is one for the cores of this machine
//! ([`map_all`]), the Python package brings Ray.

mod collectives;
mod findings;
mod heads;
mod map;
mod matching;
mod output;
#[cfg(feature = "html")]
mod page;
mod pairing;
mod plan;
mod rank_table;
mod reduce;
mod role;
mod rows;
mod shard;
mod stats;
mod status;
mod tables;

pub use collectives::{CollectiveWait, Collectives, straggler};
pub use map::{Mapped, Mapping, SHARDS};
pub use output::FleetFiles;
pub use plan::{
    FLEET_SCHEMA, Plan, PlanOptions, PlannedFile, PlannedPair, Unmatched, is_folder, whole_path,
};
pub use rank_table::ranges;
pub use reduce::{Counts, Fleet, Lost, read_lost};
pub use rows::{
    CauseRow, CollectiveRow, Finding, GroupRow, OutlierRow, PairRow, PartRow, RankRow, RoleRow,
    Spread, StepRow,
};
pub use status::Status;

use crate::error::Result;
use rayon::prelude::*;

/// Compares all pairs of a plan on the cores of this machine. `done` is called behind each pair. Returns
/// what could not be done, for [`Fleet::reduce`].
///
/// # Errors
/// If a result cannot be written: no further pair is begun then.
pub fn map_all(plan: &Plan, mapping: &Mapping, done: impl Fn(&Mapped) + Sync) -> Result<Lost> {
    let map = |pair: &PlannedPair| -> Result<Option<(String, (String, String))>> {
        let mapped = mapping.map(pair)?;
        done(&mapped);
        Ok(match mapped.status {
            Status::Compared => None,
            Status::Failed { code, message } => Some((pair.key.clone(), (code, message))),
        })
    };
    // A bridge hands out one pair after the other; halves of the list would take unequally long.
    let lost: Vec<_> = plan.pairs.iter().par_bridge().map(map).collect::<Result<_>>()?;
    Ok(lost.into_iter().flatten().collect())
}
