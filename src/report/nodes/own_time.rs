//! Computes the time attributed to a node of the merged tree itself.

use crate::analysis::Analysis;
use crate::diff::MergedNode;
use crate::side::Side;
use crate::trace::Nanos;

/// Attributed time of a node, without the nodes below it.
pub(in crate::report) fn own_time(analysis: &Analysis, side: Side, node: MergedNode) -> Nanos {
    node.call(side)
        .filter(|&call| analysis.row_index(side, call).is_some())
        .map_or(Nanos::ZERO, |call| analysis.time_of(side, call))
}
