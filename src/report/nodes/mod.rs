//! Prepares the data for all formats that draw the merged tree: computes the time per node, chooses which nodes to
//! keep, and groups rows.

pub(super) mod facets;

use crate::analysis::Analysis;
use crate::diff::MergedId;
#[cfg(any(feature = "html", feature = "flamegraph"))]
use crate::diff::MergedNode;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use std::cmp::Reverse;

/// The attributed time of a node, excluding the nodes below it.
#[cfg(any(feature = "html", feature = "flamegraph"))]
pub(in crate::report) fn own_time(analysis: &Analysis, side: Side, node: MergedNode) -> Nanos {
    node.call(side)
        .filter(|&call| analysis.ledger().row_index(analysis.diff(), side, call).is_some())
        .map_or(Nanos::ZERO, |call| analysis.ledger().time_of(analysis.diff(), side, call))
}

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

/// For each node in the merged tree, whether to keep it; at most `most` nodes are kept. Nodes are ranked by the total
/// time of their subtree, then by whether their subtree contains a difference, then by id. An ancestor never ranks
/// lower than its descendants, so the ancestors of every kept node are also kept.
pub(in crate::report) fn keep_most(analysis: &Analysis, most: usize) -> Vec<bool> {
    let merged = analysis.diff().merged();
    if merged.len() <= most {
        return vec![true; merged.len()];
    }
    let (times, differs) = (times_below(analysis), difference_below(analysis));
    let time = |id: MergedId| times.baseline[id.index()] + times.candidate[id.index()];
    let key = |id: MergedId| (Reverse(time(id)), Reverse(differs[id.index()]), id);
    // Most nodes have neither time nor a difference; these nodes are ranked last and need no sorting.
    let tells = |id: &MergedId| time(*id) > Nanos::ZERO || differs[id.index()];
    let (mut telling, others): (Vec<_>, Vec<_>) = merged.ids().partition(tells);
    if telling.len() > most {
        telling.select_nth_unstable_by_key(most, |&id| key(id));
    }
    let mut keep = vec![false; merged.len()];
    for id in telling.into_iter().chain(others).take(most) {
        keep[id.index()] = true;
    }
    keep
}

fn difference_below(analysis: &Analysis) -> Vec<bool> {
    let merged = analysis.diff().merged();
    let mut differs = vec![false; merged.len()];
    for difference in analysis.diff().differences() {
        let mut at = Some(difference.node);
        while let Some(id) = at.filter(|id| !differs[id.index()]) {
            differs[id.index()] = true;
            at = merged.parent(id);
        }
    }
    differs
}
