//! Finds runs of siblings that look like the children of a call in the opposite list. The alignment
//! treats a run as one element.
//!
//! ```text
//! trace1   step(conv bn relu …)  step(conv bn relu …)     one step lost its annotation:
//! trace2   step(conv bn relu …)  conv bn relu …           its contents are aligned opposite the step
//! ```
//!
//! If a wrapper is missing on one side, its former children are siblings in the list on that side. None of them has
//! enough tokens in common with the wrapper to be matched with it. Among similar siblings, the run of these children
//! must therefore be treated as one element.

use crate::diff::bags::{Bag, Bags};
use crate::diff::keys::Key;
use crate::diff::outline::Outline;
use crate::diff::weights::{LEAST_RUN, RUNS};
use crate::side::{PerSide, Side};
use rustc_hash::FxHashSet;
use std::ops::Range;

/// Splits two lists of siblings into the elements to align, as ranges of the lists.
pub(super) fn elements(
    outlines: PerSide<&Outline<'_>>,
    bags: &mut Bags<'_>,
    lists: PerSide<&[u32]>,
) -> PerSide<Vec<Range<usize>>> {
    PerSide::from_fn(|side| {
        let mut elements = Vec::with_capacity(lists[side].len());
        let mut from = 0;
        for run in lost_contents(outlines, bags, lists, side) {
            elements.extend((from..run.start).map(|at| at..at + 1));
            from = run.end;
            elements.push(run);
        }
        elements.extend((from..lists[side].len()).map(|at| at..at + 1));
        elements
    })
}

/// The runs in one list that look like the children of a call in the opposite list.
fn lost_contents(
    outlines: PerSide<&Outline<'_>>,
    bags: &mut Bags<'_>,
    lists: PerSide<&[u32]>,
    side: Side,
) -> Vec<Range<usize>> {
    if lists[side].len() < LEAST_RUN {
        return Vec::new();
    }
    let other = side.other();
    let key = |side: Side, call: u32| outlines[side].keys[call as usize];
    let known: FxHashSet<Key> = lists[other].iter().map(|&call| key(other, call)).collect();
    let mut runs = Vec::new();
    let mut from = 0;
    for run in lists[side]
        .chunk_by(|&a, &b| known.contains(&key(side, a)) == known.contains(&key(side, b)))
    {
        if run.len() >= LEAST_RUN && !known.contains(&key(side, run[0])) {
            runs.push(from..from + run.len());
        }
        from += run.len();
    }
    runs.truncate(RUNS);
    runs.retain(|run| {
        let inside = bags.of_all(side, &lists[side][run.clone()]);
        lists[other].iter().any(|&call| contains_most(outlines[other], bags, (other, call), inside))
    });
    runs
}

/// Whether at least half of the tokens in a run of siblings are also in a call, at any depth. The run may be nested two
/// levels down in the call, for example if a step and the loader inside the step are both missing on the opposite side.
fn contains_most(
    outline: &Outline<'_>,
    bags: &mut Bags<'_>,
    (side, call): (Side, u32),
    run: Bag,
) -> bool {
    if 2 * (outline.weight(call) - outline.own_weight(call)) < run.size {
        return false;
    }
    let below = bags.below(side, call);
    2 * bags.common(below, run) >= run.size
}
