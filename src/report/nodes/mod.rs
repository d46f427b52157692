//! What formats that draw the merged tree share: what its nodes take, which of them to keep, by what
//! rows are grouped.

pub(super) mod facets;
mod prune;
mod stack_tree;
mod sums;

pub(super) use prune::keep_most;
pub(super) use stack_tree::StackTree;
pub(super) use sums::{own_time, times_below};
