//! Finds memory usage that grows from step to step, and the calls that allocate this memory without freeing
//! it.
//!
//! A call leaks if two conditions are met. First, the number of live bytes on the device grows in every
//! step. Second, in every step except the last, the call allocates blocks that are still live when the last
//! step ends. Blocks from the last step itself do not count, because a program may keep the results of a
//! step until the next step. Memory usage also grows if each step replaces a block with a larger block, as
//! when a cache is extended by concatenation. Such growth is not a leak, because the program frees the block
//! of the previous step.

use super::rows::memory_node;
use crate::diff::{MergedId, TraceDiff};
use crate::order::Order as _;
use crate::program::StepOrigin;
use crate::program::memory::DeviceUsage;
use crate::program::memory::MemoryPlace;
use crate::side::Side;
use crate::trace::TextId;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Minimum number of steps required to detect a leak: two steps that allocate memory without freeing it, and
/// a later step.
const FEWEST_STEPS: usize = 3;

/// A leak: on one side, the memory usage of a device grows in every step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Leak {
    pub(crate) place: MemoryPlace,
    /// Growth of the device's memory usage, in bytes per step, averaged over all steps.
    pub(crate) per_step: i64,
    /// The ops that allocate memory without freeing it, each with its bytes per step; largest first.
    pub(crate) calls: Vec<(MergedId, i64)>,
}

/// The leaks on a side.
pub(in crate::analysis) fn leaks_of(diff: &TraceDiff, side: Side) -> Vec<Leak> {
    let devices = diff.memory(side).devices();
    devices.filter_map(|(place, usage)| leak(diff, side, place, usage)).collect()
}

/// Whether leaks can be detected on a side. Detection requires at least three recorded steps, and memory
/// events with addresses.
pub(crate) fn shows_leaks(diff: &TraceDiff, side: Side, place: MemoryPlace) -> bool {
    let steps = diff.steps(side).spans();
    // Steps that were detected by repetition may actually be layers, which keep their activations for the
    // backward pass.
    let is_recorded = steps.iter().all(|step| step.origin == StepOrigin::Recorded);
    let usage = diff.memory(side).device(place);
    is_recorded && steps.len() >= FEWEST_STEPS && usage.is_some_and(DeviceUsage::has_addresses)
}

fn leak(diff: &TraceDiff, side: Side, place: MemoryPlace, usage: &DeviceUsage) -> Option<Leak> {
    if !shows_leaks(diff, side, place) {
        return None;
    }
    let steps = diff.steps(side).spans();
    let (first, last) = (steps.first()?, steps.last()?);
    let mut levels = vec![usage.allocated_at(first.start)];
    levels.extend(steps.iter().map(|step| usage.allocated_at(step.end)));
    if levels.windows(2).any(|pair| pair[1] <= pair[0]) {
        return None;
    }
    let time = |at: usize| usage.events()[at].time;
    // The first node with a name represents all calls with this name, in all steps.
    let mut first_of_name: FxHashMap<(Side, TextId), MergedId> = FxHashMap::default();
    let mut representative = |node: MergedId| {
        let (side, call) = diff.merged().node(node).calls().next().expect("every node has a call");
        let tree = diff.tree(side);
        let name = tree.event(call).map_or(TextId::EMPTY, |event| tree.trace().name_id(event));
        *first_of_name.entry((side, name)).or_insert(node)
    };
    let mut kept: BTreeMap<MergedId, Vec<i64>> = BTreeMap::new();
    for block in usage.blocks() {
        let start = time(block.allocated);
        let step = steps.partition_point(|step| step.start <= start).checked_sub(1);
        let step = step.filter(|&step| start < steps[step].end);
        let node = block.call.and_then(|call| memory_node(diff, side, call));
        let is_live = block.freed.is_none_or(|freed| time(freed) >= last.end);
        if let (true, Some(step), Some(node)) = (is_live, step, node) {
            let of_node = kept.entry(representative(node)).or_insert_with(|| vec![0; steps.len()]);
            of_node[step] = of_node[step].saturating_add(block.bytes);
        }
    }
    let before_last = steps.len() - 1;
    let mut calls: Vec<(MergedId, i64)> = kept
        .into_iter()
        .filter(|(_, bytes)| bytes[..before_last].iter().all(|&bytes| bytes > 0))
        .map(|(node, bytes)| (node, bytes[..before_last].iter().sum::<i64>() / before_last as i64))
        .collect();
    calls.order_by_key(|&(node, bytes)| (Reverse(bytes), node));
    let grown = levels[steps.len()].saturating_sub(levels[0]);
    let per_step = grown / steps.len() as i64;
    (!calls.is_empty()).then_some(Leak { place, per_step, calls })
}
