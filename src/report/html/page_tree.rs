//! Converts the merged tree into columns for the page. If not all nodes fit the size budget, only the most important
//! nodes are kept.
//!
//! Omitted nodes are folded into their nearest kept ancestor, so sums remain correct:
//!
//! ```text
//! a 0 us                       a 0 us
//! ├── b 5 us       kept: a b   └── b 7 us, 1 node left out
//! │   └── d 2 us
//! ```

use super::column::{Column, step};
use super::texts::{PageText, Texts};
use crate::analysis::Analysis;
use crate::diff::{Confidence, MergedId, MergedNode, Relation};
use crate::report::nodes::{keep_most, own_time};
use crate::report::text::{NamedBy, named_by, node_name};
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::CallKind;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// The kept nodes in preorder, as one column per property.
pub(super) struct PageTree<'a> {
    analysis: &'a Analysis,
    /// Ids of the kept nodes; `None` if every node is kept, because each id is then the same as the node's position.
    kept: Option<Vec<MergedId>>,
    /// The kind of each node as one letter: thread, unlinked, frame, op, runtime, gpu.
    kinds: String,
    /// The relation of each node as one letter or digit: same, renamed, moved, `1` for trace1 only, `2` for trace2
    /// only.
    relations: String,
    names: Vec<PageText>,
    other_names: OtherNames,
    /// The nodes that have time of their own. This time includes the time of the omitted nodes below the node.
    own: Vec<OwnTime>,
    /// The nodes that have omitted nodes below them.
    hidden: Vec<Hidden>,
    /// The matched nodes whose match is not firm.
    unsure: Vec<Unsure>,
}

/// Position of a node, then its baseline and candidate time in ns.
type OwnTime = (u32, i64, i64);
/// Position of a node, and the number of omitted nodes below it.
type Hidden = (u32, u32);
/// Position of a node whose match is not firm. For an interchangeable match, the group of the match follows; for a
/// match that is only likely, -1.
type Unsure = (u32, i64);

/// Resolution of the start times of GPU events, in ns.
const TICK: i64 = 100;
/// Value written in place of the launch delay if the launch of a GPU event is unknown.
const NO_LAUNCH: i64 = -1;

impl<'a> PageTree<'a> {
    /// Converts at most `most` nodes.
    pub(super) fn new(analysis: &'a Analysis, most: usize, texts: &mut Texts) -> PageTree<'a> {
        let keep = keep_most(analysis, most);
        let merged = analysis.diff().merged();
        let count = merged.len().min(most);
        let (mut kinds, mut relations) =
            (String::with_capacity(count), String::with_capacity(count));
        let mut names = Vec::with_capacity(count);
        let (mut unsure, mut named) = (Vec::new(), Vec::new());
        for (_, node) in merged.nodes().filter(|(id, _)| keep[id.index()]) {
            unsure.extend(confidence(analysis, node).map(|group| (names.len() as u32, group)));
            let kind = kind_letter(analysis, node);
            kinds.push(kind);
            relations.push(relation_letter(analysis, node));
            let name = match named_by(analysis, node) {
                NamedBy::One(side, call) => texts.name(side, analysis.tree(side), call),
                NamedBy::Two(..) => texts.id(&node_name(analysis, node)),
            };
            // The timeline and the lists of kernels show calls and kernels by the names of each side.
            if let (MergedNode::Both(_, call), 'o' | 'r' | 'g') = (node, kind)
                && let NamedBy::One(..) = named_by(analysis, node)
            {
                let other = texts.name(Side::Candidate, analysis.tree(Side::Candidate), call);
                let other = if kind == 'g' { texts.kernel(other) } else { other };
                named.push((names.len() as u32, [name, other]));
            }
            names.push(if kind == 'g' { texts.kernel(name) } else { name });
        }
        let (own, hidden) = fold(analysis, &keep);
        let ids = || merged.ids().filter(|id| keep[id.index()]);
        let kept = keep.contains(&false).then(|| ids().collect());
        let other_names = OtherNames::of(&named);
        PageTree { analysis, kept, kinds, relations, names, other_names, own, hidden, unsure }
    }

    /// The times of the nodes' own, with the differences of their positions.
    fn own_times(&self) -> impl Iterator<Item = (i64, i64, i64)> {
        self.own.iter().scan(0, |last, &(at, one, two)| Some((step(last, at), one, two)))
    }

    fn unsure_matches(&self) -> impl Iterator<Item = (i64, i64)> {
        self.unsure.iter().scan(0, |last, &(at, group)| Some((step(last, at), group)))
    }

    /// A node's id for use in links; `None` if the page omits the node.
    pub(super) fn target(&self, node: Option<MergedId>) -> Option<usize> {
        node.filter(|&node| self.position(node).is_some()).map(MergedId::index)
    }

    /// Position of a node in the page; `None` if the page omits the node.
    pub(super) fn position(&self, id: MergedId) -> Option<u32> {
        let position = match &self.kept {
            Some(kept) => kept.binary_search(&id).ok(),
            None => Some(id.index()),
        };
        position.map(|position| position as u32)
    }

    pub(super) fn left_out(&self) -> u64 {
        (self.analysis.diff().merged().len() - self.names.len()) as u64
    }

    fn nodes(&self) -> impl Iterator<Item = (MergedId, MergedNode)> {
        let merged = self.analysis.diff().merged();
        let all = self.kept.is_none().then(|| merged.ids());
        let kept = self.kept.iter().flatten().copied();
        all.into_iter().flatten().chain(kept).map(|id| (id, merged.node(id)))
    }

    /// The ids of the kept nodes, each stored as the difference from the previous id.
    fn ids(&self) -> impl Iterator<Item = usize> {
        let ids = self.kept.iter().flatten().map(|id| id.index());
        ids.scan(0, |last, id| Some(id - std::mem::replace(last, id)))
    }

    /// For each kept node, its depth in the tree. The depth is the same in the whole tree and on the page, because all
    /// ancestors of a kept node are kept.
    fn depths(&self) -> impl Iterator<Item = usize> {
        self.nodes().map(|(id, _)| self.analysis.diff().merged().depth(id))
    }

    /// The uid of each node, stored as the difference from the previous uid; 0 for a node without a uid on this side.
    fn uids(&self, side: Side) -> impl Iterator<Item = i64> {
        let tree = self.analysis.tree(side);
        self.nodes().scan(-1, move |last, (_, node)| {
            let event = node.call(side).and_then(|call| tree.event(call));
            let uid = event.map(|event| i64::from(tree.trace().uid(event).0));
            Some(uid.map_or(0, |uid| uid - std::mem::replace(last, uid)))
        })
    }

    /// For each GPU event on a side, in node order: the time from the previous event's start to the event's start, and
    /// the time from the event's launch to its start. Both times are multiples of 0.1 µs.
    fn gpu_events(&self, side: Side) -> impl Iterator<Item = (i64, i64)> {
        let tree = self.analysis.tree(side);
        let trace = tree.trace();
        let calls = self.nodes().filter_map(move |(_, node)| node.call(side));
        let events = calls.filter(move |&call| tree.kind(call) == CallKind::Gpu);
        events.scan(0, move |last, call| {
            let start = tree.event(call).map_or(0, |event| trace.start(event).0);
            let launch = tree.running_launch(call).and_then(|launch| tree.event(launch));
            let delay = launch.map(|launch| (start - trace.start(launch).0) / TICK);
            let tick = start / TICK;
            let since = tick - std::mem::replace(last, tick);
            Some((since, delay.unwrap_or(NO_LAUNCH)))
        })
    }
}

/// Serializes one field per column. Columns that the comparison stores in a different form are
/// converted on the fly.
impl Serialize for PageTree<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut columns = serializer.serialize_struct("PageTree", 13)?;
        columns.serialize_field("id", &Column(|| self.ids()))?;
        columns.serialize_field("depth", &Column(|| self.depths()))?;
        columns.serialize_field("kind", &self.kinds)?;
        columns.serialize_field("relation", &self.relations)?;
        columns.serialize_field("name", &self.names)?;
        columns.serialize_field("other_names", &self.other_names)?;
        columns.serialize_field("own", &Column(|| self.own_times()))?;
        columns.serialize_field("uid1", &Column(|| self.uids(Side::Baseline)))?;
        columns.serialize_field("uid2", &Column(|| self.uids(Side::Candidate)))?;
        columns.serialize_field("hidden", &self.hidden)?;
        columns.serialize_field("unsure", &Column(|| self.unsure_matches()))?;
        columns.serialize_field("gpu1", &Column(|| flat(self.gpu_events(Side::Baseline))))?;
        columns.serialize_field("gpu2", &Column(|| flat(self.gpu_events(Side::Candidate))))?;
        columns.end()
    }
}

/// Flattens pairs into one list, which takes fewer characters than a list of pairs.
fn flat(pairs: impl Iterator<Item = (i64, i64)>) -> impl Iterator<Item = i64> {
    pairs.flat_map(|(a, b)| [a, b])
}

/// The confidence of a node's match: the group of an interchangeable match, or -1 for a likely match. `None` for a firm
/// match or an unmatched node.
fn confidence(analysis: &Analysis, node: MergedNode) -> Option<i64> {
    let MergedNode::Both(call, _) = node else { return None };
    match analysis.diff().confidence(Side::Baseline, call)? {
        Confidence::Firm => None,
        Confidence::Likely => Some(-1),
        Confidence::Interchangeable { group } => Some(i64::from(group)),
    }
}

/// A kept node, its time including the omitted nodes below it, and the number of these omitted nodes.
struct Folded {
    position: u32,
    time: PerSide<Nanos>,
    nodes: u32,
}

/// The kept nodes that have their own time, and the kept nodes that have omitted nodes below them, by position.
/// Omitted nodes are folded into their nearest kept ancestor.
fn fold(analysis: &Analysis, keep: &[bool]) -> (Vec<OwnTime>, Vec<Hidden>) {
    let merged = analysis.diff().merged();
    let (mut own, mut hidden) = (Vec::new(), Vec::new());
    let mut close = |open: Folded| {
        if open.time != PerSide::default() {
            own.push((open.position, open.time.baseline.0, open.time.candidate.0));
        }
        if open.nodes > 0 {
            hidden.push((open.position, open.nodes));
        }
    };
    // One entry per depth is enough, because all ancestors of a kept node are also kept.
    let mut above: Vec<Folded> = Vec::new();
    let mut position = 0;
    for id in merged.ids() {
        let closed = above.len().min(merged.depth(id));
        above.drain(closed..).for_each(&mut close);
        let node = merged.node(id);
        let time = PerSide::from_fn(|side| own_time(analysis, side, node));
        if keep[id.index()] {
            above.push(Folded { position, time, nodes: 0 });
            position += 1;
        } else if let Some(nearest) = above.last_mut() {
            nearest.time = PerSide::from_fn(|side| nearest.time[side] + time[side]);
            nearest.nodes += 1;
        }
    }
    above.into_iter().for_each(close);
    own.sort_unstable();
    hidden.sort_unstable();
    (own, hidden)
}

pub(super) fn kind_letter(analysis: &Analysis, node: MergedNode) -> char {
    let (side, call) = match node {
        MergedNode::Both(call, _) => (Side::Baseline, call),
        MergedNode::Only(side, call) => (side, call),
    };
    match analysis.tree(side).kind(call) {
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

/// The candidate's names of the nodes whose name on the page is the baseline's.
#[derive(Default, Serialize)]
pub(super) struct OtherNames {
    /// The baseline's names with the name that most of their nodes have on the candidate's side.
    most: Vec<(PageText, PageText)>,
    /// The positions of the nodes that have another name than that.
    rest: Vec<(u32, PageText)>,
}

/// A node's position, and its names on both sides.
pub(super) type Named = (u32, [PageText; 2]);

impl OtherNames {
    /// Most pairs of names occur often, so a page has few entries.
    pub(super) fn of(nodes: &[Named]) -> OtherNames {
        let mut counts: BTreeMap<PageText, BTreeMap<PageText, usize>> = BTreeMap::new();
        for (_, [one, two]) in nodes {
            *counts.entry(*one).or_default().entry(*two).or_default() += 1;
        }
        let most = |names: &BTreeMap<PageText, usize>| {
            names.iter().max_by_key(|&(_, count)| count).map(|(&name, _)| name)
        };
        let most: BTreeMap<PageText, PageText> =
            counts.iter().filter_map(|(&one, names)| Some((one, most(names)?))).collect();
        let is_other = |&&(_, [one, two]): &&Named| most.get(&one) != Some(&two);
        let rest = nodes.iter().filter(is_other).map(|&(at, [_, two])| (at, two)).collect();
        OtherNames { most: most.into_iter().filter(|(one, two)| one != two).collect(), rest }
    }
}
