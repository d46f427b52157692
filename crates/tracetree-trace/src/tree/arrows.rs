//! Finds the launches of GPU events by flow arrows, for recorders that write no common ids.
//!
//! `torch_npu` draws an arrow from a moment inside an op to the start of each GPU event:
//!
//! ```text
//! thread  ├─ aten::addmm ───────────┤
//!            ├─ aclnnAddmm ────┤
//!                   ╰─ async_npu ──────╮
//! stream                               ├─ kernel ─┤
//! ```
//! The launch is the innermost op or runtime call that contains the beginning of the arrow.

use crate::trace::{Category, EventId, FlowEnd, FlowPoint, Nanos, ThreadId, Trace};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The category of the arrows.
const LAUNCH: &str = "async_npu";

/// The launch of each GPU event to which an arrow leads.
pub(super) fn launches(trace: &Trace) -> FxHashMap<EventId, EventId> {
    let arrows: Vec<&FlowPoint> =
        trace.flows().iter().filter(|flow| trace.text(flow.category) == LAUNCH).collect();
    if arrows.is_empty() {
        return FxHashMap::default();
    }
    let begins = begins(&arrows);
    let calls = calls_at(trace, begins.values().flatten().copied());
    let mut launches = FxHashMap::default();
    for (event, end) in ends(trace, &arrows) {
        // The clock of a device may be behind, so an arrow may end before it begins. If two streams
        // start work in the same nanosecond, both arrows have the same id.
        let mut begins = begins.get(&end.id).into_iter().flatten();
        if let Some(&launch) = begins.find_map(|at| calls.get(at)) {
            launches.insert(event, launch);
        }
    }
    launches
}

/// The beginnings of the arrows with each id, in file order.
fn begins(arrows: &[&FlowPoint]) -> FxHashMap<i64, Vec<(ThreadId, Nanos)>> {
    let mut begins: FxHashMap<i64, Vec<(ThreadId, Nanos)>> = FxHashMap::default();
    for arrow in arrows.iter().filter(|arrow| arrow.end == FlowEnd::Start) {
        begins.entry(arrow.id).or_default().push((arrow.thread, arrow.time));
    }
    begins
}

/// The GPU events to which arrows lead: those that start at the thread and the time of an arrow's
/// end.
fn ends<'a>(trace: &Trace, arrows: &[&'a FlowPoint]) -> Vec<(EventId, &'a FlowPoint)> {
    let ends = arrows.iter().filter(|arrow| arrow.end == FlowEnd::Finish);
    let ends: FxHashMap<(ThreadId, Nanos), &FlowPoint> =
        ends.map(|&arrow| ((arrow.thread, arrow.time), arrow)).collect();
    let gpu = trace.own_events().filter(|&event| trace.category(event).is_gpu());
    let end = |event| ends.get(&(trace.thread_of(event), trace.start(event))).copied();
    gpu.filter_map(|event| Some((event, end(event)?))).collect()
}

/// The innermost op or runtime call at each of some moments on a thread.
fn calls_at(
    trace: &Trace,
    moments: impl Iterator<Item = (ThreadId, Nanos)>,
) -> FxHashMap<(ThreadId, Nanos), EventId> {
    let mut asked: BTreeMap<ThreadId, Vec<Nanos>> = BTreeMap::new();
    for (thread, time) in moments {
        asked.entry(thread).or_default().push(time);
    }
    let mut calls: FxHashMap<ThreadId, Vec<EventId>> = FxHashMap::default();
    for event in trace.own_events() {
        let is_call = matches!(trace.category(event), Category::CpuOp | Category::Runtime);
        if is_call && asked.contains_key(&trace.thread_of(event)) {
            calls.entry(trace.thread_of(event)).or_default().push(event);
        }
    }
    let mut found = FxHashMap::default();
    for (thread, mut times) in asked {
        let mut own = calls.remove(&thread).unwrap_or_default();
        own.sort_by_key(|&call| (trace.start(call), std::cmp::Reverse(trace.end(call)), call));
        times.sort_unstable();
        times.dedup();
        let innermost = innermost(trace, &own, &times);
        found.extend(innermost.into_iter().map(|(time, call)| ((thread, time), call)));
    }
    found
}

/// The innermost of the calls of one thread at each moment. Both lists are sorted.
fn innermost(trace: &Trace, calls: &[EventId], times: &[Nanos]) -> Vec<(Nanos, EventId)> {
    let mut next = calls.iter().copied().peekable();
    let mut open: Vec<EventId> = Vec::new();
    let mut found = Vec::new();
    for &time in times {
        while let Some(call) = next.next_if(|&call| trace.start(call) <= time) {
            while open.pop_if(|last| trace.end(*last) <= trace.start(call)).is_some() {}
            open.push(call);
        }
        while open.pop_if(|last| trace.end(*last) <= time).is_some() {}
        found.extend(open.last().map(|&call| (time, call)));
    }
    found
}
