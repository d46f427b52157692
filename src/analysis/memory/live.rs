//! Lists which memory is live on both sides when a device's memory usage peaks, by module and op.
//!
//! The two sides often reach their peaks in different calls, and the memory that is live in one call cannot
//! be compared with the memory that is live in another. Therefore, if one side reaches its peak in a matched
//! call, the other side is measured during the counterpart of that call, at the moment with the most live
//! memory.

use super::rows::MemorySource;
use super::rows::{memory_node, memory_source};
use crate::analysis::steps::StepPairs;
use crate::diff::{MergedId, TraceDiff};
use crate::order::Order as _;
use crate::program::StepId;
use crate::program::memory::DeviceUsage;
use crate::program::memory::MemoryPlace;
use crate::side::{PerSide, Side};
use crate::tree::{CallId, CallKind};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The live memory of a device on both sides when the memory of one side is at its peak.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(hidden)]
pub struct LiveSet {
    /// The device.
    pub place: MemoryPlace,
    /// The matched step in which the peak occurs; `None` for the peak of the whole recording.
    pub step: Option<PerSide<StepId>>,
    /// The side whose memory is at its peak.
    pub peak_of: Side,
    /// Name of the innermost matched op or frame in which this side reaches its peak. Empty if the peak is at
    /// the start or outside of matched calls. If empty, the other side's live memory is measured at that
    /// side's own peak.
    pub call: String,
    /// Total live bytes; `None` on a side that has no events for the device, or whose events have no
    /// addresses.
    pub bytes: PerSide<Option<i64>>,
    /// The live memory by source, largest first; the rows add up to `bytes`.
    pub rows: Vec<LiveRow>,
}

/// The live memory of one source.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(hidden)]
pub struct LiveRow {
    /// Name of the innermost `nn.Module` that encloses the allocations; empty outside of modules.
    pub module: String,
    /// The first node of the merged tree with this source; `None` outside of ops.
    pub node: Option<MergedId>,
    /// The source of the memory.
    pub source: MemorySource,
    /// Live bytes; `None` under the same conditions as [`LiveSet::bytes`].
    pub bytes: PerSide<Option<i64>>,
}

/// A moment on one side, given as the position of the most recent memory event; `None` before the first
/// event.
type Moment = Option<usize>;

/// For each device, two live sets: one at the baseline's peak, and one at the candidate's peak.
#[doc(hidden)]
pub fn live_sets(diff: &TraceDiff) -> Vec<LiveSet> {
    let places: BTreeSet<MemoryPlace> = Side::BOTH
        .into_iter()
        .flat_map(|side| diff.memory(side).devices().map(|(place, _)| place))
        .collect();
    let mut names = Names { diff, of_nodes: FxHashMap::default() };
    let sets = places.into_iter().flat_map(|place| Side::BOTH.map(|side| (place, side)));
    sets.filter_map(|(place, side)| live_set(diff, place, None, side, &mut names)).collect()
}

/// For each device and each step that both sides have, two live sets: one at the baseline's peak in the
/// step, and one at the candidate's peak in the step.
#[doc(hidden)]
pub fn live_sets_of_steps(diff: &TraceDiff, compared: &StepPairs) -> impl Iterator<Item = LiveSet> {
    let places: BTreeSet<MemoryPlace> =
        diff.memory(Side::Baseline).devices().map(|(place, _)| place).collect();
    let steps: Vec<PerSide<StepId>> = compared
        .places()
        .into_iter()
        .filter_map(|step| Some(PerSide::new(step.baseline?, step.candidate?)))
        .collect();
    let mut names = Names { diff, of_nodes: FxHashMap::default() };
    let sets = places.into_iter().flat_map(move |place| {
        let steps = steps.clone().into_iter();
        steps.flat_map(move |step| Side::BOTH.map(|side| (place, step, side)))
    });
    sets.filter_map(move |(place, step, side)| live_set(diff, place, Some(step), side, &mut names))
}

/// The live set of a device at the peak of one side.
pub(crate) fn live_set_at_peak(
    diff: &TraceDiff,
    place: MemoryPlace,
    side: Side,
) -> Option<LiveSet> {
    live_set(diff, place, None, side, &mut Names { diff, of_nodes: FxHashMap::default() })
}

fn live_set(
    diff: &TraceDiff,
    place: MemoryPlace,
    step: Option<PerSide<StepId>>,
    peak_of: Side,
    names: &mut Names<'_>,
) -> Option<LiveSet> {
    let usages = PerSide::from_fn(|side| {
        diff.memory(side).device(place).filter(|usage| usage.has_addresses())
    });
    let highest = |side: Side, usage: &DeviceUsage| match step {
        None => usage.peak_event(),
        Some(step) => {
            let span = diff.steps(side).span(step[side]);
            usage.highest_event((span.start, span.end))
        }
    };
    let peak = highest(peak_of, usages[peak_of]?);
    let call = peak.and_then(|at| matched_call_at(diff, peak_of, usages[peak_of]?, at));
    let moment = |side: Side, usage: &DeviceUsage| -> Moment {
        match call {
            _ if side == peak_of => peak,
            Some(call) => highest_during(diff, side, usage, diff.counterpart(peak_of, call)?),
            None => highest(side, usage),
        }
    };
    let mut found: BTreeMap<(String, MemorySource), Live> = BTreeMap::new();
    let mut bytes = PerSide::default();
    for side in Side::BOTH {
        let Some(usage) = usages[side] else { continue };
        let at = moment(side, usage);
        let mut add = |key: (String, MemorySource), node: Option<MergedId>, bytes: i64| {
            let live = found.entry(key).or_default();
            live.node = live.node.into_iter().chain(node).min();
            let sum = live.bytes[side].get_or_insert(0);
            *sum = sum.saturating_add(bytes);
        };
        let mut rest = at.map_or(usage.before(), |at| usage.allocated()[at]);
        bytes[side] = Some(rest);
        for block in usage.blocks().iter().filter(|block| block.is_live(at)) {
            let node = block.call.and_then(|call| memory_node(diff, side, call));
            add(names.of(node), node, block.bytes);
            rest = rest.saturating_sub(block.bytes);
        }
        let before = usage.earlier_at(at);
        add((String::new(), MemorySource::Before), None, before);
        if rest != before {
            let lost = (String::new(), MemorySource::NotRecorded);
            add(lost, None, rest.saturating_sub(before));
        }
    }
    let mut rows: Vec<LiveRow> = found
        .into_iter()
        .map(|((module, source), live)| {
            let zero = |side: Side| live.bytes[side].or_else(|| usages[side].map(|_| 0));
            LiveRow { module, node: live.node, source, bytes: PerSide::from_fn(zero) }
        })
        .collect();
    rows.order_by_key(|row| {
        Reverse(row.bytes.baseline.unwrap_or(0).max(row.bytes.candidate.unwrap_or(0)))
    });
    let call = call.map_or(String::new(), |call| diff.tree(peak_of).name(call).to_owned());
    Some(LiveSet { place, step, peak_of, call, bytes, rows })
}

/// The innermost matched frame or op that encloses an allocation.
fn matched_call_at(diff: &TraceDiff, side: Side, usage: &DeviceUsage, at: usize) -> Option<CallId> {
    let found = usage.blocks().binary_search_by_key(&at, |block| block.allocated).ok()?;
    let call = usage.blocks()[found].call?;
    let tree = diff.tree(side);
    std::iter::once(call).chain(tree.ancestors(call)).find(|&call| {
        matches!(tree.kind(call), CallKind::Op | CallKind::Frame)
            && diff.counterpart(side, call).is_some_and(|counterpart| {
                let other = diff.tree(side.other());
                other.event(counterpart).is_some() && !other.is_captured(counterpart)
            })
    })
}

/// The moment during a call at which the most bytes are allocated, or the end of the call if no event
/// occurs during the call.
fn highest_during(diff: &TraceDiff, side: Side, usage: &DeviceUsage, call: CallId) -> Moment {
    let tree = diff.tree(side);
    let event = tree.event(call)?;
    let (start, end) = (tree.trace().start(event), tree.trace().end(event));
    let events = usage.events();
    let first = events.partition_point(|event| event.time < start);
    let last = events.partition_point(|event| event.time <= end).max(first);
    let highest = (first..last).max_by_key(|&at| (usage.allocated()[at], Reverse(at)));
    highest.or_else(|| last.checked_sub(1))
}

/// The live bytes of a memory source, and the first node with this source.
#[derive(Default)]
struct Live {
    node: Option<MergedId>,
    bytes: PerSide<Option<i64>>,
}

/// The cached module name and memory source of each node.
struct Names<'a> {
    diff: &'a TraceDiff,
    of_nodes: FxHashMap<MergedId, (String, MemorySource)>,
}

impl Names<'_> {
    fn of(&mut self, node: Option<MergedId>) -> (String, MemorySource) {
        let Some(node) = node else { return (String::new(), MemorySource::OutsideOps) };
        let find = || {
            let module = self.diff.module_of(node).to_owned();
            (module, memory_source(self.diff, node))
        };
        self.of_nodes.entry(node).or_insert_with(find).clone()
    }
}
