//! Sums what the GPU profiler recorded as overhead (`cat: overhead`).
//!
//! CUPTI reports two kinds of intervals: its own work, such as requesting a buffer for events, and
//! work of the driver that takes place without a profiler as well, such as loading a kernel when it
//! is first launched.

use crate::trace::{Nanos, TextId, Trace, union};
use rustc_hash::FxHashMap;
use serde::Serialize;

/// The overhead that the profiler causes.
const OF_PROFILER: [&str; 5] =
    ["Activity Buffer Request", "Buffer Flush", "Instrumentation", "Resource", "UVM Activity Init"];

/// What the GPU profiler recorded as overhead. Times are sums over intervals, in µs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[doc(hidden)]
pub struct OverheadInfo {
    /// Time during which the profiler itself worked.
    pub profiler_us: f64,
    /// Length of the recording without this time.
    pub span_without_profiler_us: f64,
    /// Time of the intervals of each kind, longest first, then by name.
    pub kinds: Vec<OverheadKind>,
}

/// The intervals of one kind of overhead.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[doc(hidden)]
pub struct OverheadKind {
    /// The name in the trace, such as `Activity Buffer Request`.
    pub name: String,
    /// Number of intervals.
    pub count: u64,
    /// Sum of the lengths of the intervals, in µs.
    pub time_us: f64,
    /// Whether the profiler causes this overhead. Otherwise, it also occurs without a profiler.
    pub is_of_profiler: bool,
}

impl OverheadInfo {
    /// The overhead in a trace whose events take place from `start` to `end`; `None` if none was recorded.
    pub(super) fn of(trace: &Trace, (start, end): (Nanos, Nanos)) -> Option<OverheadInfo> {
        let mut sums: FxHashMap<TextId, (u64, Nanos)> = FxHashMap::default();
        let mut intervals = Vec::new();
        for overhead in trace.overheads() {
            let sum = sums.entry(overhead.name).or_default();
            *sum = (sum.0 + 1, sum.1 + overhead.duration);
            if OF_PROFILER.contains(&trace.text(overhead.name)) {
                intervals.push((overhead.start, overhead.start + overhead.duration));
            }
        }
        if sums.is_empty() {
            return None;
        }
        let mut kinds: Vec<(Nanos, &str, u64)> =
            sums.into_iter().map(|(name, (count, time))| (time, trace.text(name), count)).collect();
        kinds.sort_by(|a, b| (b.0, a.1).cmp(&(a.0, b.1)));
        let kind = |(time, name, count): (Nanos, &str, u64)| OverheadKind {
            name: name.to_owned(),
            count,
            time_us: time.as_micros(),
            is_of_profiler: OF_PROFILER.contains(&name),
        };
        let worked = union(intervals);
        let time: Nanos = worked.iter().map(|&(from, to)| to - from).sum();
        let inside =
            |&(from, to): &(Nanos, Nanos)| (to.min(end) - from.max(start)).max(Nanos::ZERO);
        let time_inside: Nanos = worked.iter().map(inside).sum();
        Some(OverheadInfo {
            profiler_us: time.as_micros(),
            span_without_profiler_us: (end - start - time_inside).max(Nanos::ZERO).as_micros(),
            kinds: kinds.into_iter().map(kind).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::ReadOptions;

    #[test]
    fn overlapping_intervals_of_the_profiler_count_once() {
        let event = |name: &str, ts: u32, dur: u32| {
            format!(
                r#"{{"ph": "X", "cat": "overhead", "name": "{name}", "pid": -1, "tid": 0, "ts": {ts}, "dur": {dur}}}"#
            )
        };
        let events = [
            event("Buffer Flush", 10, 10),
            event("Activity Buffer Request", 15, 10),
            event("Lazy Function Loading", 50, 100),
            event("Buffer Flush", 100, 5),
        ];
        let text = format!(r#"{{"traceEvents": [{}]}}"#, events.join(","));
        let trace = Trace::from_reader("t", text.as_bytes(), &ReadOptions::default());
        let trace = trace.expect("a trace");
        let overhead = OverheadInfo::of(&trace, (Nanos(20_000), Nanos(102_000))).expect("overhead");
        assert_eq!((overhead.profiler_us, overhead.span_without_profiler_us), (20.0, 75.0));
        let names: Vec<_> = overhead.kinds.iter().map(|kind| (&*kind.name, kind.count)).collect();
        let expected =
            [("Lazy Function Loading", 1), ("Buffer Flush", 2), ("Activity Buffer Request", 1)];
        assert_eq!(names, expected);
    }
}
