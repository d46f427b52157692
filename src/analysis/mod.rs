//! Attributes all measured time in a [`TraceDiff`] to rows, one for each lowest common op. Each event counts
//! in exactly one row.

pub mod account;
#[doc(hidden)]
pub mod annotated;
pub mod categories;
pub mod causes;
pub mod changes;
pub mod comparability;
mod conditions;
pub mod efficiency;
mod facts;
#[doc(hidden)]
pub mod fusion;
mod grouped;
#[doc(hidden)]
pub mod kernels;
#[doc(hidden)]
pub mod layers;
pub mod memory;
mod modules;
#[doc(hidden)]
pub mod named_calls;
mod options;
pub mod replay;
#[doc(hidden)]
pub mod robust;
pub mod runs;
mod shared_texts;
mod side_names;
#[doc(hidden)]
pub mod steps;
mod trace_facts;
pub mod verdict;
pub mod wall;

use facts::Facts;
pub use options::AnalysisOptions;
pub(crate) use trace_facts::TraceFacts;

use crate::diff::TraceDiff;
use crate::program::{Layers, Measure, Phases, StepId, Steps};
use crate::side::{PerSide, Side};
use crate::trace::{Arguments, Nanos, Notes, TextId, newly_busy};
use crate::tree::{CallId, CallKind, CallTree, ModuleName};
use account::{Account, Row, RowKind};
use categories::CategoryTable;
use kernels::Stacks;
use memory::MemoryUsage;
use runs::{Run, StepTime};
use rustc_hash::FxHashMap;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};
use steps::StepRow;
use verdict::Thresholds;
use wall::Wall;

/// All facts about a comparison: the [`Attribution`] of the measured time, and everything derived from it. A fact is
/// computed when it is first needed, from the attribution and from facts that were computed earlier.
#[derive(Debug, Clone)]
pub struct Analysis {
    attribution: Attribution,
    facts: Facts,
}

impl Deref for Analysis {
    type Target = Attribution;

    fn deref(&self) -> &Attribution {
        &self.attribution
    }
}

impl Analysis {
    /// Attributes the time of both traces with default options.
    ///
    /// ```
    /// use tracetree::{Analysis, CallTree, Trace, TraceDiff};
    ///
    /// let before = Trace::open("examples/traces/resnet.rocm.json.gz")?;
    /// let after = Trace::open("examples/traces/resnet.cuda.json.gz")?;
    /// let (baseline, candidate) = (CallTree::build(before), CallTree::build(after));
    /// let diff = TraceDiff::new(baseline, candidate);
    /// let analysis = Analysis::new(diff);
    /// assert!(analysis.account().is_exact());
    /// # Ok::<(), tracetree::Error>(())
    /// ```
    pub fn new(diff: impl Into<Arc<TraceDiff>>) -> Analysis {
        Analysis::with_options(diff, AnalysisOptions::default())
    }

    /// Attributes the time of both traces with the given options.
    #[doc(hidden)]
    pub fn with_options(diff: impl Into<Arc<TraceDiff>>, options: AnalysisOptions) -> Analysis {
        let diff = diff.into();
        let facts = TraceFacts::of(PerSide::from_fn(|side| diff.program(side)), &options);
        Analysis::of_facts(diff, facts, options)
    }

    /// Attributes the time of both traces, given the facts that were computed separately for each trace.
    pub(crate) fn of_facts(
        diff: impl Into<Arc<TraceDiff>>,
        trace_facts: PerSide<TraceFacts>,
        options: AnalysisOptions,
    ) -> Analysis {
        let attribution = Attribution::new(diff.into(), trace_facts, options);
        Analysis { attribution, facts: Facts::default() }
    }

    /// Adds each side's additional runs, which are all runs except the median run. The runs must be sorted by step
    /// time and aligned with the median run. The median run is the run with the median step time (for an even number
    /// of runs, the faster of the two middle runs). Verdicts use the runs if both sides have several runs.
    #[must_use]
    pub(crate) fn with_runs(mut self, runs: PerSide<Vec<Run>>) -> Analysis {
        self.attribution.runs = runs;
        self.facts = Facts::default();
        self
    }
}

/// The tick of a coarse clock, one microsecond.
const COARSE_TICK: Nanos = Nanos(1_000);

/// Placeholder in a row's name for the calls that a region replaced.
const REPLACED: &str = "(replaced calls)";

/// The attribution of the time in a comparison: one row for each lowest common op, and the totals that the rows add
/// up to.
#[derive(Debug, Clone)]
pub struct Attribution {
    diff: Arc<TraceDiff>,
    trace_facts: PerSide<TraceFacts>,
    measure: Measure,
    rows: Vec<Row>,
    /// The position of each measured call's row. The index is the call's slot: its position among the measured
    /// calls.
    row_of: PerSide<Vec<u32>>,
    account: Account,
    categories: CategoryTable,
    names: PerSide<String>,
    options: AnalysisOptions,
    notes: Notes,
    /// The runs on each side, excluding the median run.
    runs: PerSide<Vec<Run>>,
    /// For each baseline step, whether the step is compared; `None` if all matched steps are compared.
    chosen_steps: Option<Vec<bool>>,
    // The following values are computed when they are first needed.
    /// The measured calls on each side, in preorder.
    accounted: PerSide<OnceLock<Vec<CallId>>>,
    wall: OnceLock<Wall>,
    step_rows: OnceLock<Vec<StepRow>>,
    /// Step times in the median run, for each side.
    step_times: PerSide<OnceLock<Vec<Option<StepTime>>>>,
    stacks: PerSide<OnceLock<Stacks>>,
}

/// Ids that determine the name of a row; rows with the same ids have the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RowNameIds {
    kind: RowKind,
    names: PerSide<Option<TextId>>,
    is_aliased: bool,
}

impl Attribution {
    /// Attributes the time of both traces, given the facts that were computed separately for each trace.
    fn new(
        diff: Arc<TraceDiff>,
        trace_facts: PerSide<TraceFacts>,
        options: AnalysisOptions,
    ) -> Attribution {
        let measure = Measure::of(diff.trees());
        let account = || {
            let (rows, row_of) = account::assign_rows(&diff, measure);
            (Account::new(&diff, measure, &rows), rows, row_of)
        };
        let categories = || CategoryTable::new(&diff, measure, &options.categories);
        let ((account, rows, row_of), categories) = rayon::join(account, categories);
        let mut notes = Notes::default();
        if measure == Measure::HostSelfTime {
            notes.add("HOST_TIME", 1, "record GPU activity to compare GPU time", || {
                "neither trace has GPU events: the tables attribute the host self time of ops"
                    .to_owned()
            });
        }
        let names = side_names::of(diff.trees().map(|tree| &**tree.trace()), &options.names);
        let mut attribution = Attribution {
            diff,
            trace_facts,
            measure,
            rows,
            row_of,
            account,
            categories,
            names,
            options,
            notes,
            runs: PerSide::default(),
            chosen_steps: None,
            accounted: PerSide::default(),
            wall: OnceLock::new(),
            step_rows: OnceLock::new(),
            step_times: PerSide::default(),
            stacks: PerSide::default(),
        };
        attribution.note_unclassified();
        attribution.note_repeats();
        attribution
    }

    /// The measured calls on one side, in preorder.
    fn accounted_calls(&self, side: Side) -> &[CallId] {
        let find = || self.measure().calls(self.tree(side)).collect();
        self.accounted[side].get_or_init(find)
    }

    /// The clock tick if at least one trace records times in whole microseconds; otherwise `None`.
    #[doc(hidden)]
    pub fn coarse_tick(&self) -> Option<Nanos> {
        let is_coarse = |&side: &Side| self.diff.program(side).evidence().is_coarse;
        Side::BOTH.iter().any(is_coarse).then_some(COARSE_TICK)
    }

    /// The steps on one side, and the step that contains each call.
    pub fn steps(&self, side: Side) -> &Steps {
        self.diff.program(side).steps()
    }

    /// The phase of each call on one side.
    pub fn phases(&self, side: Side) -> &Phases {
        self.diff.program(side).phases()
    }

    /// The layers on one side, and the layer that contains each call.
    pub fn layers(&self, side: Side) -> &Layers {
        self.shared_layers(side)
    }

    fn shared_layers(&self, side: Side) -> &Arc<Layers> {
        self.diff.program(side).layers(self.measure())
    }

    /// The memory allocations and frees on one side; empty if the trace records none.
    pub fn memory(&self, side: Side) -> &MemoryUsage {
        self.diff.program(side).memory()
    }

    /// The wall-time attribution for both sides.
    pub fn wall(&self) -> &Wall {
        self.wall.get_or_init(|| Wall::of(self))
    }

    /// Adds a note if no steps were recorded and repeated calls are used as steps.
    fn note_repeats(&mut self) {
        for side in Side::BOTH {
            let (steps, tree) = (self.steps(side), self.tree(side));
            let Some(call) = steps.repeated(tree) else { continue };
            let message = format!(
                "{} has no steps: the {} calls of `{call}` are used as steps",
                side.label(),
                steps.len()
            );
            let count = steps.len() as u64;
            self.notes.add(
                "REPEATS_AS_STEPS",
                count,
                "pass --no-repeats to disable step detection by repetition",
                || message,
            );
        }
    }

    /// The thresholds that a time difference must exceed to be significant.
    #[doc(hidden)]
    pub fn thresholds(&self) -> &Thresholds {
        &self.options.thresholds
    }

    /// The options that were used to attribute the time.
    #[doc(hidden)]
    pub fn options(&self) -> &AnalysisOptions {
        &self.options
    }

    /// Display name of a side: the name that the user gave, if any; otherwise, the name of the device or file
    /// that distinguishes the sides; otherwise, `baseline` or `candidate`.
    #[doc(hidden)]
    pub fn side_name(&self, side: Side) -> &str {
        &self.names[side]
    }

    /// Notes about problems found during the attribution.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// The measured time of a call: the duration of a GPU event, or the self time of an op.
    #[doc(hidden)]
    pub fn time_of(&self, side: Side, call: CallId) -> Nanos {
        self.measure.time(self.tree(side), call)
    }

    /// For each event in a row, the part of its time during which no earlier event in the row ran. These
    /// parts add up to the row's busy time.
    #[doc(hidden)]
    pub fn busy_shares(&self, row: &Row, side: Side) -> Vec<Nanos> {
        let tree = self.tree(side);
        let span = |&call: &CallId| {
            let event = tree.event(call).expect("every attributed call has an event");
            (tree.trace().start(event), tree.trace().end(event))
        };
        match self.measure {
            Measure::GpuTime => newly_busy(&row.events[side].iter().map(span).collect::<Vec<_>>()),
            Measure::HostSelfTime => {
                row.events[side].iter().map(|&call| self.time_of(side, call)).collect()
            }
        }
    }

    /// The comparison on which the analysis is based.
    pub fn diff(&self) -> &Arc<TraceDiff> {
        &self.diff
    }

    /// The call tree of one side.
    pub fn tree(&self, side: Side) -> &Arc<CallTree> {
        self.diff.tree(side)
    }

    /// What the rows measure: GPU time, or host self time if neither trace has GPU events.
    #[doc(hidden)]
    pub fn measure(&self) -> Measure {
        self.measure
    }

    /// All rows in the order of the merged tree. The position of a row is its id.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The row that a call is attributed to; `None` for calls that are not measured.
    pub(crate) fn row_of(&self, side: Side, call: CallId) -> Option<&Row> {
        self.row_index(side, call).map(|row| &self.rows[row])
    }

    /// Position in [`Attribution::rows`] of the row that a call is attributed to.
    #[doc(hidden)]
    pub fn row_index(&self, side: Side, call: CallId) -> Option<usize> {
        self.slot(side, call).map(|slot| self.row_of[side][slot] as usize)
    }

    /// The slot of a call: its index in columns that have one entry for each measured call.
    fn slot(&self, side: Side, call: CallId) -> Option<usize> {
        self.measure.slot(self.tree(side), call)
    }

    /// Number of slots: the length of columns that have one entry for each measured call.
    fn slots(&self, side: Side) -> usize {
        self.measure.slots(self.tree(side))
    }

    /// The total times of both traces, and the sums over all rows, which must equal these totals.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// Name of a row: the op, the launch API, or `(launch not in trace)`. If an outermost op was renamed or
    /// has an alias, the result contains its names on both sides, separated by `|`.
    pub fn row_name(&self, row: &Row) -> String {
        let name = |side: Side| row.calls[side].map(|call| self.tree(side).name(call));
        match (row.kind, name(Side::Baseline), name(Side::Candidate)) {
            (RowKind::Unlinked, ..) => crate::tree::UNLINKED.to_owned(),
            (RowKind::Replaced, Some(name), _) => format!("{name} | {REPLACED}"),
            (RowKind::Replaced, _, Some(name)) => format!("{REPLACED} | {name}"),
            (RowKind::CommonOp, Some(name), _) if !self.is_aliased(row) => name.to_owned(),
            (_, Some(a), Some(b)) if a != b => format!("{a} | {b}"),
            (_, Some(name), _) | (_, None, Some(name)) => name.to_owned(),
            (_, None, None) => String::new(),
        }
    }

    /// Ids that determine [`Attribution::row_name`].
    pub(crate) fn row_name_ids(&self, row: &Row) -> RowNameIds {
        let name = |side: Side| {
            let (tree, call) = (self.tree(side), row.calls[side]?);
            Some(tree.trace().name_id(tree.event(call)?))
        };
        RowNameIds {
            kind: row.kind,
            names: PerSide::from_fn(name),
            is_aliased: self.is_aliased(row),
        }
    }

    /// The arguments of a row's op on one side; all empty if no arguments were recorded.
    fn arguments_of(&self, row: &Row, side: Side) -> Arguments {
        let arguments = row.calls[side].and_then(|call| self.tree(side).arguments(call));
        arguments.copied().unwrap_or_default()
    }

    /// Number of calls in the row of a region: 1 on the side that has the region, and the number of replaced
    /// calls on the other side. Returns 0 for rows without a region.
    pub(crate) fn calls_of_region(&self, row: &Row, side: Side) -> u64 {
        let own = Side::BOTH.iter().find_map(|&side| self.diff.region_of(side, row.calls[side]?));
        let region = own.filter(|_| row.kind == RowKind::Replaced);
        region.map_or(0, |at| {
            let region = &self.diff.regions()[at];
            if region.side == side { 1 } else { region.replaced.len() as u64 }
        })
    }

    /// Whether the ops on the two sides of a row have different names that are aliases of each other.
    fn is_aliased(&self, row: &Row) -> bool {
        match row.calls {
            PerSide { baseline: Some(a), candidate: Some(b) } => self.diff.is_aliased(a, b),
            PerSide { baseline: None, .. } | PerSide { candidate: None, .. } => false,
        }
    }

    /// Names of the events of a row on one side, sorted by start.
    #[doc(hidden)]
    pub fn event_names(&self, row: &Row, side: Side) -> Vec<&str> {
        row.events[side].iter().map(|&call| self.tree(side).name(call)).collect()
    }

    /// Name of the lowest common node of a row; empty if the sides do not even have a thread in common.
    #[doc(hidden)]
    pub fn lowest_common_name(&self, row: &Row) -> &str {
        let Some(id) = row.lowest_common else { return "" };
        let node = self.diff.merged().node(id);
        let side =
            if node.call(Side::Baseline).is_some() { Side::Baseline } else { Side::Candidate };
        node.call(side).map_or("", |call| self.tree(side).name(call))
    }

    /// The number that is displayed for a step. It is the step's position in the whole trace if the same
    /// number of steps was excluded from the start of both traces.
    pub(crate) fn displayed_step(&self, step: StepId) -> u32 {
        step.0 + self.options.first_step
    }

    /// The step in which a row's first event was launched: the baseline's step if there is one, otherwise the
    /// candidate's step.
    #[doc(hidden)]
    pub fn step_of(&self, row: &Row) -> Option<StepId> {
        Side::BOTH.iter().find_map(|&side| {
            let call = row.events[side].first().copied().or(row.calls[side])?;
            self.steps(side).step(call)
        })
    }

    /// Name of the innermost `nn.Module` that encloses a row's calls; empty outside of modules.
    #[doc(hidden)]
    pub fn module_of(&self, row: &Row) -> &str {
        Side::BOTH
            .iter()
            .find_map(|&side| {
                let tree = self.tree(side);
                tree.module(row.calls[side]?).map(|module| tree.name(module))
            })
            .map_or("", ModuleName::instance_or_name)
    }

    /// Name of the innermost `nn.Module` that encloses a merged node; empty outside of modules.
    pub(crate) fn module_of_node(&self, id: crate::diff::MergedId) -> &str {
        let node = self.diff.merged().node(id);
        let module = |side: Side| {
            let tree = self.tree(side);
            tree.module(node.call(side)?).map(|module| tree.name(module))
        };
        Side::BOTH.iter().find_map(|&side| module(side)).map_or("", ModuleName::instance_or_name)
    }

    /// The forward op of each outermost backward op.
    fn forward_of_backward(&self) -> PerSide<FxHashMap<CallId, CallId>> {
        self.diff.trees().map(|tree| {
            tree.backward_links().iter().map(|&(forward, backward)| (backward, forward)).collect()
        })
    }

    /// The nearest op at or above `call`: the op that launched a GPU event, or the op that contains a host call.
    pub fn op_of(&self, side: Side, call: CallId) -> Option<CallId> {
        let tree = self.tree(side);
        std::iter::once(call)
            .chain(tree.ancestors(call))
            .find(|&above| tree.kind(above) == CallKind::Op)
    }
}
