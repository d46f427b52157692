//! Sibling calls → whether they do the same sort of work: whether they call the same ops and modules.

use crate::tree::{CallId, CallKind, CallTree, ModuleName};
use rustc_hash::FxHashMap;

/// Two calls are alike where more than half of what either of them calls is called by both.
const COMMON_SHARE: usize = 2;

/// How often each op and each class of modules is called below a call.
type Counts<'t> = FxHashMap<&'t str, usize>;

/// Whether most of these calls are like the one in the middle of them, by size. Layers need not be
/// equal (one in four is sparse, the first two are dense), but they have most in common.
pub(super) fn are_alike(tree: &CallTree, calls: &[CallId]) -> bool {
    let mut counted: Vec<Counts<'_>> = calls.iter().map(|&call| counts(tree, call)).collect();
    counted.sort_by_cached_key(|counts| counts.values().sum::<usize>());
    // The larger one of two, so that the smaller is set against it.
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
    // Calls without any calls below, as in a trace of few events, are not told apart.
    all == 0 || common * COMMON_SHARE > all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_calls_are_alike_where_more_than_half_of_what_either_calls_is_common() {
        let counts =
            |names: &[(&'static str, usize)]| names.iter().copied().collect::<Counts<'_>>();
        let like = |one: &[(&'static str, usize)], other: &[(&'static str, usize)]| {
            let (one, other) = (counts(one), counts(other));
            assert_eq!(is_like(&one, &other), is_like(&other, &one));
            is_like(&one, &other)
        };
        assert!(!like(&[("mm", 2), ("add", 1)], &[("mm", 2), ("mul", 1)]));
        assert!(like(&[("mm", 3), ("add", 1)], &[("mm", 3), ("mul", 1)]));
        // Three of six are no more than half; how often counts.
        assert!(!like(&[("mm", 3)], &[("mm", 6)]) && like(&[("mm", 4)], &[("mm", 6)]));
        assert!(like(&[], &[]) && !like(&[("mm", 1)], &[]));
    }
}
