//! Siblings that look like the children of a call of the other list: one element of the alignment.
//!
//! ```text
//! trace1  step(conv bn relu …)  step(conv bn relu …)     one step lost its annotation: what it held
//! trace2  step(conv bn relu …)  conv bn relu …           stands opposite the step as a whole
//! ```
//!
//! Call by call, what a lost wrapper held has too little in common with the wrapper to hold its
//! place in a row of like siblings.

use crate::diff::keys::Key;
use crate::diff::outline::Outline;
use crate::side::{PerSide, Side};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

/// Fewest siblings that are taken together.
const LEAST: usize = 8;
/// Runs that are looked at, for each list.
const RUNS: usize = 64;

/// The elements of two lists of siblings, as ranges of the lists.
pub(super) fn elements(
    outlines: PerSide<&Outline>,
    lists: PerSide<&[u32]>,
) -> PerSide<Vec<Range<usize>>> {
    PerSide::from_fn(|side| {
        let mut elements = Vec::with_capacity(lists[side].len());
        let mut from = 0;
        for run in lost_contents(outlines, lists, side) {
            elements.extend((from..run.start).map(|at| at..at + 1));
            from = run.end;
            elements.push(run);
        }
        elements.extend((from..lists[side].len()).map(|at| at..at + 1));
        elements
    })
}

/// The runs of one list that look like the children of a call of the other list.
fn lost_contents(
    outlines: PerSide<&Outline>,
    lists: PerSide<&[u32]>,
    side: Side,
) -> Vec<Range<usize>> {
    if lists[side].len() < LEAST {
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
        if run.len() >= LEAST && !known.contains(&key(side, run[0])) {
            runs.push(from..from + run.len());
        }
        from += run.len();
    }
    runs.truncate(RUNS);
    runs.retain(|run| {
        let mut inside: FxHashMap<Key, usize> = FxHashMap::default();
        for &call in &lists[side][run.clone()] {
            *inside.entry(key(side, call)).or_default() += 1;
        }
        lists[other].iter().any(|&call| holds_most(outlines[other], call, &inside, run.len()))
    });
    runs
}

/// Whether at least half of a run have a partner by key among the children of a call.
fn holds_most(outline: &Outline, call: u32, run: &FxHashMap<Key, usize>, length: usize) -> bool {
    if outline.end(call) - call <= length as u32 / 2 {
        return false;
    }
    let mut found: FxHashMap<Key, usize> = FxHashMap::default();
    for child in outline.each_child(call) {
        *found.entry(outline.keys[child as usize]).or_default() += 1;
    }
    let shared: usize =
        run.iter().map(|(key, &count)| count.min(found.get(key).copied().unwrap_or(0))).sum();
    2 * shared >= length
}
