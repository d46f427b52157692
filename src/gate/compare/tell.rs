//! What a place has more or fewer of → the rule that speaks of it.

use super::change::{Item, StructureRule};
use super::fusion::is_fused;
use super::gather::Nodes;
use super::lists::Lists;
use super::walk::{Pair, Surplus, Walk};
use crate::gate::digest::{Captured, Digest, Node, NodeKind, Range};
use indextree::NodeId;
use std::collections::BTreeMap;

/// Ops that read a value of the GPU: the host waits for it.
const READS: [&str; 3] = ["aten::item", "aten::_local_scalar_dense", "aten::is_nonzero"];

/// The op around a region that was compiled: as many as there are, as often the compiler gave up.
pub(in crate::gate) const REGION: &str = "Torch-Compiled Region";

impl<'d> Walk<'d> {
    /// Kernels, copies and memsets that a place has more or fewer of.
    pub(super) fn tell_gpu(&mut self, pair: Pair, gone: &[Surplus<'d>], new: &[Surplus<'d>]) {
        for copy in new.iter().filter(|surplus| surplus.kind == NodeKind::Copy) {
            self.add_surplus(pair, StructureRule::NewCopy, copy);
        }
        let is_kernel = |surplus: &&Surplus<'d>| surplus.kind == NodeKind::Kernel;
        let is_sent = |surplus: &&Surplus<'d>| {
            surplus.twos.iter().any(|&id| self.after.node(id).is_collective)
        };
        let sent: Vec<&Surplus<'d>> = new.iter().filter(is_kernel).filter(is_sent).collect();
        let new: Vec<&Surplus<'d>> =
            new.iter().filter(is_kernel).filter(|surplus| !is_sent(surplus)).collect();
        for surplus in sent {
            self.add_surplus(pair, StructureRule::Collectives, surplus);
        }
        let is_graph = self.after.node(pair.two).kind == NodeKind::GraphLaunch;
        if new.is_empty() && !is_graph {
            // A captured memset may be replayed as a kernel.
            let has_captures =
                [self.before, self.after].iter().any(|side| side.setup.captured != Captured::No);
            let is_work =
                |kind: NodeKind| kind.is_gpu() && !(has_captures && kind == NodeKind::Memset);
            for surplus in gone.iter().filter(|surplus| is_work(surplus.kind)) {
                self.add_surplus(pair, StructureRule::GoneKernel, surplus);
            }
        }
        let gone: Vec<&Surplus<'d>> = gone.iter().filter(is_kernel).collect();
        let more: u64 = new.iter().map(|s| s.after.usual - s.before.usual).sum();
        let less: u64 = gone.iter().map(|s| s.before.usual - s.after.usual).sum();
        // A library that takes another way does the same work with more kernels: nothing was fused.
        let was_fused = gone.iter().any(|surplus| is_fused(surplus.name));
        let rule = match more > less {
            false if !gone.is_empty() && is_graph && less > more => StructureRule::GraphReplayLost,
            true if was_fused && !is_graph => StructureRule::LostFusion,
            true => StructureRule::KernelsPerCall,
            false => StructureRule::NewKernel,
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
    pub(super) fn tell_calls(
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
            // What they launch is of one of them alone: it explains as many launches as there are.
            let launches = self.launches(surplus);
            for (at, &(rule, counts)) in rules.iter().enumerate() {
                let launches = if at == 0 { launches } else { 0 };
                self.add_counts(pair, rule, surplus, counts, launches);
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

    /// What more calls of an op are besides new work: the rules that speak of what there is more of below
    /// them, with how much of it there was and is.
    fn rules_of(&self, surplus: &Surplus<'d>) -> Vec<(StructureRule, (Range, Range))> {
        if surplus.name.starts_with(REGION) {
            return vec![(StructureRule::GraphBreaks, (surplus.before, surplus.after))];
        }
        // Not every read waits: a value that is in host memory is just read.
        let waits = |node: &Node, above: Option<&Node>| match self.has_runtime {
            true => node.kind == NodeKind::Wait,
            false => reads(node) && !above.is_some_and(reads),
        };
        let rules: [(StructureRule, &Picks<'_>); 3] = [
            (StructureRule::NewSync, &waits),
            (StructureRule::NewCopy, &|node, _| node.kind == NodeKind::Copy),
            (StructureRule::Collectives, &|node, _| node.is_collective),
        ];
        let counts = rules.into_iter().map(|(rule, is_it)| {
            let before = count_below(self.before, &surplus.ones, is_it);
            (rule, (before, count_below(self.after, &surplus.twos, is_it)))
        });
        counts.filter(|(_, (before, after))| after.usual > before.usual).collect()
    }

    /// Modules that one side has alone.
    pub(super) fn tell_modules(&mut self, pair: Pair, lists: &Lists) {
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
            let launches = self.after.launches_below(id);
            let calls = (0, node.calls.usual);
            self.add(pair, StructureRule::NewOp, calls, item, Nodes::After(&[id]), launches);
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
            let launches = -self.before.launches_below(id);
            let calls = (node.calls.usual, 0);
            self.add(pair, StructureRule::GoneOp, calls, item, Nodes::Before(&[id]), launches);
        }
    }

    /// The outermost ops below a module, in words.
    fn contents(&self, digest: &Digest, module: NodeId) -> String {
        let mut ops: BTreeMap<&str, u64> = BTreeMap::new();
        let mut open = vec![module];
        while let Some(id) = open.pop() {
            for child in digest.children(id) {
                let node = digest.node(child);
                if node.kind == NodeKind::Module {
                    open.push(child);
                } else if node.kind == NodeKind::Op && !is_backward(&node.name) {
                    *ops.entry(&node.name).or_default() += node.calls.usual;
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
}

fn reads(node: &Node) -> bool {
    READS.contains(&node.name.as_str())
}

/// Picks a node by itself and the one above it.
type Picks<'a> = dyn Fn(&Node, Option<&Node>) -> bool + 'a;

/// Calls in a step, at and below nodes, of what `is_it` picks.
fn count_below(digest: &Digest, ids: &[NodeId], is_it: &Picks<'_>) -> Range {
    let below = ids.iter().flat_map(|id| id.descendants(&digest.tree));
    let picked = below.filter(|&id| {
        is_it(digest.node(id), id.parent(&digest.tree).map(|above| digest.node(above)))
    });
    picked.fold(Range::default(), |sum, id| sum.plus(digest.node(id).calls))
}

fn is_backward(name: &str) -> bool {
    name.starts_with("autograd::engine") || name.contains("Backward")
}
