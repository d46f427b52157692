//! Finds where the host spends more or less time between recorded calls: the op before which most of the difference
//! occurs.
//!
//! ```text
//! baseline   ─ aten::mul ─ aten::relu ───────── step
//! candidate  ─ aten::mul ──────────── aten::relu step
//!                        └─ longer ─┘ before aten::relu
//! ```
//! Without Python stacks, a sleep or slow code between two ops is not recorded as a call. However, the op after the gap
//! shows where the time was spent; a range that the program or PyTorch marked around the gap shows it better.

use super::scale::Scale;
use crate::analysis::pytorch::{PYTORCH, without_number};
use crate::analysis::steps::StepPairs;
use crate::diff::{MergedId, TraceDiff};
use crate::side::{PerSide, Side};
use crate::trace::{Category, Nanos, ThreadId};
use crate::tree::{CallId, CallTree};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Number of ranges before the end of a gap that may contain it: ranges of one thread rarely nest deeper.
const NEAREST: usize = 64;

/// Where the host spends more or less time between recorded calls.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Place {
    /// The op whose preceding gaps contain at least half of the difference.
    pub(super) before: Option<String>,
    /// The innermost range whose gaps contain at least half of the difference.
    pub(super) range: Option<RangeGaps>,
}

/// The time between recorded calls inside a range that the program or PyTorch marked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(hidden)]
pub struct RangeGaps {
    /// The name of the range, without a number at its end.
    pub name: String,
    /// The time in the compared steps on each side.
    pub time: PerSide<Nanos>,
    /// The part of the difference per step in the time between calls that is inside the range, candidate − baseline.
    pub difference: Nanos,
}

impl RangeGaps {
    /// What the host waits for in this range, such as `the data loader`; `None` if the range is not known.
    pub fn waits_for(&self) -> Option<&'static str> {
        PYTORCH.wait(&self.name).map(|wait| wait.what.as_str())
    }

    /// What to try; empty if the range is not known.
    pub fn advice(&self) -> &'static str {
        PYTORCH.wait(&self.name).map_or("", |wait| wait.advice.as_str())
    }
}

/// Finds the op and the range that contain at least half of the difference in the time between calls; neither if the
/// difference is spread. `threads` contains the difference on each thread, candidate − baseline, in the unit of
/// `scale`.
pub(super) fn place(
    diff: &TraceDiff,
    compared: &StepPairs,
    scale: Scale,
    threads: &BTreeMap<MergedId, i128>,
) -> Place {
    let difference: i128 = threads.values().sum();
    // Only the thread with the largest difference is examined, because most other threads are idle between
    // calls.
    let thread = |(_, time): &(&MergedId, &i128)| **time * difference.signum();
    let Some((&thread, _)) = threads.iter().max_by_key(thread) else { return Place::default() };
    let mut gaps: BTreeMap<&str, PerSide<Nanos>> = BTreeMap::new();
    let mut ranges: BTreeMap<String, PerSide<Nanos>> = BTreeMap::new();
    for (side, call) in diff.merged().node(thread).calls() {
        let tree = diff.tree(side);
        let marked = tree.thread(call).map(|thread| marked(tree, thread)).unwrap_or_default();
        add_thread(diff, compared, side, call, &mut |name, from, to| {
            gaps.entry(name).or_default()[side] += (to - from).max(Nanos::ZERO);
            for (range, time) in innermost(&marked, from, to) {
                ranges.entry(range.to_owned()).or_default()[side] += time;
            }
        });
    }
    let most = |gap: PerSide<Nanos>| {
        let most = scale.difference(gap) * difference.signum();
        (2 * most >= difference.abs() && most > 0).then_some(most)
    };
    let gaps = gaps.into_iter().filter_map(|(name, gap)| Some((most(gap)?, Reverse(name))));
    let ranges =
        ranges.into_iter().filter_map(|(name, gap)| Some((most(gap)?, Reverse(name), gap)));
    Place {
        before: gaps.max().map(|(_, Reverse(name))| name.to_owned()),
        range: ranges.max_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1))).map(
            |(most, Reverse(name), time)| {
                let part = most.min(difference.abs()) * difference.signum();
                RangeGaps { name, time, difference: scale.round(part) }
            },
        ),
    }
}

/// A range that was marked on a thread, without steps: its span and its name.
type Marked<'t> = (Nanos, Nanos, &'t str);

/// The ranges that were marked on a thread, sorted by start, enclosing ranges first.
fn marked(tree: &CallTree, thread: ThreadId) -> Vec<Marked<'_>> {
    let trace = tree.trace();
    let is_range = |&event: &crate::trace::EventId| {
        trace.category(event) == Category::UserAnnotation
            && trace.thread_of(event) == thread
            && !trace.name(event).starts_with("ProfilerStep#")
    };
    let ranges = trace.events().filter(is_range);
    let mut ranges: Vec<Marked<'_>> =
        ranges.map(|event| (trace.start(event), trace.end(event), trace.name(event))).collect();
    ranges.sort_by_key(|&(start, end, name)| (start, Reverse(end), name));
    ranges
}

/// The parts of a gap that lie in ranges, each with the name of the innermost range.
fn innermost<'t>(marked: &[Marked<'t>], from: Nanos, to: Nanos) -> Vec<(&'t str, Nanos)> {
    let until = marked.partition_point(|&(start, ..)| start < to);
    // Ranges of a thread nest, so going back from the last one, each part of the gap is met first by its innermost range.
    let mut found: Vec<(&str, Nanos)> = Vec::new();
    let mut taken: Vec<(Nanos, Nanos)> = Vec::new();
    for &(start, end, name) in marked[..until].iter().rev().take(NEAREST) {
        let (start, end) = (start.max(from), end.min(to));
        if start >= end {
            continue;
        }
        let inside = |&(a, b): &(Nanos, Nanos)| (b.min(end) - a.max(start)).max(Nanos::ZERO);
        let covered: Nanos = taken.iter().map(inside).sum();
        found.push((without_number(name), end - start - covered));
        taken.retain(|&(a, b)| a < start || b > end);
        taken.push((start, end));
    }
    found
}

/// Passes on the gaps before the outermost calls on a thread, with the names of these calls. Only matched calls are
/// considered.
fn add_thread<'a>(
    diff: &'a TraceDiff,
    compared: &'a StepPairs,
    side: Side,
    thread: CallId,
    add: &mut dyn FnMut(&'a str, Nanos, Nanos),
) {
    let tree = diff.tree(side);
    let (trace, steps) = (tree.trace(), diff.steps(side));
    let mut end = None;
    for call in tree.children(thread) {
        let Some(event) = tree.event(call) else { continue };
        let step = steps.step(call).filter(|_| compared.is_compared(diff, side, call));
        if let Some(step) = step.filter(|_| diff.counterpart(side, call).is_some()) {
            let begin = steps.span(step).start;
            let from = end.map_or(begin, |end: Nanos| end.max(begin));
            add(diff.plain_name(side, call), from, trace.start(event));
        }
        end = end.max(Some(trace.end(event)));
    }
}

#[cfg(test)]
mod tests {
    use super::innermost;
    use crate::analysis::pytorch::without_number;
    use crate::trace::Nanos;

    #[test]
    fn a_gap_is_divided_among_the_innermost_ranges() {
        let at = |start, end, name| (Nanos(start), Nanos(end), name);
        let marked =
            [at(0, 100, "outer"), at(10, 40, "load"), at(50, 60, "log"), at(200, 300, "later")];
        let found = innermost(&marked, Nanos(5), Nanos(90));
        let time =
            |name: &str| found.iter().find(|(range, _)| *range == name).map(|(_, time)| time.0);
        assert_eq!([time("log"), time("load"), time("outer")], [Some(10), Some(30), Some(45)]);
        assert_eq!(time("later"), None);
        assert_eq!(innermost(&marked, Nanos(110), Nanos(120)), []);
    }

    #[test]
    fn the_calls_of_a_range_have_one_name() {
        assert_eq!(without_number("load#3"), "load");
        assert_eq!(
            without_number("enumerate(DataLoader)#_Iter.__next__"),
            "enumerate(DataLoader)#_Iter.__next__"
        );
    }
}
