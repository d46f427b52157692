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
//! dependent launch), but the second one starts later than the first. In those recordings, at most a third of the events
//! start before the previous event of their stream has run for half of its time, so more than half is not plausible.

use crate::trace::{Nanos, Stream};
use crate::tree::{CallId, CallKind, CallTree};
use std::collections::BTreeMap;

/// The clocks of the host and of the GPU are adjusted to each other, which leaves an error of a few microseconds.
const CLOCK_ERROR: Nanos = Nanos(10_000);

/// A GPU event with a positive duration, and the call that launched it.
#[derive(Debug, Clone, Copy)]
struct Placed {
    start: Nanos,
    duration: Nanos,
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
            duration: tree.trace().duration(event),
            launch: tree.running_launch(call).and_then(|launch| span(tree, launch)),
        };
        if placed.duration > Nanos::ZERO {
            of_streams.entry(tree.trace().stream(event)).or_default().push(placed);
        }
    }
    counted(of_streams)
}

fn counted(of_streams: BTreeMap<Option<Stream>, Vec<Placed>>) -> u64 {
    let (mut all, mut wrong, mut early) = (0, 0, 0);
    for (stream, mut placed) in of_streams {
        placed.sort_by_key(|event| event.start);
        all += placed.len() as u64;
        early += stream.map_or(0, |_| overlapping(&placed));
        wrong += misplaced(stream, &placed);
    }
    if 2 * early > all { early.max(wrong) } else { wrong }
}

/// How many events of one stream start before the previous event has run for half of its time.
fn overlapping(placed: &[Placed]) -> u64 {
    let is_early =
        |pair: &&[Placed]| pair[1].start.0.saturating_sub(pair[0].start.0) < pair[0].duration.0 / 2;
    placed.windows(2).filter(is_early).count() as u64
}

fn span(tree: &CallTree, launch: CallId) -> Option<(Nanos, Nanos)> {
    let event = tree.event(launch)?;
    let start = tree.trace().start(event);
    Some((start, start + tree.trace().duration(event)))
}

/// The number of misplaced events among the events of one stream, which are sorted by start. Without a recorded stream,
/// the order of the events is unknown.
fn misplaced(stream: Option<Stream>, placed: &[Placed]) -> u64 {
    let is_early = |event: &Placed| {
        event.launch.is_some_and(|(launched, _)| event.start + CLOCK_ERROR < launched)
    };
    if stream.is_none() {
        return placed.iter().filter(|event| is_early(event)).count() as u64;
    }
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

    const MICRO: i64 = 1_000;

    /// Events of 1 ns on one stream: start, then start and end of the launch, in µs.
    fn count(events: &[(i64, i64, i64)]) -> u64 {
        let micros = |time: i64| Nanos(MICRO * time);
        let placed = |&(start, from, to): &(i64, i64, i64)| Placed {
            start: micros(start),
            duration: Nanos(1),
            launch: Some((micros(from), micros(to))),
        };
        counted_on(events.iter().map(placed).collect())
    }

    fn counted_on(placed: Vec<Placed>) -> u64 {
        counted([(Some(Stream { device: 0, number: 7 }), placed)].into())
    }

    /// The count for 12 events of 100 µs that start the given time in ns one after another.
    fn apart(nanos: i64) -> u64 {
        let event = |at: i64| Placed {
            start: Nanos(at * nanos),
            duration: Nanos(100 * MICRO),
            launch: None,
        };
        counted_on((0..12).map(event).collect())
    }

    #[test]
    fn most_events_before_earlier_work_of_their_stream_is_half_done_are_not_plausible() {
        assert_eq!([1, 16 * MICRO, 49 * MICRO].map(apart), [11; 3]);
        // Programmatic dependent launch overlaps the end of a kernel.
        assert_eq!([50 * MICRO, 90 * MICRO, 100 * MICRO].map(apart), [0; 3]);
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
