//! Sets impossible durations to 0, so that they add nothing to sums; the recorded values are kept
//! separately.
//!
//! On ROCm, a recorded duration can extend far over the next kernels of the same stream: seconds
//! instead of microseconds (TraceLens issue 669). Work on one stream is serial, so an event that
//! covers the next kernels must have a wrong duration:
//!
//! ```text
//! stream 3   ▆▆▆▆ ▆▆▆▆ ▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆ …  1.6 s
//!                           ▆▆▆▆ ▆▆▆▆ ▆▆▆▆                         15 µs each
//! ```
//!
//! A short overlap is plausible, because kernels can overlap on Hopper and Blackwell, and within
//! graphs. An overlap with a communication kernel is plausible as well, because communication
//! kernels wait for other ranks.

use super::oddity::{Oddities, Oddity};
use super::strings::Strings;
use crate::trace::columns::Trace;
use crate::trace::communication::is_communication_kernel;
use crate::trace::ids::{EventId, ThreadId};
use crate::trace::time::Nanos;

/// Maximum plausible duration: no profile takes 30 days.
const ABSURD: Nanos = Nanos(30 * 24 * 3_600 * 1_000_000_000);

/// A GPU event is considered too long only if it has at least this duration.
const LONG: Nanos = Nanos(100_000_000);

/// A GPU event is considered too long only if the next event on its stream ends before
/// 1/`OVERLONG_FACTOR` of this event's duration has passed.
const OVERLONG_FACTOR: i64 = 100;

/// Events at time 0 are considered wrong only if the earliest start after time 0 is at least this
/// late. The starts after time 0 must also be close together: the span between the earliest and the
/// latest of them, multiplied by [`FAR_FACTOR`], must be less than the earliest.
const FAR: Nanos = Nanos(1_000_000_000);
const FAR_FACTOR: i64 = 10;

/// Why a duration is impossible regardless of other events; `None` if the duration is possible.
#[inline]
pub(super) fn impossible(duration: Nanos) -> Option<Oddity> {
    if duration < Nanos::ZERO {
        Some(Oddity::NegativeDuration)
    } else if duration > ABSURD {
        Some(Oddity::AbsurdDuration)
    } else {
        None
    }
}

/// Finds events at time 0 if all other events start much later. Profilers write 0 if they have lost
/// the start time. A trace whose times are relative to its own beginning also has events at 0, but
/// its next events start soon afterwards.
pub(super) fn at_zero(trace: &Trace) -> Vec<EventId> {
    let is_at_zero = |&event: &EventId| trace.start(event) == Nanos::ZERO;
    let zeros: Vec<EventId> = trace.events().filter(is_at_zero).collect();
    if zeros.is_empty() {
        return zeros;
    }
    let others = || trace.starts.iter().filter(|&start| start > Nanos::ZERO);
    let (Some(first), Some(last)) = (others().min(), others().max()) else { return Vec::new() };
    let is_far = first >= FAR && first.0 / FAR_FACTOR > (last - first).0;
    if is_far { zeros } else { Vec::new() }
}

/// Finds GPU events that extend far over the next events on their stream, and sets the durations of
/// these GPU events to 0.
pub(super) fn drop_overlong(trace: &mut Trace, strings: &Strings, odd: &mut Oddities) {
    let mut dropped = overlong(trace, strings);
    dropped.sort_unstable();
    for &event in &dropped {
        odd.add_event(Oddity::OverlongGpuEvent, trace.uid(event));
    }
    if dropped.is_empty() {
        return;
    }
    let overlong = dropped.iter().map(|&event| (event, trace.duration(event)));
    let recorded = trace.recorded_durations.iter().map(|(event, &duration)| (event, duration));
    let mut recorded: Vec<(EventId, Nanos)> = recorded.chain(overlong).collect();
    recorded.sort_unstable();
    trace.recorded_durations = recorded.into_iter().collect();
    for event in dropped {
        trace.durations.set(event.index(), Nanos::ZERO);
    }
}

fn overlong(trace: &Trace, strings: &Strings) -> Vec<EventId> {
    let gpu_events = || trace.streams.iter().map(|(event, _)| event);
    if !gpu_events().any(|event| trace.duration(event) >= LONG) {
        return Vec::new();
    }
    let mut events: Vec<EventId> = gpu_events().collect();
    let key = |event: EventId| -> (ThreadId, Nanos, EventId) {
        (trace.thread_of(event), trace.start(event), event)
    };
    events.sort_unstable_by_key(|&event| key(event));
    let follows = |pair: &&[EventId]| {
        let (event, next) = (pair[0], pair[1]);
        trace.thread_of(event) == trace.thread_of(next) && contradicts(trace, event, next)
    };
    let pairs = events.windows(2).filter(follows).map(|pair| pair[0]);
    pairs.filter(|&event| !is_communication(trace, strings, event)).collect()
}

/// Whether `event` covers the next event and lasts far longer than the time until the next event
/// ends.
fn contradicts(trace: &Trace, event: EventId, next: EventId) -> bool {
    let (duration, gap) = (trace.duration(event), trace.start(next) - trace.start(event));
    duration >= LONG
        && trace.end(next) <= trace.end(event)
        && duration.0 / OVERLONG_FACTOR > (gap + trace.duration(next)).0
}

fn is_communication(trace: &Trace, strings: &Strings, event: EventId) -> bool {
    let name = strings.get(trace.name_id(event));
    trace.collectives.get(event).is_some() || is_communication_kernel(name)
}

#[cfg(test)]
mod tests {
    use crate::trace::{EventId, Nanos, ReadOptions, Trace};

    /// Reads two kernels on one stream. The first takes `milliseconds` ms; the second starts 1 ms
    /// later and takes 1 ms. Returns whether the duration of the first kernel was set to 0.
    fn dropped(name: &str, milliseconds: f64) -> bool {
        let kernel = |name: &str, start: f64, duration: f64| {
            format!(
                r#"{{"ph": "X", "cat": "kernel", "name": "{name}", "pid": 0, "tid": 7, "ts": {start},
                "dur": {duration}, "args": {{"stream": 7}}}}"#
            )
        };
        let (first, next) = (kernel(name, 5e6, milliseconds * 1e3), kernel("next", 5.001e6, 1e3));
        let text = format!(r#"{{"traceEvents": [{first}, {next}]}}"#);
        let trace = Trace::from_reader("a trace", text.as_bytes(), &ReadOptions::default());
        trace.expect("a trace").duration(EventId(0)) == Nanos::ZERO
    }

    #[test]
    fn a_hundred_times_the_time_to_the_end_of_the_next_kernel_is_overlong() {
        // In this test, the second kernel ends 2 ms after the start of the first kernel.
        assert!(dropped("gemm", 201.0));
        assert!(!dropped("gemm", 199.0));
        assert!(!dropped("ncclDevKernel_AllReduce", 201.0));
    }
}
