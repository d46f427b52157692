//! Groups the memory blocks on both sides into rows, by matched op and shapes.

use crate::diff::{MergedId, TraceDiff};
use crate::program::memory::MemoryPlace;
use crate::program::memory::{Block, DeviceUsage, root_op};
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::CallId;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The source of memory: an op, or a reason why no op is known.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(hidden)]
pub enum MemorySource {
    /// Memory that was allocated in an op.
    Op {
        /// Name of the op; both names separated by `|` if a matched op has different names on the two sides.
        name: String,
        /// Name of the outermost op that encloses the op, in the same format as `name`.
        root: String,
        /// `Input Dims` of the op, baseline first; empty on a side without the op.
        shapes: [String; 2],
    },
    /// Memory that was allocated outside of ops.
    OutsideOps,
    /// Blocks that were allocated before the first memory event.
    Before,
    /// Bytes that `Total Allocated` includes but that no recorded event explains.
    NotRecorded,
}

/// The memory of one source on one side, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[doc(hidden)]
pub struct MemoryFigures {
    /// Number of allocations.
    pub allocations: u64,
    /// Total number of bytes allocated by the source; memory that is freed and allocated again counts again.
    pub allocated: i64,
    /// Bytes that are allocated and freed again before the outermost enclosing op ends; `None` if events
    /// have no addresses.
    pub temporary: Option<i64>,
    /// Allocated bytes that are live when the source's op ends: the results of the op, and tensors saved for
    /// the backward pass. `None` if events have no addresses, or if the source has no op.
    pub kept: Option<i64>,
    /// Bytes that are live when the device is at its peak; `None` if events have no addresses.
    pub at_peak: Option<i64>,
    /// Bytes that are live after the last event; `None` if events have no addresses.
    pub at_end: Option<i64>,
}

/// The memory of one source on a device, on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(hidden)]
pub struct MemoryRow {
    /// The device.
    pub place: MemoryPlace,
    /// The op that allocated the memory, or why no op is known.
    pub source: MemorySource,
    /// The byte counts on each side; `None` if a side records nothing for the device.
    pub figures: PerSide<Option<MemoryFigures>>,
}

impl MemorySource {
    /// Name of the memory source in tables.
    pub fn name(&self) -> &str {
        match self {
            MemorySource::Op { name, .. } => name,
            MemorySource::OutsideOps => "(outside ops)",
            MemorySource::Before => "(live before the recording)",
            MemorySource::NotRecorded => "(not recorded)",
        }
    }
}

/// The memory of each device, with one row per op, outermost op and shapes. The rows of a device are
/// sorted by their live bytes at its peak, on the side with more such bytes, largest first. On each
/// side, the live bytes of all rows at the peak add up to the device's peak.
#[doc(hidden)]
pub fn memory_rows(diff: &TraceDiff) -> Vec<MemoryRow> {
    let mut found: BTreeMap<(MemoryPlace, MemorySource), PerSide<Option<MemoryFigures>>> =
        BTreeMap::new();
    let mut names = FxHashMap::default();
    for side in Side::BOTH {
        for (place, usage) in diff.memory(side).devices() {
            for (source, figures) in memory_of(diff, side, usage, &mut names) {
                found.entry((place, source)).or_default()[side] = Some(figures);
            }
        }
    }
    let recorded = |place, side| diff.memory(side).device(place);
    let mut rows: Vec<MemoryRow> = found
        .into_iter()
        .map(|((place, source), mut figures)| {
            for side in Side::BOTH {
                let Some(usage) = recorded(place, side) else { continue };
                figures[side].get_or_insert_with(|| MemoryFigures::none(usage));
            }
            MemoryRow { place, source, figures }
        })
        .collect();
    rows.sort_by_cached_key(|row| {
        let most = |of: fn(&MemoryFigures) -> i64| {
            let sides = Side::BOTH.into_iter();
            sides.filter_map(|side| row.figures[side].as_ref().map(of)).max().unwrap_or(0)
        };
        (row.place, Reverse(most(|f| f.at_peak.unwrap_or(0))), Reverse(most(|f| f.allocated)))
    });
    rows
}

/// The op that an allocation is attributed to: the nearest op at or above `call` that both traces have or,
/// if there is no such op, the nearest op.
pub(super) fn memory_node(diff: &TraceDiff, side: Side, call: CallId) -> Option<MergedId> {
    let common = diff.lowest_common_op(side, call);
    let op = common.or_else(|| diff.op_of(side, call))?;
    Some(diff.merged().of(side, op))
}

fn memory_of(
    diff: &TraceDiff,
    side: Side,
    usage: &DeviceUsage,
    names: &mut FxHashMap<MergedId, MemorySource>,
) -> BTreeMap<MemorySource, MemoryFigures> {
    let mut found: BTreeMap<MemorySource, MemoryFigures> = BTreeMap::new();
    let (peak, end) = (usage.peak_event(), usage.events().len().checked_sub(1));
    for block in usage.blocks() {
        let node = block.call.and_then(|call| memory_node(diff, side, call));
        let source = node.map_or(MemorySource::OutsideOps, |node| {
            names.entry(node).or_insert_with(|| memory_source(diff, node)).clone()
        });
        let figures = found.entry(source).or_insert_with(|| MemoryFigures::none(usage));
        figures.add(block, peak, end);
        let op_end = node.and_then(|node| {
            let op = diff.merged().node(node).call(side)?;
            let tree = diff.tree(side);
            Some(tree.trace().end(tree.event(op)?))
        });
        figures.add_kept(block, usage, op_end);
    }
    if usage.has_addresses() {
        let before = (usage.earlier_at(peak), usage.earlier_at(end));
        let attributed = found.values().fold((0i64, 0i64), |sum, figures| {
            let (at_peak, at_end) = (figures.at_peak.unwrap_or(0), figures.at_end.unwrap_or(0));
            (sum.0.saturating_add(at_peak), sum.1.saturating_add(at_end))
        });
        let last = usage.allocated().last().copied().unwrap_or(0);
        let rest = |total: i64, before: i64, attributed: i64| {
            total.saturating_sub(before).saturating_sub(attributed)
        };
        let not_recorded =
            (rest(usage.peak(), before.0, attributed.0), rest(last, before.1, attributed.1));
        found.insert(MemorySource::Before, MemoryFigures::live(before));
        if not_recorded != (0, 0) {
            found.insert(MemorySource::NotRecorded, MemoryFigures::live(not_recorded));
        }
    }
    found
}

/// The op of a merged node, as a memory source.
pub(super) fn memory_source(diff: &TraceDiff, node: MergedId) -> MemorySource {
    let calls = diff.merged().node(node);
    let text = |of: &dyn Fn(Side, CallId) -> String| {
        Side::BOTH.map(|side| calls.call(side).map_or(String::new(), |call| of(side, call)))
    };
    let either = |[one, two]: [String; 2]| match (one.as_str(), two.as_str()) {
        (_, "") => one,
        ("", _) => two,
        (a, b) if a == b => one,
        (a, b) => format!("{a} | {b}"),
    };
    MemorySource::Op {
        name: either(text(&|side, call| diff.tree(side).name(call).to_owned())),
        root: either(text(&|side, call| {
            let tree = diff.tree(side);
            root_op(tree, call).map_or(String::new(), |root| tree.name(root).to_owned())
        })),
        shapes: text(&|side, call| {
            let tree = diff.tree(side);
            let dims = tree.arguments(call).map(|arguments| arguments.dims);
            dims.map_or(String::new(), |dims| tree.trace().text(dims).to_owned())
        }),
    }
}

impl MemoryFigures {
    /// The counts of a source that allocates nothing, on a device that has memory events.
    fn none(usage: &DeviceUsage) -> MemoryFigures {
        let zero = usage.has_addresses().then_some(0);
        MemoryFigures {
            temporary: zero,
            kept: zero,
            at_peak: zero,
            at_end: zero,
            ..MemoryFigures::default()
        }
    }

    fn live((at_peak, at_end): (i64, i64)) -> MemoryFigures {
        MemoryFigures {
            temporary: Some(0),
            at_peak: Some(at_peak),
            at_end: Some(at_end),
            ..MemoryFigures::default()
        }
    }

    fn add(&mut self, block: &Block, peak: Option<usize>, end: Option<usize>) {
        let add = |sum: &mut Option<i64>, counts: bool| {
            if let Some(sum) = sum.as_mut().filter(|_| counts) {
                *sum = sum.saturating_add(block.bytes);
            }
        };
        self.allocations += 1;
        self.allocated = self.allocated.saturating_add(block.bytes);
        add(&mut self.temporary, block.is_temporary);
        add(&mut self.at_peak, block.is_live(peak));
        add(&mut self.at_end, block.is_live(end));
    }

    /// Adds a block to `kept` if the block is still live at `op_end`, the end of its op.
    fn add_kept(&mut self, block: &Block, usage: &DeviceUsage, op_end: Option<Nanos>) {
        self.kept = self.kept.zip(op_end).map(|(kept, end)| {
            let is_live = block.freed.is_none_or(|freed| usage.events()[freed].time > end);
            kept.saturating_add(if is_live { block.bytes } else { 0 })
        });
    }
}
