//! Runs the whole pipeline in one call, from two inputs to an analyzed [`Comparison`].

mod median_run;

use crate::analysis::runs::Run;
use crate::analysis::{Analysis, AnalysisOptions, prepare};
use crate::diff::{DiffOptions, TraceDiff};
use crate::error::{Error, ErrorKind, Result};
use crate::program::{CaptureSource, Captures, Program, Selection};
use crate::report::{Report, ReportOptions};
use crate::side::{PerSide, Side};
use crate::storage;
use crate::trace::{Category, ReadOptions, ReadProgress, Trace};
use crate::tree::{CallTree, TreeOptions};
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tracetree_trace::Cancel;

/// The source of a trace: a file, bytes, a reader, or a loaded trace.
#[non_exhaustive]
pub enum Input {
    /// The path of a file, or `-` for standard input.
    File(PathBuf),
    /// A name that identifies the trace in messages, and the bytes of the trace, compressed or not.
    Bytes(String, Vec<u8>),
    /// A name that identifies the trace in messages, and a reader for the trace.
    Reader(String, Box<dyn Read + Send>),
    /// A trace that is already loaded.
    Trace(Arc<Trace>),
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Input({})", self.name())
    }
}

impl Input {
    fn name(&self) -> String {
        match self {
            Input::File(path) => path.display().to_string(),
            Input::Bytes(name, _) | Input::Reader(name, _) => name.clone(),
            Input::Trace(trace) => trace.source().to_owned(),
        }
    }

    /// Loads the trace, consuming the input if it is a reader.
    fn read(&mut self, options: &ReadOptions) -> Result<Arc<Trace>> {
        match self {
            Input::File(path) => Trace::open_with(path, options).map(Arc::new),
            Input::Bytes(name, bytes) => {
                Trace::from_reader(name, bytes.as_slice(), options).map(Arc::new)
            }
            Input::Reader(name, reader) => Trace::from_reader(name, reader, options).map(Arc::new),
            Input::Trace(trace) => Ok(trace.clone()),
        }
    }

    /// Makes the input readable more than once: a pipe or reader is replaced by its bytes, still compressed.
    fn repeatable(self) -> Result<Input> {
        let name = self.name();
        let mut reader: Box<dyn Read> = match self {
            Input::Reader(_, reader) => reader,
            Input::File(ref path) if path == Path::new("-") => Box::new(std::io::stdin()),
            Input::File(ref path)
                if !storage::is_remote(path) && path.exists() && !path.is_file() =>
            {
                Box::new(storage::open(path)?)
            }
            Input::File(_) | Input::Bytes(..) | Input::Trace(_) => return Ok(self),
        };
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).map_err(|error| Error::io(&name, "read", error))?;
        Ok(Input::Bytes(name, bytes))
    }

    fn is_standard_input(&self) -> bool {
        matches!(self, Input::File(path) if path == Path::new("-"))
    }
}

impl From<&str> for Input {
    fn from(path: &str) -> Input {
        Input::File(path.into())
    }
}

impl From<&Path> for Input {
    fn from(path: &Path) -> Input {
        Input::File(path.into())
    }
}

impl From<PathBuf> for Input {
    fn from(path: PathBuf) -> Input {
        Input::File(path)
    }
}

impl From<Trace> for Input {
    fn from(trace: Trace) -> Input {
        Input::Trace(Arc::new(trace))
    }
}

impl From<Arc<Trace>> for Input {
    fn from(trace: Arc<Trace>) -> Input {
        Input::Trace(trace)
    }
}

/// The current stage of a comparison, as reported to the progress callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// Both traces are being read in parallel; the number is how many bytes (before decompression) have been read so
    /// far on the given side.
    Reading(Side, u64),
    /// The call trees are being built.
    Building,
    /// The call trees are being aligned.
    Aligning,
    /// The measured time is being attributed to calls.
    Accounting,
}

/// A progress callback that is called from worker threads.
#[derive(Clone)]
struct Watcher(Arc<dyn Fn(Stage) + Send + Sync>);

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watcher")
    }
}

/// How two traces are compared: the options of each stage, a progress callback and a cancellation token.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ComparisonOptions {
    /// Options for reading both traces. Flow events are never kept, because a comparison does not use them.
    pub read: ReadOptions,
    /// The part of each trace to compare.
    pub selection: PerSide<Selection>,
    /// Where to find the graph captures for each trace.
    pub captures: PerSide<CaptureSource>,
    /// Options for building the call trees.
    pub tree: TreeOptions,
    /// Options for aligning the call trees.
    pub diff: DiffOptions,
    /// Options for analyzing the time.
    pub analysis: AnalysisOptions,
    watcher: Option<Watcher>,
    cancel: Cancel,
}

impl ComparisonOptions {
    /// Sets the options for reading both traces.
    #[must_use]
    #[doc(hidden)]
    pub fn read(mut self, options: ReadOptions) -> Self {
        self.read = options;
        self
    }

    /// Restricts the comparison to the selected parts of the traces.
    #[must_use]
    #[doc(hidden)]
    pub fn selection(mut self, baseline: Selection, candidate: Selection) -> Self {
        self.selection = PerSide::new(baseline, candidate);
        self
    }

    /// Sets where to find the recordings made while the graphs of each trace were captured.
    #[must_use]
    pub fn captures(mut self, baseline: CaptureSource, candidate: CaptureSource) -> Self {
        self.captures = PerSide::new(baseline, candidate);
        self
    }

    /// Sets the options for building the call trees.
    #[must_use]
    pub fn tree(mut self, options: TreeOptions) -> Self {
        self.tree = options;
        self
    }

    /// Sets the options for aligning the call trees.
    #[must_use]
    pub fn diff(mut self, options: DiffOptions) -> Self {
        self.diff = options;
        self
    }

    /// Sets the options for analyzing the time.
    #[must_use]
    pub fn analysis(mut self, options: AnalysisOptions) -> Self {
        self.analysis = options;
        self
    }

    /// Sets a callback that is called from worker threads with the current [`Stage`]. The callback is called often
    /// while the traces are read, so it should return quickly.
    #[must_use]
    #[doc(hidden)]
    pub fn watch(mut self, watch: impl Fn(Stage) + Send + Sync + 'static) -> Self {
        self.watcher = Some(Watcher(Arc::new(watch)));
        self
    }

    /// Stops the comparison with an error of kind [`ErrorKind::Cancelled`] once cancellation is requested through
    /// `cancel`. The request is checked while the traces are read and between stages.
    #[must_use]
    pub fn cancel(mut self, cancel: Cancel) -> Self {
        self.cancel = cancel;
        self
    }

    fn tell(&self, stage: Stage) {
        if let Some(Watcher(watch)) = &self.watcher {
            watch(stage);
        }
    }

    fn reading(&self, side: Side) -> ReadOptions {
        let options = self.read.clone().without_flows().cancel(self.cancel.clone());
        match self.watcher.clone() {
            None => options,
            Some(Watcher(watch)) => options.progress(ReadProgress::new(move |bytes| {
                watch(Stage::Reading(side, bytes));
            })),
        }
    }
}

/// Two compared traces and everything derived from them. A comparison owns all its data, so it can be
/// stored, shared and sent to other threads.
#[derive(Debug, Clone)]
pub struct Comparison {
    analysis: Arc<Analysis>,
}

impl Comparison {
    /// Reads both inputs in parallel, builds their call trees, aligns the trees and attributes the time.
    ///
    /// ```
    /// use tracetree::{Comparison, ComparisonOptions, Side};
    ///
    /// let comparison = Comparison::open(
    ///     "examples/traces/resnet.rocm.json.gz",
    ///     "examples/traces/resnet.cuda.json.gz",
    ///     &ComparisonOptions::default(),
    /// )?;
    /// assert!(comparison.analysis().account().is_exact());
    /// assert_eq!(comparison.tree(Side::Baseline).trace().header().devices.len(), 1);
    /// # Ok::<(), tracetree::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns any error from [`Trace::open_with`]; if both traces fail to open, returns the baseline's error. Also
    /// fails if a trace has neither host calls nor GPU events, if both inputs are standard input, if a selected part is
    /// empty, or if the comparison is canceled.
    pub fn open(
        baseline: impl Into<Input>,
        candidate: impl Into<Input>,
        options: &ComparisonOptions,
    ) -> Result<Comparison> {
        let inputs = PerSide::new(baseline.into(), candidate.into());
        check_standard_input([&inputs.baseline, &inputs.candidate])?;
        Comparison::of_sources(inputs.map(Source::Unread), options)
    }

    fn of_sources(sources: PerSide<Source>, options: &ComparisonOptions) -> Result<Comparison> {
        let name = sources.candidate.name();
        let trees = trees(sources, options)?;
        options.cancel.check(&name)?;
        for side in Side::BOTH {
            options.diff.aliases.check(trees[side].trace())?;
        }
        options.tell(Stage::Aligning);
        let analysis =
            AnalysisOptions { first_step: first_step(options), ..options.analysis.clone() };
        let repeats = options.diff.repeats;
        let programs = trees.map(|tree| Arc::new(Program::with_repeats(tree, repeats)));
        // Aligning the trees keeps one thread busy. Meanwhile, other threads compute the facts that depend on only one
        // trace.
        let (diff, ()) = rayon::join(
            || TraceDiff::of_programs(programs.clone(), options.diff.clone()),
            || prepare(programs.as_ref().map(|program| &**program)),
        );
        diff.check_pins()?;
        options.cancel.check(&name)?;
        options.tell(Stage::Accounting);
        let analysis = Analysis::with_options(diff, analysis);
        Ok(Comparison { analysis: Arc::new(analysis) })
    }

    /// Compares several runs per side. First, the median runs of the two sides are compared with each
    /// other. Then the additional runs are aligned, one at a time, with the median run on the same side.
    /// Tables describe the median runs. Verdicts use all runs if both sides have several runs. The order of
    /// the runs does not matter.
    ///
    /// The median run on a side has the middle step time (the lower of the two middle step times if the number of runs
    /// is even). If a side has several runs, all of them are read first to find the median run. Large runs are read a
    /// second time, which limits the number of traces in memory.
    ///
    /// # Errors
    /// Fails for the same reasons as [`Comparison::open`], and if a side has no runs.
    #[doc(hidden)]
    pub fn of_runs<I: Into<Input>>(
        runs: PerSide<Vec<I>>,
        options: &ComparisonOptions,
    ) -> Result<Comparison> {
        let runs = runs.map(|runs| runs.into_iter().map(Into::into).collect::<Vec<Input>>());
        if Side::BOTH.iter().any(|&side| runs[side].is_empty()) {
            return Err(Error::usage("diff", "one side has no runs")
                .remedy("pass at least one trace for each side"));
        }
        check_standard_input(runs.baseline.iter().chain(&runs.candidate))?;
        let (mut runs, copies) = median_run::sorted(runs, options)?;
        let analysis = AnalysisOptions { copies, ..options.analysis.clone() };
        let options = &ComparisonOptions { analysis, ..options.clone() };
        let middle = PerSide::from_fn(|side| {
            let middle = median_run::middle(runs[side].len());
            runs[side].remove(middle)
        });
        let comparison = Comparison::of_sources(middle, options)?;
        if Side::BOTH.iter().all(|&side| runs[side].is_empty()) {
            return Ok(comparison);
        }
        let mut further: PerSide<Vec<Run>> = PerSide::default();
        for side in Side::BOTH {
            for source in std::mem::take(&mut runs[side]) {
                options.cancel.check(source.name())?;
                let run = comparison.further_run(side, source, options)?;
                further[side].push(run);
            }
        }
        let analysis = comparison.analysis.with_runs(further);
        Ok(Comparison { analysis: Arc::new(analysis) })
    }

    /// Aligns an additional run with the median run on the same side, and prices it against the median run on the other
    /// side.
    fn further_run(&self, side: Side, source: Source, options: &ComparisonOptions) -> Result<Run> {
        let tree = build(side, &source.read(side, options)?, options)?;
        let median = self.tree(side).clone();
        let diff = TraceDiff::with_options(median, tree, options.diff.clone());
        let other = self.diff().programs()[side.other()].clone();
        let run = diff.programs().candidate.clone();
        let programs = PerSide::seen_from(side, run, other);
        let against_other = TraceDiff::of_programs(programs, options.diff.clone());
        let prices =
            Analysis::with_options(against_other, options.analysis.clone()).bill().prices_of_run();
        Ok(Run::of(&diff, self.analysis.compared().steps(side), Some(prices)))
    }

    /// The time attribution, and everything derived from it.
    pub fn analysis(&self) -> &Arc<Analysis> {
        &self.analysis
    }

    /// The matching between the calls of the two traces.
    pub fn diff(&self) -> &Arc<TraceDiff> {
        self.analysis.diff()
    }

    /// The call tree of one side.
    pub fn tree(&self, side: Side) -> &Arc<CallTree> {
        self.analysis.tree(side)
    }

    /// The trace of one side, restricted to the selected part.
    pub fn trace(&self, side: Side) -> &Arc<Trace> {
        self.tree(side).trace()
    }

    /// Creates a report on the comparison.
    pub fn report(&self, options: ReportOptions) -> Report {
        Report::with_options(self.analysis.clone(), options)
    }
}

/// Returns an error if more than one trace would be read from standard input.
fn check_standard_input<'i>(inputs: impl IntoIterator<Item = &'i Input>) -> Result<()> {
    match inputs.into_iter().filter(|input| input.is_standard_input()).count() {
        0 | 1 => Ok(()),
        2.. => Err(Error::usage("-", "only one trace can be read from standard input")
            .remedy("pass the other trace as a file")),
    }
}

/// Builds the call trees of both sources. The two traces are processed in parallel: each trace is read and cut to the
/// selected part, and its tree is built.
fn trees(sources: PerSide<Source>, options: &ComparisonOptions) -> Result<PerSide<CallTree>> {
    let PerSide { baseline, candidate } = sources;
    let (baseline, candidate) = rayon::join(
        || baseline.read(Side::Baseline, options),
        || candidate.read(Side::Candidate, options),
    );
    let traces = PerSide::new(baseline?, candidate?);
    options.cancel.check(traces.candidate.0.source())?;
    options.tell(Stage::Building);
    let trees = PerSide::from_fn_at_once(|side| build(side, &traces[side], options));
    Ok(PerSide::new(trees.baseline?, trees.candidate?))
}

/// A trace, and the recordings made while its graphs were captured.
type Captured = (Arc<Trace>, Captures);

/// A trace that has already been read, or the input that contains the trace.
enum Source {
    Unread(Input),
    Read(Captured),
}

impl Source {
    fn name(&self) -> String {
        match self {
            Source::Unread(input) => input.name(),
            Source::Read((trace, _)) => trace.source().to_owned(),
        }
    }

    fn read(self, side: Side, options: &ComparisonOptions) -> Result<Captured> {
        match self {
            Source::Unread(mut input) => read(side, &mut input, options),
            Source::Read(captured) => Ok(captured),
        }
    }
}

fn read(side: Side, input: &mut Input, options: &ComparisonOptions) -> Result<Captured> {
    let path = match &*input {
        Input::File(path) => Some(path.clone()),
        Input::Bytes(..) | Input::Reader(..) | Input::Trace(_) => None,
    };
    let mut reading = options.reading(side);
    let trace = input.read(&reading).and_then(with_calls)?;
    reading.progress = None;
    let captures = options.captures[side].open(&trace, path.as_deref(), &reading)?;
    Ok((trace, captures))
}

fn build(
    side: Side,
    (trace, captures): &Captured,
    options: &ComparisonOptions,
) -> Result<CallTree> {
    let trace = cut(trace.clone(), options.selection[side])?;
    let tree = CallTree::with_options(trace, options.tree);
    captures.complete(tree, options.tree, &options.read)
}

/// The position of the first selected step if both selections start at the same step, otherwise 0.
fn first_step(options: &ComparisonOptions) -> u32 {
    let from = options.selection.map(|selection| selection.steps.map_or(0, |range| range.from));
    if from.baseline == from.candidate { from.baseline } else { 0 }
}

fn cut(trace: Arc<Trace>, selection: Selection) -> Result<Arc<Trace>> {
    if selection.is_all() {
        return Ok(trace);
    }
    selection.cut(&CallTree::build(trace)).map(Arc::new)
}

/// Rejects a trace that contains nothing to compare.
fn with_calls(trace: Arc<Trace>) -> Result<Arc<Trace>> {
    let takes_part = |category: Category| category.is_host_call() || category.is_gpu();
    if trace.events().any(|event| takes_part(trace.category(event))) {
        return Ok(trace);
    }
    let message = format!(
        "nothing to compare: the trace has no host calls and no GPU events ({} events in total)",
        trace.total_events()
    );
    Err(Error::new(ErrorKind::NotATrace, trace.source(), message).remedy(
        "record with torch.profiler and ProfilerActivity.CPU, plus ProfilerActivity.CUDA if there is a GPU",
    ))
}

/// Asserts that results can be stored, shared between threads and sent to other threads, as Python and thread
/// pools require.
const _: () = {
    const fn is_shareable<T: Send + Sync + 'static>() {}
    is_shareable::<Trace>();
    is_shareable::<CallTree>();
    is_shareable::<TraceDiff>();
    is_shareable::<Analysis>();
    is_shareable::<Comparison>();
    is_shareable::<Report>();
};
