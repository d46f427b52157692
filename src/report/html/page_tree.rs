//! The merged tree → columns for the page: the nodes that matter most, within a budget.
//!
//! What is left out is folded into the nearest kept node above, so that sums still add up:
//!
//! ```text
//! a 0 us                       a 0 us
//! ├── b 5 us       kept: a b   └── b 7 us, 1 node left out
//! │   └── d 2 us
//! ```

use super::texts::{PageText, Texts};
use crate::analysis::Analysis;
use crate::diff::{MergedId, MergedNode, Relation};
use crate::report::labels::node_name;
use crate::report::prune::keep_most;
use crate::report::sums::NodeSums;
use crate::side::Side;
use crate::tree::CallKind;
use serde::Serialize;

/// Stands for a node that is left out.
const OUT: u32 = u32::MAX;

/// The kept nodes in preorder, a column for each property.
#[derive(Serialize)]
pub(super) struct PageTree {
    /// Ids in the merged tree; empty where every node is kept and the id is the position.
    id: Vec<u32>,
    /// How many kept nodes stand above.
    depth: Vec<u32>,
    /// A letter for each node: thread, unlinked, frame, op, runtime, gpu.
    kind: String,
    /// A letter for each node: same, renamed, moved, `1` trace1 only, `2` trace2 only.
    relation: String,
    name: Vec<PageText>,
    /// Own time in ns of the nodes that have some: position, trace1, trace2.
    own: Vec<(u32, i64, i64)>,
    uid1: Vec<i64>,
    uid2: Vec<i64>,
    /// Nodes left out below: position and number.
    hidden: Vec<(u32, u32)>,
    /// Position of each node of the merged tree, `OUT` where it is left out.
    #[serde(skip)]
    positions: Vec<u32>,
}

impl PageTree {
    /// At most `most` nodes.
    pub(super) fn new(
        analysis: &Analysis<'_>,
        sums: &NodeSums,
        most: usize,
        texts: &mut Texts,
    ) -> PageTree {
        let keep = keep_most(analysis, sums, most);
        let mut tree = PageTree::place(analysis, &keep);
        for (id, node) in analysis.diff().merged().nodes() {
            if keep[id.index()] {
                tree.push(analysis, node, texts);
            }
        }
        tree.fold(analysis, sums);
        tree
    }

    /// Position in the page of a node; `None` where it is left out.
    pub(super) fn position(&self, id: MergedId) -> Option<u32> {
        Some(self.positions[id.index()]).filter(|&position| position != OUT)
    }

    /// Number of nodes that are left out.
    pub(super) fn left_out(&self) -> u64 {
        (self.positions.len() - self.depth.len()) as u64
    }

    fn place(analysis: &Analysis<'_>, keep: &[bool]) -> PageTree {
        let merged = analysis.diff().merged();
        let mut next = 0;
        let positions: Vec<u32> = keep
            .iter()
            .map(|&kept| match kept {
                true => {
                    next += 1;
                    next - 1
                }
                false => OUT,
            })
            .collect();
        let kept = || merged.nodes().map(|(id, _)| id).filter(|id| keep[id.index()]);
        let all = next as usize == keep.len();
        PageTree {
            id: if all { Vec::new() } else { kept().map(|id| id.index() as u32).collect() },
            depth: kept().map(|id| merged.depth(id) as u32).collect(),
            kind: String::with_capacity(next as usize),
            relation: String::with_capacity(next as usize),
            name: Vec::with_capacity(next as usize),
            own: Vec::new(),
            uid1: Vec::with_capacity(next as usize),
            uid2: Vec::with_capacity(next as usize),
            hidden: Vec::new(),
            positions,
        }
    }

    fn push(&mut self, analysis: &Analysis<'_>, node: MergedNode, texts: &mut Texts) {
        let uid = |side: Side| {
            let tree = analysis.tree(side);
            let event = node.call(side).and_then(|call| tree.event(call));
            event.map_or(-1, |event| i64::from(tree.trace().uid(event).0))
        };
        self.name.push(texts.id(&node_name(analysis, node)));
        self.kind.push(kind_letter(analysis, node));
        self.relation.push(relation_letter(analysis, node));
        self.uid1.push(uid(Side::Baseline));
        self.uid2.push(uid(Side::Candidate));
    }

    /// Adds the time of every node to the nearest kept one at or above it.
    fn fold(&mut self, analysis: &Analysis<'_>, sums: &NodeSums) {
        let merged = analysis.diff().merged();
        let mut nearest: Vec<u32> = Vec::with_capacity(merged.len());
        let mut own = vec![(0, 0); self.depth.len()];
        let mut hidden = vec![0; self.depth.len()];
        for (id, _) in merged.nodes() {
            let above = || merged.parent(id).map_or(OUT, |parent| nearest[parent.index()]);
            let at = self.position(id).unwrap_or_else(above);
            nearest.push(at);
            let Some(cell) = own.get_mut(at as usize) else { continue };
            cell.0 += sums.own[id.index()].baseline.0;
            cell.1 += sums.own[id.index()].candidate.0;
            hidden[at as usize] += u32::from(self.positions[id.index()] == OUT);
        }
        let numbered = |at: usize| at as u32;
        self.own = own
            .iter()
            .enumerate()
            .filter(|(_, time)| **time != (0, 0))
            .map(|(at, time)| (numbered(at), time.0, time.1))
            .collect();
        self.hidden = hidden
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(|(at, &count)| (numbered(at), count))
            .collect();
    }
}

fn kind_letter(analysis: &Analysis<'_>, node: MergedNode) -> char {
    let kind = Side::BOTH
        .iter()
        .find_map(|&side| node.call(side).map(|call| analysis.tree(side).kind(call)));
    match kind.expect("a node has a call") {
        CallKind::Thread => 't',
        CallKind::Unlinked => 'u',
        CallKind::Frame => 'f',
        CallKind::Op => 'o',
        CallKind::Runtime => 'r',
        CallKind::Gpu => 'g',
    }
}

fn relation_letter(analysis: &Analysis<'_>, node: MergedNode) -> char {
    let relation = match node {
        MergedNode::Both(call, _) => analysis.diff().relation(Side::Baseline, call),
        MergedNode::Only(side, _) => Relation::only(side),
    };
    match relation {
        Relation::Same => 's',
        Relation::Renamed => 'r',
        Relation::Moved => 'm',
        Relation::OnlyBaseline => '1',
        Relation::OnlyCandidate => '2',
    }
}
