//! Removes some calls from a recording, with or without the calls below them.

use super::{Forest, Kind, Recording, SplitMix, ops_of, portion};
use std::collections::BTreeSet;

/// An op is removed only if its subtree has at most 1/`LARGEST_SUBTREE` of the recording's host calls.
const LARGEST_SUBTREE: usize = 20;

/// On the busiest thread, removes the first op that is small enough, together with all calls below the op.
pub(super) fn first_op(recording: &Recording) -> Option<Recording> {
    let forest = Forest::of(&recording.events);
    let calls = |roots: &&Vec<usize>| roots.iter().map(|&root| forest.sizes[root]).sum::<u32>();
    let busiest = forest.threads.iter().max_by_key(calls)?;
    let below = busiest.iter().flat_map(|&root| forest.subtree(root));
    let small = small_ops(recording, &forest);
    let first = below.into_iter().find(|at| small.contains(at))?;
    let mut marked = vec![false; recording.events.len()];
    mark_subtree(&forest, first, &mut marked);
    Some(without(recording, &marked))
}

/// Removes ops together with all calls below them, until `percent`% of the ops are gone.
pub(super) fn ops(recording: &Recording, percent: f64, random: &mut SplitMix) -> Option<Recording> {
    let forest = Forest::of(&recording.events);
    let all = ops_of(recording, &forest);
    let small: Vec<usize> = small_ops(recording, &forest).into_iter().collect();
    let mut marked = vec![false; recording.events.len()];
    let mut missing = portion(all.len(), percent);
    for at in random.sample(&small, small.len()) {
        if missing == 0 {
            break;
        }
        let fresh = mark_subtree(&forest, at, &mut marked);
        let gone = fresh.iter().filter(|&&at| recording.events[at].kind == Kind::Op).count();
        missing = missing.saturating_sub(gone);
    }
    (!small.is_empty()).then(|| without(recording, &marked))
}

/// Removes some of the ops that have children, and keeps the children. The number of removed ops is `percent`% of all
/// ops.
pub(super) fn only_calls(
    recording: &Recording,
    percent: f64,
    random: &mut SplitMix,
) -> Option<Recording> {
    let forest = Forest::of(&recording.events);
    let all = ops_of(recording, &forest);
    let is_inner = |&at: &usize| !forest.children[at].is_empty();
    let inner: Vec<usize> = all.iter().copied().filter(is_inner).collect();
    let chosen = random.sample(&inner, portion(all.len(), percent));
    mark_each(recording, &chosen)
}

/// Removes `percent`% of the launches together with their GPU events.
pub(super) fn launches(
    recording: &Recording,
    percent: f64,
    random: &mut SplitMix,
) -> Option<Recording> {
    let forest = Forest::of(&recording.events);
    let launches: Vec<usize> = (0..recording.events.len())
        .filter(|&at| recording.events[at].kind == Kind::Runtime && forest.on_gpu_path[at])
        .collect();
    let chosen = random.sample(&launches, portion(launches.len(), percent));
    let below: Vec<usize> = chosen.iter().flat_map(|&at| forest.subtree(at)).collect();
    mark_each(recording, &below)
}

/// Ops whose subtrees are small enough to be removed.
fn small_ops(recording: &Recording, forest: &Forest) -> BTreeSet<usize> {
    let calls = recording.events.iter().filter(|event| event.kind.is_host()).count();
    let small = |at: &usize| forest.sizes[*at] as usize * LARGEST_SUBTREE <= calls;
    ops_of(recording, forest).into_iter().filter(small).collect()
}

/// Marks all events in the subtree of `root`, and returns those that were not marked before.
fn mark_subtree(forest: &Forest, root: usize, marked: &mut [bool]) -> Vec<usize> {
    let mut fresh = forest.subtree(root);
    fresh.retain(|&at| !std::mem::replace(&mut marked[at], true));
    fresh
}

fn mark_each(recording: &Recording, chosen: &[usize]) -> Option<Recording> {
    let mut marked = vec![false; recording.events.len()];
    for &at in chosen {
        marked[at] = true;
    }
    (!chosen.is_empty()).then(|| without(recording, &marked))
}

fn without(recording: &Recording, marked: &[bool]) -> Recording {
    let mut changed = recording.clone();
    changed.remove(marked);
    changed
}
