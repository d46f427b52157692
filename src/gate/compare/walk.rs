//! Two digests from the root down → the changes: partner places hold what they call against each other.

use super::Structure;
use super::bag::Bags;
use super::change::{Change, Item, Place, Site, StructureRule};
use super::fusion::{is_fused, is_split};
use super::lists::Lists;
use super::variants::Exchanged;
use crate::diff::plain_name;
use crate::gate::digest::{Digest, Node, NodeKind, Range};
use crate::program::Word;
use crate::tree::CallKind;
use indextree::NodeId;
use std::collections::BTreeMap;

/// Ops that read a value of the GPU: the host waits for it.
const READS: [&str; 3] = ["aten::item", "aten::_local_scalar_dense", "aten::is_nonzero"];

/// The op around a region that was compiled: as many as there are, as often the compiler gave up.
const REGION: &str = "Torch-Compiled Region";

pub(super) fn compare(before: &Digest, after: &Digest) -> Structure {
    let bags = (Bags::of(before), Bags::of(after));
    let mut walk = Walk {
        before,
        after,
        bags: (&bags.0, &bags.1),
        found: BTreeMap::new(),
        variable: Vec::new(),
        coarse: (before.setup.is_coarse || after.setup.is_coarse)
            .then(|| (sums(before), sums(after))),
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
struct Pair {
    one: NodeId,
    two: NodeId,
    arguments: Told,
}

/// Where changes of one rule are gathered: the order of places, then the rule.
type Key = (usize, StructureRule);

struct Walk<'d> {
    before: &'d Digest,
    after: &'d Digest,
    bags: (&'d Bags<'d>, &'d Bags<'d>),
    found: BTreeMap<Key, Change>,
    variable: Vec<String>,
    /// Where a clock of whole µs cannot tell which call is in which: what each op comes to in a step.
    coarse: Option<(Sums<'d>, Sums<'d>)>,
}

/// Calls of each op in a step, wherever they stand.
type Sums<'d> = BTreeMap<&'d str, Range>;

fn sums(digest: &Digest) -> Sums<'_> {
    let mut sums = Sums::new();
    for (_, node) in digest.nodes().filter(|(_, node)| node.kind == NodeKind::Op) {
        let sum = sums.entry(node.name.as_str()).or_default();
        *sum = sum.plus(node.calls);
    }
    sums
}

/// More or fewer calls of one sort at a place.
struct Surplus<'d> {
    kind: NodeKind,
    name: &'d str,
    before: Range,
    after: Range,
    nodes: Vec<NodeId>,
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
            let surplus =
                |nodes| Surplus { kind: key.0, name, before: calls.0, after: calls.1, nodes };
            let differs = calls.1.is_above(calls.0) || calls.0.is_above(calls.1);
            if differs && self.is_moved(key) {
                continue;
            }
            if calls.1.is_above(calls.0) {
                let exchanged = self.exchanged(&ones, &twos);
                is_split_here |= key.0 == NodeKind::Op && is_split(&exchanged);
                new.push(surplus(twos));
            } else if calls.0.is_above(calls.1) {
                gone.push(surplus(ones));
            } else {
                if calls.0 != calls.1 {
                    self.variable.push(self.words(pair.two, name));
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

    /// Whether a clock of whole µs may have put calls of an op, of which a step has as many as before,
    /// elsewhere.
    fn is_moved(&self, (kind, name): &(NodeKind, String)) -> bool {
        let Some((before, after)) = &self.coarse else { return false };
        let of = |sums: &Sums<'_>| sums.get(name.as_str()).copied().unwrap_or_default();
        let (one, two) = (of(before), of(after));
        *kind == NodeKind::Op && one.least <= two.most && two.least <= one.most && one.most > 0
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
        let item = item(&format!("module {name}"), calls.0, calls.1);
        self.add(pair, rule, (calls.0.usual, calls.1.usual), item, &[two], 0);
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
                self.add(pair, rule, (sums.0.usual, sums.1.usual), item, &[two], 0);
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
        let text = |(variant, _): &(crate::gate::digest::Variant, u64)| match rule {
            StructureRule::DtypeChange => variant.types.clone(),
            _ => variant.dims.clone(),
        };
        let item = Item {
            what: self.after.node(two).name.clone(),
            before: exchanged.gone.first().map(text).unwrap_or_default(),
            after: exchanged.new.first().map(text).unwrap_or_default(),
        };
        let counts = (exchanged.gone_calls(), exchanged.new_calls());
        self.add(pair, rule, counts, item, &[two], 0);
        Told::Yes
    }

    fn exchanged(&self, ones: &[NodeId], twos: &[NodeId]) -> Exchanged {
        if !(self.before.setup.has_shapes && self.after.setup.has_shapes) {
            return Exchanged::default();
        }
        let nodes = |digest: &'d Digest, ids: &[NodeId]| -> Vec<&'d Node> {
            ids.iter().map(|&id| digest.node(id)).collect()
        };
        Exchanged::of(&nodes(self.before, ones), &nodes(self.after, twos))
    }

    /// Kernels, copies and memsets that a place has more or fewer of.
    fn tell_gpu(&mut self, pair: Pair, gone: &[Surplus<'d>], new: &[Surplus<'d>]) {
        for copy in new.iter().filter(|surplus| surplus.kind == NodeKind::Copy) {
            self.add_surplus(pair, StructureRule::NewCopy, copy);
        }
        let is_kernel = |surplus: &&Surplus<'d>| surplus.kind == NodeKind::Kernel;
        let is_sent = |surplus: &&Surplus<'d>| {
            surplus.nodes.iter().any(|&id| self.after.node(id).is_collective)
        };
        let sent: Vec<&Surplus<'d>> = new.iter().filter(is_kernel).filter(is_sent).collect();
        let new: Vec<&Surplus<'d>> =
            new.iter().filter(is_kernel).filter(|surplus| !is_sent(surplus)).collect();
        for surplus in sent {
            self.add_surplus(pair, StructureRule::Collectives, surplus);
        }
        let gone: Vec<&Surplus<'d>> = gone.iter().filter(is_kernel).collect();
        let is_graph = self.after.node(pair.two).kind == NodeKind::GraphLaunch;
        let more: u64 = new.iter().map(|s| s.after.usual - s.before.usual).sum();
        let less: u64 = gone.iter().map(|s| s.before.usual - s.after.usual).sum();
        let rule = match (more > less, gone.is_empty()) {
            (false, false) if is_graph && less > more => StructureRule::GraphReplayLost,
            (true, false) if !is_graph => StructureRule::LostFusion,
            (true, _) => StructureRule::KernelsPerCall,
            (false, _) => StructureRule::NewKernel,
        };
        if rule == StructureRule::GraphReplayLost {
            gone.iter().for_each(|surplus| self.add_surplus(pair, rule, surplus));
        }
        if new.is_empty() {
            return;
        }
        for surplus in new.into_iter().chain(gone) {
            self.add_surplus(pair, rule, surplus);
        }
    }

    /// Ops, waits and graph launches that a place has more or fewer of.
    fn tell_calls(
        &mut self,
        pair: Pair,
        gone: &[Surplus<'d>],
        new: &[Surplus<'d>],
        is_split: bool,
    ) {
        let is_op = |surplus: &&Surplus<'d>| surplus.kind == NodeKind::Op;
        for wait in new.iter().filter(|surplus| surplus.kind == NodeKind::Wait) {
            self.add_surplus(pair, StructureRule::NewSync, wait);
        }
        for launch in gone.iter().filter(|surplus| surplus.kind == NodeKind::GraphLaunch) {
            self.add_surplus(pair, StructureRule::GraphReplayLost, launch);
        }
        let lost = gone.iter().filter(is_op).any(|surplus| is_fused(surplus.name));
        let mut plain = Vec::new();
        for surplus in new.iter().filter(is_op) {
            let rules = self.rules_of(surplus);
            for &rule in &rules {
                self.add_surplus(pair, rule, surplus);
            }
            if rules.is_empty() {
                plain.push(surplus);
            }
        }
        let count = |list: &[&Surplus<'d>]| -> u64 {
            list.iter().map(|s| s.after.usual.abs_diff(s.before.usual)).sum()
        };
        let gone: Vec<&Surplus<'d>> = gone.iter().filter(is_op).collect();
        let is_lost = is_split || (lost && count(&plain) > count(&gone));
        let rule = |otherwise| if is_lost { StructureRule::LostFusion } else { otherwise };
        // What was split first: it tells most.
        plain.sort_by_key(|surplus| {
            let more = surplus.after.usual.saturating_sub(surplus.before.usual);
            (surplus.before.usual == 0, is_backward(surplus.name), std::cmp::Reverse(more))
        });
        for surplus in plain {
            self.add_surplus(pair, rule(StructureRule::NewOp), surplus);
        }
        for surplus in gone {
            self.add_surplus(pair, rule(StructureRule::GoneOp), surplus);
        }
    }

    /// What a new op is besides new work: the rules that speak of what is below it.
    fn rules_of(&self, surplus: &Surplus<'d>) -> Vec<StructureRule> {
        if surplus.name.starts_with(REGION) {
            return vec![StructureRule::GraphBreaks];
        }
        let below = || surplus.nodes.iter().flat_map(|id| id.descendants(&self.after.tree));
        let nodes = || below().map(|id| self.after.node(id));
        let mut rules = Vec::new();
        if nodes().any(|node| node.kind == NodeKind::Wait || READS.contains(&node.name.as_str())) {
            rules.push(StructureRule::NewSync);
        }
        if nodes().any(|node| node.kind == NodeKind::Copy) {
            rules.push(StructureRule::NewCopy);
        }
        if nodes().any(|node| node.is_collective) {
            rules.push(StructureRule::Collectives);
        }
        rules
    }

    /// Modules that one side has alone.
    fn tell_modules(&mut self, pair: Pair, lists: &Lists) {
        for &id in &lists.new {
            let node = self.after.node(id);
            if node.calls.least == 0 {
                continue;
            }
            let item = Item {
                what: format!("module {}", node.name),
                before: "none".to_owned(),
                after: self.contents(self.after, id),
            };
            let launches = launches_below(self.after, id);
            self.add(pair, StructureRule::NewOp, (0, node.calls.usual), item, &[id], launches);
        }
        for &id in &lists.gone {
            let node = self.before.node(id);
            if node.calls.least == 0 {
                continue;
            }
            let item = Item {
                what: format!("module {}", node.name),
                before: self.contents(self.before, id),
                after: "none".to_owned(),
            };
            let launches = -launches_below(self.before, id);
            self.add(pair, StructureRule::GoneOp, (node.calls.usual, 0), item, &[], launches);
        }
    }

    /// The outermost ops below a module, in words.
    fn contents(&self, digest: &Digest, module: NodeId) -> String {
        let mut ops: BTreeMap<&str, u64> = BTreeMap::new();
        let mut open = vec![module];
        while let Some(id) = open.pop() {
            for child in digest.children(id) {
                let node = digest.node(child);
                match node.kind {
                    NodeKind::Module => open.push(child),
                    NodeKind::Op if !is_backward(&node.name) => {
                        *ops.entry(&node.name).or_default() += node.calls.usual;
                    }
                    _ => {}
                }
            }
        }
        let ops: Vec<String> = ops
            .iter()
            .map(
                |(name, &count)| {
                    if count == 1 { (*name).to_owned() } else { format!("{count} × {name}") }
                },
            )
            .collect();
        ops.join(", ")
    }

    fn add_surplus(&mut self, pair: Pair, rule: StructureRule, surplus: &Surplus<'d>) {
        let item = item(surplus.name, surplus.before, surplus.after);
        let is_new = surplus.after.usual > surplus.before.usual;
        let digest = if is_new { self.after } else { self.before };
        let each: i64 = surplus.nodes.iter().map(|&id| launches_below(digest, id)).sum();
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
    fn add(
        &mut self,
        pair: Pair,
        rule: StructureRule,
        (before, after): (u64, u64),
        item: Item,
        nodes: &[NodeId],
        launches: i64,
    ) {
        let site = nodes.iter().find_map(|&id| self.site(pair, id));
        let at = match rule {
            // Arguments go on from op to op: one change for all of a module.
            StructureRule::DtypeChange | StructureRule::ShapeChange => self.around(pair.two),
            _ => pair.two,
        };
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

    fn words(&self, place: NodeId, name: &str) -> String {
        match self.place(place, String::new()).words().as_str() {
            "step" => name.to_owned(),
            place => format!("{place} / {name}"),
        }
    }

    /// The changes, those that follow from others apart.
    fn finish(self) -> Structure {
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

fn is_backward(name: &str) -> bool {
    name.starts_with("autograd::engine") || name.contains("Backward")
}

fn launches_below(digest: &Digest, id: NodeId) -> i64 {
    id.descendants(&digest.tree).map(|below| digest.node(below).launches.usual as i64).sum()
}

fn item(what: &str, before: Range, after: Range) -> Item {
    Item { what: what.to_owned(), before: before.to_string(), after: after.to_string() }
}
