//! The Python class for a comparison: all tables, both trees, the summary and the report.

use crate::arguments::texts;
use crate::errors::{raise, unknown, usage};
use crate::explanation::Explanation;
use crate::node::Node;
use crate::options::Options;
use crate::origin::Origin;
use crate::source::Source;
use crate::table;
use crate::trace::{Trace, Tree};
use crate::what_if::WhatIf;
use crate::work::{self, Watch};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tracetree::analysis::account::{LoweringSide, Totals};
use tracetree::diff::MergedNode;
use tracetree::escape::one_line;
use tracetree::program::Query;
use tracetree::report::{
    Emit, Existing, Layer, Line, Narrative, ReportOptions, TableSet, evidence, lag_text, node_name,
    summarise, verdict, write_merged_tree, write_summary,
};
use tracetree::tables::TableKind;
use tracetree::trace::Nanos;
use tracetree::tree::CallId;
use tracetree::{Cancel, Error, ErrorKind, Input, PerSide, Side, Uid};
use tracetree_cli::{answer_text, summary_text};
use tracetree_repro::{ScriptOptions, calls_of_line, script};

/// The comparison of two traces, returned by `tracetree.diff`. A comparison owns all its data: the files,
/// profilers and buffers passed to `diff` are no longer needed.
///
/// Every table is an attribute. `print` shows what the command line prints, and `text()` returns all details.
/// In a notebook, a comparison is shown as a card.
///
/// >>> import tracetree
/// >>> d = tracetree.diff("examples/traces/resnet.rocm.json.gz",
/// ...                    "examples/traces/resnet.cuda.json.gz")
/// >>> d.answer.split(":")[0]
/// '5.8% faster'
/// >>> len(d.rows)
/// 469
#[pyclass(frozen, weakref, module = "tracetree")]
pub(crate) struct Comparison {
    comparison: tracetree::Comparison,
    /// The arguments that the comparison was made from. A pickle contains these arguments instead of the results.
    origin: Origin,
    /// Path of the HTML page in the most recently written report that has a page.
    page: Mutex<Option<PathBuf>>,
    /// The tables that were already used, in the order of `TableKind::ALL`.
    tables: [PyOnceLock<Table>; TableKind::ALL.len()],
}

/// A table that the comparison and its users share.
type Table = Py<table::Table>;

/// Compares the runs on one side with the runs on the other side.
#[pyfunction]
pub(crate) fn compare(
    py: Python<'_>,
    baseline: Vec<Source<'_>>,
    candidate: Vec<Source<'_>>,
    options: &Bound<'_, PyAny>,
    progress: Option<Bound<'_, PyAny>>,
    origin: Option<Py<PyAny>>,
) -> PyResult<Comparison> {
    let options: Options<'_> = options.extract()?;
    let options = options.of_comparison(py)?;
    let tells = progress.is_some();
    let watch = Watch { progress, cancel: Cancel::new() };
    let options = options.cancel(watch.cancel.clone());
    let inputs = |runs: Vec<Source<'_>>| runs.into_iter().map(Source::into_input).collect();
    let runs: PerSide<Vec<Input>> = PerSide::new(inputs(baseline), inputs(candidate));
    // The traces of the two sides are read in parallel, on one thread for each side.
    let compared = work::run(py, 2, &watch, move |teller| {
        let options = if tells { options.watch(move |stage| teller.tell(stage)) } else { options };
        tracetree::Comparison::of_runs(runs, &options)
    })?;
    let comparison = compared.map_err(|error| raise(py, &error))?;
    let tables = [const { PyOnceLock::new() }; TableKind::ALL.len()];
    Ok(Comparison { comparison, origin: origin.map(Arc::new), page: Mutex::new(None), tables })
}

/// A node in the merged tree: name, uid on each side, id of the parent node, and whether the node exists on each side.
type Merged = (String, Option<u32>, Option<u32>, Option<usize>, bool, bool);

/// The name of a table in Python. Most tables have the name of their file, without the extension.
fn name_of(kind: TableKind) -> &'static str {
    match kind {
        TableKind::Rows => "rows",
        TableKind::UniqueArgs => "unique_args",
        TableKind::Names => "names",
        TableKind::KernelEvents => "kernels",
        TableKind::Kernels => "kernel_summary",
        TableKind::WhatIf => "what_if",
        other => other.name(),
    }
}

impl Comparison {
    /// The table of a kind: the same object each time.
    fn of_kind(&self, kind: TableKind) -> Table {
        let at = TableKind::ALL.into_iter().position(|one| one == kind);
        let shared = &self.tables[at.expect("every kind is in ALL")];
        let (name, origin) = (name_of(kind), self.origin.clone());
        Python::attach(|py| {
            let create = || match kind {
                TableKind::WhatIf => WhatIf::create(py, name, &self.comparison, origin),
                kind => Py::new(
                    py,
                    table::Table::new(name, kind.of(self.comparison.analysis()), origin),
                ),
            };
            let table = shared.get_or_try_init(py, create).expect("memory for a table");
            table.clone_ref(py)
        })
    }

    fn call(&self, py: Python<'_>, side: Side, uid: i64) -> PyResult<CallId> {
        let tree = self.comparison.tree(side);
        let event = u32::try_from(uid).ok().and_then(|uid| tree.trace().event_at(Uid(uid)));
        event.and_then(|event| tree.call_of(event)).ok_or_else(|| {
            let message = format!(
                "event {uid} in the {} is neither a host call nor a GPU event in the comparison",
                side.word()
            );
            let error = Error::new(ErrorKind::Usage, tree.trace().source(), message).remedy(
                "uids are positions in traceEvents; see uid_baseline and uid_candidate in .rows",
            );
            raise(py, &error)
        })
    }
}

fn side_of(name: &str) -> PyResult<Side> {
    match name {
        "baseline" | "trace1" => Ok(Side::Baseline),
        "candidate" | "trace2" => Ok(Side::Candidate),
        _ => Err(PyValueError::new_err(format!(
            "there is no side `{name}`: use \"baseline\" or \"candidate\""
        ))),
    }
}

#[pymethods]
impl Comparison {
    /// Names of all tables.
    #[getter]
    fn table_names(&self) -> Vec<&'static str> {
        TableKind::ALL.into_iter().map(name_of).collect()
    }

    /// Returns a table by its name (such as `rows`) or its file name (such as `diff_stats.csv`).
    ///
    /// Raises `KeyError` if there is no such table; the message suggests the most similar name.
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Table> {
        let is_named = |kind: &TableKind| {
            name_of(*kind) == name || name.strip_suffix(".csv") == Some(kind.name())
        };
        match TableKind::ALL.iter().find(|kind| is_named(kind)) {
            Some(&kind) => Ok(self.of_kind(kind)),
            None => Err(unknown(py, "table", name, &self.table_names())),
        }
    }

    /// GPU time of both sides, attributed to the lowest ops that both sides call (`diff_stats.csv`).
    #[getter]
    fn rows(&self) -> Table {
        self.of_kind(TableKind::Rows)
    }

    /// The table `rows` grouped by op name and arguments (`diff_stats_unique_args_summary.csv`).
    #[getter]
    fn unique_args(&self) -> Table {
        self.of_kind(TableKind::UniqueArgs)
    }

    /// The table `rows` grouped by op name, with times in ms (`diff_stats_names_summary.csv`).
    #[getter]
    fn names(&self) -> Table {
        self.of_kind(TableKind::Names)
    }

    /// Every kernel, copy and memset of both traces (`diff_stats_kernels.csv`).
    #[getter]
    fn kernels(&self) -> Table {
        self.of_kind(TableKind::KernelEvents)
    }

    /// Kernels grouped by name, category and op (`kernels.csv`).
    #[getter]
    fn kernel_summary(&self) -> Table {
        self.of_kind(TableKind::Kernels)
    }

    /// Kernels that occur on both sides below matched ops (`same_kernels.csv`).
    #[getter]
    fn same_kernels(&self) -> Table {
        self.of_kind(TableKind::SameKernels)
    }

    /// GPU time for each category of work in each phase (`categories.csv`).
    #[getter]
    fn categories(&self) -> Table {
        self.of_kind(TableKind::Categories)
    }

    /// Call sites at which the two sides run different numbers of kernels (`fusion.csv`).
    #[getter]
    fn fusion(&self) -> Table {
        self.of_kind(TableKind::Fusion)
    }

    /// The ops and how much time could be saved in each, most time first (`efficiency.csv`).
    #[getter]
    fn efficiency(&self) -> Table {
        self.of_kind(TableKind::Efficiency)
    }

    /// Each op on both platforms: what runs it there, and how much of the difference the hardware explains
    /// (`porting.csv`).
    #[getter]
    fn porting(&self) -> Table {
        self.of_kind(TableKind::Porting)
    }

    /// Every event and its counterpart in the other trace (`uid_map.csv`).
    #[getter]
    fn uid_map(&self) -> Table {
        self.of_kind(TableKind::UidMap)
    }

    /// The steps of both traces, with one row for each matched pair of steps (`steps.csv`).
    #[getter]
    fn steps(&self) -> Table {
        self.of_kind(TableKind::Steps)
    }

    /// Which step was compared with which, and why (`step_pairs.csv`).
    #[getter]
    fn step_pairs(&self) -> Table {
        self.of_kind(TableKind::StepPairs)
    }

    /// The compared steps of inference engines, grouped by phase and batch size (`batch_classes.csv`).
    #[getter]
    fn batch_classes(&self) -> Table {
        self.of_kind(TableKind::BatchClasses)
    }

    /// The phases of both traces (`phases.csv`).
    #[getter]
    fn phases(&self) -> Table {
        self.of_kind(TableKind::Phases)
    }

    /// The layers in each phase (`layers.csv`).
    #[getter]
    fn layers(&self) -> Table {
        self.of_kind(TableKind::Layers)
    }

    /// The ops of an average layer (`layer_ops.csv`).
    #[getter]
    fn layer_ops(&self) -> Table {
        self.of_kind(TableKind::LayerOps)
    }

    /// The lines into which the step-time difference is divided, each with one price (`bill.csv`).
    #[getter]
    fn bill(&self) -> Table {
        self.of_kind(TableKind::Bill)
    }

    /// The changes and their costs, most expensive first (`changes.csv`).
    #[getter]
    fn changes(&self) -> Table {
        self.of_kind(TableKind::Changes)
    }

    /// The calls that belong to each change (`change_sites.csv`).
    #[getter]
    fn change_sites(&self) -> Table {
        self.of_kind(TableKind::ChangeSites)
    }

    /// The effect of each change on the step time, estimated by replay, and lower bounds of the step time
    /// (`whatif.csv`). The table can be called with a scenario: `d.what_if(host=0.0)`.
    #[getter]
    fn what_if(&self) -> Table {
        self.of_kind(TableKind::WhatIf)
    }

    /// The parts of the critical path, which determines when a step ends (`critical_path.csv`).
    #[getter]
    fn critical_path(&self) -> Table {
        self.of_kind(TableKind::CriticalPath)
    }

    /// What the GPU was waiting for while it was idle (`idle.csv`).
    #[getter]
    fn idle(&self) -> Table {
        self.of_kind(TableKind::Idle)
    }

    /// Launches of captured graphs, and the captures that supply their calls (`graphs.csv`).
    #[getter]
    fn graphs(&self) -> Table {
        self.of_kind(TableKind::Graphs)
    }

    /// All ops by name, including ops without GPU work (`ops.csv`).
    #[getter]
    fn ops(&self) -> Table {
        self.of_kind(TableKind::Ops)
    }

    /// All calls into the GPU runtime and driver, grouped by kind (`api_calls.csv`).
    #[getter]
    fn api_calls(&self) -> Table {
        self.of_kind(TableKind::ApiCalls)
    }

    /// Memory use on each device, grouped by matched op and shapes (`memory.csv`).
    #[getter]
    fn memory(&self) -> Table {
        self.of_kind(TableKind::Memory)
    }

    /// Memory use on each device in each step (`memory_timeline.csv`).
    #[getter]
    fn memory_timeline(&self) -> Table {
        self.of_kind(TableKind::MemoryTimeline)
    }

    /// The allocations that are live at each side's memory peak (`memory_peaks.csv`).
    #[getter]
    fn memory_peaks(&self) -> Table {
        self.of_kind(TableKind::MemoryPeaks)
    }

    /// The ranges that the two programs mark with `record_function` (`regions.csv`).
    #[getter]
    fn regions(&self) -> Table {
        self.of_kind(TableKind::Regions)
    }

    /// How much GPU work runs concurrently in each step (`overlap.csv`).
    #[getter]
    fn overlap(&self) -> Table {
        self.of_kind(TableKind::Overlap)
    }

    /// The part of the baseline trace that was compared.
    #[getter]
    fn baseline(&self) -> Trace {
        Trace::of_tree(self.comparison.tree(Side::Baseline))
    }

    /// The part of the candidate trace that was compared.
    #[getter]
    fn candidate(&self) -> Trace {
        Trace::of_tree(self.comparison.tree(Side::Candidate))
    }

    /// The call tree of one side.
    fn tree(&self, side: &str) -> PyResult<Tree> {
        Ok(Tree::new(self.comparison.tree(side_of(side)?).clone()))
    }

    /// The overall result of the comparison, in one sentence.
    #[getter]
    fn answer(&self, py: Python<'_>) -> String {
        py.detach(|| Narrative::of(self.comparison.analysis()).answer())
    }

    /// Returns the uid of an event's counterpart in the other trace; `None` if the event has no counterpart. `uid` is
    /// the uid of the event in the trace on `side`.
    ///
    /// >>> import tracetree
    /// >>> d = tracetree.diff("examples/traces/resnet.rocm.json.gz",
    /// ...                    "examples/traces/resnet.cuda.json.gz")
    /// >>> d.corresponding_uid("baseline", 38)
    /// 35
    /// >>> d.corresponding_uid("candidate", 35)
    /// 38
    fn corresponding_uid(&self, side: &str, uid: i64) -> PyResult<Option<u32>> {
        let (side, uid) = (side_of(side)?, u32::try_from(uid).ok());
        let counterpart =
            uid.and_then(|uid| self.comparison.diff().corresponding_uid(side, Uid(uid)));
        Ok(counterpart.map(|uid| uid.0))
    }

    /// Returns the call whose event is at position `uid` in the `traceEvents` of `side`. The attribute `counterpart` of the
    /// call is its counterpart.
    ///
    /// Raises `UsageError` if there is no such event or the event is not part of the comparison.
    #[pyo3(signature = (uid, side="baseline"))]
    fn node(&self, py: Python<'_>, uid: i64, side: &str) -> PyResult<Node> {
        let side = side_of(side)?;
        let call = self.call(py, side, uid)?;
        Ok(Node::of_comparison(self.comparison.analysis(), side, call))
    }

    /// The calls on `side` that match a path query, in trace order. A query lists calls from the outermost to the
    /// innermost. There may be other calls between the listed calls. `*` matches any characters.
    ///
    /// Raises `UsageError` if the query is invalid.
    ///
    /// >>> import tracetree
    /// >>> d = tracetree.diff("examples/traces/resnet.rocm.json.gz",
    /// ...                    "examples/traces/resnet.cuda.json.gz")
    /// >>> len(d.find('op("aten::_convolution") / kernel("igemm_*")')) > 0
    /// True
    #[pyo3(signature = (query, side="baseline"))]
    fn find(&self, py: Python<'_>, query: &str, side: &str) -> PyResult<Vec<Node>> {
        let side = side_of(side)?;
        let query: Query = query.parse().map_err(|error| raise(py, &error))?;
        let calls = query.find(self.comparison.tree(side));
        let node = |call| Node::of_comparison(self.comparison.analysis(), side, call);
        Ok(calls.into_iter().map(node).collect())
    }

    /// The ops and kernels that the op with this name runs on each side, with counts and times in µs.
    ///
    /// Raises `KeyError` if no row has this name; the message suggests the most similar name.
    ///
    /// >>> import tracetree
    /// >>> d = tracetree.diff("examples/traces/resnet.rocm.json.gz",
    /// ...                    "examples/traces/resnet.cuda.json.gz")
    /// >>> [op["name"] for op in d.lowering("aten::_convolution")["candidate"]["ops"]]
    /// ['aten::cudnn_convolution']
    fn lowering<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
        let lowerings = py.detach(|| self.comparison.analysis().lowerings());
        let Some(lowering) = lowerings.get(name) else {
            let names: Vec<&str> = lowerings.keys().map(String::as_str).collect();
            return Err(unknown(py, "op", name, &names));
        };
        let all = PyDict::new(py);
        all.set_item("name", name)?;
        all.set_item("row_count", lowering.row_count)?;
        all.set_item("baseline", lowered(py, &lowering.sides.baseline)?)?;
        all.set_item("candidate", lowered(py, &lowering.sides.candidate)?)?;
        Ok(all)
    }

    /// Explains why an event is matched to its counterpart. The event is given by its position in `traceEvents`, either
    /// as `baseline` or as `candidate`.
    ///
    /// Raises `TypeError` unless exactly one of the two arguments is given, and `UsageError` if there is no such call.
    #[pyo3(signature = (*, baseline=None, candidate=None))]
    fn explain(
        &self,
        py: Python<'_>,
        baseline: Option<i64>,
        candidate: Option<i64>,
    ) -> PyResult<Explanation> {
        let (side, uid) = match (baseline, candidate) {
            (Some(uid), None) => (Side::Baseline, uid),
            (None, Some(uid)) => (Side::Candidate, uid),
            _ => {
                let message = "explain() takes exactly one of baseline=uid and candidate=uid";
                return Err(PyTypeError::new_err(message));
            }
        };
        let call = self.call(py, side, uid)?;
        let explanation = py.detach(|| self.comparison.diff().explain(side, call));
        Ok(Explanation::new(&self.comparison, explanation))
    }

    /// A Python script that repeats one call with random data of the recorded shapes, as `tracetree repro` prints it. The
    /// script needs only PyTorch. The call is given by its position in `traceEvents`, as `baseline` or as `candidate`, or
    /// it is the call of a `line` of the bill with the largest difference (the column `bill_line` of the table `bill`).
    ///
    /// Raises `TypeError` unless exactly one of the arguments is given, and `UsageError` if there is no such call or the
    /// call cannot be repeated.
    #[pyo3(signature = (*, line=None, baseline=None, candidate=None))]
    fn repro(
        &self,
        py: Python<'_>,
        line: Option<usize>,
        baseline: Option<i64>,
        candidate: Option<i64>,
    ) -> PyResult<String> {
        let of = |side, uid| self.call(py, side, uid).map(Some);
        let analysis = self.comparison.analysis();
        let calls = match (line, baseline, candidate) {
            (Some(line), None, None) => calls_of_line(analysis, line),
            (None, Some(uid), None) => Ok(PerSide::new(of(Side::Baseline, uid)?, None)),
            (None, None, Some(uid)) => Ok(PerSide::new(None, of(Side::Candidate, uid)?)),
            _ => {
                let message =
                    "repro() takes exactly one of line=number, baseline=uid and candidate=uid";
                return Err(PyTypeError::new_err(message));
            }
        };
        let written = py.detach(|| script(analysis.diff(), calls?, &ScriptOptions::default()));
        written.map_err(|error| raise(py, &error))
    }

    /// Writes the report folder: the usual tables as CSV, the merged tree, `summary.json`, and the formats
    /// named in `emit` (`html`, `md`, `xlsx`, `svg`, `perfetto`, `tables` for all tables, `all` or `none`; by
    /// default `html` and `md`). Returns the paths of the written files.
    ///
    /// Raises `OSError` if the folder cannot be written. Raises `UsageError` if `folder` is a file, a format is
    /// unknown, or tracetree would overwrite files that it did not write; `force=True` overwrites them.
    #[pyo3(signature = (folder, emit=None, *, force=false))]
    fn report(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        emit: Option<Bound<'_, PyAny>>,
        force: bool,
    ) -> PyResult<Vec<PathBuf>> {
        let mut options = ReportOptions::default();
        if force {
            options.existing = Existing::Replace;
        }
        if emit.is_some() {
            (options.emits, options.table_set) = formats(py, texts("emit", emit.as_ref())?)?;
        }
        let has_page = options.emits.iter().any(|emit| emit.label() == "html");
        let (comparison, target) = (self.comparison.clone(), folder.clone());
        let unfinished = options.unfinished.clone();
        let watch = Watch { progress: None, cancel: Cancel::new() };
        let written = work::run(py, work::all_cores(), &watch, move |_| {
            comparison.report(options).write(target)
        });
        // If the caller was interrupted, remove the unfinished folder.
        let written = written.inspect_err(|_| unfinished.remove())?;
        let names = written.map_err(|error| raise(py, &error))?;
        if has_page {
            *self.page.lock().unwrap_or_else(PoisonError::into_inner) =
                Some(folder.join("report.html"));
        }
        Ok(names.iter().map(|name| folder.join(name)).collect())
    }

    /// The comparison as a dictionary: the content of `summary.json`, which `tracetree diff --format json` prints.
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let json = py.detach(|| {
            let mut json = Vec::new();
            write_summary(&summarise(self.comparison.analysis()), &mut json).map(|()| json)
        });
        py.import("json")?.call_method1("loads", (json?,))
    }

    /// The merged call tree as text. Line `n` shows the node with id `n - 1`.
    fn merged_tree(&self, py: Python<'_>) -> PyResult<String> {
        let text = py.detach(|| {
            let mut text = Vec::new();
            write_merged_tree(self.comparison.analysis(), &mut text).map(|()| text)
        });
        Ok(String::from_utf8_lossy(&text?).into_owned())
    }

    /// The nodes in the merged tree, ordered by id.
    fn _merged_nodes(&self) -> Vec<Merged> {
        let (analysis, merged) = (self.comparison.analysis(), self.comparison.diff().merged());
        let uid = |side: Side, node: MergedNode| {
            let tree = self.comparison.tree(side);
            tree.event(node.call(side)?).map(|event| tree.trace().uid(event).0)
        };
        let node = |(id, node): (_, MergedNode)| {
            (
                node_name(analysis, node).into_owned(),
                uid(Side::Baseline, node),
                uid(Side::Candidate, node),
                merged.parent(id).map(|above| above.index()),
                node.call(Side::Baseline).is_some(),
                node.call(Side::Candidate).is_some(),
            )
        };
        merged.nodes().map(node).collect()
    }

    /// The output of `tracetree diff --verbose`: the result with all details and the `top` largest differences,
    /// for a terminal `width` columns wide.
    #[pyo3(signature = (top=10, width=100))]
    fn text(&self, py: Python<'_>, top: usize, width: usize) -> String {
        py.detach(|| summary_text(&self.comparison, top, width)).trim_end().to_owned()
    }

    /// What `tracetree diff` prints on a terminal 100 columns wide.
    fn _screen(&self, py: Python<'_>) -> String {
        py.detach(|| answer_text(&self.comparison, 100)).trim_end().to_owned()
    }

    /// What the command line prints, followed by the warnings.
    fn __str__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("tracetree._notes")?.call_method1("screen", (slf,))
    }

    /// One line: the names of the sides and the headline.
    fn __repr__(&self, py: Python<'_>) -> String {
        let narrative = py.detach(|| Narrative::of(self.comparison.analysis()));
        let PerSide { baseline, candidate } = &narrative.names;
        let text =
            format!("<tracetree.Comparison {baseline} → {candidate}: {}>", narrative.headline);
        one_line(&text).into_owned()
    }

    /// Warnings and remarks about the traces and the comparison: a list of dictionaries with `code`, `severity`
    /// (`warning` or `info`), `side` (`baseline`, `candidate`, or `None` for both), `count`, `message`, `hint`
    /// and `text`; `text` combines code, message and hint in one line.
    #[getter]
    fn notes<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("tracetree._notes")?.call_method1("of_comparison", (slf,))
    }

    /// Plots of the comparison: `changes()`, `steps()`, `memory()`, `roofline()`.
    #[getter]
    fn plot<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("tracetree._plots")?.call_method1("Plots", (slf,))
    }

    /// The differential flame graph, as an SVG image that a notebook can show.
    fn flamegraph<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("tracetree._plots")?.call_method1("flamegraph", (slf,))
    }

    /// Opens the HTML page in the browser and returns the page's path. If no report contains a page yet, the page
    /// is written to a temporary folder.
    fn open<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("tracetree._plots")?.call_method1("open_page", (slf,))
    }

    /// Path of the HTML page in the most recently written report that has a page.
    #[getter]
    fn _page(&self) -> Option<PathBuf> {
        self.page.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The arguments that the comparison was made from, for pickling.
    #[getter]
    fn _origin(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.origin.as_ref().map(|origin| origin.clone_ref(py))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("tracetree._pickle")?.call_method1("comparison", (slf,))
    }

    /// Returns the comparison itself, because a comparison never changes.
    fn __copy__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    /// Returns the comparison itself, because a comparison never changes.
    fn __deepcopy__<'py>(slf: Bound<'py, Self>, memo: Bound<'py, PyAny>) -> Bound<'py, Self> {
        drop(memo);
        slf
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("tracetree._card")?.call_method1("comparison", (slf,))
    }

    /// The data shown on the notebook card.
    fn _card<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let analysis = self.comparison.analysis();
        let (summary, narrative, lag) = py.detach(|| {
            (summarise(analysis), Narrative::of(analysis), lag_text(analysis, CARD_CURVE))
        });
        let card = PyDict::new(py);
        card.set_item("headline", &narrative.headline)?;
        card.set_item("leading", &narrative.leading)?;
        let about = [&narrative.split, &narrative.confidence].into_iter();
        let remarks: Vec<&String> = about
            .chain(&narrative.remarks)
            .chain(&narrative.runs)
            .filter(|line| !line.is_empty())
            .collect();
        card.set_item("remarks", remarks)?;
        card.set_item("measure_of_changes", narrative.measure())?;
        let line = |line: &Line| {
            let is_worse = line.cost > Nanos::ZERO;
            (line.shown.clone(), line.sentence.clone(), line.detail(), is_worse)
        };
        let layer = |layer: &Layer| {
            let lines: Vec<_> = layer.lines.iter().take(CARD_LINES).map(line).collect();
            (layer.title.clone(), lines, narrative.rest(layer, CARD_LINES))
        };
        card.set_item("layers", narrative.layers().map(layer).collect::<Vec<_>>())?;
        let next = narrative.next.iter().map(|action| (&action.text, &action.command));
        card.set_item("next", next.collect::<Vec<_>>())?;
        card.set_item("lag", lag.map(|lag| (lag.title, lag.blocks, lag.parts)))?;
        card.set_item("evidence", evidence(analysis, &summary.verdict))?;
        card.set_item("verdict", verdict(analysis))?;
        card.set_item("measure", summary.measure)?;
        card.set_item("points", summary.points_of_difference)?;
        card.set_item("exact", summary.account_is_exact)?;
        let sides = PyList::empty(py);
        for (side, about) in Side::BOTH.into_iter().zip([&summary.trace1, &summary.trace2]) {
            let totals = &analysis.account().totals[side];
            sides.append(side_card(py, about, totals)?)?;
        }
        card.set_item("sides", sides)?;
        let page = self.page.lock().unwrap_or_else(PoisonError::into_inner).clone();
        card.set_item("page", page)?;
        Ok(card)
    }
}

/// Number of characters of the curve on the notebook card.
const CARD_CURVE: usize = 78;
/// Maximum number of lines in each section of the notebook card.
const CARD_LINES: usize = 6;

fn side_card<'py>(
    py: Python<'py>,
    about: &tracetree::report::SideSummary,
    totals: &Totals,
) -> PyResult<Bound<'py, PyDict>> {
    let card = PyDict::new(py);
    card.set_item("name", &about.name)?;
    card.set_item("path", &about.path)?;
    card.set_item("device", about.devices.first())?;
    card.set_item("events", totals.events)?;
    let parts = [totals.paired, totals.one_sided, totals.unlinked, totals.time];
    card.set_item("account_ms", parts.map(Nanos::as_millis))?;
    Ok(card)
}

fn lowered<'py>(py: Python<'py>, side: &LoweringSide) -> PyResult<Bound<'py, PyDict>> {
    let named = |names: &std::collections::BTreeMap<String, (u64, Nanos)>| {
        let entries = names.iter().map(|(name, (count, time))| {
            let entry = PyDict::new(py);
            entry.set_item("name", name)?;
            entry.set_item("count", count)?;
            entry.set_item("time_us", time.as_micros())?;
            Ok(entry)
        });
        entries.collect::<PyResult<Vec<_>>>()
    };
    let all = PyDict::new(py);
    all.set_item("kernel_time_us", side.time.as_micros())?;
    all.set_item("ops", named(&side.ops)?)?;
    all.set_item("kernels", named(&side.kernels)?)?;
    Ok(all)
}

/// Parses the names of report formats, and decides which tables to write.
fn formats(py: Python<'_>, names: Vec<String>) -> PyResult<(Vec<Emit>, TableSet)> {
    let mut formats = Vec::new();
    let mut tables = TableSet::Usual;
    for name in names {
        match name.as_str() {
            "all" => {
                formats.extend_from_slice(Emit::ALL);
                tables = TableSet::All;
            }
            "tables" => tables = TableSet::All,
            "none" => {}
            name => formats.push(name.parse().map_err(|_| unknown_format(py, name))?),
        }
    }
    Ok((formats, tables))
}

fn unknown_format(py: Python<'_>, name: &str) -> PyErr {
    let known: Vec<&str> = Emit::ALL.iter().map(|emit| emit.label()).collect();
    let message = format!("not a report format; expected one of {}, tables, all", known.join(", "));
    usage(py, name, message)
}
