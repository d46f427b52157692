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
use crate::report::sums::own_time;
use crate::side::Side;
use crate::tree::CallKind;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

/// The kept nodes in preorder, a column for each property.
pub(super) struct PageTree<'a> {
    analysis: &'a Analysis<'a>,
    kept: Vec<MergedId>,
    /// A letter for each node: thread, unlinked, frame, op, runtime, gpu.
    kinds: String,
    /// A letter for each node: same, renamed, moved, `1` trace1 only, `2` trace2 only.
    relations: String,
    names: Vec<PageText>,
    folded: Folded,
}

impl<'a> PageTree<'a> {
    /// At most `most` nodes.
    pub(super) fn new(analysis: &'a Analysis<'_>, most: usize, texts: &mut Texts) -> PageTree<'a> {
        let keep = keep_most(analysis, most);
        let kept: Vec<MergedId> =
            analysis.diff().merged().ids().filter(|id| keep[id.index()]).collect();
        let nodes = || kept.iter().map(|&id| analysis.diff().merged().node(id));
        PageTree {
            analysis,
            kinds: nodes().map(|node| kind_letter(analysis, node)).collect(),
            relations: nodes().map(|node| relation_letter(analysis, node)).collect(),
            names: nodes().map(|node| texts.id(&node_name(analysis, node))).collect(),
            folded: Folded::new(analysis, &keep),
            kept,
        }
    }

    /// Position in the page of a node; `None` where it is left out.
    pub(super) fn position(&self, id: MergedId) -> Option<u32> {
        self.kept.binary_search(&id).ok().map(|position| position as u32)
    }

    /// Number of nodes that are left out.
    pub(super) fn left_out(&self) -> u64 {
        (self.analysis.diff().merged().len() - self.kept.len()) as u64
    }

    fn ids(&self) -> impl Iterator<Item = usize> {
        // Where every node is kept, the id is the position.
        let told = if self.left_out() == 0 { &[] } else { &self.kept[..] };
        told.iter().map(|id| id.index())
    }

    /// How many kept nodes stand above each.
    fn depths(&self) -> impl Iterator<Item = usize> {
        self.kept.iter().map(|&id| self.analysis.diff().merged().depth(id))
    }

    fn uids(&self, side: Side) -> impl Iterator<Item = i64> {
        let tree = self.analysis.tree(side);
        self.kept.iter().map(move |&id| {
            let call = self.analysis.diff().merged().node(id).call(side);
            let event = call.and_then(|call| tree.event(call));
            event.map_or(-1, |event| i64::from(tree.trace().uid(event).0))
        })
    }
}

/// Columns that the comparison already holds in another form are made as they are written.
impl Serialize for PageTree<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut columns = serializer.serialize_struct("PageTree", 9)?;
        columns.serialize_field("id", &Column(|| self.ids()))?;
        columns.serialize_field("depth", &Column(|| self.depths()))?;
        columns.serialize_field("kind", &self.kinds)?;
        columns.serialize_field("relation", &self.relations)?;
        columns.serialize_field("name", &self.names)?;
        columns.serialize_field("own", &self.folded.own)?;
        columns.serialize_field("uid1", &Column(|| self.uids(Side::Baseline)))?;
        columns.serialize_field("uid2", &Column(|| self.uids(Side::Candidate)))?;
        columns.serialize_field("hidden", &self.folded.hidden)?;
        columns.end()
    }
}

/// What an iterator yields, as a JSON array.
struct Column<F>(F);

impl<I: Iterator<Item: Serialize>, F: Fn() -> I> Serialize for Column<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

/// The time of every node added to the nearest kept one at or above it, with the number of nodes
/// left out below each.
#[derive(Default)]
struct Folded {
    /// Own time in ns of the nodes that have some: position, trace1, trace2.
    own: Vec<(u32, i64, i64)>,
    /// Nodes left out below: position and number.
    hidden: Vec<(u32, u32)>,
}

/// A kept node whose subtree has not been seen whole yet.
struct Open {
    position: u32,
    own: [i64; 2],
    hidden: u32,
}

impl Folded {
    fn new(analysis: &Analysis<'_>, keep: &[bool]) -> Folded {
        let merged = analysis.diff().merged();
        let mut folded = Folded::default();
        // One for each depth: a node is kept only if those above it are.
        let mut above: Vec<Open> = Vec::new();
        let mut next = 0;
        for (id, node) in merged.nodes() {
            let is_kept = keep[id.index()];
            while above.len() > merged.depth(id) {
                folded.close(above.pop());
            }
            if is_kept {
                above.push(Open { position: next, own: [0, 0], hidden: 0 });
                next += 1;
            }
            if let Some(nearest) = above.last_mut() {
                for (own, side) in nearest.own.iter_mut().zip(Side::BOTH) {
                    *own += own_time(analysis, side, node).0;
                }
                nearest.hidden += u32::from(!is_kept);
            }
        }
        while !above.is_empty() {
            folded.close(above.pop());
        }
        folded.own.sort_unstable();
        folded.hidden.sort_unstable();
        folded
    }

    fn close(&mut self, open: Option<Open>) {
        let Some(Open { position, own: [one, two], hidden }) = open else { return };
        if (one, two) != (0, 0) {
            self.own.push((position, one, two));
        }
        if hidden > 0 {
            self.hidden.push((position, hidden));
        }
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
