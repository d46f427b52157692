//! Finds where the host spends more or less time between recorded calls: the op before which most of the difference
//! occurs.
//!
//! ```text
//! baseline   ─ aten::mul ─ aten::relu ───────── step
//! candidate  ─ aten::mul ──────────── aten::relu step
//!                        └─ longer ─┘ before aten::relu
//! ```
//! Without Python stacks, a sleep or slow code between two ops is not recorded as a call. However, the op after the gap
//! shows where the time was spent.

use crate::analysis::causes::Scale;
use crate::analysis::steps::StepPairs;
use crate::diff::{MergedId, TraceDiff};
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::CallId;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The name of the op whose preceding gaps contain at least half of the difference in the time between calls; `None` if
/// the difference is spread over several ops. `threads` contains the difference on each thread, candidate − baseline,
/// in the unit of `scale`.
pub(super) fn place(
    diff: &TraceDiff,
    compared: &StepPairs,
    scale: Scale,
    threads: &BTreeMap<MergedId, i128>,
) -> Option<String> {
    let difference: i128 = threads.values().sum();
    // Only the thread with the largest difference is examined, because most other threads are idle between
    // calls.
    let thread = |(_, time): &(&MergedId, &i128)| **time * difference.signum();
    let (&thread, _) = threads.iter().max_by_key(thread)?;
    let mut gaps: BTreeMap<&str, PerSide<Nanos>> = BTreeMap::new();
    for (side, call) in diff.merged().node(thread).calls() {
        add_thread(diff, compared, side, call, &mut gaps);
    }
    let gaps =
        gaps.into_iter().map(|(name, gap)| (scale.difference(gap) * difference.signum(), name));
    let (most, name) = gaps.max_by_key(|&(gap, name)| (gap, Reverse(name)))?;
    (2 * most >= difference.abs() && most > 0).then(|| name.to_owned())
}

/// Adds up the gaps before the outermost calls on a thread, by call name. Only matched calls are considered.
fn add_thread<'a>(
    diff: &'a TraceDiff,
    compared: &'a StepPairs,
    side: Side,
    thread: CallId,
    gaps: &mut BTreeMap<&'a str, PerSide<Nanos>>,
) {
    let tree = diff.tree(side);
    let (trace, steps) = (tree.trace(), diff.steps(side));
    let mut end = None;
    for call in tree.children(thread) {
        let Some(event) = tree.event(call) else { continue };
        let step = steps.step(call).filter(|_| compared.is_compared(diff, side, call));
        if let Some(step) = step.filter(|_| diff.partner(side, call).is_some()) {
            let begin = steps.span(step).start;
            let from = end.map_or(begin, |end: Nanos| end.max(begin));
            let gap = (trace.start(event) - from).max(Nanos::ZERO);
            gaps.entry(diff.plain_name(side, call)).or_default()[side] += gap;
        }
        end = end.max(Some(trace.end(event)));
    }
}
