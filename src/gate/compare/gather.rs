//! What was told → the changes: one for each place and rule, with the place in words and the Python
//! function that calls it.

use super::Structure;
use super::change::{Change, Item, Place, Site, StructureRule};
use super::walk::{Gathered, Pair, Surplus, Walk};
use crate::diff::plain_name;
use crate::gate::digest::{Node, NodeKind, Range};
use crate::program::Word;
use crate::tree::CallKind;
use indextree::NodeId;

/// The nodes that a change is of.
#[derive(Clone, Copy)]
pub(super) enum Nodes<'n> {
    /// They are gone.
    Before(&'n [NodeId]),
    After(&'n [NodeId]),
}

impl Walk<'_> {
    pub(super) fn add_surplus(&mut self, pair: Pair, rule: StructureRule, surplus: &Surplus<'_>) {
        let counts = (surplus.before, surplus.after);
        self.add_counts(pair, rule, surplus, counts, self.launches(surplus));
    }

    /// Adds more or fewer calls of one sort; `counts` are in the unit of the rule.
    pub(super) fn add_counts(
        &mut self,
        pair: Pair,
        rule: StructureRule,
        surplus: &Surplus<'_>,
        (before, after): (Range, Range),
        launches: i64,
    ) {
        let nodes = match surplus.after.usual > surplus.before.usual {
            true => Nodes::After(&surplus.twos),
            false => Nodes::Before(&surplus.ones),
        };
        let item = Item::of(surplus.name, before, after);
        self.add(pair, rule, (before.usual, after.usual), item, nodes, launches);
    }

    /// Launches in a step that more or fewer calls bring.
    pub(super) fn launches(&self, surplus: &Surplus<'_>) -> i64 {
        if matches!(surplus.kind, NodeKind::Kernel | NodeKind::Copy | NodeKind::Memset) {
            return surplus.after.usual as i64 - surplus.before.usual as i64;
        }
        let ones = surplus.ones.iter();
        let launches: i64 = ones.clone().map(|&id| self.before.launches_below(id)).sum();
        let calls: i64 = ones.map(|&id| self.before.node(id).calls.usual as i64).sum();
        // As many as there would have been, had the place been called as often as now.
        let before = if calls > 0 { launches * surplus.before.usual as i64 / calls } else { 0 };
        let after: i64 = surplus.twos.iter().map(|&id| self.after.launches_below(id)).sum();
        after - before
    }

    /// Adds one thing to the change of a rule at a place.
    pub(super) fn add(
        &mut self,
        pair: Pair,
        rule: StructureRule,
        (before, after): (u64, u64),
        item: Item,
        nodes: Nodes<'_>,
        launches: i64,
    ) {
        let (digest, ids) = match nodes {
            Nodes::Before(ids) => (self.before, ids),
            Nodes::After(ids) => (self.after, ids),
        };
        let site = match nodes {
            Nodes::Before(_) => None,
            Nodes::After(ids) => ids.iter().find_map(|&id| self.site(pair, id)),
        };
        let first = ids.first().map(|&id| digest.node(id));
        let (category, phase) = first.map_or(("", ""), |node| (&node.category, &node.phase));
        // Arguments go on from op to op: one change for all of a module.
        let is_of_arguments =
            matches!(rule, StructureRule::DtypeChange | StructureRule::ShapeChange);
        let at = if is_of_arguments { self.around(pair.two) } else { pair.two };
        let key = (usize::from(at), rule);
        let place = self.place(at, phase.to_owned());
        let is_of_parameters = is_of_parameters(&place, phase, &item.what);
        let gathered = self.found.entry(key).or_insert_with(|| Gathered {
            change: Change {
                rule,
                place,
                items: Vec::new(),
                before: 0,
                after: 0,
                site: None,
                category: String::new(),
                launches: 0,
            },
            is_of_parameters: true,
            has_other_arguments: true,
        });
        gathered.has_other_arguments &= pair.has_other_arguments();
        gathered.is_of_parameters &= is_of_parameters;
        let change = &mut gathered.change;
        change.before += before;
        change.after += after;
        change.launches += launches;
        change.items.push(item);
        if change.site.is_none() {
            change.site = site;
        }
        if change.category.is_empty() {
            category.clone_into(&mut change.category);
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
        let mut structure =
            Structure { variable: self.variable, missing: self.missing, ..Structure::default() };
        let is_cause = |found: &Gathered| is_of_modules(&found.change.place);
        let has_cause = self.found.values().any(is_cause);
        for Gathered { change, is_of_parameters, has_other_arguments } in self.found.into_values() {
            let of_parameters = has_cause && is_of_parameters && may_follow(change.rule);
            if of_parameters || has_other_arguments && change.rule.is_of_kernels() {
                structure.follow.push(change);
            } else {
                structure.changes.push(change);
            }
        }
        structure
    }
}

fn is_of_modules(place: &Place) -> bool {
    place.path.iter().any(|(word, _)| *word == Word::Module)
}

/// Whether what changed outside of modules, in a phase, is of the gradients of parameters or of their
/// optimizer.
fn is_of_parameters(place: &Place, phase: &str, what: &str) -> bool {
    let is_gradient = |name: &str| name.contains("AccumulateGrad");
    let phase = if phase.is_empty() { &place.phase } else { phase };
    !is_of_modules(place)
        && (phase == "train.optimizer"
            || is_gradient(what)
            || place.path.iter().any(|(_, name)| is_gradient(name)))
}

/// Whether more or fewer parameters may break a rule.
fn may_follow(rule: StructureRule) -> bool {
    matches!(
        rule,
        StructureRule::NewOp
            | StructureRule::GoneOp
            | StructureRule::LostFusion
            | StructureRule::ShapeChange
            | StructureRule::DtypeChange
    )
}
