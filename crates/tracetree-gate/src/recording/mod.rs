//! Turns the runs of one side into a [`Recording`]: the calls of the median run, and the measurements of all
//! runs.
//!
//! ```text
//! runs ─┬─ median run ──▶ calls, arguments, kernels      aligned with the other side
//!       └─ every run ───▶ times, counts, evidence        noise, limits, what is missing
//! ```

mod places;
mod range;
mod recorder;
mod totals;

pub(crate) use places::{Places, TimedPlace, Upward, segment};
pub use range::Range;
pub use recorder::Recorder;
pub(crate) use totals::COUNTS;
use tracetree::order::Order as _;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tracetree::program::{Program, SideFacts, StepId};
use tracetree::trace::TextId;
use tracetree::tree::{CallId, CallKind, CallTree};

/// How a side was recorded: with which versions, and which kinds of data were recorded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Setup {
    /// Versions of the runtime, driver and profiler.
    pub versions: Vec<(String, String)>,
    /// Whether modules were recorded.
    pub has_modules: bool,
    /// Whether shapes were recorded.
    pub has_shapes: bool,
    /// Whether all, some or none of the graph launches have captured calls below them.
    pub captured: Captured,
}

impl Setup {
    pub(crate) fn of(tree: &CallTree) -> Setup {
        Setup {
            versions: tree.trace().header().versions.clone(),
            has_modules: tree.calls().any(|call| tree.is_module(call)),
            has_shapes: tree.trace().all_arguments().iter().any(|a| a.dims != TextId::EMPTY),
            captured: captured(tree),
        }
    }
}

/// Whether all, some or none of the graph launches have captured calls below them (see
/// [`Captures`](tracetree::program::Captures)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Captured {
    /// No launch has captured calls: the kernels of a graph are directly below the graph launch, or no graph was
    /// launched.
    #[default]
    No,
    /// Captured calls are known for some launches only.
    Partly,
    /// All launches have captured calls: each graph kernel is below the op that launched the kernel during the capture.
    Wholly,
}

impl Captured {
    /// Combines the values of two groups of launches into the value for both groups together.
    #[must_use]
    pub fn and(self, other: Captured) -> Captured {
        if self == other { self } else { Captured::Partly }
    }
}

/// Whether all, some or none of the graph launches in a tree have captured calls below them.
fn captured(tree: &CallTree) -> Captured {
    let is_launch = |&call: &CallId| tree.is_graph_launch(call) && !tree.is_captured(call);
    let shows = |call: CallId| tree.children(call).any(|below| tree.is_captured(below));
    tree.calls()
        .filter(is_launch)
        .map(|launch| if shows(launch) { Captured::Wholly } else { Captured::No })
        .reduce(Captured::and)
        .unwrap_or_default()
}

/// The step that a call belongs to. The step of a GPU event is the step of its launch. Returns `None` if the call is
/// not in a step, or if it is a GPU event whose launch is not in the trace. If the trace has no steps, all other calls
/// are in step 0.
#[inline]
pub(crate) fn step_of(program: &Program, call: CallId) -> Option<usize> {
    let (tree, steps) = (program.tree(), program.steps());
    if steps.is_empty() {
        (tree.kind(call) != CallKind::Gpu || tree.launch(call).is_some()).then_some(0)
    } else {
        steps.step(call).map(StepId::index)
    }
}

/// The name of a run, and its number of steps.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFacts {
    /// The file name as passed by the user; empty in a baseline file.
    pub name: String,
    /// Number of compared steps; 1 if the run has no steps, because the run is then treated as one step.
    pub steps: u64,
}

/// How often each op and each of the [`COUNTS`] occurs in each step of all runs, in the order of the runs. Empty in a
/// baseline file, which stores only the ranges.
#[derive(Debug, Clone, Default)]
pub(crate) struct InSteps {
    pub(crate) ops: BTreeMap<String, Vec<u64>>,
    pub(crate) counts: BTreeMap<String, Vec<u64>>,
}

/// The runs of one side.
#[derive(Debug, Clone)]
pub struct Recording {
    /// The properties that determine whether the side can be compared with the other side: the devices of the median
    /// run, and how many events each run recorded.
    pub facts: SideFacts,
    /// How the median run was recorded.
    pub setup: Setup,
    /// For each run, its name and its number of steps.
    pub runs: Vec<RunFacts>,
    /// For each time measure, the mean time per step of each run, in µs: `step_wall` (the step time that `diff` reports),
    /// `gpu_time`, `idle`, `exposed_communication`, `category:gemm`, `phase:decode`, ….
    pub times: BTreeMap<String, Vec<f64>>,
    /// Per-step counts by name: `launches`, `kernels`, `graph_launches`, ….
    pub counts: BTreeMap<String, Range>,
    /// Memory figures per step, by rule name: `peak_memory`, `allocations_per_step`. Empty if a
    /// run has no memory events.
    pub memory: BTreeMap<String, Range>,
    /// Problems with graph captures, one line each; empty in a baseline file.
    pub remarks: Vec<String>,
    /// For each op, the number of calls per step.
    pub(crate) ops: BTreeMap<String, Range>,
    /// The ops whose arguments are not the same in all steps of all runs.
    pub(crate) varying: BTreeSet<String>,
    pub(crate) in_steps: InSteps,
    pub(crate) places: Places,
    pub(crate) tree: Arc<CallTree>,
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

    /// The run with the median step time. If the number of runs is even, this is the faster of the two middle runs. The
    /// result does not depend on the order in which the runs were added.
    pub fn median_run(&self) -> Option<&RunFacts> {
        median(&self.runs, &self.times).map(|at| &self.runs[at])
    }
}

/// Index of the run with the median step time.
fn median(runs: &[RunFacts], times: &BTreeMap<String, Vec<f64>>) -> Option<usize> {
    let walls = times.get("step_wall");
    let wall = |at: usize| walls.and_then(|walls| walls.get(at)).copied().unwrap_or_default();
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.order_by(|&a, &b| {
        wall(a).total_cmp(&wall(b)).then_with(|| runs[a].name.cmp(&runs[b].name))
    });
    order.get(order.len().saturating_sub(1) / 2).copied()
}
