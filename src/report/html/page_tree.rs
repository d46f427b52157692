//! The merged tree → columns for the page: the nodes that matter most, within a budget.
//!
//! What is left out is folded into the nearest kept node above, so that sums still add up:
//!
//! ```text
//! a 0 us                       a 0 us
//! ├── b 5 us       kept: a b   └── b 7 us, 1 node left out
//! │   └── d 2 us
//! ```

use super::column::Column;
use super::texts::{PageText, Texts};
use crate::analysis::Analysis;
use crate::diff::{MergedId, MergedNode, Relation};
use crate::report::nodes::keep_most;
use crate::report::nodes::own_time;
use crate::report::text::node_name;
use crate::side::Side;
use crate::tree::CallKind;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

/// The kept nodes in preorder, a column for each property.
pub(super) struct PageTree<'a> {
    analysis: &'a Analysis,
    /// `None` where every node is kept, so that its id is its position.
    kept: Option<Vec<MergedId>>,
    /// A letter for each node: thread, unlinked, frame, op, runtime, gpu.
    kinds: String,
    /// A letter for each node: same, renamed, moved, `1` trace1 only, `2` trace2 only.
    relations: String,
    names: Vec<PageText>,
    folded: Vec<Folded>,
}

impl<'a> PageTree<'a> {
    /// At most `most` nodes.
    pub(super) fn new(analysis: &'a Analysis, most: usize, texts: &mut Texts) -> PageTree<'a> {
        let keep = keep_most(analysis, most);
        let ids = || analysis.diff().merged().ids().filter(|id| keep[id.index()]);
        let nodes = || ids().map(|id| analysis.diff().merged().node(id));
        PageTree {
            analysis,
            kinds: nodes().map(|node| kind_letter(analysis, node)).collect(),
            relations: nodes().map(|node| relation_letter(analysis, node)).collect(),
            names: nodes().map(|node| texts.id(&node_name(analysis, node))).collect(),
            folded: fold(analysis, &keep),
            kept: keep.contains(&false).then(|| ids().collect()),
        }
    }

    /// Position in the page of a node; `None` where it is left out.
    pub(super) fn position(&self, id: MergedId) -> Option<u32> {
        let position = match &self.kept {
            Some(kept) => kept.binary_search(&id).ok(),
            None => Some(id.index()),
        };
        position.map(|position| position as u32)
    }

    /// Number of nodes that are left out.
    pub(super) fn left_out(&self) -> u64 {
        (self.analysis.diff().merged().len() - self.names.len()) as u64
    }

    /// The kept nodes.
    fn nodes(&self) -> impl Iterator<Item = (MergedId, MergedNode)> {
        let merged = self.analysis.diff().merged();
        let all = self.kept.is_none().then(|| merged.ids());
        let kept = self.kept.iter().flatten().copied();
        all.into_iter().flatten().chain(kept).map(|id| (id, merged.node(id)))
    }

    fn ids(&self) -> impl Iterator<Item = usize> {
        self.kept.iter().flatten().map(|id| id.index())
    }

    /// How many kept nodes stand above each.
    fn depths(&self) -> impl Iterator<Item = usize> {
        self.nodes().map(|(id, _)| self.analysis.diff().merged().depth(id))
    }

    /// Time in ns of the nodes that have some, with what is left out below: position, trace1, trace2.
    fn own_times(&self) -> impl Iterator<Item = (u32, i64, i64)> {
        let mut folded = self.folded.iter().peekable();
        (0..).zip(self.nodes()).filter_map(move |(at, (_, node))| {
            let [one, two] = own_times(self.analysis, node);
            let below = folded.next_if(|folded| folded.position == at);
            let [more_one, more_two] = below.map_or([0, 0], |folded| folded.time);
            let (one, two) = (one + more_one, two + more_two);
            ((one, two) != (0, 0)).then_some((at, one, two))
        })
    }

    /// Nodes left out below: position and number.
    fn hidden(&self) -> impl Iterator<Item = (u32, u32)> {
        self.folded.iter().map(|folded| (folded.position, folded.nodes))
    }

    fn uids(&self, side: Side) -> impl Iterator<Item = i64> {
        let tree = self.analysis.tree(side);
        self.nodes().map(move |(_, node)| {
            let event = node.call(side).and_then(|call| tree.event(call));
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
        columns.serialize_field("own", &Column(|| self.own_times()))?;
        columns.serialize_field("uid1", &Column(|| self.uids(Side::Baseline)))?;
        columns.serialize_field("uid2", &Column(|| self.uids(Side::Candidate)))?;
        columns.serialize_field("hidden", &Column(|| self.hidden()))?;
        columns.end()
    }
}

/// What is left out below a kept node.
struct Folded {
    position: u32,
    /// Time in ns of trace1 and trace2.
    time: [i64; 2],
    nodes: u32,
}

/// The kept nodes that something is left out below, by position: all that is left out is folded into
/// the nearest kept node above.
fn fold(analysis: &Analysis, keep: &[bool]) -> Vec<Folded> {
    let merged = analysis.diff().merged();
    let mut folded: Vec<Folded> = Vec::new();
    let mut close = |open: Option<Folded>| folded.extend(open.filter(|open| open.nodes > 0));
    // One for each depth: a node is kept only if those above it are.
    let mut above: Vec<Folded> = Vec::new();
    let mut position = 0;
    for (id, node) in merged.nodes() {
        while above.len() > merged.depth(id) {
            close(above.pop());
        }
        if keep[id.index()] {
            above.push(Folded { position, time: [0, 0], nodes: 0 });
            position += 1;
        } else if let Some(nearest) = above.last_mut() {
            let own = own_times(analysis, node);
            nearest.time = [nearest.time[0] + own[0], nearest.time[1] + own[1]];
            nearest.nodes += 1;
        }
    }
    while !above.is_empty() {
        close(above.pop());
    }
    folded.sort_unstable_by_key(|folded| folded.position);
    folded
}

/// Time of a node itself in ns, of trace1 and trace2.
fn own_times(analysis: &Analysis, node: MergedNode) -> [i64; 2] {
    Side::BOTH.map(|side| own_time(analysis, side, node).0)
}

pub(super) fn kind_letter(analysis: &Analysis, node: MergedNode) -> char {
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

pub(super) fn relation_letter(analysis: &Analysis, node: MergedNode) -> char {
    let relation = match node {
        MergedNode::Both(call, _) => analysis.diff().relation(Side::Baseline, call),
        MergedNode::Only(side, _) => Relation::only(side),
    };
    match relation {
        Relation::Same => 's',
        Relation::Renamed => 'r',
        Relation::Moved => 'm',
        Relation::Replaced | Relation::OnlyBaseline => '1',
        Relation::OnlyCandidate => '2',
    }
}
