//! A query and a digest → the places that it names, and what they come to.

use crate::gate::digest::{Digest, NodeKind};
use crate::gate::rules::Scope;
use crate::program::{Progress, Query, Segment, Word, extend_chain};
use indextree::NodeId;

impl Digest {
    /// The nodes that a query names, in preorder.
    pub(super) fn find(&self, query: &Query) -> Vec<NodeId> {
        let mut found = Vec::new();
        let mut above: Vec<(Progress, usize)> = Vec::new();
        let mut chain = String::new();
        for (depth, id) in self.ids() {
            above.truncate(depth);
            let (progress, length) = above.last().copied().unwrap_or_default();
            chain.truncate(length);
            let node = self.node(id);
            let Some(word) = node.kind.word() else {
                above.push((progress, length));
                continue;
            };
            if word == Word::Module {
                extend_chain(&mut chain, &node.name);
            }
            let place = Segment { word, name: &node.name, chain: &chain };
            let (below, is_named) = query.step(progress, place);
            if is_named {
                found.push(id);
            }
            above.push((below, chain.len()));
        }
        found
    }

    /// Names of all places of a sort, each once.
    fn names(&self, word: Word) -> Vec<&str> {
        let mut names: Vec<&str> = self
            .nodes()
            .filter(|(_, node)| node.kind.word() == Some(word))
            .map(|(_, node)| node.name.as_str())
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// For each run the accounted time of a scope in a step, in µs.
    pub(super) fn time_of(&self, scope: &Scope) -> Vec<f64> {
        let mut sums = vec![0.0; self.runs.len()];
        let roots = match &scope.path {
            Some(query) => self.find(query),
            None => vec![self.root],
        };
        let mut counted = std::collections::BTreeSet::new();
        for id in roots.into_iter().flat_map(|id| id.descendants(&self.tree)) {
            let node = self.node(id);
            let is_wanted = scope.phase.as_ref().is_none_or(|phase| *phase == node.phase)
                && scope.category.as_ref().is_none_or(|category| *category == node.category);
            if is_wanted && counted.insert(usize::from(id)) {
                sums.iter_mut().zip(&node.micros).for_each(|(sum, time)| *sum += time);
            }
        }
        sums
    }
}

/// Why a rule speaks of nothing in either digest; `None` where it speaks of something.
pub(super) fn speaks_of_nothing(digests: [&Digest; 2], scope: &Scope) -> Option<String> {
    if let Some(query) = &scope.path
        && digests.iter().all(|digest| digest.find(query).is_empty())
    {
        let nearest = query.nearest_in(|word| digests.iter().flat_map(|d| d.names(word)).collect());
        let nearest = match query.words().any(|word| word == Word::Frame) {
            true => Some("frames are no places of a baseline".to_owned()),
            false => nearest,
        };
        return Some(format!("{query} names nothing; {}", nearest.unwrap_or_default()));
    }
    let has = |is_it: &dyn Fn(&crate::gate::digest::Node) -> bool| {
        digests.iter().any(|digest| digest.nodes().any(|(_, node)| is_it(node)))
    };
    if let Some(phase) = &scope.phase
        && !has(&|node| node.phase == *phase)
    {
        return Some(format!("no work is of phase {phase}"));
    }
    if let Some(category) = &scope.category
        && !has(&|node| node.category == *category)
    {
        let mut known: Vec<&str> = digests
            .iter()
            .flat_map(|digest| digest.nodes())
            .map(|(_, node)| node.category.as_str())
            .filter(|category| !category.is_empty())
            .collect();
        known.sort_unstable();
        known.dedup();
        return Some(match crate::program::nearest(category, known) {
            Some(near) => format!("no work is of category {category}; the nearest is {near}"),
            None => format!("no work is of category {category}"),
        });
    }
    None
}

/// Whether a digest has a place of a sort at all.
pub(super) fn has_modules(digest: &Digest) -> bool {
    digest.nodes().any(|(_, node)| node.kind == NodeKind::Module)
}
