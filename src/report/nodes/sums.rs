//! [`Analysis`] → accounted time of the nodes of the merged tree: their own, and with all below them.

use crate::analysis::Analysis;
use crate::side::PerSide;
use crate::trace::Nanos;

/// Accounted time of each node of the merged tree and of all nodes below it, by index.
///
/// A pair stands below the deeper of the two nodes above it, so that the time below a node can
/// differ from the time below its call. The roots of each side add up to its total, exactly.
pub(in crate::report) fn times_below(analysis: &Analysis) -> PerSide<Vec<Nanos>> {
    own_times(analysis).map(|own| add_up(analysis, own))
}

/// The times of both sides together.
pub(in crate::report) fn both_times_below(analysis: &Analysis) -> Vec<Nanos> {
    let PerSide { baseline, candidate } = own_times(analysis);
    let both = baseline.into_iter().zip(candidate).map(|(one, two)| one + two);
    add_up(analysis, both.collect())
}

/// Accounted time of each node itself, by index. Few nodes have any: the rows tell which.
pub(in crate::report) fn own_times(analysis: &Analysis) -> PerSide<Vec<Nanos>> {
    let merged = analysis.diff().merged();
    PerSide::from_fn(|side| {
        let mut times = vec![Nanos::ZERO; merged.len()];
        for &event in analysis.rows().iter().flat_map(|row| &row.events[side]) {
            times[merged.of(side, event).index()] = analysis.time_of(side, event);
        }
        times
    })
}

/// Own times and those of all nodes below.
fn add_up(analysis: &Analysis, mut times: Vec<Nanos>) -> Vec<Nanos> {
    let merged = analysis.diff().merged();
    // From the end of preorder, a node is complete before it is added to the one above.
    for id in merged.ids().rev() {
        if let Some(parent) = merged.parent(id) {
            let below = times[id.index()];
            times[parent.index()] += below;
        }
    }
    times
}
