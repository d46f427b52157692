//! Two threads → matches of their work in its flat order, whatever is above it.
//!
//! What a program does in which order changes less than how its calls nest: annotations, wrappers, frames
//! and levels of ops come and go, launches stay. So the *items* of two threads, their launches and their
//! ops without calls below, are aligned as two plain sequences first. The matches that every best alignment
//! contains are *anchors*. The alignment of the trees starts from them.
//!
//! ```text
//! trace1   mm  add  relu  mm               items    mm  add  relu  mm
//! trace2   block(mm  range(add  relu))  mm          mm  add  relu  mm     anchors: each with its like
//! ```

mod anchors;
mod items;
mod likeness;
mod table;

use super::plain::{Block, plain_alignment, shared_tokens};
use super::vocabulary::Vocabulary;
use crate::diff::keys::Key;
use crate::diff::outline::Outline;
use crate::diff::regions::is_region;
use crate::side::{PerSide, Side};
use crate::tree::{CallKind, CallTree};
use items::{Item, items};
use likeness::Likeness;
use rustc_hash::{FxHashMap, FxHashSet};
use table::Band;

pub(super) use anchors::Anchors;

/// Most cells of a table that is searched completely.
const ALL_CELLS: usize = 1 << 20;
/// Most cells of a corridor.
const MOST_CELLS: usize = 1 << 22;
/// Half the width of the narrowest and of the widest corridor.
const NARROWEST: usize = 8;
const WIDEST: usize = 96;
/// Equal items in a row from which the middle of the row is not searched.
const LONG_ROW: usize = 96;
/// Items at each end of such a row that are searched.
const ENDS: usize = 24;
/// Fewest matches in a row that are evidence if equal items are elsewhere.
const LEAST_RUN: usize = 3;

/// Finds the anchors between the paired threads.
pub(super) fn anchors(
    trees: PerSide<&CallTree>,
    outlines: PerSide<&Outline<'_>>,
    words: &Vocabulary,
    threads: &[(u32, u32)],
) -> Anchors {
    let mut pairs = Vec::new();
    let mut likeness = Likeness::new(trees, outlines, words);
    let regions = PerSide::from_fn(|side| region_keys(trees[side], outlines[side]));
    let lists = |side: Side, root: u32| {
        // What a region does is opposite what it replaced, unless both sides have such regions.
        let is_opaque = |call: u32| {
            let key = outlines[side].keys[call as usize];
            regions[side].contains(&key) && !regions[side.other()].contains(&key)
        };
        items(trees[side], outlines[side], root, is_opaque)
    };
    for &(a, b) in threads {
        let (x, y) = (outlines.baseline, outlines.candidate);
        let is_thread = x.kind(a) == CallKind::Thread && y.kind(b) == CallKind::Thread;
        // Trees that differ only in the names of kernels are aligned call by call.
        if is_thread && x.shape[a as usize] != y.shape[b as usize] {
            let lists = PerSide::new(lists(Side::Baseline, a), lists(Side::Candidate, b));
            let found = align(lists.as_ref().map(Vec::as_slice), &mut likeness);
            pairs.extend(certain(lists.as_ref().map(Vec::as_slice), found, &likeness));
        }
    }
    Anchors::new(outlines.map(Outline::len), &pairs)
}

fn region_keys(tree: &CallTree, outline: &Outline<'_>) -> FxHashSet<Key> {
    let regions = tree.calls().filter(|&call| is_region(tree, call));
    regions.map(|call| outline.keys[call.index()]).collect()
}

/// The matches of two lists of items that all best alignments have in common, by position.
fn align(lists: PerSide<&[Item]>, likeness: &mut Likeness<'_>) -> Vec<(usize, usize)> {
    let PerSide { baseline: a, candidate: b } = lists;
    let mut pairs = Vec::new();
    for (rows, columns, is_equal) in stretches(a, b) {
        let (from, to) = (rows.start, columns.start);
        let (a, b) = (&a[rows], &b[columns]);
        if is_equal {
            pairs.extend((0..a.len()).map(|at| (from + at, to + at)));
        } else if !a.is_empty() && !b.is_empty() {
            let found = table::firm_pairs(a, b, &band(a, b), likeness);
            pairs.extend(found.into_iter().map(|(i, j)| (from + i, to + j)));
        }
    }
    pairs
}

/// The matches that are evidence by themselves: equal names, no equal item elsewhere that fits better, and
/// a neighbour that is matched in the same way.
fn certain(
    lists: PerSide<&[Item]>,
    pairs: Vec<(usize, usize)>,
    likeness: &Likeness<'_>,
) -> Vec<(u32, u32)> {
    let mut counts: FxHashMap<u64, PerSide<u32>> = FxHashMap::default();
    for side in Side::BOTH {
        for item in lists[side] {
            counts.entry(item.token).or_default()[side] += 1;
        }
    }
    let has_equal = |side: Side, item: &Item| {
        let count = counts[&item.token];
        count[side.other()] >= count[side]
    };
    let PerSide { baseline: a, candidate: b } = lists;
    let is_evidence = |&(i, j): &(usize, usize)| {
        let (a, b) = (&a[i], &b[j]);
        let is_settled = has_equal(Side::Baseline, a) || has_equal(Side::Candidate, b);
        likeness.is_anchor(a, b) && (a.token == b.token || !is_settled)
    };
    let pairs: Vec<(usize, usize)> = pairs.into_iter().filter(is_evidence).collect();
    let runs = pairs.chunk_by(|one, two| (one.0 + 1, one.1 + 1) == *two);
    let is_unique = |(i, _): &(usize, usize)| counts[&a[*i].token] == PerSide::new(1, 1);
    let kept = runs.filter(|run| run.len() >= LEAST_RUN || run.iter().any(is_unique));
    kept.flatten().map(|&(i, j)| (a[i].call, b[j].call)).collect()
}

type Stretch = (std::ops::Range<usize>, std::ops::Range<usize>, bool);

/// Cuts two lists into stretches: the middles of long rows of equal items, and what lies between them.
fn stretches(a: &[Item], b: &[Item]) -> Vec<Stretch> {
    let tokens = |list: &[Item]| list.iter().map(|item| item.token).collect::<Vec<u64>>();
    let (mut one, mut two) = (tokens(a), tokens(b));
    let ahead = diagonals(&plain_alignment(&one, &two), a.len());
    one.reverse();
    two.reverse();
    // The same from the end: what both have in common is no matter of chance.
    let mut back = diagonals(&plain_alignment(&one, &two), a.len());
    back.reverse();
    let last = b.len() as i64 - a.len() as i64;
    let agree = |at: usize| {
        let one = ahead[at]?;
        back[at].is_some_and(|two| last - two == one).then_some(one)
    };
    let mut stretches: Vec<Stretch> = Vec::new();
    let mut from = (0, 0);
    let mut row = 0;
    while row < a.len() {
        let Some(diagonal) = agree(row) else {
            row += 1;
            continue;
        };
        let end = (row..a.len()).find(|&at| agree(at) != Some(diagonal)).unwrap_or(a.len());
        let columns = (row as i64 + diagonal) as usize..(end as i64 + diagonal) as usize;
        let rows = row..end;
        row = end;
        if rows.len() < LONG_ROW {
            continue;
        }
        let at_begin = rows.start == 0 && columns.start == 0;
        let at_end = rows.end == a.len() && columns.end == b.len();
        let skipped = [at_begin, at_end].map(|is_at| if is_at { 0 } else { ENDS });
        let middle = (
            rows.start + skipped[0]..rows.end - skipped[1],
            columns.start + skipped[0]..columns.end - skipped[1],
        );
        stretches.push((from.0..middle.0.start, from.1..middle.1.start, false));
        from = (middle.0.end, middle.1.end);
        stretches.push((middle.0, middle.1, true));
    }
    stretches.push((from.0..a.len(), from.1..b.len(), false));
    stretches
}

/// For each element of the first list, by how much its equal in the second list is further on.
fn diagonals(blocks: &[Block], length: usize) -> Vec<Option<i64>> {
    let mut diagonals = vec![None; length];
    for block in blocks.iter().filter(|block| block.equal) {
        let diagonal = block.b.start as i64 - block.a.start as i64;
        block.a.clone().for_each(|at| diagonals[at] = Some(diagonal));
    }
    diagonals
}

/// The cells of a table to search: all of them, or those around the path of a plain alignment.
fn band(a: &[Item], b: &[Item]) -> Band {
    if a.len().saturating_mul(b.len()) <= ALL_CELLS {
        return Band::all(a.len(), b.len());
    }
    let of = |token: fn(&Item) -> u64| {
        let [one, two] = [a, b].map(|list| list.iter().map(token).collect::<Vec<u64>>());
        let shared = shared_tokens(&one, &two);
        (shared, one, two)
    };
    let (exact, plain) = (of(|item| item.token), of(|item| u64::from(item.name.0)));
    let (_, one, two) = if 2 * exact.0 >= a.len().min(b.len()) { exact } else { plain };
    let half = (MOST_CELLS / (2 * (a.len() + b.len()))).clamp(NARROWEST, WIDEST);
    Band::around(&plain_alignment(&one, &two), a.len(), b.len(), half)
}
