//! Computes the allocated and reserved bytes of each step.

use crate::analysis::steps::StepPairs;
use crate::diff::TraceDiff;
use crate::program::StepId;
use crate::program::memory::DeviceUsage;
use crate::program::memory::MemoryPlace;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use std::collections::BTreeSet;

/// The memory of a device during a step, or during the whole recording, on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(hidden)]
pub struct MemoryTimelineRow {
    /// The device.
    pub place: MemoryPlace,
    /// The matched step; `None` for the whole recording.
    pub step: Option<PerSide<Option<StepId>>>,
    /// The memory on each side; `None` if a side lacks the step, or has no events for the device.
    pub spans: PerSide<Option<MemorySpan>>,
}

/// The memory of a device during a span of time, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(hidden)]
pub struct MemorySpan {
    /// Number of allocations.
    pub allocations: u64,
    /// Number of frees.
    pub frees: u64,
    /// Bytes that are allocated at the start of the span.
    pub start: i64,
    /// Bytes that are allocated at the end of the span.
    pub end: i64,
    /// Highest number of bytes that are allocated at the same time during the span.
    pub peak: i64,
    /// Name of the op in which usage reaches the peak; empty if the peak is at the start or outside of ops.
    pub peak_op: String,
    /// Bytes that the allocator has reserved at the end of the span; `None` if unknown, as on the host.
    pub reserved: Option<i64>,
    /// Whether the bytes include memory that was live before the recording.
    pub is_absolute: bool,
}

/// The memory timeline of each device: one row for the whole recording, then one row for each step.
/// Empty if there are no memory events.
pub fn memory_timeline(diff: &TraceDiff, compared: &StepPairs) -> Vec<MemoryTimelineRow> {
    let places: BTreeSet<MemoryPlace> = Side::BOTH
        .into_iter()
        .flat_map(|side| diff.memory(side).devices().map(|(place, _)| place))
        .collect();
    if places.is_empty() {
        return Vec::new();
    }
    let mut steps = vec![None];
    steps.extend(compared.places().into_iter().map(Some));
    let row = |place, step: Option<PerSide<Option<StepId>>>| {
        let spans = PerSide::from_fn(|side| {
            let usage = diff.memory(side).device(place)?;
            let times = match &step {
                None => (Nanos(i64::MIN), Nanos(i64::MAX)),
                Some(ids) => {
                    let span = diff.steps(side).span(ids[side]?);
                    (span.start, span.end)
                }
            };
            Some(memory_span(diff, side, usage, times))
        });
        MemoryTimelineRow { place, step, spans }
    };
    places.iter().flat_map(|&place| steps.iter().map(move |step| row(place, *step))).collect()
}

fn memory_span(
    diff: &TraceDiff,
    side: Side,
    usage: &DeviceUsage,
    (start, end): (Nanos, Nanos),
) -> MemorySpan {
    let within = usage.within((start, end));
    let events = &usage.events()[within.clone()];
    let before = usage.allocated_at(start);
    let allocated = usage.allocated();
    let highest = usage.highest_event((start, end)).filter(|at| within.contains(at));
    let peak_op = highest.and_then(|at| {
        let found = usage.blocks().binary_search_by_key(&at, |block| block.allocated);
        let op = diff.op_of(side, usage.blocks()[found.ok()?].call?)?;
        Some(diff.tree(side).name(op).to_owned())
    });
    let last = usage.events()[..within.end].last();
    let count =
        |counts: fn(i64) -> bool| events.iter().filter(|event| counts(event.bytes)).count() as u64;
    MemorySpan {
        allocations: count(|bytes| bytes > 0),
        frees: count(|bytes| bytes < 0),
        start: before,
        end: within.end.checked_sub(1).map_or(before, |last| allocated[last]),
        peak: highest.map_or(before, |at| allocated[at]),
        peak_op: peak_op.unwrap_or_default(),
        reserved: last.filter(|last| !last.device.is_host()).and_then(|last| last.reserved),
        is_absolute: usage.is_absolute(),
    }
}
