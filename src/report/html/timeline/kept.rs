//! Chooses which calls of the step the timeline keeps.

use super::places::Place;
use super::shown::Shown;
use crate::analysis::Analysis;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::{CallId, CallKind, CallTree};

/// Calls that spend at least this percentage of their time in one child are not shown.
const PASSED_ON: i64 = 95;

/// The calls that ran in the step on each side, in order. A call that spends nearly all its time in one child is
/// omitted, because it would look almost the same as the child. The nodes of `places` are always kept.
pub(super) fn calls(analysis: &Analysis, shown: &Shown, places: &[Place]) -> PerSide<Vec<CallId>> {
    let mut calls = PerSide::from_fn(|side| shown.ran(analysis, side));
    drop_passing(analysis, &mut calls, places);
    calls
}

/// Drops calls that spend nearly all their time in one child. A matched call is dropped only if its counterpart also
/// spends nearly all its time in one child. The nodes of `places` are kept.
fn drop_passing(analysis: &Analysis, calls: &mut PerSide<Vec<CallId>>, places: &[Place]) {
    let merged = analysis.diff().merged();
    let mut keeps = vec![false; merged.len()];
    places.iter().for_each(|place| keeps[place.node] = true);
    for side in Side::BOTH {
        let passes = passing(analysis.tree(side), &calls[side]);
        for (&call, _) in calls[side].iter().zip(passes).filter(|(_, passes)| !passes) {
            keeps[merged.of(side, call).index()] = true;
        }
    }
    for side in Side::BOTH {
        calls[side].retain(|&call| keeps[merged.of(side, call).index()]);
    }
}

/// For each call in `calls`, whether it is a host call that spends nearly all its time in one child that is also in
/// `calls`. The list must be in preorder.
fn passing(tree: &CallTree, calls: &[CallId]) -> Vec<bool> {
    let mut passes = vec![false; calls.len()];
    // Indices of the calls that have not ended yet; each call is nested in the previous call.
    let mut open: Vec<usize> = Vec::new();
    for (at, &call) in calls.iter().enumerate() {
        while open.last().is_some_and(|&above| tree.end(calls[above]) <= call) {
            open.pop();
        }
        if tree.kind(call) == CallKind::Gpu {
            continue;
        }
        let caller = open.last().filter(|&&above| tree.parent(call) == Some(calls[above]));
        if let Some(&caller) = caller {
            let (time, of) = (tree.duration(call), tree.duration(calls[caller]));
            passes[caller] |= time > Nanos::ZERO && 100 * time.0 >= PASSED_ON * of.0;
        }
        open.push(at);
    }
    passes
}
