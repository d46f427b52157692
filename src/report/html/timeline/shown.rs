//! Chooses the step that the timeline shows, and finds everything that ran in it.
//!
//! It is the step of the lag curve, and its counterpart on the opposite side.

use crate::analysis::Analysis;
use crate::diff::MergedId;
use crate::program::StepId;
use crate::side::{PerSide, Side};
use crate::trace::{EventId, Nanos, Trace};
use crate::tree::{CallId, CallKind, CallTree};

/// A matched pair of steps or, if a side has no steps, the recorded windows of both sides.
pub(super) struct Shown {
    step: Option<PerSide<StepId>>,
    start: PerSide<Nanos>,
    host_end: PerSide<Nanos>,
    end: PerSide<Nanos>,
}

impl Shown {
    pub(super) fn choose(analysis: &Analysis) -> Shown {
        let Some(step) = analysis.lag().steps else {
            let windows = analysis.wall().windows();
            let (start, end) = (windows.map(|w| w.start), windows.map(|w| w.end));
            return Shown { step: None, start, host_end: end, end };
        };
        let span = |side| *analysis.diff().steps(side).span(step[side]);
        let start = PerSide::from_fn(|side| span(side).start);
        let host_end = PerSide::from_fn(|side| span(side).end);
        let end = PerSide::from_fn(|side| {
            let (tree, steps) = (analysis.tree(side), analysis.diff().steps(side));
            let gpu = tree.calls().filter(|&call| tree.kind(call) == CallKind::Gpu);
            let launched = gpu.filter(|&call| steps.step(call) == Some(step[side]));
            let ends = launched.filter_map(|call| tree.event(call));
            ends.map(|event| tree.trace().end(event)).fold(host_end[side], Nanos::max)
        });
        Shown { step: Some(step), start, host_end, end }
    }

    /// The step's number in reports.
    pub(super) fn shown_count(&self, analysis: &Analysis) -> Option<u32> {
        self.step.map(|step| analysis.options().displayed_step(step.baseline))
    }

    /// The name of the step on a side; empty if the step has no name.
    pub(super) fn name(&self, analysis: &Analysis, side: Side) -> String {
        let name = |step: PerSide<StepId>| {
            analysis.diff().steps(side).name(analysis.tree(side), step[side])
        };
        self.step.map_or_else(String::new, name)
    }

    /// Host time in the step.
    pub(super) fn host_time(&self, side: Side) -> Nanos {
        self.host_end[side] - self.start[side]
    }

    /// End of the step's last event, relative to the start of the step.
    pub(super) fn end(&self, side: Side) -> Nanos {
        self.end[side] - self.start[side]
    }

    /// Converts a time on one side to a time relative to the start of the step.
    pub(super) fn since(&self, side: Side, time: Nanos) -> Nanos {
        time - self.start[side]
    }

    /// Whether the step made the call, or launched it if it is a GPU event. Always true if no step is shown.
    pub(super) fn holds(&self, analysis: &Analysis, side: Side, call: CallId) -> bool {
        match self.step {
            Some(step) => analysis.diff().steps(side).step(call) == Some(step[side]),
            None => true,
        }
    }

    /// The calls of one side in the step, in order: calls that the step made, and GPU events that
    /// ran during the step. Captured calls are excluded because they took no time during the step.
    pub(super) fn ran(&self, analysis: &Analysis, side: Side) -> Vec<CallId> {
        let tree = analysis.tree(side);
        let mut is_inside = vec![self.step.is_none(); tree.len()];
        for step in self.step.iter().map(|step| step[side]) {
            analysis
                .diff()
                .steps(side)
                .calls_of(step)
                .for_each(|calls| is_inside[calls].fill(true));
        }
        let ran = |&call: &CallId| {
            (is_inside[call.index()] || tree.kind(call) == CallKind::Gpu)
                && tree.event(call).is_some_and(|event| self.runs(tree.trace(), side, event))
        };
        tree.calls().filter(ran).collect()
    }

    /// Whether an event overlaps the step and was not captured.
    fn runs(&self, trace: &Trace, side: Side, event: EventId) -> bool {
        trace.start(event) < self.end[side]
            && trace.end(event) > self.start[side]
            && !trace.is_captured(event)
    }

    /// The start of a call relative to the start of the step, and the duration of the call.
    pub(super) fn span(&self, tree: &CallTree, side: Side, call: CallId) -> (Nanos, Nanos) {
        let event = tree.event(call).expect("a call that runs is an event");
        (self.since(side, tree.trace().start(event)), tree.trace().duration(event))
    }

    pub(super) fn slice(&self, analysis: &Analysis, side: Side, call: CallId) -> Slice {
        let tree = analysis.tree(side);
        let (start, time) = self.span(tree, side, call);
        let is_gpu = tree.kind(call) == CallKind::Gpu;
        let is_launched_here = !is_gpu || tree.launch(call).is_some() || self.step.is_none();
        Slice {
            side,
            call,
            event: tree.event(call).expect("a call that runs is an event"),
            node: analysis.diff().merged().of(side, call),
            start,
            time,
            is_gpu,
            is_inside: is_launched_here && self.holds(analysis, side, call),
        }
    }
}

/// Resolution of the times on the page, in ns.
const TICK: i64 = 100;

/// Converts a time to the page's unit. Starts and ends are both rounded down, so nested slices stay nested.
pub(super) fn ticks(time: Nanos) -> i64 {
    time.0.div_euclid(TICK)
}

/// A call that the timeline draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slice {
    pub(super) side: Side,
    pub(super) call: CallId,
    pub(super) event: EventId,
    pub(super) node: MergedId,
    /// Start time, relative to the start of the step.
    pub(super) start: Nanos,
    pub(super) time: Nanos,
    pub(super) is_gpu: bool,
    /// Whether the step made the host call or launched the GPU event.
    pub(super) is_inside: bool,
}

impl Slice {
    pub(super) fn end(&self) -> Nanos {
        self.start + self.time
    }
}
