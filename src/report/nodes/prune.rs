//! Chooses the most important nodes of the merged tree, for files with a size budget.

use super::sums::both_times_below;
use crate::analysis::Analysis;
use crate::diff::MergedId;
use crate::trace::Nanos;
use std::cmp::Reverse;

/// For each node in the merged tree, whether to keep it; at most `most` nodes are kept. Nodes are ranked by the total
/// time of their subtree, then by whether their subtree contains a difference, then by id. An ancestor never ranks
/// lower than its descendants, so the ancestors of every kept node are also kept.
pub(in crate::report) fn keep_most(analysis: &Analysis, most: usize) -> Vec<bool> {
    let merged = analysis.diff().merged();
    if merged.len() <= most {
        return vec![true; merged.len()];
    }
    let (times, differs) = (both_times_below(analysis), difference_below(analysis));
    let key = |id: MergedId| (Reverse(times[id.index()]), Reverse(differs[id.index()]), id);
    // Most nodes have neither time nor a difference; these nodes are ranked last and need no sorting.
    let tells = |id: &MergedId| times[id.index()] > Nanos::ZERO || differs[id.index()];
    let (mut telling, others): (Vec<_>, Vec<_>) = merged.ids().partition(tells);
    if telling.len() > most {
        telling.select_nth_unstable_by_key(most, |&id| key(id));
    }
    let mut keep = vec![false; merged.len()];
    for id in telling.into_iter().chain(others).take(most) {
        keep[id.index()] = true;
    }
    keep
}

fn difference_below(analysis: &Analysis) -> Vec<bool> {
    let merged = analysis.diff().merged();
    let mut differs = vec![false; merged.len()];
    for difference in analysis.diff().differences() {
        let mut at = Some(difference.node);
        while let Some(id) = at.filter(|id| !differs[id.index()]) {
            differs[id.index()] = true;
            at = merged.parent(id);
        }
    }
    differs
}
