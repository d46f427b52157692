//! Rows of the account → [`Instance`]s: the kernels of both sides at each lowest common node.

use super::KernelChange;
use super::explain;
use crate::analysis::Analysis;
use crate::diff::{MergedId, MergedNode};
use crate::side::{PerSide, Side};
use crate::trace::Category;
use crate::tree::{CallId, CallKind};
use std::collections::BTreeMap;

/// A common node with kernels on both sides.
#[derive(Debug)]
pub(super) struct Instance {
    pub(super) node: MergedId,
    pub(super) path: String,
    /// In the order of their launches.
    pub(super) kernels: PerSide<Vec<CallId>>,
    pub(super) change: KernelChange,
}

impl Instance {
    pub(super) fn counts(&self) -> PerSide<usize> {
        self.kernels.as_ref().map(Vec::len)
    }
}

/// All instances, in the order of the merged tree.
pub(super) fn find(analysis: &Analysis<'_>) -> Vec<Instance> {
    let nodes = kernels_of_nodes(analysis);
    let mut paths = Paths { analysis, known: BTreeMap::new() };
    nodes
        .into_iter()
        .filter_map(|(node, kernels)| {
            let (kernels, change) = match kernels.as_ref().map(Vec::is_empty) {
                PerSide { baseline: false, candidate: false } => {
                    let change = explain::change(analysis, &kernels);
                    (kernels, change)
                }
                PerSide { baseline: true, candidate: false } => {
                    explain::absorbed(analysis, Side::Candidate, &kernels.candidate)?
                }
                PerSide { baseline: false, candidate: true } => {
                    explain::absorbed(analysis, Side::Baseline, &kernels.baseline)?
                }
                PerSide { baseline: true, candidate: true } => return None,
            };
            Some(Instance { node, path: paths.of(node), kernels, change })
        })
        .collect()
}

/// The kernels at each lowest common node, by launch.
fn kernels_of_nodes(analysis: &Analysis<'_>) -> BTreeMap<MergedId, PerSide<Vec<CallId>>> {
    let mut nodes: BTreeMap<MergedId, PerSide<Vec<CallId>>> = BTreeMap::new();
    for row in analysis.rows() {
        let Some(node) = row.lowest_common else { continue };
        let kernels = nodes.entry(node).or_default();
        for side in Side::BOTH {
            kernels[side]
                .extend(row.events[side].iter().filter(|&&event| is_kernel(analysis, side, event)));
        }
    }
    for kernels in nodes.values_mut() {
        // Calls are numbered in preorder, so in the order of the launches of a thread.
        kernels.baseline.sort_unstable();
        kernels.candidate.sort_unstable();
    }
    nodes
}

/// Whether an event is a kernel and neither copies nor sets memory.
pub(super) fn is_kernel(analysis: &Analysis<'_>, side: Side, event: CallId) -> bool {
    let tree = analysis.tree(side);
    let kind = tree.event(event).map(|event| tree.trace().category(event));
    kind == Some(Category::Kernel)
        && !matches!(analysis.category_name(side, event), "memcpy" | "memset")
}

/// Finds the path of a node from those of the nodes above.
struct Paths<'a, 'd> {
    analysis: &'a Analysis<'d>,
    known: BTreeMap<MergedId, String>,
}

impl Paths<'_, '_> {
    /// Modules and ops above the node, then the node itself, joined by ` / `.
    fn of(&mut self, node: MergedId) -> String {
        if let Some(path) = self.known.get(&node) {
            return path.clone();
        }
        let mut names = vec![self.name(node).unwrap_or_default()];
        let mut above = self.analysis.diff().merged().parent(node);
        while let Some(id) = above {
            names.extend(self.name(id).filter(|_| self.is_landmark(id)));
            above = self.analysis.diff().merged().parent(id);
        }
        names.reverse();
        let path = names.join(" / ");
        self.known.insert(node, path.clone());
        path
    }

    /// Name of a pair without what differs between its instances. One-sided calls are no part of a
    /// path: they are what differs.
    fn name(&self, node: MergedId) -> Option<String> {
        let diff = self.analysis.diff();
        let MergedNode::Both(baseline, candidate) = diff.merged().node(node) else { return None };
        let names = [
            diff.plain_name(Side::Baseline, baseline),
            diff.plain_name(Side::Candidate, candidate),
        ]
        .map(|name| name.strip_prefix("nn.Module: ").unwrap_or(&name).to_owned());
        match &names {
            [a, b] if a == b => Some(a.clone()),
            _ => None,
        }
    }

    fn is_landmark(&self, node: MergedId) -> bool {
        let Some(call) = self.analysis.diff().merged().node(node).call(Side::Baseline) else {
            return false;
        };
        let tree = self.analysis.tree(Side::Baseline);
        tree.is_module(call) || tree.kind(call) == CallKind::Op
    }
}
