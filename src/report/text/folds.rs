//! Finds repetitions among siblings: runs of identical subtrees (such as layers) and runs of identical steps.
//! A step may consist of several siblings. A large merged tree shows only the first repeat of each run.
//!
//! Two subtrees are identical if their calls have the same names (apart from instance numbers) and neither subtree
//! contains a difference between the two traces. Two steps are identical if they consist of identical siblings.

use crate::diff::{MergedId, MergedNode, Relation, TraceDiff};
use crate::program::StepId;
use crate::side::Side;
use rustc_hash::FxHashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

/// A run: one sibling, or all siblings of one step, repeated several times in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    /// Number of repeats, at least 2.
    pub(super) count: usize,
    /// Number of siblings in each repeat.
    pub(super) siblings: usize,
    /// Index of the first node after the subtrees of the first repeat.
    pub(super) first_end: usize,
    /// Index of the first node after the subtrees of the last repeat.
    pub(super) end: usize,
}

/// The runs in a merged tree.
#[derive(Debug, Default)]
pub(super) struct Folds {
    /// Runs of identical siblings, by the index of the first sibling.
    equal: FxHashMap<usize, Run>,
    /// Runs of identical steps, by the index of the first sibling in the first step.
    steps: FxHashMap<usize, Run>,
    /// For each run, an entry from the last sibling of the first repeat to the last sibling of the last repeat.
    lasts: FxHashMap<usize, usize>,
}

impl Folds {
    /// The run of steps and the run of siblings that begin at a node, the outer run first.
    pub(super) fn at(&self, index: usize) -> [Option<Run>; 2] {
        [&self.steps, &self.equal].map(|runs| runs.get(&index).copied())
    }

    /// The last sibling that a drawn node represents. If no further sibling follows, the node is drawn with the
    /// connector of a last child.
    pub(super) fn last(&self, index: usize) -> usize {
        let mut index = index;
        while let Some(&last) = self.lasts.get(&index) {
            index = last;
        }
        index
    }

    /// Adds the runs among all siblings below one node, in order.
    fn add(&mut self, siblings: &[Sibling]) {
        let steps = steps(siblings);
        let mut done = 0;
        for run in runs(&steps, |step| step.hash) {
            let (first, last) = (&run[0].siblings, &run[run.len() - 1].siblings);
            self.add_equal(&siblings[done..first.start]);
            let of_first = &siblings[first.clone()];
            self.add_equal(of_first);
            done = last.end;
            // If the first step ends with a run of siblings, only the first of these siblings is
            // drawn. [`Folds::last`] then follows two entries: the first entry leads to the end of
            // this run, the second entry to the end of the run of steps.
            let (drawn, last) = (&of_first[of_first.len() - 1], &siblings[done - 1]);
            let (count, siblings) = (run.len(), of_first.len());
            let steps = Run { count, siblings, first_end: drawn.end, end: last.end };
            self.steps.insert(of_first[0].index, steps);
            self.lasts.insert(drawn.index, last.index);
        }
        self.add_equal(&siblings[done..]);
    }

    /// Adds the runs of identical siblings.
    fn add_equal(&mut self, siblings: &[Sibling]) {
        for run in runs(siblings, |sibling| sibling.hash) {
            let (first, last) = (&run[0], &run[run.len() - 1]);
            let run = Run { count: run.len(), siblings: 1, first_end: first.end, end: last.end };
            self.equal.insert(first.index, run);
            self.lasts.insert(first.index, last.index);
        }
    }
}

/// The runs of at least two items with the same hash. An item without a hash is never part of a
/// run.
fn runs<T>(items: &[T], hash: impl Fn(&T) -> Option<u64>) -> impl Iterator<Item = &[T]> {
    let are_equal = move |one: &T, other: &T| hash(one).is_some() && hash(one) == hash(other);
    items.chunk_by(are_equal).filter(|run| run.len() > 1)
}

/// A node among its siblings.
#[derive(Debug, Clone, Copy)]
struct Sibling {
    index: usize,
    /// Index of the first node after the node's subtree.
    end: usize,
    /// Hash of the subtree; `None` if the subtree must not be folded.
    hash: Option<u64>,
    step: Option<StepId>,
}

/// The siblings of one step.
struct StepSiblings {
    siblings: Range<usize>,
    /// Hash of the subtrees; `None` if the step must not be folded.
    hash: Option<u64>,
}

/// Divides siblings into the steps that begin among them. A step includes all siblings up to the next step, because the
/// calls between two steps are repeated as well.
fn steps(siblings: &[Sibling]) -> Vec<StepSiblings> {
    let mut starts = Vec::new();
    let mut current = None;
    for (at, sibling) in siblings.iter().enumerate() {
        if sibling.step.is_some() && sibling.step != current {
            current = sibling.step;
            starts.push(at);
        }
    }
    if starts.len() < 2 {
        return Vec::new();
    }
    let ends = starts.iter().copied().skip(1).chain([siblings.len()]);
    let range =
        |(start, end)| StepSiblings { siblings: start..end, hash: whole(&siblings[start..end]) };
    starts.iter().copied().zip(ends).map(range).collect()
}

/// The hash of all siblings of a step. `None` if the step must not be folded. Also `None` if all siblings of
/// the step are identical, because such steps are folded as one long run of siblings.
fn whole(siblings: &[Sibling]) -> Option<u64> {
    let first = siblings.first()?.hash;
    if siblings.iter().all(|sibling| sibling.hash == first) {
        return None;
    }
    all(siblings)
}

/// The combined hash of the subtrees of all siblings; `None` if one of the subtrees must not be
/// folded.
fn all(siblings: &[Sibling]) -> Option<u64> {
    siblings.iter().try_fold(0, |hash, sibling| Some(hash_of(&(sibling.hash?, hash))))
}

/// The runs in the merged tree.
pub(super) fn folds(diff: &TraceDiff) -> Folds {
    let tree = diff.merged();
    let steps = diff.program(Side::Baseline).steps();
    let mut folds = Folds::default();
    // For each depth, the siblings that were visited so far, last sibling first. Nodes are visited in reverse preorder.
    let mut levels: Vec<Vec<Sibling>> = vec![Vec::new()];
    for id in tree.ids().rev() {
        let depth = tree.depth(id);
        levels.resize(levels.len().max(depth + 2), Vec::new());
        let below = &mut levels[depth + 1];
        below.reverse();
        folds.add(below);
        let index = id.index();
        let end = below.last().map_or(index + 1, |last| last.end);
        let hash = hash(diff, id, all(below));
        below.clear();
        let step = tree.node(id).call(Side::Baseline).and_then(|call| steps.step(call));
        levels[depth].push(Sibling { index, end, hash, step });
    }
    levels[0].reverse();
    folds.add(&levels[0]);
    folds
}

/// The hash of a subtree; `None` if a node in the subtree is unmatched, was renamed, or is matched only because of an
/// alias.
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
