//! A node of the merged tree → its own accounted time.

use crate::analysis::Analysis;
use crate::diff::MergedNode;
use crate::side::Side;
use crate::trace::Nanos;

/// Accounted time of a node itself.
pub(in crate::report) fn own_time(analysis: &Analysis, side: Side, node: MergedNode) -> Nanos {
    node.call(side)
        .filter(|&call| analysis.row_index(side, call).is_some())
        .map_or(Nanos::ZERO, |call| analysis.time_of(side, call))
}
