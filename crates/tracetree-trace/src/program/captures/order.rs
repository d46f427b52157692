//! If several captured graphs fit a replay equally well, chooses one of them by comparing the
//! capture order with the replay order.
//!
//! Engines capture a model piece by piece and replay the pieces in the same order:
//!
//! ```text
//! captured   a b b b c            the three b are alike
//! replayed   a b b b c a b b b c  the first b after a is the first one, in each round
//! ```
//!
//! The chosen sequence of graphs has the most transitions from a graph to its successor in the same
//! group. The first graph of a group counts as the successor of the last graph. Launches with the
//! same graph number (CUDA's `graph id`) are assigned the same captured graph.

use super::batches::{Batches, Group};
use super::fit::Candidate;
use super::graphs::{Capture, GraphId};
use crate::order::Order as _;
use crate::tree::{CallId, CallKind, CallTree};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// For each graph launch, the index of the chosen captured graph; `None` if no graph fits.
pub(super) fn choose(
    tree: &CallTree,
    launches: &[CallId],
    candidates: &[Vec<Candidate>],
    captures: &[Arc<Capture>],
    batches: &Batches,
) -> Vec<Option<usize>> {
    let successors = successors(captures, batches);
    let mut chosen = vec![None; launches.len()];
    let graphs: Vec<Option<u64>> = launches.iter().map(|&launch| graph_id(tree, launch)).collect();
    let mut order: Vec<usize> = (0..launches.len()).collect();
    let named = graphs.iter().all(Option::is_some);
    if named {
        // Each CUDA graph number identifies one graph, and these numbers increase in capture order.
        let mut seen: FxHashMap<u64, usize> = FxHashMap::default();
        order.retain(|&at| seen.insert(graphs[at].unwrap_or(0), at).is_none());
        order.order_by_key(|&at| (graphs[at], at));
    }
    for (at, choice) in order.iter().zip(path(&order, candidates, &successors)) {
        chosen[*at] = choice;
    }
    if named {
        let of_graphs: FxHashMap<Option<u64>, Option<GraphId>> = order
            .iter()
            .map(|&at| (graphs[at], chosen[at].map(|choice| candidates[at][choice].graph)))
            .collect();
        for at in 0..launches.len() {
            let wanted = of_graphs.get(&graphs[at]).copied().flatten();
            let mut best = best(&candidates[at]);
            chosen[at] = best.find(|&c| wanted.is_none_or(|id| candidates[at][c].graph == id));
        }
    }
    chosen
}

/// The graph number that CUDA records for the kernels of a launch.
fn graph_id(tree: &CallTree, launch: CallId) -> Option<u64> {
    let kernel = tree.children(launch).find(|&below| tree.kind(below) == CallKind::Gpu)?;
    let graph = tree.trace().graphs().get(tree.event(kernel)?).copied();
    graph.filter(|&graph| graph != 0)
}

/// For each captured graph, its successor in the same group. The successor of the last graph is the
/// first graph.
fn successors(captures: &[Arc<Capture>], batches: &Batches) -> FxHashMap<GraphId, GraphId> {
    let mut groups: Vec<(Group, GraphId)> = Vec::new();
    for (capture, graphs) in (0..).zip(captures.iter().map(|c| c.graphs.len())) {
        let ids = (0..graphs as u32).map(|graph| GraphId { capture, graph });
        groups.extend(ids.map(|id| (batches.group(id), id)));
    }
    groups.sort_unstable();
    let of_group = groups.chunk_by(|(a, _), (b, _)| a == b);
    let next = |group: &[(Group, GraphId)]| {
        let ids: Vec<GraphId> = group.iter().map(|&(_, id)| id).collect();
        (0..ids.len()).map(|at| (ids[at], ids[(at + 1) % ids.len()])).collect::<Vec<_>>()
    };
    of_group.flat_map(next).collect()
}

/// The best captured graph and all other graphs that fit equally well, so that only the capture
/// order can distinguish them. Empty if no graph fits.
fn best(candidates: &[Candidate]) -> impl Iterator<Item = usize> + '_ {
    let fits = |&at: &usize| {
        candidates[at].misfit.is_none() && candidates[at].is_as_good_as(&candidates[0])
    };
    (0..candidates.len()).filter(fits)
}

/// A graph that may be chosen for one launch, with the best path to this graph. `before` is the
/// choice for the previous launch on the path. `steps` counts the transitions on the path from a
/// graph to its successor.
#[derive(Clone, Copy)]
struct Way {
    choice: usize,
    steps: u32,
    before: Option<usize>,
}

/// Chooses one graph per launch to maximize the number of transitions from a graph to its
/// successor. On a tie, the graphs that were captured first are chosen.
fn path(
    order: &[usize],
    candidates: &[Vec<Candidate>],
    successors: &FxHashMap<GraphId, GraphId>,
) -> Vec<Option<usize>> {
    let mut columns: Vec<Vec<Way>> = Vec::new();
    let mut last: Option<usize> = None;
    for &at in order {
        let column: Vec<Way> = best(&candidates[at])
            .map(|choice| {
                let graph = candidates[at][choice].graph;
                let from = |(before, way): (usize, &Way)| {
                    let earlier = last.map(|last| candidates[order[last]][way.choice].graph);
                    let is_next = earlier.is_some_and(|id| successors.get(&id) == Some(&graph));
                    (way.steps + u32::from(is_next), std::cmp::Reverse(before))
                };
                let before = last.map(|last| columns[last].iter().enumerate().map(from).max());
                match before.flatten() {
                    Some((steps, std::cmp::Reverse(before))) => {
                        Way { choice, steps, before: Some(before) }
                    }
                    None => Way { choice, steps: 0, before: None },
                }
            })
            .collect();
        if !column.is_empty() {
            last = Some(columns.len());
        }
        columns.push(column);
    }
    trace_back(&columns)
}

fn trace_back(columns: &[Vec<Way>]) -> Vec<Option<usize>> {
    let mut chosen = vec![None; columns.len()];
    let mut wanted: Option<usize> = None;
    for (at, column) in columns.iter().enumerate().rev().filter(|(_, column)| !column.is_empty()) {
        let best = (0..column.len()).max_by_key(|&way| (column[way].steps, std::cmp::Reverse(way)));
        let way = column[wanted.or(best).unwrap_or(0)];
        chosen[at] = Some(way.choice);
        wanted = way.before;
    }
    chosen
}
