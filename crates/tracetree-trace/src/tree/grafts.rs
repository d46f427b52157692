//! Finds the captured calls below each graph launch, and the GPU events that the captured calls
//! launch.

use crate::trace::{CapturedCall, EventId, Nanos, Trace, Uid};
use rustc_hash::FxHashMap;

/// The captured calls of a trace, grouped by the graph launch above them.
#[derive(Debug, Default)]
pub(super) struct Grafts {
    /// For each graph launch, the captured calls below it with their depths, in preorder.
    below: FxHashMap<EventId, Vec<Grafted>>,
    /// The GPU events of each captured launch, sorted by start.
    kernels: FxHashMap<EventId, Vec<EventId>>,
}

/// A captured call below a graph launch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grafted {
    pub(super) event: EventId,
    /// Number of captured ancestors of the call.
    pub(super) depth: u32,
    /// Start of the first GPU event at or below the call, if any.
    pub(super) first: Option<Nanos>,
}

impl Grafts {
    pub(super) fn of(trace: &Trace) -> Grafts {
        let mut grafts = Grafts::default();
        let mut launches: FxHashMap<Uid, Option<EventId>> = FxHashMap::default();
        let mut calls: Vec<(CapturedCall, EventId)> =
            trace.captured.iter().map(|(event, &call)| (call, event)).collect();
        calls.sort_unstable_by_key(|(call, _)| (call.launch, call.position));
        for (call, event) in calls {
            let launch = launches.entry(call.launch).or_insert_with(|| trace.event_at(call.launch));
            if let Some(launch) = *launch {
                let grafted = Grafted { event, depth: call.depth, first: None };
                grafts.below.entry(launch).or_default().push(grafted);
            }
        }
        let mut kernels: Vec<(EventId, Uid)> =
            trace.captured_launches().iter().map(|(kernel, &uid)| (kernel, uid)).collect();
        kernels.sort_unstable_by_key(|&(kernel, _)| (trace.start(kernel), kernel));
        for (kernel, uid) in kernels {
            if let Some(call) = trace.event_at(uid) {
                grafts.kernels.entry(call).or_default().push(kernel);
            }
        }
        let start = |kernel: &EventId| trace.start(*kernel);
        let own = |event| grafts.kernels.get(&event).and_then(|kernels| kernels.first()).map(start);
        grafts.below.values_mut().for_each(|calls| find_firsts(calls, own));
        grafts
    }

    /// Whether the trace has no captured calls.
    pub(super) fn is_empty(&self) -> bool {
        self.below.is_empty()
    }

    /// The captured calls below a graph launch, in preorder; empty for any other call.
    pub(super) fn below(&self, launch: EventId) -> &[Grafted] {
        self.below.get(&launch).map_or(&[], Vec::as_slice)
    }

    /// The GPU events that a captured call launches in this replay, sorted by start.
    pub(super) fn kernels(&self, call: EventId) -> &[EventId] {
        self.kernels.get(&call).map_or(&[], Vec::as_slice)
    }
}

/// Sets, for each call, the start of the first GPU event at or below the call. `own` returns the
/// start of the first GPU event that a call launched itself.
fn find_firsts(calls: &mut [Grafted], own: impl Fn(EventId) -> Option<Nanos>) {
    // For each depth: the start of the first GPU event in the subtrees of the calls that were
    // visited so far at this depth. The entry is removed when the parent of these calls is visited.
    let mut below: Vec<Option<Nanos>> = Vec::new();
    for call in calls.iter_mut().rev() {
        let depth = call.depth as usize;
        let starts = below.drain((depth + 1).min(below.len())..).chain([own(call.event)]);
        call.first = starts.flatten().min();
        below.resize(depth + 1, None);
        below[depth] = below[depth].into_iter().chain(call.first).min();
    }
}
