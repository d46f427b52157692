//! Chooses the calls of a step that fit on a page: half are the longest calls overall, and half are the longest of the
//! remaining calls near the parts with the largest lag. The two calls of a matched node are kept or dropped together.

use super::places::Place;
use super::shown::{Shown, Slice};
use crate::analysis::Analysis;
use crate::diff::MergedId;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::{CallId, CallKind};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Maximum number of merged-tree nodes that are drawn for host calls. The same limit applies to GPU events. Each
/// drawn call takes about 15 bytes.
const NODES: usize = 2_500;

/// Chooses the calls of the step to draw. They are returned in order, the baseline's calls first.
pub(super) fn choose(
    analysis: &Analysis,
    shown: &Shown,
    calls: &PerSide<Vec<CallId>>,
    places: &[Place],
) -> Vec<Slice> {
    let merged = analysis.diff().merged();
    let near = neighbourhoods(places);
    let is_near =
        |start: Nanos, end: Nanos| near.iter().any(|&(from, to)| start < to && end > from);
    let (mut host, mut gpu) = (Longest::new(), Longest::new());
    let mut offer = |id: MergedId, calls: PerSide<Option<CallId>>| {
        let (mut longest, mut is_any_near, mut is_gpu) = (Nanos::ZERO, false, false);
        for side in Side::BOTH {
            let Some(call) = calls[side] else { continue };
            let tree = analysis.tree(side);
            let (start, time) = shown.span(tree, side, call);
            longest = longest.max(time);
            is_any_near |= is_near(start, start + time);
            is_gpu = tree.kind(call) == CallKind::Gpu;
        }
        let of_kind = if is_gpu { &mut gpu } else { &mut host };
        of_kind.offer(id, longest, is_any_near);
    };
    // For each node, whether its candidate call has not been processed yet.
    let mut is_left = vec![false; merged.len()];
    for &call in &calls.candidate {
        is_left[merged.of(Side::Candidate, call).index()] = true;
    }
    for &call in &calls.baseline {
        let id = merged.of(Side::Baseline, call);
        let is_shown = std::mem::take(&mut is_left[id.index()]);
        let counterpart = merged.node(id).call(Side::Candidate).filter(|_| is_shown);
        offer(id, PerSide::new(Some(call), counterpart));
    }
    for &call in &calls.candidate {
        let id = merged.of(Side::Candidate, call);
        if is_left[id.index()] {
            offer(id, PerSide::new(None, Some(call)));
        }
    }
    let mut is_kept = vec![false; merged.len()];
    host.ids().chain(gpu.ids()).for_each(|id| is_kept[id.index()] = true);
    for place in places {
        is_kept[place.node] = true;
    }
    let mut slices = Vec::new();
    for side in Side::BOTH {
        let is_kept = |call: &&CallId| is_kept[merged.of(side, **call).index()];
        let kept = calls[side].iter().filter(is_kept);
        slices.extend(kept.map(|&call| shown.slice(analysis, side, call)));
    }
    slices
}

/// For each place, the time interval around it. The interval extends beyond the place by the place's own length in both
/// directions.
fn neighbourhoods(places: &[Place]) -> Vec<(Nanos, Nanos)> {
    let around = |place: &Place| {
        let length = place.to - place.from;
        (Nanos(place.from - length), Nanos(place.to + length))
    };
    places.iter().map(around).collect()
}

/// Collects the longest nodes: half of them are the longest nodes overall, and half are the longest nodes near the
/// causes. If too few nodes are near the parts with the largest lag, the longest remaining nodes fill the second half.
struct Longest {
    /// The longest nodes overall, by time and id. The flag is true if the node is near such a part.
    of_all: First<(Reverse<Nanos>, MergedId, bool)>,
    /// Nodes that are not in `of_all`. Nodes near such a part come before other nodes, and longer nodes before
    /// shorter ones.
    of_rest: First<(bool, Reverse<Nanos>, MergedId)>,
}

impl Longest {
    fn new() -> Longest {
        Longest { of_all: First::new(NODES / 2), of_rest: First::new(NODES - NODES / 2) }
    }

    fn offer(&mut self, id: MergedId, time: Nanos, is_near: bool) {
        if let Some((time, id, is_near)) = self.of_all.offer((Reverse(time), id, is_near)) {
            self.of_rest.offer((!is_near, time, id));
        }
    }

    fn ids(&self) -> impl Iterator<Item = MergedId> {
        let of_all = self.of_all.keys.iter().map(|key| key.1);
        of_all.chain(self.of_rest.keys.iter().map(|key| key.2))
    }
}

/// Keeps the smallest keys that were offered, at most `room` of them.
struct First<K> {
    room: usize,
    keys: BinaryHeap<K>,
}

impl<K: Ord> First<K> {
    fn new(room: usize) -> First<K> {
        First { room, keys: BinaryHeap::with_capacity(room) }
    }

    /// Offers a key. If there is no room for another key, drops the largest key and returns it; it may be the new
    /// key.
    fn offer(&mut self, key: K) -> Option<K> {
        if self.keys.len() < self.room {
            self.keys.push(key);
            return None;
        }
        match self.keys.peek_mut() {
            Some(mut last) if key < *last => Some(std::mem::replace(&mut *last, key)),
            Some(_) | None => Some(key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::First;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_items_are_kept_and_all_others_are_returned(
            keys in prop::collection::vec(0..50_u8, 0..60),
            room in 0..20_usize,
        ) {
            let mut first = First::new(room);
            let mut others: Vec<u8> = keys.iter().filter_map(|&key| first.offer(key)).collect();
            let mut sorted = keys;
            sorted.sort_unstable();
            let (kept, rest) = sorted.split_at(room.min(sorted.len()));
            others.sort_unstable();
            prop_assert_eq!(first.keys.into_sorted_vec(), kept);
            prop_assert_eq!(others, rest);
        }
    }
}
