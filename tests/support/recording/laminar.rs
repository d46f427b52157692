//! Clips recorded host calls so that no call ends after its parent.
//!
//! ```text
//! parent |--------|          parent |--------|
//! noise         |----|   →   noise           |--|    (overlaps by up to 1 µs: a sibling)
//! artefact   |-------|   →   artefact   |----|       (overlaps by more: a child)
//! ```

use super::event::{Event, Lane};
use super::forest::by_lane_and_time;

/// Maximum overlap in ns that counts as timer noise. A call overlaps an earlier call if it starts before the
/// earlier call ends, but ends later than the earlier call.
const NOISE: i64 = 1_000;

/// Clips the spans of host calls so that any two calls on one thread are nested or disjoint.
pub(super) fn clip(events: &mut [Event]) {
    let order = by_lane_and_time(events, |event| event.kind.is_host());
    let mut stack: Vec<usize> = Vec::new();
    let mut lane: Option<Lane> = None;
    for at in order {
        if lane.as_ref() != Some(&events[at].lane) {
            lane = Some(events[at].lane.clone());
            stack.clear();
        }
        fit(events, &mut stack, at);
        stack.push(at);
    }
}

/// Removes the calls from the stack that end before the event at position `at` begins, and clips this event so that it
/// fits into the remaining calls.
fn fit(events: &mut [Event], stack: &mut Vec<usize>, at: usize) {
    while let Some(&top) = stack.last() {
        let (open, open_end) = (events[top].start, events[top].end);
        let event = &mut events[at];
        event.start = event.start.max(open);
        event.end = event.end.max(event.start);
        let overlap = open_end - event.start;
        if overlap > 0 && event.end <= open_end {
            return;
        }
        if overlap > NOISE {
            event.end = open_end;
            return;
        }
        event.start = event.start.max(open_end);
        event.end = event.end.max(event.start);
        stack.pop();
    }
}
