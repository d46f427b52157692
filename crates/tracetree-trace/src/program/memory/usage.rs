//! Derives each device's blocks, and its allocated bytes over time, from the memory events of a trace.

use super::device::MemoryPlace;
use crate::order::Order as _;
use crate::trace::{MemoryEvent, Nanos, ThreadId};
use crate::tree::{CallId, CallKind, CallTree};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

/// The allocations and frees of one trace, grouped by device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryUsage {
    devices: BTreeMap<MemoryPlace, DeviceUsage>,
}

/// The allocations and frees of one device.
///
/// The number of allocated bytes is `Total Allocated` if the trace records it, otherwise the sum of `Bytes` since the
/// first event. The sum of `Bytes` excludes bytes that were live before the first event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[doc(hidden)]
pub struct DeviceUsage {
    /// Memory events sorted by time; events at the same time are sorted by `Ev Idx`.
    events: Vec<MemoryEvent>,
    /// Allocated bytes after each event.
    allocated: Vec<i64>,
    blocks: Vec<Block>,
    /// Frees of blocks that were allocated before the first event. For each free, the position of its event and the
    /// number of freed bytes.
    earlier: Vec<(usize, i64)>,
    before: i64,
    has_totals: bool,
    has_addresses: bool,
    gaps: u64,
}

/// A block of memory, from its allocation to its free. The fields `allocated` and `freed` are
/// positions in [`DeviceUsage::events`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub struct Block {
    /// The event that allocated the block.
    pub allocated: usize,
    /// The event that freed the block; `None` if the block is still live at the end.
    pub freed: Option<usize>,
    /// The size of the block in bytes.
    pub bytes: i64,
    /// The innermost call on the allocating thread at the time of the allocation.
    pub call: Option<CallId>,
    /// Whether the block was freed before the end of the outermost op that encloses its allocation.
    pub is_temporary: bool,
}

impl MemoryUsage {
    /// Reads the memory events of a tree's trace.
    #[doc(hidden)]
    pub fn of(tree: &CallTree) -> MemoryUsage {
        let events = tree.trace().memory();
        let mut by_device: BTreeMap<MemoryPlace, Vec<MemoryEvent>> = BTreeMap::new();
        for event in events {
            by_device.entry(event.device.into()).or_default().push(*event);
        }
        let threads: FxHashSet<ThreadId> = events.iter().map(|event| event.thread).collect();
        let callers = Callers::of(tree, &threads);
        let usage = |(place, events)| (place, DeviceUsage::of(events, tree, &callers));
        MemoryUsage { devices: by_device.into_iter().map(usage).collect() }
    }

    /// The devices that have memory events, with their allocations and frees.
    pub fn devices(&self) -> impl Iterator<Item = (MemoryPlace, &DeviceUsage)> {
        self.devices.iter().map(|(&place, usage)| (place, usage))
    }

    /// The allocations and frees of a device; `None` if the device has no events.
    #[doc(hidden)]
    pub fn device(&self, place: MemoryPlace) -> Option<&DeviceUsage> {
        self.devices.get(&place)
    }
}

impl DeviceUsage {
    fn of(mut events: Vec<MemoryEvent>, tree: &CallTree, callers: &Callers<'_>) -> DeviceUsage {
        events.order_by_key(|event| (event.time, event.order));
        let has_totals = events.iter().all(|event| event.allocated.is_some());
        let has_addresses = events.iter().all(|event| event.address.is_some());
        let mut usage = DeviceUsage { has_totals, has_addresses, ..DeviceUsage::default() };
        let total = |event: &MemoryEvent| event.allocated.filter(|_| has_totals);
        let first =
            events.first().and_then(|first| Some(total(first)?.saturating_sub(first.bytes)));
        usage.before = first.unwrap_or(0);
        let mut now = usage.before;
        for event in &events {
            let sum = now.saturating_add(event.bytes);
            now = total(event).unwrap_or(sum);
            usage.gaps += u64::from(now != sum);
            usage.allocated.push(now);
        }
        usage.find_blocks(&events, tree, callers);
        usage.events = events;
        usage
    }

    /// Matches frees with allocations by address, across threads. If an address is allocated twice without a
    /// free, the free was not recorded: the first block ends at the second allocation.
    fn find_blocks(&mut self, events: &[MemoryEvent], tree: &CallTree, callers: &Callers<'_>) {
        let mut live: FxHashMap<i64, usize> = FxHashMap::default();
        for (at, event) in events.iter().enumerate() {
            let address = event.address.filter(|_| self.has_addresses);
            if event.bytes > 0 {
                if let Some(lost) = address.and_then(|address| live.remove(&address)) {
                    self.blocks[lost].freed = Some(at);
                }
                let call = callers.at(event.thread, event.time);
                let (allocated, bytes) = (at, event.bytes);
                let block = Block { allocated, freed: None, bytes, call, is_temporary: false };
                live.extend(address.map(|address| (address, self.blocks.len())));
                self.blocks.push(block);
            } else if let Some(address) = address.filter(|_| event.bytes < 0) {
                let Some(block) = live.remove(&address).map(|block| &mut self.blocks[block]) else {
                    self.earlier.push((at, event.bytes.saturating_neg()));
                    continue;
                };
                block.freed = Some(at);
                let end = block.call.and_then(|call| root_end(tree, call));
                block.is_temporary = end.is_some_and(|end| event.time <= end);
            }
        }
    }

    /// The memory events, sorted by time.
    pub fn events(&self) -> &[MemoryEvent] {
        &self.events
    }

    /// Allocated bytes after each event.
    pub fn allocated(&self) -> &[i64] {
        &self.allocated
    }

    /// All blocks, sorted by the time of their allocation.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Bytes that were live before the first event; 0 if unknown.
    pub fn before(&self) -> i64 {
        self.before
    }

    /// Whether the allocated bytes include memory that was live before the first event. The result is always `false` on
    /// the host, where the profiler counts from 0, and in traces without `Total Allocated`.
    pub fn is_absolute(&self) -> bool {
        let is_host = self.events.iter().all(|event| event.device.is_host());
        self.has_totals && !is_host
    }

    /// Whether all events have an address. Without addresses, frees cannot be matched with
    /// allocations.
    pub fn has_addresses(&self) -> bool {
        self.has_addresses
    }

    /// Number of events at which `Total Allocated` changed by an amount other than `Bytes`: this happens if events are
    /// missing or the counter was reset.
    pub fn gaps(&self) -> u64 {
        self.gaps
    }

    /// Number of frees of blocks that were allocated before the first event.
    pub fn unknown_frees(&self) -> u64 {
        self.earlier.len() as u64
    }

    /// `Device Type`, which is the same for all events of the device; `None` if not recorded.
    pub fn kind(&self) -> Option<i64> {
        self.events.first()?.device.kind
    }

    /// Maximum number of bytes that the allocator reserved at one time; `None` if unknown, as on the host.
    #[doc(hidden)]
    pub fn most_reserved(&self) -> Option<i64> {
        let of_gpu = |event: &MemoryEvent| event.reserved.filter(|_| !event.device.is_host());
        self.events.iter().filter_map(of_gpu).max()
    }

    /// The first event at which the allocated bytes reach their maximum. Returns `None` if the allocated bytes never
    /// exceed their value before the first event.
    pub fn peak_event(&self) -> Option<usize> {
        let highest = self.allocated.iter().copied().max().filter(|&most| most > self.before)?;
        self.allocated.iter().position(|&allocated| allocated == highest)
    }

    /// The first event in `start..end` at which the allocated bytes reach their maximum in this span. If the bytes
    /// never exceed their value at the start of the span, returns the last event before the span. Returns `None` if
    /// there is no such event.
    #[doc(hidden)]
    pub fn highest_event(&self, span: (Nanos, Nanos)) -> Option<usize> {
        let within = self.within(span);
        let highest = within.clone().max_by_key(|&at| (self.allocated[at], Reverse(at)));
        let start = self.allocated_at(span.0);
        highest.filter(|&at| self.allocated[at] > start).or(within.start.checked_sub(1))
    }

    /// Maximum number of bytes allocated at one time.
    pub fn peak(&self) -> i64 {
        self.peak_event().map_or(self.before, |at| self.allocated[at])
    }

    /// Allocated bytes just before `time`; events at exactly that time are not included.
    #[doc(hidden)]
    pub fn allocated_at(&self, time: Nanos) -> i64 {
        let before = self.events.partition_point(|event| event.time < time);
        before.checked_sub(1).map_or(self.before, |at| self.allocated[at])
    }

    /// Positions of the events in `start..end`.
    #[doc(hidden)]
    pub fn within(&self, (start, end): (Nanos, Nanos)) -> Range<usize> {
        let at = |time: Nanos| self.events.partition_point(|event| event.time < time);
        at(start)..at(end).max(at(start))
    }

    /// Maximum number of allocated bytes in `start..end`.
    pub fn peak_within(&self, span: (Nanos, Nanos)) -> i64 {
        let within = &self.allocated[self.within(span)];
        within.iter().copied().max().unwrap_or(i64::MIN).max(self.allocated_at(span.0))
    }

    /// Number of allocations in `start..end`.
    pub fn allocations_within(&self, span: (Nanos, Nanos)) -> u64 {
        self.events[self.within(span)].iter().filter(|event| event.bytes > 0).count() as u64
    }

    /// How many bytes are live after the event `at` in blocks that were allocated before the first event. If `at` is
    /// `None`, returns the bytes that are live before all events.
    pub fn earlier_at(&self, at: Option<usize>) -> i64 {
        let freed = self.earlier.iter().filter(|(freed, _)| at.is_some_and(|at| *freed <= at));
        freed.fold(self.before, |live, (_, bytes)| live.saturating_sub(*bytes))
    }
}

impl Block {
    /// Whether the block is live after the event `at`. `None` means before all events, when no block is live yet.
    pub fn is_live(&self, at: Option<usize>) -> bool {
        at.is_some_and(|at| self.allocated <= at && self.freed.is_none_or(|freed| freed > at))
    }
}

/// The outermost op at or above a call.
#[doc(hidden)]
pub fn root_op(tree: &CallTree, call: CallId) -> Option<CallId> {
    let above = std::iter::once(call).chain(tree.ancestors(call));
    above.filter(|&above| tree.kind(above) == CallKind::Op).last()
}

fn root_end(tree: &CallTree, call: CallId) -> Option<Nanos> {
    let event = tree.event(root_op(tree, call)?)?;
    Some(tree.trace().end(event))
}

/// The host calls of some threads, sorted by start.
struct Callers<'t> {
    tree: &'t CallTree,
    calls: FxHashMap<ThreadId, Vec<(Nanos, CallId)>>,
}

impl<'t> Callers<'t> {
    fn of(tree: &'t CallTree, threads: &FxHashSet<ThreadId>) -> Callers<'t> {
        let mut calls: FxHashMap<ThreadId, Vec<(Nanos, CallId)>> = FxHashMap::default();
        for root in tree.roots().filter(|&root| tree.kind(root) == CallKind::Thread) {
            let Some(thread) = tree.thread(root).filter(|thread| threads.contains(thread)) else {
                continue;
            };
            // Captured calls are skipped, because they did not run when the graph was replayed.
            let is_host = |&call: &CallId| {
                matches!(tree.kind(call), CallKind::Frame | CallKind::Op | CallKind::Runtime)
                    && !tree.is_captured(call)
            };
            let of_thread = calls.entry(thread).or_default();
            let own = tree.subtree(root).filter(is_host);
            of_thread.extend(own.filter_map(|call| Some((tree.start(call)?, call))));
            of_thread.order_by_key(|&(start, call)| (start, call));
        }
        Callers { tree, calls }
    }

    /// The innermost call on `thread` at `time`; `None` if no call was open.
    fn at(&self, thread: ThreadId, time: Nanos) -> Option<CallId> {
        let calls = self.calls.get(&thread)?;
        let before = calls.partition_point(|&(start, _)| start <= time);
        let (_, last) = *calls.get(before.checked_sub(1)?)?;
        let trace = self.tree.trace();
        std::iter::once(last)
            .chain(self.tree.ancestors(last))
            .find(|&call| self.tree.event(call).is_some_and(|event| time <= trace.end(event)))
    }
}

/// A summary of the memory events of one device in one trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[doc(hidden)]
pub struct MemorySummary {
    /// `gpu 0`, or `cpu`.
    pub device: String,
    /// Maximum number of bytes allocated at one time. Bytes that were allocated before the first event are
    /// included only if their number is known.
    pub peak_bytes: i64,
    /// Bytes that were allocated before the first event; `None` if unknown.
    pub before_bytes: Option<i64>,
    /// Maximum number of bytes that the allocator reserved; `None` if unknown.
    pub reserved_bytes: Option<i64>,
    /// Number of allocations.
    pub allocations: u64,
    /// Total number of bytes allocated; memory that is freed and allocated again counts again.
    pub allocated_bytes: i64,
}

impl MemorySummary {
    /// Summarizes each device for which the trace has memory events.
    pub fn of(tree: &CallTree) -> Vec<MemorySummary> {
        let usage = MemoryUsage::of(tree);
        let summary = |(place, usage): (MemoryPlace, &DeviceUsage)| MemorySummary {
            device: place.to_string(),
            peak_bytes: usage.peak(),
            before_bytes: usage.is_absolute().then(|| usage.before()),
            reserved_bytes: usage.most_reserved(),
            allocations: usage.blocks().len() as u64,
            allocated_bytes: usage
                .blocks()
                .iter()
                .fold(0, |sum: i64, block| sum.saturating_add(block.bytes)),
        };
        usage.devices().map(summary).collect()
    }
}
