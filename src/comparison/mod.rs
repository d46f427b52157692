//! Two inputs → [`Comparison`]: the whole line, from bytes to an analysis, in one call.

mod median_run;

use crate::analysis::{Analysis, AnalysisOptions, LookAhead, Run};
use crate::cancel::Cancel;
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

/// Where a trace comes from.
#[non_exhaustive]
pub enum Input {
    /// A file; `-` is standard input.
    File(PathBuf),
    /// Bytes in memory, packed or not; the name stands for them in messages.
    Bytes(String, Vec<u8>),
    /// Anything that can be read; the name stands for it in messages.
    Reader(String, Box<dyn Read + Send>),
    /// A trace that was read before.
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

    /// Reads it; a reader is at its end then.
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

    /// The same, so that it can be read more than once: of a pipe or a reader all bytes, as they are.
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

/// What a comparison is doing, for who watches it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// Both traces are read at the same time; of one of them so many bytes were read so far, packed
    /// as they are.
    Reading(Side, u64),
    /// The call trees are built.
    Building,
    /// The trees are aligned.
    Aligning,
    /// The time is accounted.
    Accounting,
}

/// Who is told of the stages, from the threads that work.
#[derive(Clone)]
struct Watcher(Arc<dyn Fn(Stage) + Send + Sync>);

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watcher")
    }
}

/// How two traces are compared: the options of each stage, who watches, and a way to stop.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ComparisonOptions {
    /// How both traces are read. Points of flow arrows are never kept: no comparison looks at them.
    pub read: ReadOptions,
    /// The part of each trace that is compared.
    pub selection: PerSide<Selection>,
    /// Where the captures of each trace's graphs come from.
    pub captures: PerSide<CaptureSource>,
    /// How the traces become trees.
    pub tree: TreeOptions,
    /// How the trees are aligned.
    pub diff: DiffOptions,
    /// How the time is told apart.
    pub analysis: AnalysisOptions,
    watcher: Option<Watcher>,
    cancel: Cancel,
}

impl ComparisonOptions {
    /// Reads both traces like this.
    #[must_use]
    pub fn read(mut self, options: ReadOptions) -> Self {
        self.read = options;
        self
    }

    /// Compares only these parts of the traces.
    #[must_use]
    pub fn selection(mut self, baseline: Selection, candidate: Selection) -> Self {
        self.selection = PerSide::new(baseline, candidate);
        self
    }

    /// Looks there for what was recorded while the graphs of each trace were captured.
    #[must_use]
    pub fn captures(mut self, baseline: CaptureSource, candidate: CaptureSource) -> Self {
        self.captures = PerSide::new(baseline, candidate);
        self
    }

    /// Makes trees like this.
    #[must_use]
    pub fn tree(mut self, options: TreeOptions) -> Self {
        self.tree = options;
        self
    }

    /// Aligns the trees like this.
    #[must_use]
    pub fn diff(mut self, options: DiffOptions) -> Self {
        self.diff = options;
        self
    }

    /// Tells the time apart like this.
    #[must_use]
    pub fn analysis(mut self, options: AnalysisOptions) -> Self {
        self.analysis = options;
        self
    }

    /// Tells `watch` what is done, from the threads that do it: often while reading, so it should
    /// return soon.
    #[must_use]
    pub fn watch(mut self, watch: impl Fn(Stage) + Send + Sync + 'static) -> Self {
        self.watcher = Some(Watcher(Arc::new(watch)));
        self
    }

    /// Stops with an error of kind [`ErrorKind::Cancelled`] where `cancel` is requested: while
    /// reading, and between the stages.
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

    /// How the trace of one side is read.
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

/// Two traces, compared: everything that is known about their difference. Owns all of it, so that it
/// can be kept, shared and sent to other threads.
#[derive(Debug, Clone)]
pub struct Comparison {
    analysis: Arc<Analysis>,
}

impl Comparison {
    /// Reads both inputs at the same time, builds their call trees, aligns them and accounts the
    /// time.
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
    /// Like [`Trace::open_with`], the baseline's error first; if a trace has neither host calls nor
    /// GPU events, so that there is nothing to compare; if both are standard input; if a chosen
    /// part is empty; and if it is cancelled.
    pub fn open(
        baseline: impl Into<Input>,
        candidate: impl Into<Input>,
        options: &ComparisonOptions,
    ) -> Result<Comparison> {
        let inputs = PerSide::new(baseline.into(), candidate.into());
        if Side::BOTH.iter().all(|&side| inputs[side].is_standard_input()) {
            let message = "standard input can be only one of the traces";
            return Err(Error::usage("-", message).remedy("give the other one as a file"));
        }
        let name = inputs.candidate.name();
        let trees = trees(inputs, options)?;
        options.cancel.check(&name)?;
        options.tell(Stage::Aligning);
        let analysis =
            AnalysisOptions { first_step: first_step(options), ..options.analysis.clone() };
        let ahead = LookAhead::new(trees.as_ref(), analysis);
        let diff = TraceDiff::with_look_ahead(
            trees.baseline,
            trees.candidate,
            options.diff.clone(),
            Some(&|side, program: &Program| ahead.at(side, program)),
        );
        options.cancel.check(&name)?;
        options.tell(Stage::Accounting);
        let analysis = ahead.analyse(diff);
        Ok(Comparison { analysis: Arc::new(analysis) })
    }

    /// Compares several runs of each side: the median run of each with each other, every other one
    /// with the median run of its side, one after the other. Tables are of the median runs; verdicts
    /// rest on all where both sides have several. The order of the runs changes nothing.
    ///
    /// The median run of a side is the one with the middle step time, the lower of the two in the
    /// middle where their number is even. To find it, the runs of a side that has several are read
    /// twice; one trace of each side is in memory at a time.
    ///
    /// # Errors
    /// Like [`Comparison::open`]; if a side has no run.
    pub fn of_runs<I: Into<Input>>(
        runs: PerSide<Vec<I>>,
        options: &ComparisonOptions,
    ) -> Result<Comparison> {
        let runs = runs.map(|runs| runs.into_iter().map(Into::into).collect::<Vec<Input>>());
        if Side::BOTH.iter().any(|&side| runs[side].is_empty()) {
            return Err(Error::usage("diff", "there is no run of one side")
                .remedy("name at least one trace for each side"));
        }
        let mut runs = median_run::sorted(runs, options)?;
        let middle = PerSide::from_fn(|side| {
            let middle = median_run::middle(runs[side].len());
            runs[side].remove(middle)
        });
        let comparison = Comparison::open(middle.baseline, middle.candidate, options)?;
        if Side::BOTH.iter().all(|&side| runs[side].is_empty()) {
            return Ok(comparison);
        }
        let mut further: PerSide<Vec<Run>> = PerSide::default();
        for side in Side::BOTH {
            for input in std::mem::take(&mut runs[side]) {
                options.cancel.check(input.name())?;
                let run = comparison.further_run(side, input, options)?;
                further[side].push(run);
            }
        }
        let analysis = Analysis::clone(&comparison.analysis).with_runs(further);
        Ok(Comparison { analysis: Arc::new(analysis) })
    }

    /// A further run of a side, aligned with the median run.
    fn further_run(
        &self,
        side: Side,
        mut input: Input,
        options: &ComparisonOptions,
    ) -> Result<Run> {
        let tree = build(side, &read(side, &mut input, options)?, options)?;
        let median = self.tree(side).clone();
        let diff = TraceDiff::with_options(median, tree, options.diff.clone());
        Ok(self.analysis.further_run(side, diff))
    }

    /// The account of the time, and all that is worked out from it.
    pub fn analysis(&self) -> &Arc<Analysis> {
        &self.analysis
    }

    /// Which call is which.
    pub fn diff(&self) -> &Arc<TraceDiff> {
        self.analysis.diff()
    }

    /// The call tree of one side.
    pub fn tree(&self, side: Side) -> &Arc<CallTree> {
        self.analysis.tree(side)
    }

    /// The trace of one side: the chosen part of it.
    pub fn trace(&self, side: Side) -> &Arc<Trace> {
        self.tree(side).trace()
    }

    /// The report of the comparison.
    pub fn report(&self, options: ReportOptions) -> Report {
        Report::with_options(self.analysis.clone(), options)
    }
}

/// The call trees of both inputs. Each input is read, cut and built on a thread of its own.
fn trees(inputs: PerSide<Input>, options: &ComparisonOptions) -> Result<PerSide<CallTree>> {
    let PerSide { mut baseline, mut candidate } = inputs;
    let (baseline, candidate) = rayon::join(
        || read(Side::Baseline, &mut baseline, options),
        || read(Side::Candidate, &mut candidate, options),
    );
    let traces = PerSide::new(baseline?, candidate?);
    options.cancel.check(traces.candidate.0.source())?;
    options.tell(Stage::Building);
    let trees = PerSide::from_fn_at_once(|side| build(side, &traces[side], options));
    Ok(PerSide::new(trees.baseline?, trees.candidate?))
}

/// A trace, with what was recorded while its graphs were captured.
type Captured = (Arc<Trace>, Captures);

fn read(side: Side, input: &mut Input, options: &ComparisonOptions) -> Result<Captured> {
    let path = match &*input {
        Input::File(path) => Some(path.clone()),
        Input::Bytes(..) | Input::Reader(..) | Input::Trace(_) => None,
    };
    let reading = options.reading(side);
    let trace = input.read(&reading).and_then(with_calls)?;
    let quietly = ReadOptions { progress: None, ..reading };
    let captures = options.captures[side].open(&trace, path.as_deref(), &quietly)?;
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

/// The position of the first step that was chosen, where it is one of both traces.
fn first_step(options: &ComparisonOptions) -> u32 {
    let from = options.selection.map(|selection| selection.steps.map_or(0, |range| range.from));
    if from.baseline == from.candidate { from.baseline } else { 0 }
}

/// The chosen part of a trace.
fn cut(trace: Arc<Trace>, selection: Selection) -> Result<Arc<Trace>> {
    if selection.is_all() {
        return Ok(trace);
    }
    selection.cut(&CallTree::build(trace)).map(Arc::new)
}

/// Refuses a trace in which nothing can be compared.
fn with_calls(trace: Arc<Trace>) -> Result<Arc<Trace>> {
    let takes_part = |category: Category| category.is_host_call() || category.is_gpu();
    if trace.events().any(|event| takes_part(trace.category(event))) {
        return Ok(trace);
    }
    let message = format!(
        "nothing to compare: none of its {} events is a host call or ran on a GPU",
        trace.total_events()
    );
    Err(Error::new(ErrorKind::NotATrace, trace.source(), message).remedy(
        "record with torch.profiler and ProfilerActivity.CPU, and CUDA where there is a GPU",
    ))
}

/// What Python, services and thread pools need of every value that they keep.
const _: () = {
    const fn is_shareable<T: Send + Sync + 'static>() {}
    is_shareable::<Trace>();
    is_shareable::<CallTree>();
    is_shareable::<TraceDiff>();
    is_shareable::<Analysis>();
    is_shareable::<Comparison>();
    is_shareable::<Report>();
};
