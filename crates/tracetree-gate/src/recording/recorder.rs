//! Builds the [`Recording`] of one side from the call trees of the runs, which are added one at a time.

use super::places::Collector;
use super::totals::{Memory, StepTotals, Totals};
use super::{InSteps, Range, Recording, RunFacts, Setup, median, step_of};
use rustc_hash::FxHasher;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};
use tracetree::analysis::categories::{Categories, TraceCategories};
use tracetree::diff::plain_name;
use tracetree::error::{Error, ErrorKind, Result};
use tracetree::program::{CaptureSource, Measure, Program, SideFacts};
use tracetree::side::PerSide;
use tracetree::trace::{ByName, Notes};
use tracetree::tree::{CallKind, CallTree};

/// Collects the runs of one side and turns them into a recording.
///
/// All runs stay in memory until [`finish`](Recorder::finish), because the median run is not known until then.
#[derive(Debug, Default)]
pub struct Recorder {
    steps: usize,
    runs: Vec<RunFacts>,
    /// For each run, its calls, its devices, and how many events it recorded.
    trees: Vec<(Arc<CallTree>, SideFacts)>,
    totals: Totals,
    memory: Memory,
    places: Collector,
    /// For each op, its calls in each step of all runs so far. A list is shorter than the number of steps if the last
    /// runs do not call the op.
    ops: BTreeMap<String, Vec<Calls>>,
    /// The category rules, created when they are first needed.
    categories: OnceLock<Categories>,
    captures: CaptureSource,
    remarks: Vec<String>,
    /// Notes about runs that are copies of one file.
    copies: Notes,
}

/// The number of calls to an op in a step, and a hash of the calls' arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Calls {
    count: u64,
    arguments: u64,
}

/// If two runs share less than this fraction of their calls to ops, they are treated as runs of different programs.
const ONE_PROGRAM: f64 = 0.5;

/// The calls per step that two runs have in common, as a fraction of the calls that at least one of them makes (a
/// weighted Jaccard index, from 0 to 1).
fn likeness(one: &BTreeMap<String, f64>, two: &BTreeMap<String, f64>) -> f64 {
    let of = |ops: &BTreeMap<String, f64>, name: &str| ops.get(name).copied().unwrap_or(0.0);
    // A fold that starts from 0 is used because `sum()` of an empty iterator of floats is −0.
    let shared = one.iter().fold(0.0, |sum, (name, &calls)| sum + calls.min(of(two, name)));
    let all = one.values().sum::<f64>() + two.values().sum::<f64>() - shared;
    if all > 0.0 { shared / all } else { 1.0 }
}

impl Recorder {
    /// Sets where to find the traces that were recorded while the graphs of each run were captured.
    #[must_use]
    pub fn captures(mut self, source: CaptureSource) -> Recorder {
        self.captures = source;
        self
    }

    pub(crate) fn capture_source(&self) -> &CaptureSource {
        &self.captures
    }

    pub(crate) fn categories(&self) -> &Categories {
        self.categories.get_or_init(Categories::default)
    }

    /// Adds a run.
    ///
    /// # Errors
    /// Fails if this run and the first run have less than half of their calls to ops in common. They are then treated
    /// as runs of different programs.
    pub fn add(&mut self, tree: impl Into<Arc<CallTree>>) -> Result<()> {
        let tree: Arc<CallTree> = tree.into();
        let trace = tree.trace();
        if let Some((original, _)) =
            self.trees.iter().find(|(run, _)| trace.is_copy_of(run.trace()))
        {
            self.copies.add_copy(trace.source(), original.trace().source());
        }
        let program = Program::of(tree);
        let measure = Measure::of(PerSide::new(program.tree(), program.tree()));
        let steps = program.steps().len().max(1);
        let ops = ops(&program);
        self.check_likeness(&program, &ops)?;
        for (name, counts) in ops {
            let all = self.ops.entry(name).or_default();
            all.resize(self.steps, Calls::default());
            all.extend(counts);
        }
        let categories = self.categories().clone();
        let work = TraceCategories::of(&program, measure, &categories);
        let totals = StepTotals::of(&program, measure, &work);
        self.totals.add_run(&totals, self.steps);
        self.memory.add_run(&program);
        self.places.add(&program, measure, &work, self.runs.len());
        let facts = SideFacts::of(&program);
        let tree = program.tree();
        let source = tree.trace().source();
        let notes = tree.notes().of_captures();
        self.remarks.extend(notes.map(|note| format!("{source}: {} {}", note.code, note.message)));
        self.trees.push((tree.clone(), facts));
        self.runs.push(RunFacts { name: source.to_owned(), steps: steps as u64 });
        self.steps += steps;
        Ok(())
    }

    fn check_likeness(&self, program: &Program, ops: &BTreeMap<String, Vec<Calls>>) -> Result<()> {
        let Some(first) = self.runs.first() else { return Ok(()) };
        let mean = |(name, calls): (&String, &[Calls])| {
            let count: u64 = calls.iter().map(|calls| calls.count).sum();
            (name.clone(), count as f64 / calls.len().max(1) as f64)
        };
        let of_first = |calls: &Vec<Calls>| calls.len().min(first.steps as usize);
        let one = self.ops.iter().map(|(name, counts)| mean((name, &counts[..of_first(counts)])));
        let two = ops.iter().map(|(name, counts)| mean((name, counts)));
        let alike = likeness(&one.collect(), &two.collect());
        if alike >= ONE_PROGRAM {
            return Ok(());
        }
        let message = format!(
            "is a run of a different program than {}: they share {:.0}% of their ops",
            first.name,
            100.0 * alike
        );
        Err(Error::new(ErrorKind::Usage, program.tree().trace().source(), message)
            .remedy("pass only runs of the same program on each side"))
    }

    /// Finishes the recording of all added runs.
    ///
    /// # Errors
    /// Fails if no run was added to the recorder.
    pub fn finish(mut self) -> Result<Recording> {
        let times = self.totals.times();
        let Some(at) = median(&self.runs, &times) else {
            return Err(Error::usage("gate", "one side has no runs")
                .remedy("pass at least one trace per side"));
        };
        let evidence = self.trees.iter().flat_map(|(_, facts)| facts.runs.clone()).collect();
        let (tree, facts) = self.trees.swap_remove(at);
        self.remarks
            .extend(self.copies.iter().map(|note| format!("{} {}", note.code, note.message)));
        let steps = self.steps;
        self.ops.values_mut().for_each(|calls| calls.resize(steps, Calls::default()));
        let in_step = |(name, calls): (&String, &Vec<Calls>)| {
            (name.clone(), calls.iter().map(|calls| calls.count).collect())
        };
        let in_steps = InSteps {
            ops: self.ops.iter().map(in_step).collect(),
            counts: self.totals.counts(steps),
        };
        let ranges = |all: &BTreeMap<String, Vec<u64>>| {
            all.iter().map(|(name, counts)| (name.clone(), Range::of(counts.clone()))).collect()
        };
        let is_varying = |(_, calls): &(&String, &Vec<Calls>)| {
            calls.iter().any(|call| call.arguments != calls[0].arguments)
        };
        let varying = self.ops.iter().filter(is_varying).map(|(name, _)| name.clone());
        Ok(Recording {
            facts: SideFacts { runs: evidence, ..facts },
            setup: Setup::of(&tree),
            times,
            counts: ranges(&in_steps.counts),
            memory: self.memory.finish(),
            remarks: self.remarks,
            ops: ranges(&in_steps.ops),
            varying: varying.collect(),
            in_steps,
            places: self.places.finish(self.runs.len()),
            runs: self.runs,
            tree,
        })
    }
}

/// The number of calls to each op in each step, and a hash of their arguments. Ops that ran during graph capture are
/// excluded, because not every run records them.
fn ops(program: &Program) -> BTreeMap<String, Vec<Calls>> {
    let tree: &CallTree = program.tree();
    let trace = tree.trace();
    let steps = program.steps().len().max(1);
    let mut plain: ByName<Option<u32>> = ByName::new(trace);
    let mut names: Vec<String> = Vec::new();
    let mut of_names: Vec<Vec<Calls>> = Vec::new();
    let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
    for call in tree.calls().filter(|&call| tree.kind(call) == CallKind::Op) {
        let event = tree.event(call).filter(|&event| !trace.is_captured(event));
        let (Some(event), Some(step)) = (event, step_of(program, call)) else { continue };
        let number = plain.get(trace.name_id(event), || {
            let name = trace.name(event);
            if name.starts_with("ProfilerStep#") {
                return None;
            }
            let name = plain_name(CallKind::Op, name).into_owned();
            let number = *numbers.entry(name.clone()).or_insert(names.len() as u32);
            if number as usize == names.len() {
                names.push(name);
                of_names.push(vec![Calls::default(); steps]);
            }
            Some(number)
        });
        if let Some(number) = number {
            let calls = &mut of_names[number as usize][step];
            calls.count += 1;
            let mut hasher = FxHasher::default();
            calls.arguments.hash(&mut hasher);
            if let Some(arguments) = trace.arguments_id(event).map(|id| trace.arguments(id)) {
                for text in [arguments.dims, arguments.types, arguments.strides] {
                    trace.text(text).hash(&mut hasher);
                }
            }
            calls.arguments = hasher.finish();
        }
    }
    names.into_iter().zip(of_names).collect()
}
