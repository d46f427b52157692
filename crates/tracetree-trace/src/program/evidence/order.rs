//! Counts the GPU events of a run that cannot have run when the trace says.
//!
//! ```text
//! host      launch 1 ── launch 2 ──────────
//! stream           ██ 1      ██ 2            plausible: after the launch, in the order of the launches
//! stream    ██ 1                             before its launch
//! stream           ██ 2      ██ 1            before work that the stream was given earlier
//! stream           ██ 1 and 2                at the same instant as other work of the stream
//! ```
//! None of this occurs in about 130 recordings from 2021 to 2026. Kernels of one stream may overlap (programmatic
//! dependent launch), but the second one starts later than the first.

use crate::trace::{Nanos, Stream};
use crate::tree::{CallId, CallKind, CallTree};
use std::collections::BTreeMap;

/// The clocks of the host and of the GPU are adjusted to each other, which leaves an error of a few microseconds.
const CLOCK_ERROR: Nanos = Nanos(10_000);

/// A GPU event with a positive duration, and the call that launched it.
#[derive(Debug, Clone, Copy)]
struct Placed {
    start: Nanos,
    /// Start and end of the launch; `None` if the launch is not in the trace.
    launch: Option<(Nanos, Nanos)>,
}

/// The number of misplaced GPU events in a run.
pub(super) fn misplaced_gpu_events(tree: &CallTree) -> u64 {
    let mut of_streams: BTreeMap<Option<Stream>, Vec<Placed>> = BTreeMap::new();
    for call in tree.calls().filter(|&call| tree.kind(call) == CallKind::Gpu) {
        let event = tree.event(call).expect("a GPU event");
        let placed = Placed {
            start: tree.trace().start(event),
            launch: tree.running_launch(call).and_then(|launch| span(tree, launch)),
        };
        if tree.trace().duration(event) > Nanos::ZERO {
            of_streams.entry(tree.trace().stream(event)).or_default().push(placed);
        }
    }
    of_streams.into_iter().map(|(stream, placed)| misplaced(stream, placed)).sum()
}

fn span(tree: &CallTree, launch: CallId) -> Option<(Nanos, Nanos)> {
    let event = tree.event(launch)?;
    let start = tree.trace().start(event);
    Some((start, start + tree.trace().duration(event)))
}

/// The number of misplaced events on one stream. Without a recorded stream, the order of the events is unknown.
fn misplaced(stream: Option<Stream>, mut placed: Vec<Placed>) -> u64 {
    let is_early = |event: &Placed| {
        event.launch.is_some_and(|(launched, _)| event.start + CLOCK_ERROR < launched)
    };
    if stream.is_none() {
        return placed.iter().filter(|event| is_early(event)).count() as u64;
    }
    placed.sort_by_key(|event| event.start);
    let mut is_misplaced: Vec<bool> = placed.iter().map(is_early).collect();
    for at in 1..placed.len() {
        is_misplaced[at] |= placed[at].start == placed[at - 1].start;
    }
    // Among the events from `at` on, the earliest end of a launch: work that was given to the stream before.
    let mut earliest = Nanos(i64::MAX);
    for at in (0..placed.len()).rev() {
        if let Some((launched, end)) = placed[at].launch {
            is_misplaced[at] |= earliest < launched;
            earliest = earliest.min(end);
        }
    }
    is_misplaced.into_iter().filter(|&is| is).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events on one stream: start, then start and end of the launch, in µs.
    fn count(events: &[(i64, i64, i64)]) -> u64 {
        let micros = |time: i64| Nanos(1_000 * time);
        let placed = |&(start, from, to): &(i64, i64, i64)| Placed {
            start: micros(start),
            launch: Some((micros(from), micros(to))),
        };
        misplaced(Some(Stream { device: 0, number: 7 }), events.iter().map(placed).collect())
    }

    #[test]
    fn work_in_the_order_of_its_launches_is_plausible() {
        assert_eq!(count(&[(10, 0, 5), (20, 6, 9), (21, 12, 15)]), 0);
        // All kernels of a graph have one launch, and two threads may launch at the same time.
        assert_eq!(count(&[(20, 0, 9), (15, 0, 9), (30, 20, 25), (29, 21, 26)]), 0);
        // The clocks of host and GPU differ by a few microseconds.
        assert_eq!(count(&[(100, 105, 110)]), 0);
    }

    #[test]
    fn work_before_its_launch_or_in_the_wrong_order_or_all_at_once_is_not() {
        assert_eq!(count(&[(100, 120, 125), (200, 130, 135)]), 1);
        assert_eq!(count(&[(300, 0, 5), (200, 10, 15), (100, 20, 25)]), 2);
        assert_eq!(count(&[(100, 0, 5), (100, 10, 15), (100, 20, 25)]), 2);
    }
}
