//! Sums the attributed time over the merged tree: for each node, its own time, and its time including all nodes below
//! it.

use crate::analysis::Analysis;
use crate::diff::MergedId;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;

/// The attributed time of each node of the merged tree, including all nodes below it. The times are in the order of the
/// nodes.
///
/// A matched node has two calls, and its parent is the deeper of the two calls' parents. The time of a node may
/// therefore differ from the time of its call in the call tree of a trace. The times of the root nodes add up exactly
/// to the total of each side.
pub(in crate::report) fn times_below(analysis: &Analysis) -> PerSide<Vec<Nanos>> {
    PerSide::from_fn(|side| {
        let mut times = vec![Nanos::ZERO; analysis.diff().merged().len()];
        own_times(analysis, side).for_each(|(id, time)| times[id.index()] = time);
        add_up(analysis, times)
    })
}

/// The attributed time of each node, including all nodes below it, summed over both sides.
pub(in crate::report) fn both_times_below(analysis: &Analysis) -> Vec<Nanos> {
    let mut times = vec![Nanos::ZERO; analysis.diff().merged().len()];
    Side::BOTH
        .into_iter()
        .flat_map(|side| own_times(analysis, side))
        .for_each(|(id, time)| times[id.index()] += time);
    add_up(analysis, times)
}

/// The nodes that have attributed time of their own on a side, each with this time. Few nodes have their own time, so
/// this function goes through the rows instead of the whole tree.
fn own_times(analysis: &Analysis, side: Side) -> impl Iterator<Item = (MergedId, Nanos)> {
    let events = analysis.rows().iter().flat_map(move |row| &row.events[side]);
    let merged = analysis.diff().merged();
    events.map(move |&event| {
        (merged.of(side, event), analysis.ledger().time_of(analysis.diff(), side, event))
    })
}

/// Adds the times of all nodes below a node to the node's own time.
fn add_up(analysis: &Analysis, mut times: Vec<Nanos>) -> Vec<Nanos> {
    let merged = analysis.diff().merged();
    // In reverse preorder, the sum of a node is complete before it is added to the parent.
    for id in merged.ids().rev() {
        if let Some(parent) = merged.parent(id) {
            let below = times[id.index()];
            times[parent.index()] += below;
        }
    }
    times
}
