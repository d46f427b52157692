//! Matches ranges that only one program marks with `record_function` annotations.
//!
//! ```text
//! trace1   a b c d            aligned as   a b c d
//! trace2   R(a S(b c)) d                   a b c d
//! ```
//! A range marked by only one program merely increases the depth of the calls inside it. The trees are aligned without
//! such ranges, so that no range is matched in place of a call inside it. After the alignment, a baseline range and a
//! candidate range that contain mostly the same matched calls count as one range with two names.

use super::outline::Outline;
use super::pairing::Pairing;
use super::passes::Pass;
use super::regions::is_region;
use super::relation::{NONE, Relation};
use super::weights::WRAPPERS;
use crate::side::{PerSide, Side};
use crate::tree::{CallId, CallKind, CallTree};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Two ranges count as the same range if their similarity is at least this many thousandths. The similarity is the
/// number of matched calls in both ranges, divided by the number of matched calls in at least one of them.
const SHARED: usize = 500;

/// For each side, in preorder: the ranges whose names do not occur on the opposite side.
pub(super) fn one_sided(
    trees: PerSide<&CallTree>,
    outlines: PerSide<&Outline<'_>>,
) -> PerSide<Vec<u32>> {
    let keys = outlines.map(|outline| outline.keys.iter().map(|key| key.0 as usize));
    let most = keys.baseline.clone().chain(keys.candidate.clone()).max().unwrap_or(0);
    let has_key = keys.map(|keys| {
        let mut has_key = vec![false; most + 1];
        keys.for_each(|key| has_key[key] = true);
        has_key
    });
    PerSide::from_fn(|side| {
        let (tree, outline) = (trees[side], outlines[side]);
        let is_one_sided =
            |&call: &u32| !has_key[side.other()][outline.keys[call as usize].0 as usize];
        let calls = (0..outline.len() as u32).filter(is_one_sided);
        calls.filter(|&call| is_range(tree, outline, call)).collect()
    })
}

/// Whether a call is a range: an op that contains other ops or frames and has neither arguments nor a namespace.
/// Backward nodes and compiled regions are not ranges.
fn is_range(tree: &CallTree, outline: &Outline<'_>, call: u32) -> bool {
    let name = tree.name(CallId(call));
    let is_node =
        || name.trim_end_matches(|letter: char| letter.is_ascii_digit()).ends_with("Backward");
    outline.kind(call) == CallKind::Op
        && outline.arguments[call as usize] == 0
        && !name.contains("::")
        && !is_node()
        && !is_region(tree, CallId(call))
        && outline.each_child(call).any(|child| outline.is_op_or_frame(child))
}

/// Matches the ranges of both sides that contain mostly the same matched calls.
pub(super) fn pair(
    trees: PerSide<&CallTree>,
    outlines: PerSide<&Outline<'_>>,
    pairing: &mut Pairing,
) {
    let ranges = PerSide::from_fn(|side| {
        let is_range = |&call: &u32| {
            let outline = outlines[side];
            outline.is_hidden(call)
                && outline.kind(call) == CallKind::Op
                && !trees[side].is_captured(CallId(call))
        };
        (0..outlines[side].len() as u32).filter(is_range).collect::<Vec<u32>>()
    });
    let ranges = ranges.as_ref().map(Vec::as_slice);
    if ranges.baseline.is_empty() || ranges.candidate.is_empty() {
        return;
    }
    let around = PerSide::from_fn(|side| ranges_around(trees[side], ranges[side], pairing, side));
    let mut contents = ranges.map(|ranges| vec![0_usize; ranges.len()]);
    let mut shared: FxHashMap<(usize, usize), usize> = FxHashMap::default();
    for side in Side::BOTH {
        for &range in around[side].values().flatten() {
            contents[side][range] += 1;
        }
    }
    for (a, mine) in &around.baseline {
        let Some(theirs) = around.candidate.get(&pairing.counterparts.baseline[*a as usize]) else {
            continue;
        };
        for &one in mine {
            for &two in theirs {
                *shared.entry((one, two)).or_default() += 1;
            }
        }
    }
    let mut found: Vec<_> = shared
        .into_iter()
        .filter_map(|((one, two), shared)| {
            let all = contents.baseline[one] + contents.candidate[two] - shared;
            let share = shared * 1000 / all;
            (share >= SHARED).then_some((Reverse(share), one, two))
        })
        .collect();
    found.sort_unstable();
    for (_, one, two) in found {
        let (a, b) = (ranges.baseline[one], ranges.candidate[two]);
        let is_free = |side: Side, call: u32| pairing.counterparts[side][call as usize] == NONE;
        if is_free(Side::Baseline, a) && is_free(Side::Candidate, b) {
            pairing.link(a, b, (Relation::Renamed, Pass::Ranges));
        }
    }
}

/// For each matched call directly inside a range, the positions of the ranges that enclose the call, innermost first.
fn ranges_around(
    tree: &CallTree,
    ranges: &[u32],
    pairing: &Pairing,
    side: Side,
) -> BTreeMap<u32, Vec<usize>> {
    let position: FxHashMap<u32, usize> = ranges.iter().copied().zip(0..).collect();
    let mut around = BTreeMap::new();
    let mut open: Vec<usize> = Vec::new();
    for &range in ranges {
        let at = position[&range];
        open.retain(|&outer| tree.end(CallId(ranges[outer])).0 > range);
        open.push(at);
        let calls = tree.children(CallId(range)).map(|call| call.0);
        let inside = calls.filter(|call| !position.contains_key(call));
        for call in inside.filter(|&call| pairing.counterparts[side][call as usize] != NONE) {
            around.insert(call, open.iter().rev().take(WRAPPERS).copied().collect());
        }
    }
    around
}
