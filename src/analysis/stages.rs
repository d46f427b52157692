//! The stages of an analysis. One list names each stage, the function that computes it, and the values that the function
//! needs: inputs and earlier stages.
//!
//! A stage is computed when it is first needed, and then kept. A report needs all stages, and requests some of them
//! about thirty times. A gate, or the comparison of a pair in a fleet, needs only a few stages.

use super::account::{Account, Ledger, Lowering, Row, RowGroup, by_name, ledger, lowerings};
use super::annotated::{AnnotatedRow, annotated_rows};
use super::bill::Bill;
use super::categories::CategoryTable;
use super::changes::Changes;
use super::comparability::Comparability;
use super::efficiency::{EfficiencyRow, TraceEfficiency, sort_by_efficiency};
use super::fusion::{FusionRow, find_fusions};
use super::kernels::{SameKernels, Stacks, find_same_kernels, note_unclassified, stacks_of_sides};
use super::lag::{Lag, lag};
use super::layers::LayerPairs;
use super::named_calls::{NamedCalls, ops_by_name};
use super::options::AnalysisOptions;
use super::porting::{Porting, porting};
use super::replay::{Bounds, Effects, Prices, Reason, Replays};
use super::runs::{Run, RunTimes, StepTimes, step_times_of_sides};
use super::side_names;
use super::steps::{StepPairs, StepRow, note_repeats, step_pairs, step_rows};
use super::verdict::{Thresholds, Verdicts};
use super::wall::Wall;
use crate::diff::TraceDiff;
use crate::error::{Error, ErrorKind};
use crate::program::{Measure, Program};
use crate::side::{PerSide, Side};
use crate::trace::Notes;
use crate::tree::CallTree;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// Defines a struct with the given inputs and stages. Each stage has a cell for its value, and an accessor that computes
/// the value on first use by passing the named inputs and stages to the function.
macro_rules! stages {
    (
        $(#[$about:meta])* $name:ident { $($(#[$what:meta])* $input:ident: $type:ty,)* }
        $($(#[$doc:meta])* $stage:ident: $value:ty = $function:path[$($needed:ident),*];)*
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone)]
        pub struct $name {
            $($input: $type,)*
            $($stage: OnceLock<$value>,)*
        }

        impl $name {
            fn of_inputs($($input: $type),*) -> $name {
                $name { $($input,)* $($stage: OnceLock::new(),)* }
            }

            $($(#[$what])* pub fn $input(&self) -> &$type { &self.$input })*

            $($(#[$doc])* pub fn $stage(&self) -> &$value {
                self.$stage.get_or_init(|| $function($(self.$needed()),*))
            })*
        }
    };
}

stages! {
    /// All facts about a comparison.
    Analysis {
        /// The comparison on which the analysis is based.
        diff: Arc<TraceDiff>,
        /// The options that were used to attribute the time.
        #[doc(hidden)]
        options: AnalysisOptions,
        /// The additional runs on each side: all runs except the median run, which the tables describe.
        #[doc(hidden)]
        runs: PerSide<Vec<Run>>,
    }

    /// The efficiency of each trace.
    efficiency: PerSide<TraceEfficiency> = efficiency[diff, options];

    /// The attribution of the measured time: rows and totals.
    ledger: Ledger = ledger[diff];

    /// The category of each measured event.
    #[doc(hidden)]
    categories: CategoryTable = categories[diff, options];

    /// Display names of the sides: the name that the user gave, if any; otherwise, the name of the device or file
    /// that distinguishes the sides; otherwise, `baseline` or `candidate`.
    #[doc(hidden)]
    names: PerSide<String> = names[diff, options];

    /// Which steps are compared with each other.
    #[doc(hidden)]
    compared: StepPairs = step_pairs[diff];

    /// The wall-time attribution for both sides.
    wall: Wall = Wall::of[diff, ledger, compared];

    /// Notes about problems found during the attribution.
    notes: Notes = notes[diff, ledger, categories, options];

    /// The attribution rows grouped by name, largest baseline time first.
    by_name: Vec<RowGroup> = by_name[diff, ledger];

    /// For each row name, the ops and kernels that implement the rows of this name on each side.
    lowerings: BTreeMap<String, Lowering> = lowerings[diff, ledger];

    /// All ops by name, sorted by the absolute difference in GPU time, then in host self time, largest first.
    #[doc(hidden)]
    ops_by_name: Vec<NamedCalls> = ops_by_name[diff];

    /// The regions that the programs marked with `record_function`, sorted by path. If GPU work was launched outside of
    /// all regions, the last row contains this work. The list is empty if neither trace has regions.
    annotated: Vec<AnnotatedRow> = annotated_rows[diff];

    /// The steps of both sides, followed by the work outside of steps. On each side, the times of all rows add up to the
    /// total time.
    step_rows: Vec<StepRow> = step_rows[diff, ledger, compared];

    /// The times of the median runs' steps.
    #[doc(hidden)]
    step_times: StepTimes = step_times_of_sides[diff, step_rows];

    /// The distinct Python stacks of each trace.
    #[doc(hidden)]
    stacks: PerSide<Stacks> = stacks_of_sides[diff, ledger];

    /// The layers of both sides with their matches.
    #[doc(hidden)]
    layer_pairs: LayerPairs = LayerPairs::of[diff, ledger];

    /// The notes about whether the traces are comparable.
    #[doc(hidden)]
    comparability: Comparability =
        Comparability::of[diff, ledger, compared, names, layer_pairs];

    /// Where a step of the candidate loses time against the baseline.
    #[doc(hidden)]
    lag: Lag = lag[diff, ledger, step_rows, layer_pairs, wall];

    /// The verdicts on the step time and the measured time, with the thresholds of the options.
    judged: Verdicts = judged[diff, ledger, compared, wall, runs, comparability, options];

    /// The groups of nodes at which the sides run different numbers of kernels, sorted by descending time difference,
    /// then by path.
    fusions: Vec<FusionRow> = find_fusions[diff, ledger, categories];

    /// The changes between the two programs, and the cost of each change per step.
    changes: Changes =
        Changes::of[diff, ledger, compared, wall, categories, comparability, options];

    /// The comparison of the two platforms, op by op.
    #[doc(hidden)]
    porting: Porting =
        porting[diff, ledger, compared, wall, categories, comparability, efficiency, changes];

    /// The prices of everything that differs, by replay; or the reason if the traces cannot be replayed, and the side
    /// that has the problem. The side is `None` if the problem concerns the comparison as a whole.
    #[doc(hidden)]
    priced: Result<Prices, (Option<Side>, Reason)> =
        Prices::of[diff, ledger, wall, comparability, changes, porting];

    /// The lines into which the step-time difference is divided, each with one price.
    bill: Bill = Bill::of[diff, wall, changes, porting, names, priced, runs];

    /// The effect of each change on the step time, computed by replay; or the reason if the traces cannot be replayed,
    /// and the side that has the problem. The side is `None` if the problem concerns the comparison as a whole.
    #[doc(hidden)]
    replayed: Result<Effects, (Option<Side>, Reason)> =
        Effects::of[diff, ledger, wall, comparability, changes];

    /// The lower bounds of the step time and the critical paths, or the reason if the traces cannot be replayed.
    #[doc(hidden)]
    bounds: Result<Bounds, (Option<Side>, Reason)> =
        bounds[diff, ledger, wall, comparability, changes];

    /// The kernels that both sides run below matched ops.
    same_kernels: SameKernels = find_same_kernels[diff, ledger];

    /// The modeled ops, grouped by name and shapes. The groups are sorted by possible saving on the candidate, then by
    /// possible saving on the baseline, then by time, largest first.
    #[doc(hidden)]
    by_efficiency: Vec<EfficiencyRow> = sort_by_efficiency[diff, ledger, efficiency, runs];
}

fn efficiency(diff: &TraceDiff, options: &AnalysisOptions) -> PerSide<TraceEfficiency> {
    let measure = Measure::of(diff.trees());
    let models = options.models.clone().unwrap_or_default();
    let peaks = options.peaks.clone().unwrap_or_default();
    // Do not use a thread pool: in a forked process, the threads of the pool do not exist.
    PerSide::from_fn(|side| {
        TraceEfficiency::with_measure(diff.tree(side).clone(), measure, &models, &peaks)
    })
}

fn categories(diff: &TraceDiff, options: &AnalysisOptions) -> CategoryTable {
    CategoryTable::new(diff, &options.categories)
}

fn names(diff: &TraceDiff, options: &AnalysisOptions) -> PerSide<String> {
    side_names::of(diff.trees().map(|tree| &**tree.trace()), &options.names)
}

fn notes(
    diff: &TraceDiff,
    ledger: &Ledger,
    categories: &CategoryTable,
    options: &AnalysisOptions,
) -> Notes {
    let mut notes = options.copies.clone();
    if ledger.measure() == Measure::HostSelfTime {
        notes.add("HOST_TIME", 1, "record GPU activity to compare GPU time", || {
            "neither trace has GPU events: the tables attribute the host self time of ops"
                .to_owned()
        });
    }
    note_unclassified(diff, ledger, categories, &mut notes);
    note_repeats(diff, &mut notes);
    notes
}

fn bounds(
    diff: &TraceDiff,
    ledger: &Ledger,
    wall: &Wall,
    comparability: &Comparability,
    changes: &Changes,
) -> Result<Bounds, (Option<Side>, Reason)> {
    let replays = Replays::of(diff, ledger, wall, comparability, changes)?;
    Ok(replays.bounds(diff, ledger, changes))
}

fn judged(
    diff: &TraceDiff,
    ledger: &Ledger,
    compared: &StepPairs,
    wall: &Wall,
    runs: &PerSide<Vec<Run>>,
    comparability: &Comparability,
    options: &AnalysisOptions,
) -> Verdicts {
    let times = RunTimes { diff, ledger, compared, wall, runs };
    Verdicts::of(times, comparability, &options.thresholds)
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
        let analysis = Analysis::of_inputs(diff.into(), options, PerSide::default());
        rayon::join(|| analysis.ledger(), || analysis.categories());
        analysis
    }

    /// Adds each side's additional runs, which are all runs except the median run. The runs must be sorted by step
    /// time and aligned with the median run. The median run is the run with the median step time (for an even number
    /// of runs, the faster of the two middle runs). Verdicts use the runs if both sides have several runs.
    #[must_use]
    pub(crate) fn with_runs(&self, runs: PerSide<Vec<Run>>) -> Analysis {
        let (diff, options) = (self.diff.clone(), self.options.clone());
        let analysis = Analysis::of_inputs(diff, options, runs);
        // The additional runs do not change how the median runs are attributed.
        let efficiency = self.efficiency.clone();
        let (ledger, categories) = (self.ledger.clone(), self.categories.clone());
        Analysis { efficiency, ledger, categories, ..analysis }
    }

    /// The call tree of one side.
    pub fn tree(&self, side: Side) -> &Arc<CallTree> {
        self.diff.tree(side)
    }

    /// All attribution rows in the order of the merged tree. The position of a row is its id.
    pub fn rows(&self) -> &[Row] {
        self.ledger().rows()
    }

    /// The total times of both traces, and the sums over all rows, which must equal these totals.
    pub fn account(&self) -> &Account {
        self.ledger().account()
    }

    /// Tests the step time and the measured time with the given thresholds.
    pub fn verdicts(&self, thresholds: &Thresholds) -> Verdicts {
        Verdicts::of(self.run_times(), self.comparability(), thresholds)
    }

    /// The effect of each change on the step time, computed by replay.
    ///
    /// # Errors
    /// Returns the reason if the traces cannot be replayed, and the side that has the problem. The side is `None` if
    /// the problem concerns the comparison as a whole.
    pub fn effects(&self) -> Result<&Effects, (Option<Side>, Reason)> {
        self.replayed().as_ref().map_err(|&reason| reason)
    }

    /// The dependency graphs of both sides, for replays.
    ///
    /// # Errors
    /// Fails if a trace or the comparison cannot be replayed; the message says why.
    #[doc(hidden)]
    pub fn replays(&self) -> crate::error::Result<Replays> {
        let (wall, changes) = (self.wall(), self.changes());
        let replays = Replays::of(&self.diff, self.ledger(), wall, self.comparability(), changes);
        replays.map_err(|(side, reason)| {
            let trace = self.tree(side.unwrap_or(Side::Baseline)).trace();
            let message = format!("the effect cannot be computed: {reason}");
            Error::new(ErrorKind::Usage, trace.source(), message)
                .remedy("see docs/guides/what-if.md for what a replay requires")
        })
    }

    /// The values from which the time per step of something in each run is computed.
    #[doc(hidden)]
    pub fn run_times(&self) -> RunTimes<'_> {
        RunTimes {
            diff: &self.diff,
            ledger: self.ledger(),
            compared: self.compared(),
            wall: self.wall(),
            runs: &self.runs,
        }
    }
}

/// Computes what a [`Program`] caches and most stages need, for both traces in parallel.
pub(crate) fn prepare(programs: PerSide<&Program>) {
    let measure = Measure::of(programs.map(|program| &**program.tree()));
    PerSide::from_fn_at_once(|side| {
        let program = programs[side];
        program.phases();
        program.communication();
        program.layers(measure);
        program.architecture();
    });
}
