//! Two partner places → what is called below them: pairs of modules, the rest of the modules, and
//! everything else by kind and name.
//!
//! A module without a partner is looked through where what it calls is missed on the other side: a new
//! wrapper, a module whose work is called directly now. Else it is new or gone with all that it calls.

use super::bag::{Bag, Bags};
use super::modules;
use crate::gate::digest::{Digest, NodeKind, Range};
use indextree::NodeId;
use std::collections::BTreeMap;

/// How often modules in modules are looked through at one place.
const DEEPEST: usize = 16;

/// What one side calls below a place.
#[derive(Debug, Default)]
pub(super) struct Called {
    pub(super) modules: Vec<NodeId>,
    pub(super) others: BTreeMap<(NodeKind, String), Vec<NodeId>>,
    /// Modules that were looked through.
    pub(super) opened: Vec<NodeId>,
}

impl Called {
    fn below(digest: &Digest, id: NodeId) -> Called {
        let mut called = Called::default();
        called.modules = called.take(digest, id);
        called
    }

    /// Adds what a node calls but for its modules, which are returned.
    fn take(&mut self, digest: &Digest, id: NodeId) -> Vec<NodeId> {
        let mut modules = Vec::new();
        for child in digest.children(id) {
            let node = digest.node(child);
            if node.kind == NodeKind::Module {
                modules.push(child);
            } else {
                let key = (node.kind, node.name.clone());
                self.others.entry(key).or_default().push(child);
            }
        }
        modules
    }

    /// Puts what a module calls in its place.
    fn open(&mut self, digest: &Digest, module: NodeId) {
        let inner = self.take(digest, module);
        let at = self.modules.iter().position(|&id| id == module).expect("a module of the list");
        self.modules.splice(at..=at, inner);
        self.opened.push(module);
    }

    pub(super) fn calls(&self, digest: &Digest, key: &(NodeKind, String)) -> Range {
        let ids = self.others.get(key).map_or(&[][..], Vec::as_slice);
        ids.iter().fold(Range::default(), |sum, &id| sum.plus(digest.node(id).calls))
    }
}

/// What both sides call below a place.
pub(super) struct Lists {
    pub(super) called: (Called, Called),
    pub(super) pairs: Vec<(NodeId, NodeId)>,
    pub(super) gone: Vec<NodeId>,
    pub(super) new: Vec<NodeId>,
}

impl Lists {
    pub(super) fn of(
        digests: (&Digest, &Digest),
        bags: (&Bags<'_>, &Bags<'_>),
        place: (NodeId, NodeId),
    ) -> Lists {
        let mut called = (Called::below(digests.0, place.0), Called::below(digests.1, place.1));
        for _ in 0..DEEPEST {
            let lists = Lists::pair(digests, bags, called);
            let (gone, new) = lists.to_open(digests, bags);
            if gone.is_empty() && new.is_empty() {
                return lists;
            }
            called = lists.called;
            gone.into_iter().for_each(|id| called.0.open(digests.0, id));
            new.into_iter().for_each(|id| called.1.open(digests.1, id));
        }
        Lists::pair(digests, bags, called)
    }

    fn pair(
        digests: (&Digest, &Digest),
        bags: (&Bags<'_>, &Bags<'_>),
        called: (Called, Called),
    ) -> Lists {
        let pairs = modules::pairs(digests, bags, &called.0.modules, &called.1.modules);
        let is_alone = |id: &NodeId, pick: fn(&(NodeId, NodeId)) -> NodeId| {
            !pairs.iter().any(|pair| pick(pair) == *id)
        };
        let gone = called.0.modules.iter().copied().filter(|id| is_alone(id, |p| p.0)).collect();
        let new = called.1.modules.iter().copied().filter(|id| is_alone(id, |p| p.1)).collect();
        Lists { called, pairs, gone, new }
    }

    /// The modules without partner whose content the other side misses.
    fn to_open(
        &self,
        digests: (&Digest, &Digest),
        bags: (&Bags<'_>, &Bags<'_>),
    ) -> (Vec<NodeId>, Vec<NodeId>) {
        let missed_before =
            self.missed(digests.0, bags.0, &self.gone, &self.called.0, (digests.1, &self.called.1));
        let missed_after =
            self.missed(digests.1, bags.1, &self.new, &self.called.1, (digests.0, &self.called.0));
        let shares = |bag: &Bag, other: &Bag| bag.keys().any(|key| other.contains_key(key));
        let new: Vec<NodeId> = self
            .new
            .iter()
            .copied()
            .filter(|&id| shares(&bags.1.bag(id), &missed_before))
            .collect();
        // One side at a time, and the outer one first: what it holds may be the other's partner.
        let largest = |bags: &Bags<'_>, ids: &[NodeId]| {
            ids.iter().map(|&id| bags.bag(id).values().sum::<u64>()).max().unwrap_or(0)
        };
        let gone: Vec<NodeId> = self
            .gone
            .iter()
            .copied()
            .filter(|&id| shares(&bags.0.bag(id), &missed_after))
            .collect();
        match largest(bags.0, &gone) > largest(bags.1, &new) {
            true => (gone, Vec::new()),
            false if !new.is_empty() => (Vec::new(), new),
            false => (gone, Vec::new()),
        }
    }

    /// What one side calls below a place and the other does not: in modules without partner, and in
    /// ops that it calls more often.
    fn missed(
        &self,
        digest: &Digest,
        bags: &Bags<'_>,
        alone: &[NodeId],
        called: &Called,
        (other_digest, other): (&Digest, &Called),
    ) -> Bag {
        let mut missed = Bag::new();
        for &id in alone {
            for (key, count) in bags.bag(id) {
                *missed.entry(key).or_default() += count;
            }
        }
        for (key, ids) in called.others.iter().filter(|(key, _)| key.0 == NodeKind::Op) {
            if called.calls(digest, key).is_above(other.calls(other_digest, key)) {
                for &id in ids {
                    for (key, count) in bags.bag(id) {
                        *missed.entry(key).or_default() += count;
                    }
                }
            }
        }
        missed
    }
}
