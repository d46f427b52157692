//! The captured calls of a trace → which stand below which graph launch, and what they launch.

use crate::trace::{CapturedCall, EventId, Trace, Uid};
use rustc_hash::FxHashMap;

/// The captured calls of a trace by the graph launches that they stand below.
#[derive(Debug, Default)]
pub(super) struct Grafts {
    /// In preorder, with their depths.
    below: FxHashMap<EventId, Vec<(CapturedCall, EventId)>>,
    /// The GPU events of captured launches, by start.
    kernels: FxHashMap<EventId, Vec<EventId>>,
}

impl Grafts {
    pub(super) fn of(trace: &Trace) -> Grafts {
        let mut grafts = Grafts::default();
        let mut launches: FxHashMap<Uid, Option<EventId>> = FxHashMap::default();
        let mut calls: Vec<(CapturedCall, EventId)> =
            trace.captured_calls().iter().map(|(event, &call)| (call, event)).collect();
        calls.sort_unstable_by_key(|(call, _)| (call.launch, call.position));
        for (call, event) in calls {
            let launch = launches.entry(call.launch).or_insert_with(|| trace.event_at(call.launch));
            if let Some(launch) = *launch {
                grafts.below.entry(launch).or_default().push((call, event));
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
        grafts
    }

    /// Whether nothing is known of any capture.
    pub(super) fn is_empty(&self) -> bool {
        self.below.is_empty()
    }

    /// The captured calls below a graph launch, in preorder; none below any other call.
    pub(super) fn below(&self, launch: EventId) -> &[(CapturedCall, EventId)] {
        self.below.get(&launch).map_or(&[], Vec::as_slice)
    }

    /// The GPU events that a captured call launches in this replay, by start.
    pub(super) fn kernels(&self, call: EventId) -> &[EventId] {
        self.kernels.get(&call).map_or(&[], Vec::as_slice)
    }
}
