//! What formats that draw the merged tree share: what its nodes take, which of them to keep, by what
//! rows are grouped.

pub(super) mod facets;
mod prune;
mod sums;

pub(super) use prune::keep_most;
#[cfg(feature = "html")]
pub(super) use sums::own_times;
pub(super) use sums::times_below;
