//! Groups nodes of the merged tree into places. A place contains all nodes with the same call path, in all module
//! instances, layers and steps.
//!
//! ```text
//! train.py: step                      train.py: step
//! ├── nn.Module: Block_0              └── nn.Module: Block
//! │   └── aten::mm                        ├── aten::mm
//! └── nn.Module: Block_1                  └── (one-sided)
//!     ├── aten::mm
//!     └── >> trace1: aten::add
//! ```
//! All unmatched nodes below a common node, on both sides, share one place. If the candidate replaces work of the
//! baseline, the replaced work and the new work are therefore reported together. Matched calls with different names
//! have a separate place for each pair of names.

use crate::analysis::account::REPLACED;
use crate::diff::{MergedId, MergedNode, TraceDiff};
use crate::side::{PerSide, Side};
use crate::trace::TextId;
use crate::tree::{CallId, CallKind, ModuleName};
use rustc_hash::FxHashMap;

/// Id of a place. Ids are consecutive and start at 0; a place has a larger id than the place above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct PlaceId(pub(super) u32);

impl PlaceId {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Kind and name id of a node's call on each side; `None` on a side without the call. They determine the plain name of
/// the node.
type NameIds = PerSide<Option<(CallKind, TextId)>>;

/// Ids that determine the name of an owner of idle time. Owners with the same ids have the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct OwnerIds {
    own: NameIds,
    /// If the owner is a runtime call, the ids of its caller.
    above: NameIds,
}

/// The key of a place within its enclosing place. Nodes with the same key and the same enclosing place belong to the
/// same place.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key<'a> {
    Thread(MergedId),
    /// The kind of a common call, and its name on each side. The names may differ for aliases and launches.
    Call(CallKind, &'a str, &'a str),
    Renamed(&'a str, &'a str),
    OneSided,
}

/// A group of nodes with the same call path.
#[derive(Debug)]
pub(super) struct Place {
    /// The enclosing place; `None` for a root.
    pub(super) above: Option<PlaceId>,
    /// The first node that was assigned to this place.
    pub(super) node: MergedId,
    /// Kind of the calls at this place; `None` if the calls are not common calls.
    pub(super) kind: Option<CallKind>,
    /// Whether the calls at this place are common calls.
    pub(super) is_common: bool,
}

/// Assigns nodes to places, and caches the place of each node.
pub(super) struct Places<'a> {
    diff: &'a TraceDiff,
    places: Vec<Place>,
    ids: FxHashMap<(Option<PlaceId>, Key<'a>), PlaceId>,
    /// Cache of the places of common calls, by enclosing place and name ids. There are far fewer names than nodes.
    known: FxHashMap<(Option<PlaceId>, NameIds), PlaceId>,
    of_nodes: Vec<Option<PlaceId>>,
}

impl<'a> Places<'a> {
    pub(super) fn new(diff: &'a TraceDiff) -> Self {
        Places {
            diff,
            places: Vec::new(),
            ids: FxHashMap::default(),
            known: FxHashMap::default(),
            of_nodes: vec![None; diff.merged().len()],
        }
    }

    pub(super) fn diff(&self) -> &'a TraceDiff {
        self.diff
    }

    /// All places; each place comes after its enclosing place.
    pub(super) fn all(&self) -> &[Place] {
        &self.places
    }

    /// For each place, the nodes that have been assigned to it so far, in merged-tree order.
    pub(super) fn nodes(&self) -> Vec<Vec<MergedId>> {
        let mut nodes = vec![Vec::new(); self.places.len()];
        for (node, place) in self.diff.merged().ids().zip(&self.of_nodes) {
            if let Some(place) = place {
                nodes[place.index()].push(node);
            }
        }
        nodes
    }

    pub(super) fn is_module(&self, node: MergedId) -> bool {
        let node = self.diff.merged().node(node);
        Side::BOTH
            .iter()
            .any(|&side| node.call(side).is_some_and(|call| self.diff.tree(side).is_module(call)))
    }

    /// Name of an owner of idle time. The name of a runtime call includes the name of its caller, which is more
    /// informative.
    pub(super) fn owner_name(&self, node: MergedId) -> String {
        plain_owner_name(self.diff, node)
    }

    pub(super) fn owner_ids(&self, node: MergedId) -> OwnerIds {
        owner_ids(self.diff, node)
    }

    /// For each side, the name of the outermost unmatched call at or above a node, if there is one. All calls that a
    /// compiled region replaced have the same name here, because none of them is representative.
    pub(super) fn outermost(&self, node: MergedId) -> PerSide<Option<&'a str>> {
        let diff = self.diff;
        PerSide::from_fn(|side| {
            let call = diff.merged().node(node).call(side)?;
            let outermost = outermost_alone(self.diff, side, call)?;
            let region = diff.region_of(side, outermost).map(|at| &diff.regions()[at]);
            let is_replaced = region.is_some_and(|region| region.side != side);
            Some(if is_replaced { REPLACED } else { diff.plain_name(side, outermost) })
        })
    }

    pub(super) fn of(&mut self, node: MergedId) -> PlaceId {
        if let Some(place) = self.of_nodes[node.index()] {
            return place;
        }
        // Ancestors of the node that have no place yet. Usually, all ancestors already have a place.
        let mut path = Vec::new();
        let mut next = common_above(self.diff, node);
        while let Some(at) = next.filter(|at| self.of_nodes[at.index()].is_none()) {
            path.push(at);
            next = common_above(self.diff, at);
        }
        let mut above = next.and_then(|at| self.of_nodes[at.index()]);
        for &at in path.iter().rev() {
            above = Some(self.enter(at, above));
        }
        self.enter(node, above)
    }

    fn enter(&mut self, node: MergedId, above: Option<PlaceId>) -> PlaceId {
        let place = match self.common_names(node) {
            Some(names) => match self.known.get(&(above, names)) {
                Some(&place) => place,
                None => {
                    let place = self.find_or_add(node, above);
                    self.known.insert((above, names), place);
                    place
                }
            },
            None => self.find_or_add(node, above),
        };
        self.of_nodes[node.index()] = Some(place);
        place
    }

    /// Kinds and name ids of a common call; `None` for all other nodes, including threads.
    fn common_names(&self, node: MergedId) -> Option<NameIds> {
        let diff = self.diff;
        let MergedNode::Both(a, _) = diff.merged().node(node) else { return None };
        let is_call = match diff.tree(Side::Baseline).kind(a) {
            CallKind::Thread | CallKind::Unlinked => false,
            CallKind::Frame | CallKind::Op | CallKind::Runtime | CallKind::Gpu => true,
        };
        let is_common = is_call && diff.relation(Side::Baseline, a).is_common();
        is_common.then(|| name_ids(self.diff, node))
    }

    fn find_or_add(&mut self, node: MergedId, above: Option<PlaceId>) -> PlaceId {
        let key = self.key(node);
        let kind = match key {
            Key::Call(kind, ..) => Some(kind),
            Key::Thread(_) => Some(CallKind::Thread),
            Key::Renamed(..) | Key::OneSided => None,
        };
        let places = &mut self.places;
        *self.ids.entry((above, key)).or_insert_with(|| {
            places.push(Place { above, node, kind, is_common: kind.is_some() });
            PlaceId(places.len() as u32 - 1)
        })
    }

    fn key(&self, id: MergedId) -> Key<'a> {
        let diff = self.diff;
        let plain = |side: Side, call: CallId| diff.plain_name(side, call);
        match diff.merged().node(id) {
            MergedNode::Both(a, b) if diff.relation(Side::Baseline, a).is_common() => {
                match diff.tree(Side::Baseline).kind(a) {
                    CallKind::Thread | CallKind::Unlinked => Key::Thread(id),
                    kind @ (CallKind::Frame | CallKind::Op | CallKind::Runtime | CallKind::Gpu) => {
                        Key::Call(kind, plain(Side::Baseline, a), plain(Side::Candidate, b))
                    }
                }
            }
            MergedNode::Both(..) | MergedNode::Only(..) => match renamed(self.diff, id) {
                Some((a, b)) => Key::Renamed(plain(Side::Baseline, a), plain(Side::Candidate, b)),
                None => Key::OneSided,
            },
        }
    }
}

/// The outermost call on the path from `call` upward that is below the nearest common call; `None` if `call` itself is
/// common.
fn outermost_alone(diff: &TraceDiff, side: Side, call: CallId) -> Option<CallId> {
    let path = std::iter::once(call).chain(diff.tree(side).ancestors(call));
    path.take_while(|&at| !diff.relation(side, at).is_common()).last()
}

/// The renamed call at or above a node, which consists of two matched calls with different names. Only the call that
/// [`outermost_alone`] returns is considered.
fn renamed(diff: &TraceDiff, id: MergedId) -> Option<(CallId, CallId)> {
    let merged = diff.merged();
    let node = merged.node(id);
    let outermost = |side: Side| {
        let alone = outermost_alone(diff, side, node.call(side)?)?;
        Some(merged.of(side, alone))
    };
    let pair = match (outermost(Side::Baseline), outermost(Side::Candidate)) {
        (Some(a), Some(b)) if a == b => merged.node(a),
        (Some(one), None) | (None, Some(one)) => merged.node(one),
        (Some(_), Some(_)) | (None, None) => return None,
    };
    match pair {
        MergedNode::Only(..) => None,
        MergedNode::Both(a, b) => {
            let is_outermost = |side, call| outermost_alone(diff, side, call) == Some(call);
            (diff.partner(Side::Baseline, a) == Some(b)
                && is_outermost(Side::Baseline, a)
                && is_outermost(Side::Candidate, b))
            .then_some((a, b))
        }
    }
}

pub(super) fn owner_ids(diff: &TraceDiff, id: MergedId) -> OwnerIds {
    let own = name_ids(diff, id);
    let is_runtime = matches!(
        own,
        PerSide { baseline: Some((CallKind::Runtime, _)), .. }
            | PerSide { candidate: Some((CallKind::Runtime, _)), .. }
    );
    let above = diff.merged().parent(id).filter(|_| is_runtime);
    OwnerIds { own, above: above.map_or_else(NameIds::default, |above| name_ids(diff, above)) }
}

/// The nearest common node that is above the given node in both trees. The result does not depend on which trace is the
/// baseline.
pub(super) fn common_above(diff: &TraceDiff, node: MergedId) -> Option<MergedId> {
    let merged = diff.merged();
    let common = |side: Side, call: CallId| {
        let above = diff.tree(side).ancestors(call);
        above.filter(move |&above| diff.relation(side, above).is_common())
    };
    let found = match merged.node(node) {
        MergedNode::Only(side, call) => common(side, call).next().map(|above| (side, above)),
        MergedNode::Both(a, b) => {
            let holds_both = |&above: &CallId| {
                let partner = diff.partner(Side::Baseline, above);
                partner.is_some_and(|partner| diff.tree(Side::Candidate).is_below(b, partner))
            };
            common(Side::Baseline, a).find(holds_both).map(|above| (Side::Baseline, above))
        }
    };
    found.map(|(side, call)| merged.of(side, call))
}

/// Name of a node without details that vary between instances: modules are named by class, line
/// numbers are omitted, and threads are named like `thread pt_autograd`.
pub(in crate::analysis) fn plain_node_name(diff: &TraceDiff, id: MergedId) -> String {
    let node = diff.merged().node(id);
    let name = |side: Side| node.call(side).map(|call| diff.plain_name(side, call));
    let is_thread = Side::BOTH.iter().any(|&side| {
        node.call(side).is_some_and(|call| diff.tree(side).kind(call) == CallKind::Thread)
    });
    if is_thread {
        return thread_name(PerSide::from_fn(name));
    }
    match (name(Side::Baseline), name(Side::Candidate)) {
        (Some(a), Some(b)) if a != b => format!("{a} → {b}"),
        (Some(name), _) | (None, Some(name)) => ModuleName::instance_or_name(name).to_owned(),
        (None, None) => String::new(),
    }
}

fn name_ids(diff: &TraceDiff, id: MergedId) -> NameIds {
    let node = diff.merged().node(id);
    PerSide::from_fn(|side| {
        let (tree, call) = (diff.tree(side), node.call(side)?);
        let name = match (tree.event(call), tree.thread(call)) {
            (Some(event), _) => tree.trace().name_id(event),
            (None, Some(thread)) => tree.trace().thread(thread).name,
            (None, None) => TextId::EMPTY,
        };
        Some((tree.kind(call), name))
    })
}

/// Like [`Analysis::plain_node_name`], but the name of a runtime call includes its caller, and a
/// thread is named `(between calls)`.
pub(super) fn plain_owner_name(diff: &TraceDiff, id: MergedId) -> String {
    let merged = diff.merged();
    let kind = |id: MergedId| {
        let node = merged.node(id);
        let call = |side: Side| node.call(side).map(|call| diff.tree(side).kind(call));
        call(Side::Baseline).or_else(|| call(Side::Candidate))
    };
    let name = plain_node_name(diff, id);
    match (kind(id), merged.parent(id)) {
        (Some(CallKind::Thread), _) => "(between calls)".to_owned(),
        (Some(CallKind::Runtime), Some(above)) if kind(above) != Some(CallKind::Thread) => {
            format!("{name} in {}", plain_node_name(diff, above))
        }
        (
            Some(
                CallKind::Runtime
                | CallKind::Op
                | CallKind::Frame
                | CallKind::Gpu
                | CallKind::Unlinked,
            )
            | None,
            _,
        ) => name,
    }
}

/// Class of the innermost module that encloses a node, or both classes if the sides differ; empty if no
/// module encloses the node.
pub(super) fn module_class(diff: &TraceDiff, id: MergedId) -> String {
    let node = diff.merged().node(id);
    let class = |side: Side| {
        let (tree, call) = (diff.tree(side), node.call(side)?);
        let module = tree.module(call)?;
        Some(ModuleName::class_or_name(tree.name(module)))
    };
    match (class(Side::Baseline), class(Side::Candidate)) {
        (Some(a), Some(b)) if a != b => format!("{a} → {b}"),
        (Some(class), _) | (None, Some(class)) => class.to_owned(),
        (None, None) => String::new(),
    }
}

/// Name of a thread without its numbers: `thread 1228 (pt_autograd_0)` → `thread pt_autograd`. If the sides have
/// different thread names, the name is `thread`.
fn thread_name(names: PerSide<Option<&str>>) -> String {
    let own = |name: &str| {
        let (_, name) = name.strip_suffix(')')?.rsplit_once('(')?;
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        Some(stem.strip_suffix('_').unwrap_or(name).to_owned())
    };
    let [one, two] = [names.baseline, names.candidate].map(|name| name.map(own));
    match (one.clone().or(two.clone()).flatten(), one.is_none() || two.is_none() || one == two) {
        (Some(name), true) if !name.is_empty() => format!("thread {name}"),
        _ => "thread".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::thread_name;
    use crate::side::PerSide;

    #[test]
    fn a_thread_has_a_name_if_both_sides_agree() {
        let (one, two) = ("thread 503 (pt_autograd_0)", "thread 1228 (pt_autograd_1)");
        assert_eq!(thread_name(PerSide::new(Some(one), Some(two))), "thread pt_autograd");
        assert_eq!(thread_name(PerSide::new(Some(one), None)), "thread pt_autograd");
        assert_eq!(thread_name(PerSide::new(Some(one), Some("thread 7 (python)"))), "thread");
        assert_eq!(thread_name(PerSide::new(Some("thread"), Some(two))), "thread");
        let python = Some("thread 7 (python3.8)");
        assert_eq!(thread_name(PerSide::new(python, python)), "thread python3.8");
    }
}
