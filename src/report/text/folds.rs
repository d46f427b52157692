//! Finds runs of siblings with identical subtrees, such as layers; a large merged tree shows only the first sibling of
//! each run.
//!
//! Two subtrees are identical if their calls have the same names, apart from instance numbers, and neither subtree
//! contains a difference between the two traces.

use crate::diff::{MergedId, MergedNode, Relation, TraceDiff};
use crate::side::Side;
use rustc_hash::FxHashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A run of consecutive siblings with identical subtrees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    /// Number of siblings, at least 2.
    pub(super) count: usize,
    /// Index of the last sibling.
    pub(super) last: usize,
    /// End of the subtree of the first sibling.
    pub(super) first_end: usize,
    /// End of the subtree of the last sibling.
    pub(super) end: usize,
}

/// The siblings at one depth that the backward pass has visited so far.
#[derive(Debug, Clone, Copy)]
struct Level {
    /// The next sibling: the hash of its subtree (`None` if the subtree may not be folded), and the run that begins
    /// there.
    next: Option<(Option<u64>, Run)>,
    /// Hash of the subtrees of all visited siblings; `None` if one of these subtrees may not be folded.
    all: Option<u64>,
    /// Number of nodes in the subtrees of all visited siblings.
    size: usize,
}

impl Level {
    const EMPTY: Level = Level { next: None, all: Some(0), size: 0 };
}

/// The runs in the merged tree, by the index of their first sibling.
pub(super) fn runs(diff: &TraceDiff) -> FxHashMap<usize, Run> {
    let tree = diff.merged();
    let mut found = FxHashMap::default();
    let mut levels: Vec<Level> = Vec::new();
    for id in tree.ids().rev() {
        let depth = tree.depth(id);
        levels.resize(levels.len().max(depth + 2), Level::EMPTY);
        let below = std::mem::replace(&mut levels[depth + 1], Level::EMPTY);
        let hash = hash(diff, id, below.all);
        let index = id.index();
        let first_end = index + 1 + below.size;
        let level = &mut levels[depth];
        let mut run = Run { count: 1, last: index, first_end, end: first_end };
        let same = level.next.filter(|(next, _)| hash.is_some() && *next == hash);
        if let Some((_, of_next)) = same {
            found.remove(&first_end);
            run = Run { count: of_next.count + 1, last: of_next.last, first_end, end: of_next.end };
            found.insert(index, run);
        }
        level.next = Some((hash, run));
        level.all = hash.zip(level.all).map(|(one, others)| hash_of(&(one, others)));
        level.size += 1 + below.size;
    }
    found
}

/// The hash of a subtree; `None` if the subtree contains a difference, or if a mark is drawn after the node's name.
fn hash(diff: &TraceDiff, id: MergedId, below: Option<u64>) -> Option<u64> {
    let MergedNode::Both(one, other) = diff.merged().node(id) else { return None };
    let is_same = match diff.relation(Side::Baseline, one) {
        Relation::Same | Relation::Moved => !diff.is_aliased(one, other),
        Relation::Renamed
        | Relation::Replaced
        | Relation::OnlyBaseline
        | Relation::OnlyCandidate => false,
    };
    let below = below.filter(|_| is_same)?;
    Some(hash_of(&(diff.plain_name(Side::Baseline, one), below)))
}

fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
