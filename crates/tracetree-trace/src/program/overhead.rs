//! Sums what the GPU profiler recorded as overhead (`cat: overhead`).
//!
//! CUPTI reports two kinds of intervals: its own work, such as requesting a buffer for events, and
//! work of the driver that takes place without a profiler as well, such as loading a kernel when it
//! is first launched.

use crate::trace::{Nanos, TextId, Trace, union};
use rustc_hash::FxHashMap;

/// The overhead that the profiler causes.
const OF_PROFILER: [&str; 5] =
    ["Activity Buffer Request", "Buffer Flush", "Instrumentation", "Resource", "UVM Activity Init"];

/// The cause of a kind of overhead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(hidden)]
pub enum Cause {
    /// The profiler.
    Profiler,
    /// The driver, whether or not a profiler runs.
    Driver,
}

/// The intervals of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(hidden)]
pub struct OverheadOf {
    /// The name in the trace.
    pub name: String,
    /// The cause.
    pub cause: Cause,
    /// Number of intervals.
    pub count: u64,
    /// Sum of the lengths of the intervals.
    pub time: Nanos,
}

/// The recorded overhead of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[doc(hidden)]
pub struct ProfilerOverhead {
    /// The kinds, longest time first, then by name.
    pub kinds: Vec<OverheadOf>,
    /// Spans of time in which the profiler worked: disjoint, sorted by start.
    pub intervals: Vec<(Nanos, Nanos)>,
}

impl ProfilerOverhead {
    /// The overhead in a trace; empty if none was recorded.
    pub fn of(trace: &Trace) -> ProfilerOverhead {
        let mut sums: FxHashMap<TextId, (u64, Nanos)> = FxHashMap::default();
        let mut intervals = Vec::new();
        for overhead in trace.overheads() {
            let sum = sums.entry(overhead.name).or_default();
            *sum = (sum.0 + 1, Nanos(sum.1.0.saturating_add(overhead.duration.0)));
            if cause(trace.text(overhead.name)) == Cause::Profiler {
                let end = overhead.start.0.saturating_add(overhead.duration.0);
                intervals.push((overhead.start, Nanos(end)));
            }
        }
        let mut kinds: Vec<OverheadOf> = sums
            .into_iter()
            .map(|(name, (count, time))| {
                let name = trace.text(name).to_owned();
                OverheadOf { cause: cause(&name), name, count, time }
            })
            .collect();
        kinds.sort_by(|a, b| (b.time, &a.name).cmp(&(a.time, &b.name)));
        ProfilerOverhead { kinds, intervals: union(intervals) }
    }

    /// The time during which the profiler worked.
    pub fn time(&self) -> Nanos {
        self.intervals.iter().map(|&(start, end)| end - start).sum()
    }

    /// The part of this time within `length` from `start` on.
    pub fn within(&self, start: Nanos, length: Nanos) -> Nanos {
        let until = Nanos(start.0.saturating_add(length.0));
        let inside = |&(from, to): &(Nanos, Nanos)| to.min(until) - from.max(start);
        self.intervals.iter().map(inside).filter(|time| *time > Nanos::ZERO).sum()
    }
}

fn cause(name: &str) -> Cause {
    if OF_PROFILER.contains(&name) { Cause::Profiler } else { Cause::Driver }
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
        let overhead = ProfilerOverhead::of(&trace.expect("a trace"));
        assert_eq!(overhead.time(), Nanos(20_000));
        assert_eq!(overhead.within(Nanos(20_000), Nanos(82_000)), Nanos(7_000));
        let names: Vec<_> = overhead.kinds.iter().map(|kind| (&*kind.name, kind.count)).collect();
        let expected =
            [("Lazy Function Loading", 1), ("Buffer Flush", 2), ("Activity Buffer Request", 1)];
        assert_eq!(names, expected);
    }
}
