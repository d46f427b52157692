//! [`Analysis`] → accounted time of the nodes of the merged tree: their own, and with all below them.

use crate::analysis::Analysis;
use crate::diff::MergedNode;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;

/// Accounted time of each node of the merged tree and of all nodes below it, by index.
///
/// A pair stands below the deeper of the two nodes above it, so that the time below a node can
/// differ from the time below its call. The roots of each side add up to its total, exactly.
pub(in crate::report) fn times_below(analysis: &Analysis) -> PerSide<Vec<Nanos>> {
    PerSide::from_fn(|side| add_up(analysis, |node| own_time(analysis, side, node)))
}

/// The times of both sides together.
pub(in crate::report) fn both_times_below(analysis: &Analysis) -> Vec<Nanos> {
    let own = |node| Side::BOTH.map(|side| own_time(analysis, side, node)).into_iter().sum();
    add_up(analysis, own)
}

/// Accounted time of a node itself.
pub(in crate::report) fn own_time(analysis: &Analysis, side: Side, node: MergedNode) -> Nanos {
    node.call(side)
        .filter(|&call| analysis.row_index(side, call).is_some())
        .map_or(Nanos::ZERO, |call| analysis.time_of(side, call))
}

fn add_up(analysis: &Analysis, own: impl Fn(MergedNode) -> Nanos) -> Vec<Nanos> {
    let merged = analysis.diff().merged();
    let mut times: Vec<Nanos> = merged.nodes().map(|(_, node)| own(node)).collect();
    // From the end of preorder, a node is complete before it is added to the one above.
    for id in merged.ids().rev() {
        if let Some(parent) = merged.parent(id) {
            let below = times[id.index()];
            times[parent.index()] += below;
        }
    }
    times
}
