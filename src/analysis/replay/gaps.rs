//! Says what the host does in each stretch of its timeline: which phase of the program it is in, and whether it waits for
//! something else than the GPU, such as the data loader.
//!
//! ```text
//! host     ├ op ┤     gap      ├ op ┤  gap  ├ op ┤
//! ranges        ├ DataLoader ┤
//!               └─ a wait ───┘host  └─ host ┘
//! ```

use super::parts::{Item, Point, span};
use super::recorded::Recorded;
use crate::analysis::pytorch::{PYTORCH, without_number};
use crate::diff::TraceDiff;
use crate::program::{Phase, Steps};
use crate::side::{PerSide, Side};
use crate::trace::{Category, EventId, ThreadId};
use crate::tree::{CallId, CallKind, CallTree};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A range that a program marked counts as a wait if recorded calls take at most 1/`EMPTY` of its time.
const EMPTY: i64 = 20;
/// How PyTorch's own ranges begin in which the host works on the step.
const OWN: [&str; 2] = ["ProfilerStep#", "Optimizer."];

/// What the host does before each item of its timeline.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    /// The phase of the time before each item.
    pub(super) phases: Vec<Phase>,
    /// The parts of host times during which the host waits: the item, the position of the range in the list of names,
    /// and the time in ns. Sorted by item.
    pub(super) waits: Vec<(u32, u16, i64)>,
}

/// A range on a thread during which the host waits: its start, its end and its name.
type Span = (i64, i64, String);

/// The ranges of each thread, sorted; they do not overlap.
type Spans = BTreeMap<ThreadId, Vec<Span>>;

/// The gaps of both sides, and the names of the ranges in which the host waits.
pub(super) fn gaps(diff: &TraceDiff, recorded: PerSide<&Recorded>) -> (PerSide<Gaps>, Vec<String>) {
    let marked = PerSide::from_fn(|side| marked(diff.tree(side)));
    let is_empty = empty_ranges(diff, &marked);
    let spans = PerSide::from_fn(|side| spans(diff.tree(side), &marked[side], &is_empty));
    let names = Side::BOTH.into_iter().flat_map(|side| spans[side].values().flatten());
    let names: BTreeSet<&str> = names.map(|(_, _, name)| name.as_str()).collect();
    let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    let of = |side: Side| {
        let phases = diff.program(side).phases();
        let phase = |item: &Item| match item.point {
            Point::Start(call) | Point::End(call) => phases.phase(call),
            Point::Step(_) => Phase::Unknown,
        };
        Gaps {
            phases: recorded[side].items.iter().map(phase).collect(),
            waits: waits(diff.tree(side), diff.steps(side), recorded[side], &spans[side], &names),
        }
    };
    (PerSide::from_fn(of), names)
}

fn waits(
    tree: &CallTree,
    steps: &Steps,
    recorded: &Recorded,
    spans: &Spans,
    names: &[String],
) -> Vec<(u32, u16, i64)> {
    let mut waits = Vec::new();
    if spans.is_empty() {
        return waits;
    }
    let main = steps.spans().first().map(|span| span.thread);
    let mut from = i64::MIN;
    for (at, item) in (0..).zip(&recorded.items) {
        let to = match item.point {
            Point::Start(call) => span(tree, call).0,
            Point::End(call) => span(tree, call).1,
            Point::Step(step) => steps
                .spans()
                .get(step.0 as usize)
                .map_or(from.saturating_add(item.time), |span| span.end.0),
        };
        let first = from.max(to - item.time);
        from = from.max(to);
        let event = item.owner.and_then(|call| tree.event(call));
        let thread = event.map(|event| tree.trace().thread_of(event)).or(main);
        let Some(spans) = thread.and_then(|thread| spans.get(&thread)) else { continue };
        let after = spans.partition_point(|&(_, end, _)| end <= first);
        let mut left = item.time;
        for (start, end, name) in spans[after..].iter().take_while(|&&(start, ..)| start < to) {
            let time = ((*end).min(to) - (*start).max(first)).min(left);
            if let Ok(name) = names.binary_search(name)
                && time > 0
            {
                waits.push((at, name as u16, time));
                left -= time;
            }
        }
    }
    waits
}

/// The events with which the program marked ranges.
fn marked(tree: &CallTree) -> Vec<EventId> {
    let trace = tree.trace();
    let is_mark = |&event: &EventId| trace.category(event) == Category::UserAnnotation;
    trace.events().filter(is_mark).collect()
}

/// The ranges in which the host waits. A known one counts where it overlaps another one.
fn spans(tree: &CallTree, marked: &[EventId], is_empty: &BTreeSet<String>) -> Spans {
    let trace = tree.trace();
    let mut found: BTreeMap<ThreadId, Vec<(bool, Span)>> = BTreeMap::new();
    for &event in marked {
        let name = without_number(trace.name(event));
        let known = PYTORCH.wait(name);
        if known.is_some() || is_empty.contains(name) {
            let what = known.map_or(name, |wait| wait.what.as_str());
            let span = (trace.start(event).0, trace.end(event).0, what.to_owned());
            found.entry(trace.thread_of(event)).or_default().push((known.is_none(), span));
        }
    }
    let mut known = FxHashMap::default();
    for call in tree.calls().filter(|&call| tree.kind(call) == CallKind::Frame) {
        let Some(event) = tree.event(call) else { continue };
        let wait = *known
            .entry(trace.name_id(event))
            .or_insert_with(|| PYTORCH.wait_in(trace.name(event)));
        if let Some(wait) = wait {
            let (start, end) = span(tree, call);
            found
                .entry(trace.thread_of(event))
                .or_default()
                .push((false, (start, end, wait.what.clone())));
        }
    }
    let disjoint = |mut spans: Vec<(bool, Span)>| {
        spans.sort_by_key(|&(is_unknown, (start, end, _))| (is_unknown, start, Reverse(end)));
        let mut taken: BTreeMap<i64, (i64, String)> = BTreeMap::new();
        for (_, (start, end, name)) in spans {
            let before = taken.range(..end).next_back();
            if before.is_none_or(|(_, &(until, _))| until <= start) && start < end {
                taken.insert(start, (end, name));
            }
        }
        taken.into_iter().map(|(start, (end, name))| (start, end, name)).collect()
    };
    found.into_iter().map(|(thread, spans)| (thread, disjoint(spans))).collect()
}

/// The names of the ranges, without numbers, during which almost no call was recorded on any thread, on either side.
fn empty_ranges(diff: &TraceDiff, marked: &PerSide<Vec<EventId>>) -> BTreeSet<String> {
    let mut times: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
    for side in Side::BOTH {
        let tree = diff.tree(side);
        let trace = tree.trace();
        let is_range =
            |event: &&EventId| !OWN.iter().any(|own| trace.name(**event).starts_with(own));
        let mut ranges = marked[side].iter().filter(is_range).copied().peekable();
        let busy = if ranges.peek().is_some() { busy_of(tree) } else { Vec::new() };
        for event in ranges {
            let (start, end) = (trace.start(event).0, trace.end(event).0);
            let after = busy.partition_point(|&(_, until)| until <= start);
            let inside = busy[after..].iter().take_while(|&&(from, _)| from < end);
            let inside: i64 = inside.map(|&(from, to)| to.min(end) - from.max(start)).sum();
            let sum = times.entry(without_number(trace.name(event))).or_default();
            *sum = (sum.0 + inside, sum.1 + end - start);
        }
    }
    let is_empty = |&(inside, all): &(i64, i64)| EMPTY * inside <= all;
    let empty = times.into_iter().filter(|(_, times)| is_empty(times));
    empty.map(|(name, _)| name.to_owned()).collect()
}

/// The times during which an op or a runtime call ran on some thread, in order.
fn busy_of(tree: &CallTree) -> Vec<(i64, i64)> {
    let is_call = |&call: &CallId| {
        matches!(tree.kind(call), CallKind::Op | CallKind::Runtime) && !tree.is_captured(call)
    };
    let mut spans: Vec<(i64, i64)> =
        tree.calls().filter(is_call).map(|call| span(tree, call)).collect();
    spans.sort_unstable();
    let mut busy: Vec<(i64, i64)> = Vec::new();
    for (start, end) in spans {
        match busy.last_mut() {
            Some((_, until)) if start <= *until => *until = end.max(*until),
            _ => busy.push((start, end)),
        }
    }
    busy
}
