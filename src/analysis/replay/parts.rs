//! The parts of the graph of a trace: points of the host, work of the GPU, and waits between the two.

use crate::program::StepId;
use crate::trace::{Category, Nanos};
use crate::tree::{CallId, CallTree};

/// A point of the host line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Point {
    /// A call starts.
    Start(CallId),
    /// A call ends.
    End(CallId),
    /// A step ends.
    Step(StepId),
}

/// What happens at a point of the host line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Nothing that the GPU notices.
    Nothing,
    /// These works are launched: positions in `Recorded::works`.
    Launch(u32, u32),
    /// The host waits: a position in `Recorded::waits`.
    Wait(u32),
}

/// A point of the host line, and the host time before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item {
    /// The point.
    pub point: Point,
    /// Host time since the point before, in ns, without time in which the host waited for the GPU.
    pub time: i64,
    /// The innermost call that was open before the point; a thread root outside of all calls.
    pub owner: Option<CallId>,
    /// Whether that call is a runtime call.
    pub in_call: bool,
    /// What happens at the point.
    pub action: Action,
}

/// A kernel, copy or memset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// The GPU event.
    pub call: CallId,
    /// Duration, in ns.
    pub time: i64,
    /// The part of the duration in which no work ran that started earlier, in ns.
    pub busy: i64,
    /// Its stream, from 0, by position in `Recorded::streams`.
    pub stream: usize,
    /// Which gap precedes it.
    pub kind: WorkKind,
    /// Time from its launch until an idle device starts it, in ns; `None` if its launch is not in the trace,
    /// so that only the order of its stream is known.
    pub latency: Option<i64>,
    /// What it waits for on another stream, inferred from the recorded times.
    pub waits: Option<Behind>,
}

/// The kinds of work that have gaps of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkKind(pub(super) u8);

impl WorkKind {
    /// Number of kinds.
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

    /// Whether the work is a node of a graph.
    pub(super) fn is_in_graph(self) -> bool {
        self.0 >= 3
    }
}

/// A work of a stream, counted back from the last one that was launched: 0 is the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Behind {
    /// The stream.
    pub stream: usize,
    /// How many works of the stream were launched later.
    pub back: u32,
}

/// A wait of the host for the GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// What it waits for: all of these.
    pub targets: Vec<Behind>,
    /// Time from the end of the work until the call returns, in ns.
    pub latency: i64,
    /// The waiting call.
    pub call: CallId,
}

/// When the parts of a window ended, in ns since its start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Replayed {
    /// When all work was done.
    pub end: i64,
    /// When each step was done: its host part, and all GPU work that was launched until then.
    pub steps: Vec<i64>,
}

/// Tolerance between the clocks of host and device, in ns.
pub(super) const CLOCK: i64 = 3_000;

/// GPU work of the window before its typical values are known.
pub(super) struct Draft {
    pub(super) call: CallId,
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) stream: usize,
    pub(super) kind: WorkKind,
    /// Start of the launching call, and its name; `None` if it is not in the trace.
    pub(super) launch: Option<(i64, u32)>,
    pub(super) step: usize,
}

/// A wait before its typical values are known.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    pub(super) call: CallId,
    pub(super) name: u32,
    pub(super) item: usize,
    pub(super) start: i64,
    pub(super) end: i64,
    /// When the work that it waited for ended, as recorded.
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
