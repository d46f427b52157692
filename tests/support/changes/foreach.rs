//! Replaces optimizer ops with multi-tensor ops, as `foreach=True` does.
//!
//! ```text
//! mul_ addcmul_ sqrt  mul_ addcmul_ sqrt  …   →   _foreach_mul_ _foreach_addcmul_ _foreach_sqrt
//! ```

use super::compiling::again;
use super::{Forest, Kind, Recording, SplitMix};
use crate::support::recording::Event;
use std::collections::BTreeSet;

/// In a loop, a sequence of ops repeats at least [`REPEATS`] times. A sequence has at most [`PERIOD`] ops.
const REPEATS: usize = 4;
const PERIOD: usize = 16;

/// A sequence of calls that repeats. Each member of the sequence is an op, or a frame that calls
/// one op.
struct Loop {
    members: Vec<usize>,
    period: usize,
}

/// Replaces each loop in an optimizer with multi-tensor ops, one for each op in the loop's sequence. A multi-tensor op
/// has the same kind of launch as the first op that it replaces. Its kernel takes as long as the kernels of all
/// replaced ops together. If no optimizer has a loop, loops outside of optimizers are replaced instead.
///
/// The replaced ops, their launches and their kernels have no counterparts, because one
/// multi-tensor kernel does the work of all replaced kernels. Frames without ops are kept. Returns
/// `None` if no sequence of ops repeats [`REPEATS`] times.
pub(super) fn optimizer(recording: &Recording, random: &mut SplitMix) -> Option<Recording> {
    let events = &recording.events;
    let forest = Forest::of(events);
    let in_optimizer = optimizers(events, &forest);
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    for (parent, list) in forest.sibling_lists() {
        // If a multi-tensor op has no fast path, it calls single-tensor ops. These single-tensor ops must not be
        // replaced.
        if parent.is_some_and(|parent| events[parent].name.contains("_foreach_")) {
            continue;
        }
        for part in list.chunk_by(|&one, &two| in_optimizer[one] == in_optimizer[two]) {
            if in_optimizer[part[0]] {
                inside.extend(loops(events, &forest, part, PERIOD))
            } else {
                outside.extend(loops(events, &forest, part, 1))
            }
        }
    }
    if inside.is_empty() {
        let name = |run: &Loop| ops_in(events, &forest, run.members[0]);
        let names: BTreeSet<&str> = outside.iter().filter_map(name).collect();
        let chosen = *random.pick(&names.into_iter().collect::<Vec<_>>())?;
        inside = outside.into_iter().filter(|run| name(run) == Some(chosen)).collect();
    }
    let replaced = replaced(&forest, &inside);
    // A loop inside a replaced op is removed together with that op.
    let above = |run: &Loop| forest.parents[run.members[0]];
    inside.retain(|run| above(run).is_none_or(|parent| !replaced[parent]));
    let mut id = recording.free_correlation();
    let mut changed = recording.clone();
    changed.remove(&replaced);
    for run in &inside {
        changed.events.extend(multi_tensor_ops(events, &forest, run, &mut id));
    }
    Some(changed)
}

/// Marks the members of loops, and all calls below these members.
fn replaced(forest: &Forest, loops: &[Loop]) -> Vec<bool> {
    let mut marked = vec![false; forest.parents.len()];
    let below = loops.iter().flat_map(|run| &run.members).flat_map(|&at| forest.subtree(at));
    below.for_each(|at| marked[at] = true);
    marked
}

/// For each event, whether it belongs to an optimizer. An event belongs to an optimizer if it is below an optimizer
/// call, or if it is on the optimizer's thread during the optimizer's annotation.
fn optimizers(events: &[Event], forest: &Forest) -> Vec<bool> {
    let is_step =
        |event: &&Event| event.kind == Kind::Annotation && event.name.starts_with("Optimizer.step");
    let steps: Vec<&Event> = events.iter().filter(is_step).collect();
    let during = |event: &Event| {
        let inside = |step: &&&Event| step.start <= event.start && event.end <= step.end;
        steps.iter().filter(inside).any(|step| step.lane == event.lane)
    };
    let mut found = vec![false; events.len()];
    for &at in &forest.preorder {
        let name = &events[at].name;
        let named = name.starts_with("Optimizer.step") || name.contains("torch/optim/");
        let above = forest.parents[at].is_some_and(|parent| found[parent]);
        found[at] = above || named || during(&events[at]);
    }
    found
}

/// The loops in a list of siblings. A loop repeats a sequence of at most `longest` ops. Siblings
/// without ops are ignored.
fn loops(events: &[Event], forest: &Forest, list: &[usize], longest: usize) -> Vec<Loop> {
    let ops: Vec<(usize, Option<&str>)> = list
        .iter()
        .filter_map(|&at| Some((at, ops_in(events, forest, at)?)))
        .map(|(at, name)| (at, (!name.is_empty()).then_some(name)))
        .collect();
    let mut found = Vec::new();
    let mut first = 0;
    while first < ops.len() {
        let repeats = |period: usize| {
            let same = |at: &usize| ops[*at].1.is_some() && ops[*at].1 == ops[*at - period].1;
            let sequence = ops[first..].iter().take(period).all(|(_, name)| name.is_some());
            let more = (first + period..ops.len()).take_while(same).count();
            if sequence { 1 + more / period } else { 0 }
        };
        let period = (1..=longest).find(|&period| repeats(period) >= REPEATS);
        let length = period.map_or(0, |period| period * repeats(period));
        let members = ops[first..first + length].iter().map(|(at, _)| *at).collect();
        found.extend(period.map(|period| Loop { members, period }));
        first += length.max(1);
    }
    found
}

/// The name of the outermost op at or below a call. The name is empty if several ops are outermost; the result is
/// `None` if there are no ops.
fn ops_in<'a>(events: &'a [Event], forest: &Forest, at: usize) -> Option<&'a str> {
    if events[at].kind == Kind::Op {
        return Some(&events[at].name);
    }
    let mut below = forest.children[at].iter().filter_map(|&child| ops_in(events, forest, child));
    let first = below.next()?;
    Some(if below.next().is_some() { "" } else { first })
}

/// The multi-tensor ops that replace a loop, with their launches and kernels. Each multi-tensor op is at the position
/// of the first op that it replaces.
fn multi_tensor_ops(events: &[Event], forest: &Forest, run: &Loop, id: &mut i64) -> Vec<Event> {
    let mut made = Vec::new();
    let mut free = i64::MIN;
    for (at, &first) in run.members.iter().enumerate().take(run.period) {
        let below = forest.subtree(first);
        let Some(&op) = below.iter().find(|&&at| events[at].kind == Kind::Op) else { continue };
        let (space, stem) = events[op].name.rsplit_once("::").unwrap_or(("aten", &events[op].name));
        let span = (events[first].start, events[first].end);
        made.push(again(&events[op], &format!("{space}::_foreach_{stem}"), span));
        let launches: Vec<usize> =
            below.into_iter().filter(|&at| events[at].kind == Kind::Runtime).collect();
        let kernels = launches.iter().filter(|&&at| !forest.children[at].is_empty()).count();
        let all = run.members.iter().skip(at).step_by(run.period);
        let gpu: Vec<usize> = all
            .flat_map(|&at| forest.subtree(at))
            .filter(|&at| events[at].kind == Kind::Gpu)
            .collect();
        let work: i64 = gpu.iter().map(|&at| events[at].end - events[at].start).sum();
        let op = made.len() - 1;
        made[op].replaces = gpu.iter().filter_map(|&at| events[at].origin).collect();
        for &launch in &launches {
            let call = (events[launch].start, events[launch].end);
            let call = again(&events[launch], &events[launch].name, call);
            let Some(&kernel) = forest.children[launch].first() else {
                made.push(call);
                continue;
            };
            let start = events[kernel].start.max(free);
            free = start + work / kernels as i64;
            let name = format!("void at::native::multi_tensor_apply_kernel<{stem}>");
            made.push(call.correlated(*id));
            made.push(again(&events[kernel], &name, (start, free)).correlated(*id));
            *id += 1;
        }
    }
    made
}
