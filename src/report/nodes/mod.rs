//! Prepares the data for all formats that draw the merged tree: computes the time per node, chooses which nodes to
//! keep, and groups rows.

pub(super) mod facets;
#[cfg(any(feature = "html", feature = "flamegraph"))]
mod own_time;
mod prune;
mod sums;

#[cfg(any(feature = "html", feature = "flamegraph"))]
pub(super) use own_time::own_time;
pub(super) use prune::keep_most;
pub(super) use sums::times_below;
