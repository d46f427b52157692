//! The Python classes for a trace and its call tree. Objects of either class own their data.

use crate::errors::usage;
use crate::node::Node;
use crate::origin::Origin;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Arc, OnceLock};
use tracetree::CallTree;
use tracetree::analysis::efficiency::{EfficiencyInfo, Models, Peaks, TraceEfficiency};
use tracetree::analysis::memory::MemorySummary;
use tracetree::escape::one_line;
use tracetree::program::{TraceInfo, rank_of};
use tracetree::report::{DescribedTrace, write_info_json};
use tracetree::trace::Uid;

/// Maximum number of ops in the list of the ops that are furthest from their roofline.
const FURTHEST: usize = 10;

/// A trace, returned by `tracetree.open` and accepted by `tracetree.diff`.
///
/// >>> import tracetree
/// >>> t = tracetree.open("examples/traces/resnet.rocm.json.gz")
/// >>> t
/// <tracetree.Trace examples/traces/resnet.rocm.json.gz: 7839 events>
/// >>> t.info()["steps"]
/// 3
#[pyclass(frozen, weakref, module = "tracetree")]
pub(crate) struct Trace {
    trace: Arc<tracetree::Trace>,
    tree: OnceLock<Arc<CallTree>>,
    /// The arguments that the trace was read from. A pickle contains these arguments instead of the events.
    origin: Origin,
}

impl Trace {
    pub(crate) fn new(trace: Arc<tracetree::Trace>, origin: Origin) -> Trace {
        Trace { trace, tree: OnceLock::new(), origin }
    }

    /// A trace whose call tree was already built.
    pub(crate) fn of_tree(tree: &Arc<CallTree>) -> Trace {
        Trace { trace: tree.trace().clone(), tree: OnceLock::from(tree.clone()), origin: None }
    }

    pub(crate) fn trace(&self) -> &Arc<tracetree::Trace> {
        &self.trace
    }

    fn call_tree(&self, py: Python<'_>) -> &Arc<CallTree> {
        let build = || Arc::new(CallTree::build(self.trace.clone()));
        py.detach(|| self.tree.get_or_init(build))
    }
}

#[pymethods]
impl Trace {
    /// The path as it was passed, or a placeholder such as `<bytes>`.
    #[getter]
    fn source(&self) -> &str {
        self.trace.source()
    }

    /// The rank that the trace was recorded on, by its content or its name; `None` if unknown.
    #[getter]
    fn rank(&self) -> Option<i64> {
        rank_of(self.trace.header(), self.trace.source())
    }

    /// Number of elements in `traceEvents`.
    fn __len__(&self) -> usize {
        self.trace.total_events() as usize
    }

    /// Warnings and remarks about the file: a list of dictionaries with `code`, `severity` (`warning` or `info`),
    /// `count`, `message`, `hint` and `text`; `text` combines code, message and hint in one line.
    #[getter]
    fn notes<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let shared = py.import("tracetree._notes")?;
        let notes = self.trace.notes().iter().map(|note| {
            let about = PyDict::new(py);
            about.set_item("code", note.code)?;
            about.set_item("severity", shared.call_method1("severity", (note.code,))?)?;
            about.set_item("count", note.count)?;
            about.set_item("message", &note.message)?;
            about.set_item("hint", note.hint)?;
            let text = shared.call_method1("line", (note.code, &note.message, note.hint))?;
            about.set_item("text", text)?;
            Ok(about)
        });
        notes.collect()
    }

    /// The call tree: thread, Python frame, op, launch, kernel. The first call builds the tree; later calls return the
    /// same tree.
    fn tree(&self, py: Python<'_>) -> Tree {
        Tree { tree: self.call_tree(py).clone() }
    }

    /// A description of the trace as a dictionary, as printed by `tracetree info --format json`.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let tree = self.call_tree(py).clone();
        let json = py.detach(move || {
            let path = std::path::Path::new(tree.trace().source());
            let size = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file);
            let size = size.map(|size| size.len());
            let info = TraceInfo { file_bytes: size, ..TraceInfo::of_tree(&tree) };
            let memory = MemorySummary::of(&tree);
            let efficiency = TraceEfficiency::new(tree, &Models::default(), &Peaks::default());
            let efficiency = EfficiencyInfo::of(&efficiency, FURTHEST);
            let mut json = Vec::new();
            let written =
                write_info_json(&[DescribedTrace { info, efficiency, memory }], &mut json);
            written.map(|()| json)
        });
        py.import("json")?.call_method1("loads", (json?,))?.get_item(0)
    }

    /// The arguments that the trace was read from, for pickling.
    #[getter]
    fn _origin(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.origin.as_ref().map(|origin| origin.clone_ref(py))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("tracetree._pickle")?.call_method1("trace", (slf,))
    }

    /// Returns the trace itself, because a trace never changes.
    fn __copy__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    /// Returns the trace itself, because a trace never changes.
    fn __deepcopy__<'py>(slf: Bound<'py, Self>, memo: Bound<'py, PyAny>) -> Bound<'py, Self> {
        drop(memo);
        slf
    }

    fn __repr__(&self) -> String {
        let events = self.__len__();
        format!("<tracetree.Trace {}: {events} events>", one_line(self.source()))
    }
}

/// The call tree of one trace.
///
/// >>> import tracetree
/// >>> tree = tracetree.open("examples/traces/resnet.rocm.json.gz").tree()
/// >>> [root.name for root in tree.roots]
/// ['thread 950 (python3)', 'thread 1047 (autograd)', '(launch not in trace)']
#[pyclass(frozen, module = "tracetree")]
pub(crate) struct Tree {
    tree: Arc<CallTree>,
}

impl Tree {
    pub(crate) fn new(tree: Arc<CallTree>) -> Tree {
        Tree { tree }
    }
}

#[pymethods]
impl Tree {
    /// The trace that the tree was built from.
    #[getter]
    fn trace(&self) -> Trace {
        Trace::of_tree(&self.tree)
    }

    /// The roots of the tree: one for each host thread and, if the launches of some GPU events are not in the trace,
    /// one for these events.
    #[getter]
    fn roots(&self) -> Vec<Node> {
        self.tree.roots().map(|call| Node::of_tree(&self.tree, call)).collect()
    }

    /// The call for the event with this uid, which is the event's position in `traceEvents` of a Kineto trace.
    ///
    /// Raises `UsageError` if there is no such event or the event is not part of the tree.
    fn node(&self, py: Python<'_>, uid: i64) -> PyResult<Node> {
        let known = u32::try_from(uid).ok();
        let event = known.and_then(|uid| self.tree.trace().event_at(Uid(uid)));
        let call = event.and_then(|event| self.tree.call_of(event));
        let call = call.ok_or_else(|| {
            let message = format!("event {uid} is neither a host call nor a GPU event");
            usage(py, self.tree.trace().source(), message)
        })?;
        Ok(Node::of_tree(&self.tree, call))
    }

    /// Number of calls, including roots and GPU events.
    fn __len__(&self) -> usize {
        self.tree.len()
    }

    /// All calls in preorder.
    fn __iter__(&self) -> Calls {
        Calls { tree: self.tree.clone(), next: 0 }
    }

    fn __repr__(&self) -> String {
        let source = one_line(self.tree.trace().source());
        format!("<tracetree.Tree {source}: {} calls>", self.tree.len())
    }
}

/// Iterator over the calls in a tree.
#[pyclass]
struct Calls {
    tree: Arc<CallTree>,
    next: usize,
}

#[pymethods]
impl Calls {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&mut self) -> Option<Node> {
        let call = self.tree.call_id(self.next)?;
        self.next += 1;
        Some(Node::of_tree(&self.tree, call))
    }
}
