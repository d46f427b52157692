//! Determines the window whose wall time is attributed, and which events were launched before the window.
//!
//! ```text
//! host       ├─ step ──────┤├─ step ──────┤
//! GPU    ├─ earlier ─┤ ├─ work ─┤ ├─ work ────────┤
//!            └────────── window ────────────────┘
//! ```
//! The window starts with the first step. The window ends at the end of the last step, or at the end of the
//! last GPU event that was launched in a step, whichever is later. A step therefore includes work that the
//! GPU finishes after the host has finished the step. If a side has no steps, the window spans from the first
//! measured event to the last.
//!
//! A GPU event counts as launched *before* the window if its launch is before the window, even if the event
//! runs in the window. If its launch is not in the trace, the event counts as launched before the window if
//! it runs before the first event on the same stream that was launched in the window. If no event on this
//! stream was launched in the window, the first such event on any stream is used instead.

use super::part::Part;
use crate::analysis::account::{Ledger, span};
use crate::analysis::steps::WallBasis;
use crate::diff::TraceDiff;
use crate::order::Order as _;
use crate::program::{Measure, Steps};
use crate::side::Side;
use crate::trace::{Nanos, ThreadId};
use crate::tree::{CallId, CallTree};

/// For one side, the time span whose wall time is attributed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Window {
    /// Start of the window.
    pub start: Nanos,
    /// End of the window, exclusive.
    pub end: Nanos,
    /// Number of steps in the window; 1 if the window is analyzed as a whole.
    pub steps: u64,
    /// End of the host part of the window. Work launched before this time counts as launched in the window.
    host_end: Nanos,
}

impl Window {
    /// Length of the window.
    pub fn wall(&self) -> Nanos {
        self.end - self.start
    }

    pub(super) fn clip(&self, start: Nanos, end: Nanos) -> (Nanos, Nanos) {
        let start = start.clamp(self.start, self.end);
        (start, end.clamp(start, self.end))
    }
}

/// The parts of a trace that determine its window.
#[derive(Clone, Copy)]
pub(super) struct Recorded<'a> {
    pub(super) tree: &'a CallTree,
    pub(super) steps: &'a Steps,
    pub(super) measure: Measure,
    /// The measured calls.
    pub(super) calls: &'a [CallId],
}

impl<'a> Recorded<'a> {
    pub(super) fn of(diff: &'a TraceDiff, ledger: &'a Ledger, side: Side) -> Recorded<'a> {
        Recorded {
            tree: diff.tree(side),
            steps: diff.steps(side),
            measure: ledger.measure(),
            calls: ledger.calls(side),
        }
    }

    /// The measured calls with their spans, sorted by start.
    pub(super) fn spans(&self) -> Vec<(Nanos, Nanos, CallId)> {
        let of_call = |&call: &CallId| {
            let (start, end) = span(self.tree, call);
            (start, end, call)
        };
        let mut spans: Vec<(Nanos, Nanos, CallId)> = self.calls.iter().map(of_call).collect();
        spans.sort_unstable();
        spans
    }
}

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
        window.end = within.map(|&call| span(of.tree, call).1).fold(host_end, Nanos::max);
    }
    window
}

fn of_events(of: Recorded<'_>) -> Window {
    let spans = || of.calls.iter().map(|&call| span(of.tree, call));
    let start = spans().map(|span| span.0).min().unwrap_or(Nanos::ZERO);
    let end = spans().map(|span| span.1).fold(start, Nanos::max);
    Window { start, end, steps: 1, host_end: end }
}

/// Looks up the launch times of events whose launch is in the trace.
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

/// Work on the timeline: a measured event, an outermost op, or work that was not selected.
#[derive(Debug, Clone, Copy)]
pub(super) struct Occupied {
    /// The call; `None` for work that was not selected, because it is not in the call tree.
    pub(super) call: Option<CallId>,
    pub(super) start: Nanos,
    pub(super) end: Nanos,
    pub(super) part: Part,
}

/// Everything that ran, sorted by start: the measured calls and the work that was not selected. All work that was
/// launched in the window is in [`Part::Window`], also that of steps without a counterpart.
pub(super) fn everything_that_ran(
    of: Recorded<'_>,
    window: Window,
    basis: WallBasis,
) -> Vec<Occupied> {
    let spans = of.spans();
    let calls: Vec<CallId> = spans.iter().map(|&(_, _, call)| call).collect();
    let before = launched_before(of, window, basis, &calls);
    let mut all: Vec<Occupied> = spans
        .into_iter()
        .zip(before)
        .map(|((start, end, call), is_before)| {
            let part = if is_before { Part::Before } else { Part::Window };
            Occupied { call: Some(call), start, end, part }
        })
        .collect();
    let unselected = of.tree.trace().unselected();
    if !unselected.is_empty() {
        let (call, part) = (None, Part::Before);
        all.extend(unselected.iter().map(|&(start, end)| Occupied { call, start, end, part }));
        // The measured calls come first in the list and the sort is stable. So if measured and unselected
        // work have the same start and end, the measured call stays first.
        all.order_by_key(|ran| (ran.start, ran.end));
    }
    all
}

/// For each event, whether the event was launched before the window. The events must be sorted by start.
fn launched_before(
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
        let event = of.tree.event(call).expect("every attributed call has an event");
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
