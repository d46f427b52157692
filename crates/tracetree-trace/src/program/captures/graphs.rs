//! Finds the graphs captured in a trace. Each graph contains the calls and launches between the
//! beginning and the end of its capture.
//!
//! A call that starts before the capture or ends after the capture is not part of the graph.
//! Launches on other threads (as in a backward pass) are also part of the graph. A launch with its
//! own GPU events ran immediately instead of being captured, so it is not part of the graph.

use crate::trace::{ByName, Category, EventId, GraftedCall, Nanos, ThreadId, Trace, Uid};
use crate::tree::{CallId, CallKind, CallTree, contains_word};
use std::sync::Arc;

/// The kind of work that a launch adds to a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(hidden)]
pub enum LaunchKind {
    /// A kernel.
    Kernel,
    /// A copy.
    Memcpy,
    /// A memset.
    Memset,
}

impl LaunchKind {
    /// The kind of work that a runtime call with this name adds to a graph, if any.
    pub fn of(name: &str) -> Option<LaunchKind> {
        let rest = ["cuda", "hip", "cu"].iter().find_map(|vendor| name.strip_prefix(vendor))?;
        if rest.contains("LaunchKernel") || rest.contains("LaunchCooperativeKernel") {
            Some(LaunchKind::Kernel)
        } else if rest.starts_with("Memcpy") {
            Some(LaunchKind::Memcpy)
        } else if rest.starts_with("Memset") {
            Some(LaunchKind::Memset)
        } else {
            None
        }
    }
}

/// A trace in which graphs were captured.
#[derive(Debug, Clone)]
pub(super) struct Capture {
    pub(super) tree: CallTree,
    /// All captured graphs, in the order in which they were captured.
    pub(super) graphs: Vec<CapturedGraph>,
    /// The batch size of the captured graphs, if a source outside the trace states it.
    pub(super) batch: Option<u64>,
}

/// Id of a captured graph: the index of the capture trace, and the index of the graph in that
/// trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct GraphId {
    pub(super) capture: u32,
    pub(super) graph: u32,
}

/// One captured graph: the calls recorded between the beginning and the end of the capture.
#[derive(Debug, Clone)]
pub(super) struct CapturedGraph {
    pub(super) begin: EventId,
    pub(super) thread: ThreadId,
    pub(super) span: (Nanos, Nanos),
    /// Whether the trace contains the end of the capture. A truncated trace may lack the end of the
    /// capture.
    pub(super) is_whole: bool,
    /// The captured calls, in preorder.
    pub(super) calls: Vec<GraftedCall>,
    /// The captured launches, sorted by start time, as positions in `calls`.
    pub(super) launches: Vec<(u32, LaunchKind)>,
}

impl Capture {
    /// Finds the graphs that were captured in a trace. A trace without `cudaStreamBeginCapture` or
    /// `hipStreamBeginCapture` contains no graphs.
    pub(super) fn of(trace: impl Into<Arc<Trace>>, batch: Option<u64>) -> Capture {
        let tree = CallTree::build(trace);
        let mut ranges = captures(tree.trace());
        ranges.sort_by_key(|range| (range.span.0, range.begin));
        let graphs = ranges.into_iter().filter_map(|range| captured(&tree, range)).collect();
        Capture { tree, graphs, batch }
    }

    /// Whether any graph was captured in the trace. The check is fast because it builds no tree.
    pub(super) fn is_one(trace: &Trace) -> bool {
        trace.own_events().any(|event| is_begin(trace.name(event)))
    }

    /// The trace.
    pub(super) fn trace(&self) -> &Arc<Trace> {
        self.tree.trace()
    }

    /// Position in `traceEvents` of the call that began the capture of a graph.
    pub(super) fn begin(&self, graph: &CapturedGraph) -> Uid {
        self.trace().uid(graph.begin)
    }
}

fn is_begin(name: &str) -> bool {
    contains_word(name, "StreamBeginCapture")
}

/// The time interval during which a thread captured a graph.
#[derive(Debug, Clone, Copy)]
pub(in crate::program) struct Captured {
    /// The call that began the capture; `None` if the capture began before the recording.
    begin: Option<EventId>,
    pub(in crate::program) thread: ThreadId,
    pub(in crate::program) span: (Nanos, Nanos),
    is_whole: bool,
}

/// Matches each call that begins a capture with the next call on the same thread that ends a
/// capture. If no such call follows, the capture extends to the beginning of the next capture or,
/// if there is none, to the end of the trace. The intervals are sorted by thread and time.
pub(in crate::program) fn captures(trace: &Trace) -> Vec<Captured> {
    let mut names: ByName<Option<bool>> = ByName::new(trace);
    let is_call = |event: &EventId| trace.category(*event) == Category::Runtime;
    let mark = |event: EventId| {
        let find = || match trace.name(event) {
            name if is_begin(name) => Some(true),
            name if contains_word(name, "StreamEndCapture") => Some(false),
            _ => None,
        };
        Some((event, names.get(trace.name_id(event), find)?))
    };
    let mut marks: Vec<(EventId, bool)> = trace.events().filter(is_call).filter_map(mark).collect();
    marks.sort_by_key(|&(mark, _)| (trace.thread_of(mark), trace.start(mark), mark));
    let mut ranges: Vec<Captured> = Vec::new();
    for (mark, begins) in marks {
        let thread = trace.thread_of(mark);
        let start = trace.start(mark);
        let last = ranges.last_mut().filter(|last| last.thread == thread);
        match (begins, last) {
            // A begin call inside another begin call is the driver call inside the runtime call,
            // not a second capture.
            (true, Some(open)) if start < open.span.0 => {}
            (true, last) => {
                if let Some(open) = last {
                    open.span.1 = open.span.1.min(start);
                }
                let span = (trace.end(mark), Nanos(i64::MAX));
                ranges.push(Captured { begin: Some(mark), thread, span, is_whole: false });
            }
            (false, Some(open)) => {
                open.is_whole |= open.span.1 > start;
                open.span.1 = open.span.1.min(start);
            }
            (false, None) => {
                let span = (Nanos(i64::MIN), start);
                ranges.push(Captured { begin: None, thread, span, is_whole: false });
            }
        }
    }
    ranges
}

/// The graph that was captured in a time interval; `None` if the beginning is not in the trace.
fn captured(tree: &CallTree, range: Captured) -> Option<CapturedGraph> {
    let Captured { begin, thread, span, is_whole } = range;
    let begin = begin?;
    let mut tops = tops(tree, thread, span);
    tops.sort_by_key(|&call| (tree.start(call), call));
    let mut graph =
        CapturedGraph { begin, thread, span, is_whole, calls: Vec::new(), launches: Vec::new() };
    for top in tops {
        add(tree, top, &mut graph);
    }
    let calls = &graph.calls;
    let event = |at: u32| calls[at as usize].event;
    graph.launches.sort_by_key(|&(at, _)| (tree.trace().start(event(at)), at));
    Some(graph)
}

/// The outermost calls within the interval of a capture. On threads other than `thread`, only calls
/// that add launches to a graph are included.
fn tops(tree: &CallTree, thread: ThreadId, (from, to): (Nanos, Nanos)) -> Vec<CallId> {
    let trace = tree.trace();
    let mut tops = Vec::new();
    let mut at = 0;
    while let Some(call) = tree.call_id(at) {
        at += 1;
        let Some(event) = tree.event(call) else { continue };
        let (start, end) = (trace.start(event), trace.end(event));
        if tree.kind(call) == CallKind::Gpu || end <= from || start >= to {
            at = tree.end(call).index();
        } else if start >= from && end <= to {
            at = tree.end(call).index();
            let launches = || tree.subtree(call).any(|below| launch_kind(tree, below).is_some());
            if trace.thread_of(event) == thread || launches() {
                tops.push(call);
            }
        }
    }
    tops
}

/// The kind of work that a call added to the graph. A launch that ran immediately added no work to
/// the graph.
fn launch_kind(tree: &CallTree, call: CallId) -> Option<LaunchKind> {
    let is_launch = tree.kind(call) == CallKind::Runtime && !tree.is_gpu_path(call);
    is_launch.then(|| LaunchKind::of(tree.name(call))).flatten()
}

/// Appends a call and everything below it. Skips runtime calls that add nothing to the graph: calls
/// that control the capture, and launches that ran immediately.
fn add(tree: &CallTree, top: CallId, graph: &mut CapturedGraph) {
    let mut depths: Vec<(usize, u32)> = Vec::new();
    let mut at = top.index();
    let end = tree.end(top).index();
    while at < end {
        let call = tree.call_id(at).expect("the subtree contains this call");
        while depths.last().is_some_and(|&(end, _)| end <= at) {
            depths.pop();
        }
        let depth = depths.last().map_or(0, |&(_, depth)| depth + 1);
        at += 1;
        let Some(event) = tree.event(call) else { continue };
        match tree.kind(call) {
            CallKind::Runtime => {
                // Calls inside a runtime call are skipped, because the inner driver call represents
                // the same launch.
                at = tree.end(call).index();
                if let Some(kind) = launch_kind(tree, call) {
                    graph.launches.push((graph.calls.len() as u32, kind));
                    graph.calls.push(GraftedCall { event, depth });
                }
            }
            CallKind::Frame | CallKind::Op => {
                graph.calls.push(GraftedCall { event, depth });
                depths.push((tree.end(call).index(), depth));
            }
            CallKind::Thread | CallKind::Unlinked | CallKind::Gpu => {}
        }
    }
}
