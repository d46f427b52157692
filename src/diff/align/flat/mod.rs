//! Two threads → matches of their work in its flat order, whatever is above it.
//!
//! Annotations, wrappers and levels of ops come and go; the work that they contain stays, in the same order.
//! So the *items* of two threads, which are their launches and their ops without calls below, are aligned as
//! two plain sequences before the trees are. Where these sequences agree, their matches are *anchors*, from
//! which the alignment of the trees starts.
//!
//! ```text
//! trace1   mm  add  relu  mm               items    mm  add  relu  mm
//! trace2   block(mm  range(add  relu))  mm          mm  add  relu  mm     anchors: each with its like
//! ```

mod anchors;
mod items;

use super::lcs::longest_common;
use crate::diff::keys::Key;
use crate::diff::outline::Outline;
use crate::diff::regions::is_region;
use crate::diff::weights::{ANCHORS_IN_A_ROW, ANCHORS_LEAST};
use crate::side::{PerSide, Side};
use crate::tree::{CallKind, CallTree};
use items::{Item, items};
use rustc_hash::FxHashSet;

pub(super) use anchors::Anchors;

/// Finds the anchors between the paired threads.
pub(super) fn anchors(
    trees: PerSide<&CallTree>,
    outlines: PerSide<&Outline<'_>>,
    threads: &[(u32, u32)],
) -> Anchors {
    let regions = PerSide::from_fn(|side| region_keys(trees[side], outlines[side]));
    let items_below = |side: Side, root: u32| {
        // What a region does is opposite what it replaced, unless both sides have such regions.
        let is_opaque = |call: u32| {
            let key = outlines[side].keys[call as usize];
            regions[side].contains(&key) && !regions[side.other()].contains(&key)
        };
        items(trees[side], outlines[side], root, is_opaque)
    };
    let mut pairs = Vec::new();
    for &(a, b) in threads {
        let (x, y) = (outlines.baseline, outlines.candidate);
        let is_thread = x.kind(a) == CallKind::Thread && y.kind(b) == CallKind::Thread;
        // Trees that differ only in the names of kernels are aligned call by call.
        if is_thread && x.shape[a as usize] != y.shape[b as usize] {
            let (one, two) = (items_below(Side::Baseline, a), items_below(Side::Candidate, b));
            pairs.extend(agreed(&one, &two).map(|(i, j)| (one[i].call, two[j].call)));
        }
    }
    Anchors::new(outlines.map(Outline::len), &pairs)
}

fn region_keys(tree: &CallTree, outline: &Outline<'_>) -> FxHashSet<Key> {
    let regions = tree.calls().filter(|&call| is_region(tree, call));
    regions.map(|call| outline.keys[call.index()]).collect()
}

/// Rows of equal items that do not depend on chance: a longest common subsequence contains them, found from
/// the beginning and found from the end. None if the two lists are too unlike for their order to be evidence.
fn agreed(one: &[Item], two: &[Item]) -> impl Iterator<Item = (usize, usize)> + use<> {
    let mut tokens =
        [one, two].map(|list| list.iter().map(|item| item.token).collect::<Vec<u64>>());
    let ahead = longest_common(&tokens[0], &tokens[1]).unwrap_or_default();
    tokens.iter_mut().for_each(|list| list.reverse());
    let back = longest_common(&tokens[0], &tokens[1]).unwrap_or_default();
    let back = back.into_iter().map(|(i, j)| (one.len() - 1 - i, two.len() - 1 - j));
    let back: FxHashSet<(usize, usize)> = back.collect();
    let shorter = one.len().min(two.len());
    let is_alike = ahead.len() as f64 >= ANCHORS_LEAST * shorter as f64;
    let both: Vec<(usize, usize)> =
        ahead.into_iter().filter(|pair| is_alike && back.contains(pair)).collect();
    let rows = both.chunk_by(|one, two| (one.0 + 1, one.1 + 1) == *two);
    let rows = rows.filter(|row| row.len() >= ANCHORS_IN_A_ROW);
    rows.flatten().copied().collect::<Vec<_>>().into_iter()
}
