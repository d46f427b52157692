//! Merges two matched call trees into one tree with a node for each matched pair and each unmatched
//! call.
//!
//! ```text
//! trace1: f(W(x y) z)      trace2: f(x y z k)
//!
//! f
//! ├── >> trace1: W          a wrapper stays, with the matched pairs inside it
//! │   ├── x
//! │   └── y
//! ├── z
//! └── << trace2: k
//! ```

use super::relation::NONE;
use crate::side::{PerSide, Side};
use crate::tree::{CallId, CallTree};

/// Id of a node of the merged tree: its position in preorder, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MergedId(pub(crate) u32);

impl MergedId {
    /// The id of the node at a position in preorder, for a merged tree that was read from a file.
    pub(crate) fn at(position: u32) -> MergedId {
        MergedId(position)
    }

    /// Position in preorder. Tables and the printed tree show this position as the id.
    #[doc(hidden)]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The calls at a node of the merged tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MergedNode {
    /// A matched pair of calls.
    Both(CallId, CallId),
    /// An unmatched call.
    Only(Side, CallId),
}

impl MergedNode {
    /// The node's call on one side; `None` if only the opposite side has the node.
    pub fn call(self, side: Side) -> Option<CallId> {
        match self {
            MergedNode::Both(a, b) => Some(if side == Side::Baseline { a } else { b }),
            MergedNode::Only(only, call) => (only == side).then_some(call),
        }
    }

    /// The calls at the node, each with its side. The baseline's call comes first.
    pub(crate) fn calls(self) -> impl Iterator<Item = (Side, CallId)> {
        Side::BOTH.into_iter().filter_map(move |side| Some((side, self.call(side)?)))
    }
}

/// A point of difference: a call that has no counterpart with the same name, although its parent has such a
/// counterpart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Difference {
    /// The node where the traces diverge, which is an unmatched or renamed call.
    pub node: MergedId,
    /// The lowest common node above the difference; `None` if not even the thread is in both
    /// traces.
    pub lowest_common: Option<MergedId>,
    /// Number of calls in the node's subtree, on both sides together.
    pub calls: u32,
    /// Number of GPU events in the node's subtree, on both sides together.
    pub gpu_events: u32,
}

/// The merged tree of two traces, in preorder.
#[derive(Debug, Clone, Default)]
pub struct MergedTree {
    /// The calls of each node; `NONE` on a side that does not have the node.
    calls: Vec<(u32, u32)>,
    depths: Vec<u32>,
    /// The parent of each node; `NONE` for root nodes.
    parents: Vec<u32>,
    of_calls: PerSide<Vec<u32>>,
}

impl MergedTree {
    /// All nodes in preorder.
    #[doc(hidden)]
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = (MergedId, MergedNode)> + '_ {
        self.calls.iter().enumerate().map(|(at, &calls)| (MergedId(at as u32), node_of(calls)))
    }

    /// The node at a position in preorder; `None` past the end.
    #[doc(hidden)]
    pub fn id(&self, index: usize) -> Option<MergedId> {
        (index < self.len()).then_some(MergedId(index as u32))
    }

    /// The ids of all nodes, in preorder.
    pub(crate) fn ids(&self) -> impl DoubleEndedIterator<Item = MergedId> + use<> {
        (0..self.len() as u32).map(MergedId)
    }

    /// The calls at a node.
    pub fn node(&self, id: MergedId) -> MergedNode {
        node_of(self.calls[id.index()])
    }

    /// Number of ancestors of a node.
    #[doc(hidden)]
    pub fn depth(&self, id: MergedId) -> usize {
        self.depths[id.index()] as usize
    }

    /// The parent of a node; `None` for root nodes.
    #[inline]
    pub fn parent(&self, id: MergedId) -> Option<MergedId> {
        Some(self.parents[id.index()]).filter(|&parent| parent != NONE).map(MergedId)
    }

    /// The node of a call.
    pub fn of(&self, side: Side, call: CallId) -> MergedId {
        MergedId(self.of_calls[side][call.index()])
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Whether the tree has no nodes.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    pub(super) fn build(trees: PerSide<&CallTree>, counterparts: &PerSide<Vec<u32>>) -> MergedTree {
        let (drafts, children) = {
            let drafts = Drafts::new(trees, counterparts);
            let children = drafts.children();
            (drafts.calls, children)
        };
        let mut merged = MergedTree {
            calls: Vec::with_capacity(drafts.len()),
            depths: Vec::with_capacity(drafts.len()),
            parents: Vec::with_capacity(drafts.len()),
            of_calls: counterparts.as_ref().map(|column| vec![NONE; column.len()]),
        };
        let mut stack: Vec<(u32, u32, u32)> =
            children.roots().iter().rev().map(|&d| (d, NONE, 0)).collect();
        while let Some((draft, parent, depth)) = stack.pop() {
            let id = merged.calls.len() as u32;
            let calls = drafts[draft as usize];
            for side in Side::BOTH {
                if let Some(call) = node_of(calls).call(side) {
                    merged.of_calls[side][call.index()] = id;
                }
            }
            merged.calls.push(calls);
            merged.parents.push(parent);
            merged.depths.push(depth);
            stack.extend(children.of(draft).iter().rev().map(|&child| (child, id, depth + 1)));
        }
        merged
    }
}

fn node_of(calls: (u32, u32)) -> MergedNode {
    match calls {
        (a, NONE) => MergedNode::Only(Side::Baseline, CallId(a)),
        (NONE, b) => MergedNode::Only(Side::Candidate, CallId(b)),
        (a, b) => MergedNode::Both(CallId(a), CallId(b)),
    }
}

/// The nodes in their initial order: all baseline calls, then the candidate-only calls.
struct Drafts {
    calls: Vec<(u32, u32)>,
    parents: Vec<u32>,
    order: Vec<u32>,
}

impl Drafts {
    fn new(trees: PerSide<&CallTree>, counterparts: &PerSide<Vec<u32>>) -> Drafts {
        let alone =
            counterparts.candidate.iter().filter(|&&counterpart| counterpart == NONE).count();
        let mut calls = Vec::with_capacity(trees.baseline.len() + alone);
        calls.extend((0..).zip(counterparts.baseline.iter().copied()));
        let mut of_candidate = counterparts.candidate.clone();
        for (call, draft) in (0..).zip(&mut of_candidate).filter(|(_, draft)| **draft == NONE) {
            *draft = calls.len() as u32;
            calls.push((NONE, call));
        }
        let parents = parents(trees, &calls, &of_candidate);
        let order = order(trees.baseline.len(), &of_candidate);
        Drafts { calls, parents, order }
    }

    fn children(&self) -> Children {
        let mut starts = vec![0u32; self.calls.len() + 2];
        let slot = |parent: u32| if parent == NONE { self.calls.len() } else { parent as usize };
        for &parent in &self.parents {
            starts[slot(parent) + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut filled = starts.clone();
        let mut list = vec![0; self.calls.len()];
        for &draft in &self.order {
            let at = &mut filled[slot(self.parents[draft as usize])];
            list[*at as usize] = draft;
            *at += 1;
        }
        Children { starts, list }
    }
}

/// The children of each node in [`Drafts`], in their final order; the roots are in the last entry.
struct Children {
    starts: Vec<u32>,
    list: Vec<u32>,
}

impl Children {
    fn of(&self, draft: u32) -> &[u32] {
        let at = draft as usize;
        &self.list[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    fn roots(&self) -> &[u32] {
        self.of(self.starts.len() as u32 - 2)
    }
}

/// The parent of a matched pair is the deeper of the two calls' parents, so that a wrapper on one side is drawn between
/// the pair and the common parent.
fn parents(trees: PerSide<&CallTree>, calls: &[(u32, u32)], of_candidate: &[u32]) -> Vec<u32> {
    let above = Above { trees, calls, of_candidate };
    calls
        .iter()
        .map(|&calls| match node_of(calls) {
            MergedNode::Only(side, call) => {
                trees[side].parent(call).map_or(NONE, |parent| above.draft(side, parent))
            }
            MergedNode::Both(a, b) => {
                if let Some(parent) = above.of_both(a, b) {
                    return parent;
                }
                let first = above.of_pair(Side::Baseline, a, b);
                let second = above.of_pair(Side::Candidate, b, a);
                if first == NONE || above.is_wrapper_below(second, first) { second } else { first }
            }
        })
        .collect()
}

/// Finds the parents of the nodes in [`Drafts`].
struct Above<'a> {
    trees: PerSide<&'a CallTree>,
    calls: &'a [(u32, u32)],
    of_candidate: &'a [u32],
}

impl Above<'_> {
    fn draft(&self, side: Side, call: CallId) -> u32 {
        match side {
            Side::Baseline => call.0,
            Side::Candidate => self.of_candidate[call.index()],
        }
    }

    /// If the parents of two matched calls are matched with each other, which is the common case, returns the node of
    /// the two parents.
    fn of_both(&self, a: CallId, b: CallId) -> Option<u32> {
        let (one, two) = (self.trees.baseline.parent(a)?, self.trees.candidate.parent(b)?);
        (self.of_candidate[two.index()] == one.0).then_some(one.0)
    }

    /// The nearest node above `call` that is unmatched, or that also encloses `counterpart`. The counterpart of a node
    /// above `call` does not always enclose `counterpart`: if the node is a renamed op, `counterpart` can be a sibling of the
    /// node's counterpart.
    fn of_pair(&self, side: Side, call: CallId, counterpart: CallId) -> u32 {
        self.trees[side]
            .ancestors(call)
            .map(|above| self.draft(side, above))
            .find(|&draft| match node_of(self.calls[draft as usize]) {
                MergedNode::Only(..) => true,
                node @ MergedNode::Both(..) => node
                    .call(side.other())
                    .is_some_and(|above| self.trees[side.other()].is_below(counterpart, above)),
            })
            .unwrap_or(NONE)
    }

    /// Whether `lower` is a candidate-only wrapper somewhere below `upper`.
    fn is_wrapper_below(&self, lower: u32, upper: u32) -> bool {
        lower != NONE
            && matches!(node_of(self.calls[lower as usize]), MergedNode::Only(Side::Candidate, call)
                if self.trees.candidate.ancestors(call).any(|above| self.of_candidate[above.index()] == upper))
    }
}

/// Returns the nodes in baseline order. Each candidate-only call directly follows the node that precedes it in the
/// candidate.
fn order(baseline: usize, of_candidate: &[u32]) -> Vec<u32> {
    // Candidate-only nodes are ordered by the matched pair that precedes them; nodes that precede all pairs come first.
    // The nodes that follow the same pair form a contiguous range, in the candidate's order.
    let first = baseline as u32;
    let mut behind = vec![(first, first); baseline + 1];
    let (mut next, mut last_pair) = (first, 0);
    for &draft in of_candidate {
        if (draft as usize) < baseline {
            last_pair = draft as usize + 1;
            behind[last_pair] = (next, next);
        } else {
            next += 1;
            behind[last_pair].1 = next;
        }
    }
    let mut order = Vec::with_capacity(next as usize);
    order.extend(behind[0].0..behind[0].1);
    for (draft, &(start, end)) in (0..).zip(&behind[1..]) {
        order.push(draft);
        order.extend(start..end);
    }
    order
}
