//! Decides whether sibling calls do the same kind of work, by comparing the ops and modules that
//! they call.

use crate::tree::{CallId, CallKind, CallTree, ModuleName};
use rustc_hash::FxHashMap;

/// Two calls are similar if more than 1/`COMMON_SHARE` of the ops and modules that they call are
/// common to both calls.
const COMMON_SHARE: usize = 2;

/// How many calls of each op and each module class are below a call.
type Counts<'t> = FxHashMap<&'t str, usize>;

/// Whether enough of the given sibling calls are similar to the median-sized sibling: at least half
/// of them, and at least two. Layers need not be identical (for example, every fourth layer may be
/// sparse, or the first two layers dense), but most of their work is the same.
pub(super) fn are_alike(tree: &CallTree, calls: &[CallId]) -> bool {
    let mut counted: Vec<Counts<'_>> = calls.iter().map(|&call| counts(tree, call)).collect();
    counted.sort_by_cached_key(|counts| counts.values().sum::<usize>());
    // For an even number of calls, the median is the larger of the two middle sizes.
    let Some(middle) = counted.get(counted.len() / 2) else { return false };
    let alike = counted.iter().filter(|counts| is_like(counts, middle)).count();
    alike > 1 && alike * 2 >= counted.len()
}

fn counts(tree: &CallTree, call: CallId) -> Counts<'_> {
    let mut counts = Counts::default();
    let end = call.index() + tree.size(call);
    for below in (call.index() + 1..end).map(|at| CallId(at as u32)) {
        if tree.kind(below) == CallKind::Op || tree.is_module(below) {
            *counts.entry(ModuleName::class_or_name(tree.name(below))).or_default() += 1;
        }
    }
    counts
}

fn is_like(one: &Counts<'_>, other: &Counts<'_>) -> bool {
    let of = |counts: &Counts<'_>, name: &&str| counts.get(*name).copied().unwrap_or(0);
    let common: usize = one.iter().map(|(name, &count)| count.min(of(other, name))).sum();
    let all: usize = one.values().sum::<usize>() + other.values().sum::<usize>() - common;
    // Two calls without children, as in a trace with few events, count as similar, because nothing
    // distinguishes them.
    all == 0 || common * COMMON_SHARE > all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_calls_are_similar_if_more_than_half_of_their_inner_calls_are_common() {
        let counts =
            |names: &[(&'static str, usize)]| names.iter().copied().collect::<Counts<'_>>();
        let like = |one: &[(&'static str, usize)], other: &[(&'static str, usize)]| {
            let (one, other) = (counts(one), counts(other));
            assert_eq!(is_like(&one, &other), is_like(&other, &one));
            is_like(&one, &other)
        };
        assert!(!like(&[("mm", 2), ("add", 1)], &[("mm", 2), ("mul", 1)]));
        assert!(like(&[("mm", 3), ("add", 1)], &[("mm", 3), ("mul", 1)]));
        // Three common calls out of six are exactly half, which is not enough. Call counts matter,
        // not only names.
        assert!(!like(&[("mm", 3)], &[("mm", 6)]) && like(&[("mm", 4)], &[("mm", 6)]));
        assert!(like(&[], &[]) && !like(&[("mm", 1)], &[]));
    }
}
