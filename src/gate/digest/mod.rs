//! The runs of one side → [`Digest`]: their calls per step, equal calls in one.
//!
//! ```text
//! trace (3 steps)                          digest
//! Net_0 ── Block_0 ── aten::conv2d ×3      Net_0 ── Block_0 ── aten::conv2d   1 a step
//!      └── Block_1 ── aten::conv2d ×3           └── Block_1 ── aten::conv2d   1 a step
//! ```
//! A path of the digest is modules, ops, and what runs below them. Threads and Python frames are none
//! of it: a call from another function is the same call. Backward ops stand below the module of their
//! forward op. Everything that is counted has its least, usual and most count over all steps of all
//! runs: what varies among them is known as variable.

mod builder;
mod growth;
mod node;
mod run;
mod sites;
mod tallies;
mod totals;

pub use builder::Digester;
pub(in crate::gate) use builder::{ONE_PROGRAM, likeness};
pub use node::{Node, NodeKind, Range, Variant};
pub(in crate::gate) use totals::COUNTS;

use crate::program::Footing;
use indextree::{Arena, NodeId};
use std::collections::BTreeMap;

/// What the runs of a digest were made on and how.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Setup {
    /// `nvidia`, `amd`, …, `cpu`.
    pub vendor: String,
    /// Marketing names of the devices, each once.
    pub devices: Vec<String>,
    /// Versions of runtime, driver and profiler.
    pub versions: Vec<(String, String)>,
    /// Number of processes; 1 where nothing says it.
    pub world_size: u64,
    /// Whether GPU events were recorded.
    pub has_gpu: bool,
    /// Whether modules were recorded.
    pub has_modules: bool,
    /// Whether shapes were recorded.
    pub has_shapes: bool,
    /// Whether all times are whole microseconds, so that of two short calls nothing says which is in
    /// which.
    pub is_coarse: bool,
    /// Whether the launches of graphs show what was captured.
    pub captured: Captured,
}

/// How far the launches of graphs show what was captured: see
/// [`Captures`](crate::program::Captures).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Captured {
    /// Kernels of a graph stand at its launch, or no graph was launched.
    #[default]
    No,
    /// Some launches show it.
    Partly,
    /// Kernels of all graphs stand below the ops that launched them in the capture.
    Wholly,
}

impl Captured {
    /// Of launches of which some show this and others that.
    #[must_use]
    pub fn and(self, other: Captured) -> Captured {
        if self == other { self } else { Captured::Partly }
    }
}

/// What is known of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFacts {
    /// The file, as the user named it; empty in a baseline file.
    pub name: String,
    /// Steps that were looked at; 1 where the run has none and is taken as a whole.
    pub steps: u64,
    /// Whether the file is cut off.
    pub is_truncated: bool,
    /// Share of the GPU time whose launch is in the trace, 0 to 1; 1 without GPU time.
    pub launched_share: f64,
}

/// The runs of one side, as far as rules look at them.
#[derive(Debug, Clone)]
pub struct Digest {
    /// On what, and how.
    pub setup: Setup,
    /// The runs.
    pub runs: Vec<RunFacts>,
    /// For each measure of a step and each run its time in µs: `step_wall`, the step time that `diff`
    /// reports (a mean over the steps); of all others the median over the steps: `gpu_time`, `idle`, `exposed_communication`, `category:gemm`, `phase:decode`, ….
    pub times: BTreeMap<String, Vec<f64>>,
    /// Counts of a whole step: `launches`, `kernels`, `graph_launches`, ….
    pub counts: BTreeMap<String, Range>,
    /// What was odd when captures of graphs were looked for, a line for each run; none in a baseline
    /// file.
    pub remarks: Vec<String>,
    pub(in crate::gate) tree: Arena<Node>,
    pub(in crate::gate) root: NodeId,
}

impl Digest {
    /// All nodes with their depth, in preorder; the root has depth 0.
    pub fn nodes(&self) -> impl Iterator<Item = (usize, &Node)> {
        self.ids().map(|(depth, id)| (depth, self.node(id)))
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.tree.len()
    }

    /// Whether nothing was called.
    pub fn is_empty(&self) -> bool {
        self.len() <= 1
    }

    /// Steps of all runs.
    pub fn steps(&self) -> u64 {
        self.runs.iter().map(|run| run.steps).sum()
    }

    /// What the side was recorded on, and how whole it is.
    pub fn footing(&self) -> Footing {
        let shares = self.runs.iter().map(|run| run.launched_share);
        Footing {
            vendor: self.setup.vendor.clone(),
            devices: self.setup.devices.clone(),
            world_size: self.setup.world_size,
            has_gpu: self.setup.has_gpu,
            has_calls: !self.is_empty(),
            runs: self.runs.len(),
            cut_off: self.runs.iter().filter(|run| run.is_truncated).count(),
            launched_share: shares.fold(f64::INFINITY, f64::min),
        }
    }

    /// Launches in a step at and below a node.
    pub(in crate::gate) fn launches_below(&self, id: NodeId) -> i64 {
        id.descendants(&self.tree).map(|below| self.node(below).launches.usual as i64).sum()
    }

    /// Calls of each op in a step, wherever they stand.
    pub(in crate::gate) fn ops(&self) -> BTreeMap<String, f64> {
        let mut ops: BTreeMap<String, f64> = BTreeMap::new();
        for (_, node) in self.nodes().filter(|(_, node)| node.kind == NodeKind::Op) {
            *ops.entry(node.name.clone()).or_default() += node.calls.usual as f64;
        }
        ops
    }

    pub(in crate::gate) fn ids(&self) -> impl Iterator<Item = (usize, NodeId)> + '_ {
        let mut depth = 0_usize;
        self.root.traverse(&self.tree).filter_map(move |edge| match edge {
            indextree::NodeEdge::Start(id) => {
                depth += 1;
                Some((depth - 1, id))
            }
            indextree::NodeEdge::End(_) => {
                depth -= 1;
                None
            }
        })
    }

    pub(in crate::gate) fn node(&self, id: NodeId) -> &Node {
        self.tree[id].get()
    }

    pub(in crate::gate) fn children(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        id.children(&self.tree)
    }

    /// The nodes from the root down to this one, the root left out.
    pub(in crate::gate) fn path(&self, id: NodeId) -> Vec<NodeId> {
        let mut path: Vec<NodeId> =
            id.ancestors(&self.tree).filter(|&above| above != self.root).collect();
        path.reverse();
        path
    }
}
