//! Sums the attributed time over the nodes of the merged tree: a node's own time, and including all
//! nodes below.

use crate::analysis::Analysis;
use crate::diff::MergedId;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;

/// Attributed time of each node of the merged tree including all nodes below it, by index.
///
/// A matched node is placed below the deeper of its two parents, so the time below a node can
/// differ from the time below its call. The roots of each side add up to its total exactly.
pub(in crate::report) fn times_below(analysis: &Analysis) -> PerSide<Vec<Nanos>> {
    PerSide::from_fn(|side| {
        let mut times = vec![Nanos::ZERO; analysis.diff().merged().len()];
        own_times(analysis, side).for_each(|(id, time)| times[id.index()] = time);
        add_up(analysis, times)
    })
}

/// Attributed time of both sides added up, including all nodes below.
pub(in crate::report) fn both_times_below(analysis: &Analysis) -> Vec<Nanos> {
    let mut times = vec![Nanos::ZERO; analysis.diff().merged().len()];
    Side::BOTH
        .into_iter()
        .flat_map(|side| own_times(analysis, side))
        .for_each(|(id, time)| times[id.index()] += time);
    add_up(analysis, times)
}

/// The nodes that have attributed time of their own on a side, and the time. Few nodes have time of
/// their own, and the rows list them.
pub(in crate::report) fn own_times(
    analysis: &Analysis,
    side: Side,
) -> impl Iterator<Item = (MergedId, Nanos)> {
    let events = analysis.rows().iter().flat_map(move |row| &row.events[side]);
    let merged = analysis.diff().merged();
    events.map(move |&event| (merged.of(side, event), analysis.time_of(side, event)))
}

/// Adds to each node's own time the times of all nodes below it.
fn add_up(analysis: &Analysis, mut times: Vec<Nanos>) -> Vec<Nanos> {
    let merged = analysis.diff().merged();
    // In reverse preorder, a node is complete before it is added to its parent.
    for id in merged.ids().rev() {
        if let Some(parent) = merged.parent(id) {
            let below = times[id.index()];
            times[parent.index()] += below;
        }
    }
    times
}
