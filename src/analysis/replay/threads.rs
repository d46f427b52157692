//! Merges the host threads of a trace into one timeline.
//!
//! Threads are merged if they take turns, so that at most one of them is busy at any time. A thread that is
//! busy at the same time as other threads is not part of the timeline. If such a thread launches GPU work,
//! the trace cannot be replayed.

use super::parts::{Point, span};
use super::reason::Reason;
use crate::order::Order as _;
use crate::program::{StepId, Steps};
use crate::tree::{CallId, CallKind, CallTree};
use std::ops::Range;

/// The host points of all merged threads, sorted by time.
pub(super) struct Line {
    pub(super) points: Vec<(i64, Point)>,
    /// The root of the main thread.
    pub(super) root: Option<CallId>,
}

/// A thread counts as taking turns if at most this share of its busy time overlaps with other threads.
const OVERLAP: f64 = 0.02;

struct Thread {
    root: CallId,
    /// Spans of the outermost ops and runtime calls.
    busy: Vec<(i64, i64)>,
    launches: bool,
    is_main: bool,
}

/// Builds the host timeline of a trace from the starts and ends of the calls for which `is_wanted` is true.
pub(super) fn line(
    tree: &CallTree,
    steps: &Steps,
    window: Range<i64>,
    is_wanted: &dyn Fn(CallId) -> bool,
) -> Result<Line, Reason> {
    let main = steps.spans().first().map(|span| span.thread);
    // The ops that run on a pool of threads depend on each other in ways that the trace does not show.
    let has_other_steps = || steps.spans().iter().any(|span| Some(span.thread) != main);
    if !tree.pooled().is_empty() || has_other_steps() {
        return Err(Reason::Threads);
    }
    let mut threads: Vec<Thread> = tree
        .roots()
        .filter(|&root| tree.kind(root) == CallKind::Thread)
        .map(|root| thread(tree, root, &window, tree.thread(root) == main))
        .filter(|thread| !thread.busy.is_empty() || thread.is_main)
        .collect();
    let busy = |thread: &Thread| thread.busy.iter().map(|(a, b)| b - a).sum::<i64>();
    threads.order_by_key(|thread| {
        (!thread.is_main, !thread.launches, std::cmp::Reverse(busy(thread)), thread.root)
    });
    let mut line = Line { points: Vec::new(), root: threads.first().map(|thread| thread.root) };
    let mut union: Vec<(i64, i64)> = Vec::new();
    for thread in &threads {
        let shared = overlap(&union, &thread.busy);
        if shared as f64 > OVERLAP * busy(thread) as f64 {
            if thread.launches {
                return Err(Reason::Threads);
            }
            continue;
        }
        union.extend(&thread.busy);
        union.sort_unstable();
        points(tree, thread.root, (&window, is_wanted), &mut line.points);
    }
    let ends = steps.spans().iter().enumerate();
    let mut step_ends: Vec<(i64, Point)> =
        ends.map(|(at, span)| (span.end.0, Point::Step(StepId(at as u32)))).collect();
    if step_ends.is_empty() {
        step_ends.push((window.end, Point::Step(StepId(0))));
    }
    line.points.extend(step_ends);
    // The list consists of a few sorted runs, with millions of points in total. The standard library's sort
    // detects sorted runs and merges them.
    line.points.sort_by_key(|&(time, _)| time);
    Ok(line)
}

fn thread(tree: &CallTree, root: CallId, window: &Range<i64>, is_main: bool) -> Thread {
    let mut busy = Vec::new();
    let mut launches = false;
    let mut reached = i64::MIN;
    for call in tree.subtree(root) {
        if !matches!(tree.kind(call), CallKind::Op | CallKind::Runtime) || tree.is_captured(call) {
            continue;
        }
        let (start, end) = span(tree, call);
        if start < window.start || start >= window.end {
            continue;
        }
        launches |= tree.kind(call) == CallKind::Runtime && tree.is_gpu_path(call);
        if end > reached {
            busy.push((start.max(reached), end));
            reached = end;
        }
    }
    Thread { root, busy, launches, is_main }
}

fn overlap(one: &[(i64, i64)], two: &[(i64, i64)]) -> i64 {
    let (mut a, mut b, mut sum) = (0, 0, 0);
    while a < one.len() && b < two.len() {
        let (start, end) = (one[a].0.max(two[b].0), one[a].1.min(two[b].1));
        sum += (end - start).max(0);
        if one[a].1 < two[b].1 { a += 1 } else { b += 1 }
    }
    sum
}

/// Adds the starts and ends of a thread's calls for which `is_wanted` is true, in order. Calls inside runtime
/// calls are skipped.
fn points(
    tree: &CallTree,
    root: CallId,
    (window, is_wanted): (&Range<i64>, &dyn Fn(CallId) -> bool),
    points: &mut Vec<(i64, Point)>,
) {
    let mut open: Vec<(CallId, i64)> = Vec::new();
    let mut reached = window.start;
    let mut leaf: Option<CallId> = None;
    let mut put = |time: i64, point: Point, points: &mut Vec<(i64, Point)>| {
        reached = reached.max(time);
        if reached <= window.end {
            points.push((reached, point));
        }
    };
    for call in tree.subtree(root).skip(1) {
        if leaf.is_some_and(|leaf| tree.is_below(call, leaf))
            || tree.kind(call) == CallKind::Gpu
            || tree.is_captured(call)
            || !is_wanted(call)
        {
            continue;
        }
        let (start, end) = span(tree, call);
        if start < window.start || start >= window.end {
            continue;
        }
        while let Some(&(above, ends)) = open.last() {
            if tree.is_below(call, above) {
                break;
            }
            put(ends, Point::End(above), points);
            open.pop();
        }
        put(start, Point::Start(call), points);
        if tree.kind(call) == CallKind::Runtime {
            put(end, Point::End(call), points);
            leaf = Some(call);
        } else {
            open.push((call, end));
        }
    }
    while let Some((above, ends)) = open.pop() {
        put(ends, Point::End(above), points);
    }
}
