//! [`Analysis`] → accounted time of each node of the merged tree: its own, and with all below it.

use crate::analysis::Analysis;
use crate::diff::{MergedId, MergedNode};
use crate::side::PerSide;
use crate::trace::Nanos;

/// Accounted time of each node of the merged tree, by its index.
///
/// A pair stands below the deeper of the two nodes above it, so that the sum below a node can
/// differ from the sum below its call. The roots of each side add up to its total, exactly.
pub(super) struct NodeSums {
    /// Time of the node itself.
    pub(super) own: Vec<PerSide<Nanos>>,
    /// Time of the node and of all nodes below it.
    pub(super) all: Vec<PerSide<Nanos>>,
}

impl NodeSums {
    pub(super) fn new(analysis: &Analysis<'_>) -> NodeSums {
        let merged = analysis.diff().merged();
        let own: Vec<_> = merged.nodes().map(|(_, node)| own_time(analysis, node)).collect();
        let mut all = own.clone();
        let ids: Vec<MergedId> = merged.nodes().map(|(id, _)| id).collect();
        // From the end of preorder, a node is complete before it is added to the one above.
        for &id in ids.iter().rev() {
            if let Some(parent) = merged.parent(id) {
                let below = all[id.index()];
                all[parent.index()].baseline += below.baseline;
                all[parent.index()].candidate += below.candidate;
            }
        }
        NodeSums { own, all }
    }
}

fn own_time(analysis: &Analysis<'_>, node: MergedNode) -> PerSide<Nanos> {
    PerSide::from_fn(|side| {
        node.call(side)
            .filter(|&call| analysis.row_of(side, call).is_some())
            .map_or(Nanos::ZERO, |call| analysis.time_of(side, call))
    })
}
