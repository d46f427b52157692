//! What was told → the changes: one for each place and rule, with the place in words and the Python
//! function that calls it.

use super::Structure;
use super::change::{Change, Item, Place, Site, StructureRule};
use super::walk::{Pair, Surplus, Walk};
use crate::diff::plain_name;
use crate::gate::digest::{Node, NodeKind, Range};
use crate::program::Word;
use crate::tree::CallKind;
use indextree::NodeId;

impl Walk<'_> {
    pub(super) fn add_surplus(&mut self, pair: Pair, rule: StructureRule, surplus: &Surplus<'_>) {
        let item = Item::of(surplus.name, surplus.before, surplus.after);
        let is_new = surplus.after.usual > surplus.before.usual;
        let digest = if is_new { self.after } else { self.before };
        let each: i64 = surplus.nodes.iter().map(|&id| digest.launches_below(id)).sum();
        let calls: u64 = surplus.nodes.iter().map(|&id| digest.node(id).calls.usual).sum();
        let more = surplus.after.usual as i64 - surplus.before.usual as i64;
        let launches = match (surplus.kind, calls) {
            (NodeKind::Kernel | NodeKind::Copy | NodeKind::Memset, _) => more,
            (_, 0) => 0,
            (_, calls) => each * more / calls as i64,
        };
        let nodes = if is_new { surplus.nodes.as_slice() } else { &[] };
        self.add(pair, rule, (surplus.before.usual, surplus.after.usual), item, nodes, launches);
    }

    /// Adds one thing to the change of a rule at a place.
    pub(super) fn add(
        &mut self,
        pair: Pair,
        rule: StructureRule,
        (before, after): (u64, u64),
        item: Item,
        nodes: &[NodeId],
        launches: i64,
    ) {
        let site = nodes.iter().find_map(|&id| self.site(pair, id));
        // Arguments go on from op to op: one change for all of a module.
        let is_of_arguments =
            matches!(rule, StructureRule::DtypeChange | StructureRule::ShapeChange);
        let at = if is_of_arguments { self.around(pair.two) } else { pair.two };
        let category = nodes.first().map(|&id| self.after.node(id).category.clone());
        let phase = nodes.first().map(|&id| self.after.node(id).phase.clone());
        let key = (usize::from(at), rule);
        let place = self.place(at, phase.unwrap_or_default());
        let change = self.found.entry(key).or_insert_with(|| Change {
            rule,
            place,
            items: Vec::new(),
            before: 0,
            after: 0,
            site: None,
            category: String::new(),
            launches: 0,
        });
        change.before += before;
        change.after += after;
        change.launches += launches;
        change.items.push(item);
        if change.site.is_none() {
            change.site = site;
        }
        if change.category.is_empty() {
            change.category = category.unwrap_or_default();
        }
    }

    /// The module around a place, or the whole step; of ops outside of modules the outermost one.
    fn around(&self, id: NodeId) -> NodeId {
        let is_module = |&id: &NodeId| self.after.node(id).kind == NodeKind::Module;
        let outermost = self.after.path(id).first().copied();
        let module = id.ancestors(&self.after.tree).find(is_module);
        module.or(outermost).unwrap_or(id)
    }

    /// The Python function that calls a node more often than before.
    fn site(&self, pair: Pair, id: NodeId) -> Option<Site> {
        let outermost = |id: NodeId| {
            let mut ops = id
                .ancestors(&self.after.tree)
                .filter(|&above| self.after.node(above).kind == NodeKind::Op);
            let first = ops.next();
            ops.last().or(first)
        };
        let mut sites: Vec<&(String, Range)> = match outermost(id) {
            Some(op) => self.after.node(op).sites.iter().collect(),
            // A module: of the first op below it that somebody calls.
            None => {
                let below = id.descendants(&self.after.tree);
                below
                    .map(|below| &self.after.node(below).sites)
                    .find(|s| !s.is_empty())?
                    .iter()
                    .collect()
            }
        };
        let known = |frame: &str| -> u64 {
            let name = plain_name(CallKind::Frame, frame);
            let same = |node: &&Node| {
                node.kind == self.after.node(id).kind && node.name == self.after.node(id).name
            };
            self.before
                .children(pair.one)
                .map(|child| self.before.node(child))
                .filter(same)
                .flat_map(|node| &node.sites)
                .filter(|(site, _)| plain_name(CallKind::Frame, site) == name)
                .map(|(_, calls)| calls.usual)
                .sum()
        };
        sites.sort_by_key(|(frame, calls)| {
            std::cmp::Reverse(calls.usual.saturating_sub(known(frame)))
        });
        sites.first().and_then(|(frame, _)| Site::of(frame))
    }

    fn place(&self, id: NodeId, phase: String) -> Place {
        let node = |id: NodeId| self.after.node(id);
        let path = self.after.path(id);
        let own = node(id).phase.clone();
        Place {
            path: path
                .into_iter()
                .filter_map(|id| Some((node(id).kind.word()?, node(id).name.clone())))
                .collect(),
            phase: if own.is_empty() { phase } else { own },
        }
    }

    pub(super) fn words(&self, place: NodeId, name: &str) -> String {
        match self.place(place, String::new()).words().as_str() {
            "step" => name.to_owned(),
            place => format!("{place} / {name}"),
        }
    }

    /// The changes, those that follow from others apart.
    pub(super) fn finish(self) -> Structure {
        let mut structure = Structure { variable: self.variable, ..Structure::default() };
        let changes: Vec<Change> = self.found.into_values().collect();
        let is_cause =
            |change: &Change| change.place.path.iter().any(|(word, _)| *word == Word::Module);
        let has_cause = changes.iter().any(is_cause);
        for change in changes {
            let follows = has_cause && follows(&change);
            if follows { structure.follow.push(change) } else { structure.changes.push(change) }
        }
        structure
    }
}

/// Whether a change outside of modules is of parameters alone: of their gradients and their optimizer.
fn follows(change: &Change) -> bool {
    let is_of_rule = matches!(
        change.rule,
        StructureRule::NewOp
            | StructureRule::GoneOp
            | StructureRule::LostFusion
            | StructureRule::ShapeChange
            | StructureRule::DtypeChange
    );
    let path = || change.place.path.iter();
    let is_gradient = |name: &str| name.contains("AccumulateGrad");
    is_of_rule
        && path().all(|(word, _)| *word != Word::Module)
        && (change.place.phase == "train.optimizer"
            || path().any(|(_, name)| is_gradient(name))
            || change.items.iter().all(|item| is_gradient(&item.what)))
}
