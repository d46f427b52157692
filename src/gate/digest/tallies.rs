//! The nodes of a digest while runs are added to it, and what is counted of each.

use super::node::{Node, NodeKind, Range, Variant};
use indextree::{Arena, NodeId};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Counts of each step so far; steps that are missing at the end have none.
pub(super) type Counts = Vec<u64>;

/// What is counted of one node.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) calls: Counts,
    pub(super) launches: Counts,
    pub(super) bytes: Counts,
    /// By shapes and types of the arguments.
    pub(super) variants: BTreeMap<(String, String), Counts>,
    /// By the user's frame around the calls.
    pub(super) sites: BTreeMap<String, Counts>,
    /// For each run, the accounted time of all steps in ns.
    pub(super) nanos: Vec<i64>,
}

/// The nodes so far: their tree, and their tallies.
#[derive(Debug)]
pub(super) struct Nodes {
    tree: Arena<Node>,
    root: NodeId,
    /// By position of the node in `tree`.
    tallies: Vec<Tally>,
    known: FxHashMap<(NodeId, NodeKind, String), NodeId>,
}

impl Nodes {
    /// The root alone, which stands for a step.
    pub(super) fn new() -> Nodes {
        let mut tree = Arena::new();
        let root = tree.new_node(Node::new(NodeKind::Step, "step".to_owned()));
        Nodes { tree, root, tallies: vec![Tally::default()], known: FxHashMap::default() }
    }

    pub(super) fn root(&self) -> NodeId {
        self.root
    }

    pub(super) fn node(&mut self, id: NodeId) -> &mut Node {
        self.tree[id].get_mut()
    }

    pub(super) fn kind(&self, id: NodeId) -> NodeKind {
        self.tree[id].get().kind
    }

    pub(super) fn tally(&mut self, id: NodeId) -> &mut Tally {
        &mut self.tallies[position(id)]
    }

    /// The node of a name below another, which is made where it is new.
    pub(super) fn below(&mut self, above: NodeId, kind: NodeKind, name: &str) -> NodeId {
        let key = (above, kind, name.to_owned());
        if let Some(&id) = self.known.get(&key) {
            return id;
        }
        let id = self.tree.new_node(Node::new(kind, name.to_owned()));
        self.tallies.push(Tally::default());
        above.append(id, &mut self.tree);
        self.known.insert(key, id);
        id
    }

    /// The tree and its root, with what was counted in `steps` steps; `per_step` makes of the times of
    /// each run in ns those of a step in µs.
    pub(super) fn finish(
        mut self,
        steps: usize,
        per_step: impl Fn(&[i64]) -> Vec<f64>,
    ) -> (Arena<Node>, NodeId) {
        let range = |mut counts: Counts| {
            counts.resize(steps, 0);
            Range::of(counts)
        };
        let ids: Vec<NodeId> = self.root.descendants(&self.tree).collect();
        for id in ids {
            let tally = std::mem::take(&mut self.tallies[position(id)]);
            let node = self.tree[id].get_mut();
            node.calls = range(tally.calls);
            node.launches = range(tally.launches);
            node.bytes = range(tally.bytes);
            let variant = |((dims, types), counts): ((String, String), Counts)| Variant {
                dims,
                types,
                calls: range(counts),
            };
            node.variants = tally.variants.into_iter().map(variant).collect();
            let site = |(name, counts): (String, Counts)| (name, range(counts));
            node.sites = tally.sites.into_iter().map(site).collect();
            node.micros = per_step(&tally.nanos);
        }
        (self.tree, self.root)
    }
}

/// Position of a node in its arena: nothing is removed, so that they are dense.
fn position(id: NodeId) -> usize {
    usize::from(id) - 1
}

/// Adds one at the position of a step.
pub(super) fn count(counts: &mut Counts, step: usize, more: u64) {
    if counts.len() <= step {
        counts.resize(step + 1, 0);
    }
    counts[step] += more;
}

/// Adds the counts of a run to those of all.
pub(super) fn add_up(sums: &mut Counts, counts: &Counts) {
    for (step, &more) in counts.iter().enumerate().filter(|&(_, &more)| more > 0) {
        count(sums, step, more);
    }
}
