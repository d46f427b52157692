//! The parts of a trace's dependency graph: host points, GPU events, and waits between them.

use crate::program::StepId;
use crate::trace::{Category, Nanos};
use crate::tree::{CallId, CallTree};

/// A point in time on the host timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(hidden)]
pub enum Point {
    /// A call starts.
    Start(CallId),
    /// A call ends.
    End(CallId),
    /// A step ends.
    Step(StepId),
}

/// What happens at a point on the host timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub enum Action {
    /// The point has no effect on the GPU.
    Nothing,
    /// GPU events are launched; the two numbers are the start and end of a range of positions in
    /// `Recorded::works`.
    Launch(u32, u32),
    /// The host waits; the number is a position in `Recorded::waits`.
    Wait(u32),
}

/// A point on the host timeline, and the host time before this point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub struct Item {
    /// The point.
    pub point: Point,
    /// Host time since the previous point, in ns, excluding time during which the host waited for the GPU.
    pub time: i64,
    /// The innermost call that was open before the point; the root of the thread if no call was open.
    pub owner: Option<CallId>,
    /// Whether `owner` is a runtime call.
    pub in_call: bool,
    /// The launch or wait at the point, if any.
    pub action: Action,
}

/// A GPU event: a kernel, copy or memset.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(hidden)]
pub struct Work {
    /// The GPU event as a node of the call tree.
    pub call: CallId,
    /// Duration, in ns.
    pub time: i64,
    /// The event's stream, as a position in `Recorded::streams`.
    pub stream: u32,
    /// The kind of the event, which determines the gap before it.
    pub kind: WorkKind,
    /// Time in ns from the launch until an idle device starts the event. If the launch is not in the trace,
    /// this time is `None`, and only the event's position in the stream is known.
    pub latency: Option<i64>,
    /// The event on a different stream that this event waits for, inferred from the recorded times.
    pub waits: Option<Behind>,
}

/// A kind of GPU event; typical gaps are computed for each pair of kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(hidden)]
pub struct WorkKind(pub(super) u8);

impl WorkKind {
    /// Number of kinds of GPU events.
    pub(super) const COUNT: usize = 6;

    pub(super) fn of(category: Category, in_graph: bool) -> WorkKind {
        let kind = match category {
            Category::Memcpy => 1,
            Category::Memset => 2,
            Category::Kernel
            | Category::CpuOp
            | Category::PythonFunction
            | Category::Runtime
            | Category::UserAnnotation
            | Category::GpuUserAnnotation => 0,
        };
        WorkKind(kind + if in_graph { 3 } else { 0 })
    }

    /// Whether the event is a node of a captured graph.
    pub(super) fn is_in_graph(self) -> bool {
        self.0 >= 3
    }
}

/// A GPU event, identified by its stream and by the number of events that were launched on this stream
/// after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub struct Behind {
    /// The stream.
    pub stream: u32,
    /// Number of events that were launched on the stream after this event; 0 for the most recent event.
    pub back: u32,
}

/// A point at which the host waits for the GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(hidden)]
pub struct Wait {
    /// All GPU events that the host waits for.
    pub targets: Vec<Behind>,
    /// Time from the end of the awaited GPU events until the waiting call returns, in ns.
    pub latency: i64,
    /// The waiting call.
    pub call: CallId,
}

/// The times at which a window and its steps end, in ns since the start of the window.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[doc(hidden)]
pub struct Replayed {
    /// Time at which the window ends, which is when all of its work is done.
    pub end: i64,
    /// Time at which each step ends: the host has finished the step, and the GPU has finished all work that
    /// was launched by the end of the step.
    pub steps: Vec<i64>,
}

/// Tolerance for differences between the host clock and the device clock, in ns.
pub(super) const CLOCK: i64 = 3_000;

/// A GPU event in the window, before its typical latency and gap have been computed.
pub(super) struct Draft {
    pub(super) call: CallId,
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) stream: u32,
    pub(super) kind: WorkKind,
    /// Start and name of the launching call; `None` if the launch is not in the trace.
    pub(super) launch: Option<(i64, u32)>,
    pub(super) step: usize,
}

/// A wait whose typical return latency has not been computed yet.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    pub(super) call: CallId,
    pub(super) name: u32,
    pub(super) item: usize,
    pub(super) start: i64,
    pub(super) end: i64,
    /// Recorded time at which the awaited GPU events ended.
    pub(super) done: Option<i64>,
    pub(super) targets: Vec<Behind>,
}

pub(super) fn span(tree: &CallTree, call: CallId) -> (i64, i64) {
    let trace = tree.trace();
    tree.event(call).map_or((0, 0), |event| {
        let Nanos(start) = trace.start(event);
        (start, trace.end(event).0)
    })
}
