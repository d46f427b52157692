//! All slices of a step → as many as a page can hold: half of them the longest, half of them the longest
//! near the causes. A pair is kept as a whole.

use super::Slice;
use super::places::CausePlace;
use crate::diff::MergedId;
use crate::trace::Nanos;
use std::cmp::Reverse;

/// Most nodes of the merged tree among the calls of the host, and as many among the GPU events: some 40
/// bytes for each of both sides.
const NODES: usize = 1_500;

/// What is drawn, and of how many slices.
pub(super) struct Chosen {
    pub(super) slices: Vec<Slice>,
    pub(super) of: usize,
}

/// What a node comes to.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    id: MergedId,
    time: Nanos,
    is_gpu: bool,
    is_near: bool,
}

/// `nodes` is the number of nodes of the merged tree.
pub(super) fn choose(mut slices: Vec<Slice>, causes: &[CausePlace], nodes: usize) -> Chosen {
    let of = slices.len();
    let near = neighbourhoods(causes);
    let mut candidates: Vec<Candidate> = Vec::new();
    let mut of_nodes: Vec<Option<u32>> = vec![None; nodes];
    for slice in &slices {
        let is_near = near.iter().any(|&(from, to)| slice.start < to && slice.end() > from);
        let at = *of_nodes[slice.node.index()].get_or_insert_with(|| {
            let (time, is_gpu) = (Nanos::ZERO, slice.is_gpu);
            candidates.push(Candidate { id: slice.node, time, is_gpu, is_near });
            candidates.len() as u32 - 1
        });
        let candidate = &mut candidates[at as usize];
        candidate.time = candidate.time.max(slice.time);
        candidate.is_near |= is_near;
    }
    let mut kept = vec![false; nodes];
    let (gpu, host) = candidates.into_iter().partition(|candidate: &Candidate| candidate.is_gpu);
    keep_longest(gpu, &mut kept);
    keep_longest(host, &mut kept);
    for cause in causes {
        std::iter::once(cause.node).chain(cause.event).for_each(|node| kept[node] = true);
    }
    slices.retain(|slice| kept[slice.node.index()]);
    Chosen { slices, of }
}

/// Where the causes are, and as far around as they are long.
fn neighbourhoods(causes: &[CausePlace]) -> Vec<(Nanos, Nanos)> {
    let around = |cause: &CausePlace| {
        let length = cause.to - cause.from;
        (Nanos(cause.from - length), Nanos(cause.to + length))
    };
    causes.iter().map(around).collect()
}

/// Half of the room is for the longest of all, half for the longest near the causes; what these leave
/// is for the others.
fn keep_longest(mut candidates: Vec<Candidate>, kept: &mut [bool]) {
    let longest = |candidate: &Candidate| (Reverse(candidate.time), candidate.id);
    let mut keep = |candidates: &[Candidate]| {
        candidates.iter().for_each(|candidate| kept[candidate.id.index()] = true);
    };
    let (first, rest) = split_first(&mut candidates, NODES / 2, longest);
    keep(first);
    let nearest = |candidate: &Candidate| (!candidate.is_near, longest(candidate));
    keep(split_first(rest, NODES - NODES / 2, nearest).0);
}

/// The first `count` by a key, and the others, in no order.
fn split_first<K: Ord>(
    candidates: &mut [Candidate],
    count: usize,
    key: impl Fn(&Candidate) -> K,
) -> (&mut [Candidate], &mut [Candidate]) {
    if candidates.len() > count {
        candidates.select_nth_unstable_by_key(count, key);
    }
    candidates.split_at_mut(candidates.len().min(count))
}
