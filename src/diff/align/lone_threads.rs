//! Identifies the contents of threads that have no counterpart.

use crate::diff::outline::Outline;
use crate::tree::CallKind;
use rustc_hash::FxHashSet;

/// Identifies the contents of an unmatched thread by its first and last top-level calls (as
/// fingerprints) and the number of its top-level calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct LoneThread {
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) calls: usize,
}

pub(super) fn lone_threads(
    outline: &Outline<'_>,
    paired: impl Iterator<Item = u32>,
) -> FxHashSet<LoneThread> {
    let paired: FxHashSet<u32> = paired.collect();
    let roots = outline.roots().into_iter().filter(|root| !paired.contains(root));
    let threads = roots.filter(|&root| outline.kind(root) == CallKind::Thread);
    threads
        .filter_map(|root| {
            let calls = outline.children(root);
            let exact = |call: &u32| outline.exact[*call as usize];
            let (first, last) = (exact(calls.first()?), exact(calls.last()?));
            Some(LoneThread { first, last, calls: calls.len() })
        })
        .collect()
}
