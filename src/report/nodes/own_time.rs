//! Computes the time attributed to a node of the merged tree, excluding the nodes below it.

use crate::analysis::Analysis;
use crate::diff::MergedNode;
use crate::side::Side;
use crate::trace::Nanos;

/// The attributed time of a node, excluding the nodes below it.
pub(in crate::report) fn own_time(analysis: &Analysis, side: Side, node: MergedNode) -> Nanos {
    node.call(side)
        .filter(|&call| analysis.ledger().row_index(analysis.diff(), side, call).is_some())
        .map_or(Nanos::ZERO, |call| analysis.ledger().time_of(analysis.diff(), side, call))
}
