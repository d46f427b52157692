//! Two digests from the root down → the changes: partner places hold what they call against each other.

use super::Structure;
use super::bag::Bags;
use super::change::{Change, Item, StructureRule};
use super::fusion::is_split;
use super::gather::Nodes;
use super::lists::Lists;
use super::sums::{ArgumentSums, Sums, argument_sums, sums};
use super::variants::Exchanged;
use crate::gate::digest::{Digest, Node, NodeKind, Range};
use indextree::NodeId;
use std::cell::OnceCell;
use std::collections::BTreeMap;

pub(super) fn compare(before: &Digest, after: &Digest) -> Structure {
    let bags = (Bags::of(before), Bags::of(after));
    let mut walk = Walk {
        before,
        after,
        bags: (&bags.0, &bags.1),
        found: BTreeMap::new(),
        variable: Vec::new(),
        missing: Vec::new(),
        is_coarse: before.setup.is_coarse || after.setup.is_coarse,
        has_runtime: [before, after].iter().all(|digest| has_runtime(digest)),
        coarse_arguments: OnceCell::new(),
        coarse: OnceCell::new(),
    };
    let mut open = vec![Pair { one: before.root, two: after.root, arguments: Told::No }];
    while let Some(pair) = open.pop() {
        let mut below = walk.hold(pair);
        // In the order of the tree.
        below.reverse();
        open.extend(below);
    }
    walk.finish()
}

/// Whether a change of arguments was told of at an op above.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    Yes,
    No,
}

/// Partner places that are still to be looked at.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    pub(super) one: NodeId,
    pub(super) two: NodeId,
    arguments: Told,
}

impl Pair {
    /// Whether other arguments were told of, here or above.
    pub(super) fn has_other_arguments(self) -> bool {
        self.arguments == Told::Yes
    }
}

/// A change that is gathered.
pub(super) struct Gathered {
    pub(super) change: Change,
    /// Whether all of it is of gradients and the optimizer alone.
    pub(super) is_of_parameters: bool,
    /// Whether the arguments of its op changed, which is told.
    pub(super) has_other_arguments: bool,
}

/// Where changes of one rule are gathered: the order of places, then the rule.
type Key = (usize, StructureRule);

pub(super) struct Walk<'d> {
    pub(super) before: &'d Digest,
    pub(super) after: &'d Digest,
    pub(super) bags: (&'d Bags<'d>, &'d Bags<'d>),
    pub(super) found: BTreeMap<Key, Gathered>,
    pub(super) variable: Vec<String>,
    pub(super) missing: Vec<String>,
    /// Whether a clock of whole µs cannot tell which call is in which.
    is_coarse: bool,
    /// Whether both traces show which calls of the runtime wait for the GPU.
    pub(super) has_runtime: bool,
    /// What each op comes to in a step then; added up when it is first asked for.
    coarse: OnceCell<(Sums<'d>, Sums<'d>)>,
    coarse_arguments: OnceCell<(ArgumentSums<'d>, ArgumentSums<'d>)>,
}

/// More or fewer calls of one sort at a place.
pub(super) struct Surplus<'d> {
    pub(super) kind: NodeKind,
    pub(super) name: &'d str,
    pub(super) before: Range,
    pub(super) after: Range,
    /// The nodes of both sides.
    pub(super) ones: Vec<NodeId>,
    pub(super) twos: Vec<NodeId>,
}

fn has_runtime(digest: &Digest) -> bool {
    digest.nodes().any(|(_, node)| node.kind == NodeKind::Wait || node.launches.most > 0)
}

impl<'d> Walk<'d> {
    /// Holds what two partner places call against each other; the partners below are returned.
    fn hold(&mut self, pair: Pair) -> Vec<Pair> {
        if self.bags.0.hash(pair.one) == self.bags.1.hash(pair.two) {
            return Vec::new();
        }
        let lists = Lists::of((self.before, self.after), self.bags, (pair.one, pair.two));
        let mut below: Vec<Pair> = Vec::new();
        for &(one, two) in &lists.pairs {
            self.hold_calls(pair, one, two);
            below.push(Pair { one, two, arguments: Told::No });
        }
        let (mut gone, mut new) = (Vec::new(), Vec::new());
        let keys: Vec<(NodeKind, String)> = {
            let (one, two) = (&lists.called.0.others, &lists.called.1.others);
            let mut keys: Vec<_> = one.keys().chain(two.keys()).cloned().collect();
            keys.sort();
            keys.dedup();
            keys
        };
        let mut is_split_here = false;
        for key in &keys {
            let calls =
                (lists.called.0.calls(self.before, key), lists.called.1.calls(self.after, key));
            let calls = (self.scaled(pair, calls.0), calls.1);
            let ids =
                |side: &super::lists::Called| side.others.get(key).cloned().unwrap_or_default();
            let (ones, twos) = (ids(&lists.called.0), ids(&lists.called.1));
            let name = ones.first().map(|&id| self.before.node(id).name.as_str());
            let name = name.or(twos.first().map(|&id| self.after.node(id).name.as_str()));
            let name = name.unwrap_or_default();
            let differs = calls.1.is_above(calls.0) || calls.0.is_above(calls.1);
            if differs && self.is_moved(key) {
                continue;
            }
            if calls.1.is_above(calls.0) {
                let exchanged = self.exchanged(&ones, &twos);
                is_split_here |=
                    key.0 == NodeKind::Op && is_split(&exchanged) && self.does_work(&twos);
                let (before, after) = calls;
                new.push(Surplus { kind: key.0, name, before, after, ones, twos });
            } else if calls.0.is_above(calls.1) {
                let (before, after) = calls;
                gone.push(Surplus { kind: key.0, name, before, after, ones, twos });
            } else {
                if calls.0 != calls.1 {
                    self.add_variable(pair, name, calls);
                }
                let told = self.hold_equal(pair, key.0, &ones, &twos);
                if let (&[one], &[two]) = (ones.as_slice(), twos.as_slice()) {
                    below.push(Pair { one, two, arguments: told });
                }
            }
        }
        self.tell_gpu(pair, &gone, &new);
        self.tell_calls(pair, &gone, &new, is_split_here);
        self.tell_modules(pair, &lists);
        below
    }

    /// Notes a place whose count varies among the steps of one side.
    fn add_variable(&mut self, pair: Pair, name: &str, (one, two): (Range, Range)) {
        let is_steady = |digest: &Digest, calls: Range| !calls.is_variable() && digest.steps() > 1;
        let lacks = |calls: Range, steady: Range| calls.least < steady.least;
        let is_missing = is_steady(self.before, one) && lacks(two, one)
            || is_steady(self.after, two) && lacks(one, two);
        let words = self.words(pair.two, name);
        // A clock of whole µs puts short calls elsewhere.
        if is_missing && !self.is_coarse {
            self.missing.push(words.clone());
        }
        self.variable.push(words);
    }

    /// Whether something runs on the GPU below these places; in traces without GPU work nothing tells.
    /// What only looks at memory in another way cannot be split.
    fn does_work(&self, ids: &[NodeId]) -> bool {
        let tree = &self.after.tree;
        let mut below = ids.iter().flat_map(|id| id.descendants(tree));
        !self.after.setup.has_gpu || below.any(|id| self.after.node(id).kind.is_gpu())
    }

    /// Whether a clock of whole µs may have put calls of an op, of which a step has as many as before,
    /// elsewhere.
    fn is_moved(&self, (kind, name): &(NodeKind, String)) -> bool {
        if !self.is_coarse || *kind != NodeKind::Op {
            return false;
        }
        let (before, after) = self.coarse.get_or_init(|| (sums(self.before), sums(self.after)));
        let of = |sums: &Sums<'_>| sums.get(name.as_str()).copied().unwrap_or_default();
        let (one, two) = (of(before), of(after));
        one.least <= two.most && two.least <= one.most && one.most > 0
    }

    /// The counts of a place as they would be, were the place called as often as its partner.
    fn scaled(&self, pair: Pair, calls: Range) -> Range {
        let (one, two) = (self.before.node(pair.one).calls, self.after.node(pair.two).calls);
        let is_step = self.before.node(pair.one).kind == NodeKind::Step;
        if is_step || one == two || one.usual == 0 {
            return calls;
        }
        let scale = |count: u64, one: u64, two: u64| {
            if one == 0 { count } else { (count * two).div_ceil(one) }
        };
        // What varies with the place is no change of what the place does.
        let ends = [
            scale(calls.least, one.least, two.least),
            scale(calls.usual, one.usual, two.usual),
            scale(calls.most, one.most, two.most),
            scale(calls.usual, one.usual, two.least),
            scale(calls.usual, one.usual, two.most),
        ];
        let (least, most) =
            ends.iter().fold((u64::MAX, 0), |(least, most), &end| (least.min(end), most.max(end)));
        Range { least, usual: ends[1], most }
    }

    /// How often partner modules are called.
    fn hold_calls(&mut self, pair: Pair, one: NodeId, two: NodeId) {
        let calls = (self.scaled(pair, self.before.node(one).calls), self.after.node(two).calls);
        let name = self.after.node(two).name.clone();
        let rule = match (calls.1.is_above(calls.0), calls.0.is_above(calls.1)) {
            (true, _) => StructureRule::NewOp,
            (_, true) => StructureRule::GoneOp,
            (false, false) => return,
        };
        let item = Item::of(&format!("module {name}"), calls.0, calls.1);
        self.add(pair, rule, (calls.0.usual, calls.1.usual), item, Nodes::After(&[two]), 0);
    }

    /// Calls of which both sides have as many: their arguments and bytes.
    fn hold_equal(&mut self, pair: Pair, kind: NodeKind, ones: &[NodeId], twos: &[NodeId]) -> Told {
        let bytes = |digest: &Digest, ids: &[NodeId]| {
            ids.iter().fold(Range::default(), |sum, &id| sum.plus(digest.node(id).bytes))
        };
        let sums = (self.scaled(pair, bytes(self.before, ones)), bytes(self.after, twos));
        let first = twos.first().or(ones.first());
        let Some(&two) = first else { return pair.arguments };
        if sums.1.is_above(sums.0) && kind.is_gpu() {
            let node = self.after.node(two);
            let rule = match (kind, node.is_collective) {
                (NodeKind::Copy, _) => Some(StructureRule::NewCopy),
                (_, true) => Some(StructureRule::Collectives),
                (_, false) => None,
            };
            if let Some(rule) = rule {
                let item = Item {
                    what: node.name.clone(),
                    before: format!("{} bytes", sums.0),
                    after: format!("{} bytes", sums.1),
                };
                self.add(pair, rule, (sums.0.usual, sums.1.usual), item, Nodes::After(&[two]), 0);
            }
        }
        if kind != NodeKind::Op || pair.arguments == Told::Yes {
            return pair.arguments;
        }
        let exchanged = self.exchanged(ones, twos);
        if !exchanged.is_exchange() {
            return Told::No;
        }
        let rule = match exchanged.changes_types() {
            true => StructureRule::DtypeChange,
            false => StructureRule::ShapeChange,
        };
        let text = |(variant, _): &(crate::gate::digest::Variant, u64)| match rule
            == StructureRule::DtypeChange
        {
            true => variant.types.clone(),
            false => variant.dims.clone(),
        };
        let item = Item {
            what: self.after.node(two).name.clone(),
            before: exchanged.gone.first().map(text).unwrap_or_default(),
            after: exchanged.new.first().map(text).unwrap_or_default(),
        };
        let counts = (exchanged.gone_calls(), exchanged.new_calls());
        self.add(pair, rule, counts, item, Nodes::After(&[two]), 0);
        Told::Yes
    }

    fn exchanged(&self, ones: &[NodeId], twos: &[NodeId]) -> Exchanged {
        if !(self.before.setup.has_shapes && self.after.setup.has_shapes) {
            return Exchanged::default();
        }
        let nodes = |digest: &'d Digest, ids: &[NodeId]| -> Vec<&'d Node> {
            ids.iter().map(|&id| digest.node(id)).collect()
        };
        let mut exchanged = Exchanged::of(&nodes(self.before, ones), &nodes(self.after, twos));
        let name = twos.first().map(|&id| self.after.node(id).name.as_str());
        if let (true, Some(name)) = (self.is_coarse && !exchanged.is_empty(), name) {
            let (before, after) = self
                .coarse_arguments
                .get_or_init(|| (argument_sums(self.before), argument_sums(self.after)));
            exchanged.keep(|variant, is_new| {
                let key = (name, variant.dims.as_str(), variant.types.as_str());
                let of = |sums: &ArgumentSums<'_>| sums.get(&key).copied().unwrap_or_default();
                match is_new {
                    true => of(after).is_above(of(before)),
                    false => of(before).is_above(of(after)),
                }
            });
        }
        exchanged
    }
}
