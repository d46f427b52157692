//! The runs of one side → [`Recording`]: the calls of the median run, and what all runs measured.
//!
//! ```text
//! runs ─┬─ median run ──▶ calls, arguments, kernels      aligned with the other side
//!       └─ every run ───▶ times, counts, evidence        noise, limits, what is missing
//! ```

mod memory;
mod places;
mod range;
mod recorder;
mod totals;
mod upward;

pub(in crate::gate) use places::{Places, TimedPlace, segment};
pub use range::Range;
pub use recorder::Recorder;
pub(in crate::gate) use totals::COUNTS;
pub(in crate::gate) use upward::Upward;

use crate::program::{Evidence, Footing, Program, StepId};
use crate::trace::TextId;
use crate::tree::{CallId, CallKind, CallTree};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a side was recorded on, and with which options.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Setup {
    /// `nvidia`, `amd`, …, `cpu`.
    pub vendor: String,
    /// Marketing names of the devices, without duplicates.
    pub devices: Vec<String>,
    /// Versions of runtime, driver and profiler.
    pub versions: Vec<(String, String)>,
    /// Number of processes; 1 if not recorded.
    pub world_size: u64,
    /// Whether GPU events were recorded.
    pub has_gpu: bool,
    /// Whether any call has a measured time.
    pub has_calls: bool,
    /// Whether modules were recorded.
    pub has_modules: bool,
    /// Whether shapes were recorded.
    pub has_shapes: bool,
    /// Whether captured calls are shown below the graph launches.
    pub captured: Captured,
}

impl Setup {
    pub(in crate::gate) fn of(tree: &CallTree, footing: &Footing) -> Setup {
        Setup {
            vendor: footing.vendor.clone(),
            devices: footing.devices.clone(),
            versions: tree.trace().header().versions.clone(),
            world_size: footing.world_size,
            has_gpu: footing.has_gpu,
            has_calls: footing.has_calls,
            has_modules: tree.calls().any(|call| tree.is_module(call)),
            has_shapes: tree.trace().all_arguments().iter().any(|a| a.dims != TextId::EMPTY),
            captured: captured(tree),
        }
    }
}

/// How many graph launches show the calls that were captured: see
/// [`Captures`](crate::program::Captures).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Captured {
    /// No launch has captured calls: the kernels of a graph are directly below its launch, or no graph was
    /// launched.
    #[default]
    No,
    /// Some launches have captured calls.
    Partly,
    /// All launches have captured calls: the kernels of every graph are below the ops that launched them
    /// during capture.
    Wholly,
}

impl Captured {
    /// Combines two groups of launches.
    #[must_use]
    pub fn and(self, other: Captured) -> Captured {
        if self == other { self } else { Captured::Partly }
    }
}

/// How many graph launches of a tree show what was captured.
fn captured(tree: &CallTree) -> Captured {
    let is_launch = |&call: &CallId| tree.is_graph_launch(call) && !tree.is_captured(call);
    let shows = |call: CallId| tree.children(call).any(|below| tree.is_captured(below));
    tree.calls()
        .filter(is_launch)
        .map(|launch| if shows(launch) { Captured::Wholly } else { Captured::No })
        .reduce(Captured::and)
        .unwrap_or_default()
}

/// The step that a call belongs to. `None` outside all steps, and for GPU events whose launch is not in the
/// trace, because it is unknown when they were launched.
#[inline]
fn step_of(program: &Program, call: CallId) -> Option<usize> {
    let (tree, steps) = (program.tree(), program.steps());
    match steps.is_empty() {
        true => (tree.kind(call) != CallKind::Gpu || tree.launch(call).is_some()).then_some(0),
        false => steps.step(call).map(StepId::index),
    }
}

/// Facts about one run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFacts {
    /// The file name as the user passed it; empty in a baseline file.
    pub name: String,
    /// Steps that were compared; 1 if the run has no steps and is treated as one.
    pub steps: u64,
    /// What the run measured, and what is missing.
    pub evidence: Evidence,
}

/// The runs of one side.
#[derive(Debug, Clone)]
pub struct Recording {
    /// What the median run was recorded on.
    pub setup: Setup,
    /// The runs.
    pub runs: Vec<RunFacts>,
    /// The time of each run by measure, in µs. `step_wall` is the step time that `diff` reports (a mean over
    /// the steps); all others are medians over the steps: `gpu_time`, `idle`, `exposed_communication`,
    /// `category:gemm`, `phase:decode`, ….
    pub times: BTreeMap<String, Vec<f64>>,
    /// Counts per step: `launches`, `kernels`, `graph_launches`, ….
    pub counts: BTreeMap<String, Range>,
    /// Figures of memory per step, by the name of their rule: `peak_memory`, `allocations_per_step`. Empty if a
    /// run has no memory events.
    pub memory: BTreeMap<String, Range>,
    /// Problems with the captures of graphs, one line each; empty in a baseline file.
    pub remarks: Vec<String>,
    /// Calls per step of each op.
    pub(in crate::gate) ops: BTreeMap<String, Range>,
    /// The ops whose arguments differ between the steps of all runs.
    pub(in crate::gate) varying: BTreeSet<String>,
    pub(in crate::gate) places: Places,
    /// The calls of the median run.
    pub(in crate::gate) tree: Arc<CallTree>,
}

impl Recording {
    /// The calls of the median run.
    pub fn tree(&self) -> &Arc<CallTree> {
        &self.tree
    }

    /// Total number of steps in all runs.
    pub fn steps(&self) -> u64 {
        self.runs.iter().map(|run| run.steps).sum()
    }

    /// The run with the median step time (the lower of two middle ones), whatever the order of the runs.
    pub fn median_run(&self) -> Option<&RunFacts> {
        median(&self.runs, &self.times).map(|at| &self.runs[at])
    }

    /// What the side was recorded on, and what its runs lack.
    pub fn footing(&self) -> Footing {
        Footing {
            vendor: self.setup.vendor.clone(),
            devices: self.setup.devices.clone(),
            world_size: self.setup.world_size,
            has_gpu: self.setup.has_gpu,
            has_calls: self.setup.has_calls,
            runs: self.runs.iter().map(|run| run.evidence.clone()).collect(),
        }
    }
}

/// Index of the run with the median step time.
fn median(runs: &[RunFacts], times: &BTreeMap<String, Vec<f64>>) -> Option<usize> {
    let walls = times.get("step_wall");
    let wall = |at: usize| walls.and_then(|walls| walls.get(at)).copied().unwrap_or_default();
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.sort_by(|&a, &b| {
        wall(a).total_cmp(&wall(b)).then_with(|| runs[a].name.cmp(&runs[b].name))
    });
    order.get(order.len().saturating_sub(1) / 2).copied()
}
