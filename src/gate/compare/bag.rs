//! A node of a digest → the bag of what is called below it: how alike two modules are.

use crate::gate::digest::{Digest, Node, NodeKind};
use indextree::NodeId;
use rustc_hash::{FxHashMap, FxHasher};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

/// What is called at and below each node, and a number that equal nodes share.
pub(super) struct Bags<'d> {
    digest: &'d Digest,
    hashes: FxHashMap<NodeId, u64>,
}

/// Names of what is called, with their count in a step.
pub(super) type Bag = BTreeMap<u64, u64>;

impl<'d> Bags<'d> {
    pub(super) fn of(digest: &'d Digest) -> Bags<'d> {
        let mut hashes: FxHashMap<NodeId, u64> = FxHashMap::default();
        let ids: Vec<NodeId> = digest.ids().map(|(_, id)| id).collect();
        for &id in ids.iter().rev() {
            let mut hasher = FxHasher::default();
            hash_node(digest.node(id), &mut hasher);
            for child in digest.children(id) {
                hashes[&child].hash(&mut hasher);
            }
            hashes.insert(id, hasher.finish());
        }
        Bags { digest, hashes }
    }

    /// A number that is equal for nodes which call the same, numbers of modules left aside.
    pub(super) fn hash(&self, id: NodeId) -> u64 {
        self.hashes[&id]
    }

    /// The ops below a node, each twice: by name, and by name and arguments.
    pub(super) fn bag(&self, id: NodeId) -> Bag {
        let mut bag = Bag::new();
        for below in id.descendants(&self.digest.tree) {
            let node = self.digest.node(below);
            if node.kind == NodeKind::Module && below != id {
                *bag.entry(number(&[node.class()])).or_default() += node.calls.usual;
            }
            if node.kind != NodeKind::Op {
                continue;
            }
            *bag.entry(number(&[&node.name])).or_default() += node.calls.usual;
            for variant in &node.variants {
                let key = number(&[&node.name, &variant.dims, &variant.types]);
                *bag.entry(key).or_default() += variant.calls.usual;
            }
        }
        bag
    }
}

/// What two bags share, of what either holds: 0 to 1.
pub(super) fn likeness(one: &Bag, two: &Bag) -> f64 {
    let shared: u64 = one.iter().map(|(key, &count)| count.min(of(two, *key))).sum();
    let all = one.values().sum::<u64>() + two.values().sum::<u64>() - shared;
    if all == 0 { 1.0 } else { shared as f64 / all as f64 }
}

fn of(bag: &Bag, key: u64) -> u64 {
    bag.get(&key).copied().unwrap_or(0)
}

fn number(texts: &[&str]) -> u64 {
    let mut hasher = FxHasher::default();
    texts.hash(&mut hasher);
    hasher.finish()
}

fn hash_node(node: &Node, hasher: &mut FxHasher) {
    (node.kind, node.class(), node.calls, node.launches, node.bytes).hash(hasher);
    for variant in &node.variants {
        (&variant.dims, &variant.types, variant.calls).hash(hasher);
    }
}
