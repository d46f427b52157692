//! The Python class for a call in a tree, with its parent and children and, in a comparison, its counterpart.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use tracetree::diff::{Confidence, Pass};
use tracetree::trace::Argument;
use tracetree::tree::{CallId, CallKind, ModuleName};
use tracetree::{Analysis, CallTree, Side};

/// A call: a thread, a Python frame, an op, a launch or a GPU event.
///
/// >>> import tracetree
/// >>> d = tracetree.diff("examples/traces/resnet.rocm.json.gz",
/// ...                    "examples/traces/resnet.cuda.json.gz")
/// >>> node = d.node(uid=38)
/// >>> node.name, node.kind, node.counterpart.uid
/// ('aten::_convolution', 'op', 35)
/// >>> [child.name for child in node.children]
/// ['aten::miopen_convolution']
/// >>> [child.name for child in node.counterpart.children]
/// ['aten::cudnn_convolution', 'aten::reshape', 'aten::add_']
#[pyclass(frozen, eq, hash, module = "tracetree")]
pub(crate) struct Node {
    tree: Arc<CallTree>,
    call: CallId,
    /// The comparison that contains the call, and the side on which the call occurs.
    within: Option<(Arc<Analysis>, Side)>,
}

impl PartialEq for Node {
    fn eq(&self, other: &Node) -> bool {
        self.call == other.call && Arc::ptr_eq(&self.tree, &other.tree)
    }
}

impl Hash for Node {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.call, Arc::as_ptr(&self.tree)).hash(state);
    }
}

impl Node {
    /// A call in the tree of a single trace.
    pub(crate) fn of_tree(tree: &Arc<CallTree>, call: CallId) -> Node {
        Node { tree: tree.clone(), call, within: None }
    }

    /// A call on one side of a comparison.
    pub(crate) fn of_comparison(analysis: &Arc<Analysis>, side: Side, call: CallId) -> Node {
        let within = Some((analysis.clone(), side));
        Node { tree: analysis.tree(side).clone(), call, within }
    }

    fn with(&self, call: CallId) -> Node {
        Node { tree: self.tree.clone(), call, within: self.within.clone() }
    }
}

#[pymethods]
impl Node {
    /// Position of the call's event in `traceEvents`, counted from 0; `None` for roots, which have no event.
    #[getter]
    fn uid(&self) -> Option<u32> {
        self.tree.event(self.call).map(|event| self.tree.trace().uid(event).0)
    }

    /// The call's name; for a thread, the name recorded in the trace.
    #[getter]
    fn name(&self) -> &str {
        self.tree.name(self.call)
    }

    /// `thread`, `unlinked`, `frame`, `op`, `runtime` or `gpu`.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.tree.kind(self.call) {
            CallKind::Thread => "thread",
            CallKind::Unlinked => "unlinked",
            CallKind::Frame => "frame",
            CallKind::Op => "op",
            CallKind::Runtime => "runtime",
            CallKind::Gpu => "gpu",
        }
    }

    /// Start time in µs, on the clock of the trace; `None` for roots.
    #[getter]
    fn start_us(&self) -> Option<f64> {
        self.tree.event(self.call).map(|event| self.tree.trace().start(event).as_micros())
    }

    /// Duration in µs; 0 for roots.
    #[getter]
    fn duration_us(&self) -> f64 {
        self.tree.duration(self.call).as_micros()
    }

    /// Sum of the durations in µs of all GPU events at or below this call.
    #[getter]
    fn kernel_time_us(&self) -> f64 {
        let gpu = self.tree.subtree(self.call).filter(|&c| self.tree.kind(c) == CallKind::Gpu);
        gpu.map(|call| self.tree.duration(call)).sum::<tracetree::trace::Nanos>().as_micros()
    }

    /// The parent call; `None` for roots.
    #[getter]
    fn parent(&self) -> Option<Node> {
        self.tree.parent(self.call).map(|call| self.with(call))
    }

    /// The child calls, ordered by start time.
    #[getter]
    fn children(&self) -> Vec<Node> {
        self.tree.children(self.call).map(|call| self.with(call)).collect()
    }

    /// The calls that enclose this call, outermost first.
    #[getter]
    fn ancestors(&self) -> Vec<Node> {
        let mut above: Vec<Node> =
            self.tree.ancestors(self.call).map(|call| self.with(call)).collect();
        above.reverse();
        above
    }

    /// The GPU events at or below this call.
    #[getter]
    fn kernels(&self) -> Vec<Node> {
        let below = self.tree.subtree(self.call);
        let gpu = below.filter(|&call| self.tree.kind(call) == CallKind::Gpu);
        gpu.map(|call| self.with(call)).collect()
    }

    /// Name of the innermost enclosing `nn.Module`, with its instance number; `None` if the call is not inside a
    /// module.
    #[getter]
    fn module(&self) -> Option<&str> {
        let module = self.tree.module(self.call)?;
        Some(ModuleName::instance_or_name(self.tree.name(module)))
    }

    /// The call stack: names of the enclosing calls, outermost first.
    #[getter]
    fn stack(&self) -> Vec<&str> {
        let mut names: Vec<&str> =
            self.tree.ancestors(self.call).map(|call| self.tree.name(call)).collect();
        names.reverse();
        names
    }

    /// The recorded arguments of an op, as the strings in the trace: `input_shape`, `input_type`,
    /// `input_strides`, `concrete_inputs`. Empty if no arguments were recorded.
    #[getter]
    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        let Some(arguments) = self.tree.arguments(self.call) else { return Ok(all) };
        for which in Argument::ALL {
            let name = match which {
                Argument::Shape => "input_shape",
                Argument::Concrete => "concrete_inputs",
                Argument::Strides => "input_strides",
                Argument::Type => "input_type",
            };
            match self.tree.trace().text(arguments.text(which)) {
                "" => {}
                text => all.set_item(name, text)?,
            }
        }
        Ok(all)
    }

    /// `baseline` or `candidate`; `None` if the call is not part of a comparison.
    #[getter]
    fn side(&self) -> Option<&'static str> {
        self.within.as_ref().map(|(_, side)| side.word())
    }

    /// The call's counterpart in the other trace; `None` if the call has no counterpart or is not part of a comparison.
    #[getter]
    fn counterpart(&self) -> Option<Node> {
        let (analysis, side) = self.within.as_ref()?;
        let counterpart = analysis.diff().counterpart(*side, self.call)?;
        Some(Node::of_comparison(analysis, side.other(), counterpart))
    }

    /// `same`, `renamed`, `moved`, `trace1_only` or `trace2_only`; `None` if the call is not part of a comparison.
    #[getter]
    fn relation(&self) -> Option<&'static str> {
        let (analysis, side) = self.within.as_ref()?;
        Some(analysis.diff().relation(*side, self.call).label())
    }

    /// How certain the match is: `firm`, `likely` or `interchangeable`; `None` if the call has no counterpart.
    #[getter]
    fn confidence(&self) -> Option<&'static str> {
        let (analysis, side) = self.within.as_ref()?;
        analysis.diff().confidence(*side, self.call).map(Confidence::label)
    }

    /// The alignment pass that made the match, such as `siblings`; `None` if the call has no counterpart.
    #[getter]
    fn matched_by(&self) -> Option<&'static str> {
        let (analysis, side) = self.within.as_ref()?;
        analysis.diff().matched_by(*side, self.call).map(Pass::name)
    }

    fn __repr__(&self) -> String {
        let uid = self.uid().map_or_else(String::new, |uid| format!(" uid={uid}"));
        let side = self.side().map_or_else(String::new, |side| format!(" {side}"));
        format!("<tracetree.Node{side}{uid} {} {:?}>", self.kind(), self.name())
    }
}
