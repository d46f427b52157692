//! A side's steps and events → the window whose wall time is accounted, and what was launched before.
//!
//! ```text
//! host       ├─ step ──────┤├─ step ──────┤
//! GPU    ├─ earlier ─┤ ├─ work ─┤ ├─ work ────────┤
//!            └────────── window ────────────────┘
//! ```
//! The window starts with the first step and ends with the last one, or with the last GPU event that
//! was launched in it, whichever is later: work that runs behind the host is work of the step.
//! Without steps on both sides it goes from the first accounted event to the last.
//!
//! A GPU event was launched *before* the window if its launch says so. Where the launch is not in
//! the trace, the order of its stream tells: it was launched before if it runs before the first
//! event of its stream that was launched in the window (of any stream, where its own has none).

use crate::analysis::Analysis;
use crate::program::{Measure, Steps};
use crate::side::{PerSide, Side};
use crate::trace::{Nanos, ThreadId};
use crate::tree::{CallId, CallTree};

/// What the window of a side is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WallBasis {
    /// The steps of both sides; figures are for each step.
    Steps,
    /// All accounted events, where a side has no steps; figures are for the whole window.
    Events,
}

/// The time of one side that is accounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Window {
    /// When it starts.
    pub start: Nanos,
    /// When it ends, exclusive.
    pub end: Nanos,
    /// How many steps it holds; 1 where the whole window is looked at.
    pub steps: u64,
    /// The host part of it, in which work counts as launched in the window.
    host_end: Nanos,
}

impl Window {
    /// Its length.
    pub fn wall(&self) -> Nanos {
        self.end - self.start
    }

    /// Whether a span, which may be empty, has a moment in the window.
    pub(in crate::analysis) fn overlaps(&self, start: Nanos, end: Nanos) -> bool {
        start < self.end && (end > self.start || start == self.start)
    }

    /// The part of a span that lies in the window.
    pub(super) fn clip(&self, start: Nanos, end: Nanos) -> (Nanos, Nanos) {
        let start = start.clamp(self.start, self.end);
        (start, end.clamp(start, self.end))
    }
}

/// One trace, as far as its window depends on it.
#[derive(Clone, Copy)]
pub(super) struct Recorded<'a> {
    pub(super) tree: &'a CallTree,
    pub(super) steps: &'a Steps,
    pub(super) measure: Measure,
    /// The accounted calls.
    pub(super) calls: &'a [CallId],
}

impl<'a> Recorded<'a> {
    pub(super) fn of(analysis: &'a Analysis, side: Side) -> Recorded<'a> {
        Recorded {
            tree: analysis.tree(side),
            steps: analysis.steps(side),
            measure: analysis.measure(),
            calls: analysis.accounted_calls(side),
        }
    }

    /// When an accounted call starts and ends.
    pub(super) fn span(&self, call: CallId) -> (Nanos, Nanos) {
        let event = self.tree.event(call).expect("accounted calls are events");
        (self.tree.trace().start(event), self.tree.trace().end(event))
    }

    /// The accounted calls in order of start, with their spans.
    pub(super) fn spans(&self) -> Vec<(Nanos, Nanos, CallId)> {
        let span = |&call: &CallId| {
            let (start, end) = self.span(call);
            (start, end, call)
        };
        let mut spans: Vec<(Nanos, Nanos, CallId)> = self.calls.iter().map(span).collect();
        spans.sort_unstable();
        spans
    }
}

/// Steps, if both sides have some.
pub(super) fn basis(analysis: &Analysis) -> WallBasis {
    match Side::BOTH.iter().all(|&side| !analysis.steps(side).is_empty()) {
        true => WallBasis::Steps,
        false => WallBasis::Events,
    }
}

/// The windows of both sides.
pub(super) fn windows(analysis: &Analysis, basis: WallBasis) -> PerSide<Window> {
    PerSide::from_fn(|side| window(Recorded::of(analysis, side), basis))
}

/// The window of one trace.
pub(super) fn window(of: Recorded<'_>, basis: WallBasis) -> Window {
    match basis {
        WallBasis::Steps => of_steps(of),
        WallBasis::Events => of_events(of),
    }
}

fn of_steps(of: Recorded<'_>) -> Window {
    let spans = of.steps.spans();
    let start = spans.iter().map(|step| step.start).min().unwrap_or(Nanos::ZERO);
    let host_end = spans.iter().map(|step| step.end).max().unwrap_or(start);
    let mut window = Window { start, end: host_end, steps: spans.len() as u64, host_end };
    if of.measure == Measure::GpuTime {
        let launched = Launched { tree: of.tree, window, basis: WallBasis::Steps };
        let within = of.calls.iter().filter(|&&call| launched.within(call));
        window.end = within.map(|&call| of.span(call).1).fold(host_end, Nanos::max);
    }
    window
}

fn of_events(of: Recorded<'_>) -> Window {
    let spans = || of.calls.iter().map(|&call| of.span(call));
    let start = spans().map(|span| span.0).min().unwrap_or(Nanos::ZERO);
    let end = spans().map(|span| span.1).fold(start, Nanos::max);
    Window { start, end, steps: 1, host_end: end }
}

/// When what was launched, as far as the launch is in the trace.
struct Launched<'a> {
    tree: &'a CallTree,
    window: Window,
    basis: WallBasis,
}

impl Launched<'_> {
    fn at(&self, call: CallId) -> Option<Nanos> {
        let launch = self.tree.running_launch(call)?;
        Some(self.tree.trace().start(self.tree.event(launch)?))
    }

    fn within(&self, call: CallId) -> bool {
        self.at(call).is_some_and(|at| match self.basis {
            WallBasis::Steps => self.window.start <= at && at < self.window.host_end,
            WallBasis::Events => true,
        })
    }
}

/// For each accounted event, in order of start, whether it was launched before the window.
pub(super) fn launched_before(
    of: Recorded<'_>,
    window: Window,
    basis: WallBasis,
    events: &[CallId],
) -> Vec<bool> {
    if of.measure == Measure::HostSelfTime {
        return vec![false; events.len()];
    }
    let trace = of.tree.trace();
    let launched = Launched { tree: of.tree, window, basis };
    let mut first_of_stream = vec![None; trace.threads().len()];
    let mut first = None;
    let stream = |call: CallId| -> (ThreadId, Nanos) {
        let event = of.tree.event(call).expect("accounted calls are events");
        (trace.thread_of(event), trace.start(event))
    };
    for &call in events.iter().filter(|&&call| launched.within(call)) {
        let (stream, start) = stream(call);
        first_of_stream[stream.index()].get_or_insert(start);
        first.get_or_insert(start);
    }
    let is_before = |&call: &CallId| {
        let (stream, start) = stream(call);
        match launched.at(call) {
            Some(at) => basis == WallBasis::Steps && at < window.start,
            None => first_of_stream[stream.index()].or(first).is_some_and(|first| start < first),
        }
    };
    events.iter().map(is_before).collect()
}
