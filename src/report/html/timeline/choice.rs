//! All slices of a step → as many as a page can hold: half of them the longest, half of them the longest
//! near the causes. A pair is kept as a whole.

use super::Slice;
use super::places::CausePlace;
use crate::diff::MergedId;
use crate::trace::Nanos;
use rustc_hash::{FxHashMap, FxHashSet};
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

pub(super) fn choose(mut slices: Vec<Slice>, causes: &[CausePlace]) -> Chosen {
    let of = slices.len();
    let near = neighbourhoods(causes);
    let mut known: FxHashMap<MergedId, Candidate> = FxHashMap::default();
    for slice in &slices {
        let is_near = near.iter().any(|&(from, to)| slice.start < to && slice.end() > from);
        let new = Candidate { id: slice.node, time: Nanos::ZERO, is_gpu: slice.is_gpu, is_near };
        let candidate = known.entry(slice.node).or_insert(new);
        candidate.time = candidate.time.max(slice.time);
        candidate.is_near |= is_near;
    }
    let (gpu, host): (Vec<Candidate>, Vec<Candidate>) =
        known.into_values().partition(|candidate| candidate.is_gpu);
    let mut kept = longest(gpu);
    kept.extend(longest(host));
    kept.extend(causes.iter().flat_map(|cause| std::iter::once(cause.node).chain(cause.event)));
    slices.retain(|slice| kept.contains(&slice.node.index()));
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

fn longest(mut candidates: Vec<Candidate>) -> FxHashSet<usize> {
    candidates.sort_unstable_by_key(|candidate| (Reverse(candidate.time), candidate.id));
    let id = |candidate: &Candidate| candidate.id.index();
    let mut kept: FxHashSet<usize> = candidates.iter().take(NODES / 2).map(id).collect();
    let near = candidates.iter().filter(|candidate| candidate.is_near);
    let far = candidates.iter().filter(|candidate| !candidate.is_near);
    for candidate in near.chain(far) {
        if kept.len() >= NODES {
            break;
        }
        kept.insert(id(candidate));
    }
    kept
}
