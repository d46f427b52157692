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
        for (event, &call) in trace.captured_calls().iter() {
            let launch = launches.entry(call.launch).or_insert_with(|| trace.event_at(call.launch));
            if let Some(launch) = *launch {
                grafts.below.entry(launch).or_default().push((call, event));
            }
        }
        for calls in grafts.below.values_mut() {
            calls.sort_unstable_by_key(|(call, _)| call.position);
        }
        for (kernel, &uid) in trace.captured_launches().iter() {
            if let Some(call) = trace.event_at(uid) {
                grafts.kernels.entry(call).or_default().push(kernel);
            }
        }
        for kernels in grafts.kernels.values_mut() {
            kernels.sort_unstable_by_key(|&kernel| (trace.start(kernel), kernel));
        }
        grafts
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
