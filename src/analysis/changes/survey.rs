//! Summarizes an unmatched call: the outermost ops and modules at or below it, and what their names reveal.

use super::place::either;
use crate::analysis::categories::OPTIMIZER_FRAME;
use crate::analysis::steps::StepPairs;
use crate::diff::{MergedId, TraceDiff};
use crate::program::Phase;
use crate::side::{PerSide, Side};
use crate::trace::{ByName, Category};
use crate::tree::{AUTOGRAD_PREFIX, CallId, CallKind, CallTree, ModuleName, names_graph_launch};
use std::collections::BTreeMap;

/// Substrings that occur in the names of frames and ops that run compiled code.
const COMPILED: [&str; 7] = [
    COMPILED_MODULE,
    "_inductor/",
    "_functorch/",
    "Torch-Compiled",
    "CompiledFunction",
    "TorchDynamo Cache Lookup",
    "Pregraph bytecode",
];
/// Class of the wrapper module that `torch.compile` creates around a module.
pub(super) const COMPILED_MODULE: &str = "OptimizedModule";
/// Substrings that occur in the names of frames and ops that compile code.
const COMPILING: [&str; 2] = ["_dynamo/convert_frame.py", "(dynamo_timed)"];
/// Substrings that occur in the names of frames and ranges that load data.
const LOADING: [&str; 2] = ["enumerate(DataLoader)", "torch/utils/data/dataloader.py"];
/// Substring that occurs in the names of frames that run a part of the forward pass again during the backward pass.
pub(super) const RECOMPUTING: &str = "torch/utils/checkpoint.py";
/// Functions of this file that run only during the backward pass.
const AGAIN: [&str; 3] = [": backward", ": recompute_fn", ": unpack_hook"];

/// Summary of an unmatched call and of the calls below it. Nested calls that have a counterpart with the same name are
/// excluded, with everything below them.
#[derive(Debug, Default, Clone)]
pub(super) struct Survey {
    /// Names of the outermost ops, in call order.
    pub(super) ops: Vec<String>,
    /// Classes of the outermost modules, in call order.
    pub(super) modules: Vec<String>,
    /// Whether the call launches a captured graph.
    pub(super) launches_graph: bool,
    /// Number of the outermost ops that are autograd nodes of the backward pass.
    pub(super) backward: usize,
    pub(super) marks: Marks,
}

/// What a call does, as far as the names of its frames and ops reveal it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marks {
    /// Whether the call runs compiled code.
    pub(super) compiled: bool,
    /// Whether the call compiles code.
    pub(super) compiling: bool,
    /// Whether the call runs a forward pass again.
    pub(super) recomputing: bool,
    /// Whether the call loads data.
    pub(super) loading: bool,
}

/// Whether a frame or range compiles code.
pub(super) fn is_compiling(name: &str) -> bool {
    COMPILING.iter().any(|mark| name.contains(mark))
}

impl Marks {
    fn of(name: &str) -> Marks {
        Marks {
            compiled: COMPILED.iter().any(|mark| name.contains(mark)),
            compiling: is_compiling(name),
            recomputing: name.contains(RECOMPUTING),
            loading: LOADING.iter().any(|mark| name.contains(mark)),
        }
    }

    pub(super) fn add(&mut self, other: Marks) {
        self.compiled |= other.compiled;
        self.compiling |= other.compiling;
        self.recomputing |= other.recomputing;
        self.loading |= other.loading;
    }
}

/// Summarizes unmatched calls, and caches what their names reveal about them.
pub(super) struct Surveyor<'a> {
    diff: &'a TraceDiff,
    marks: PerSide<ByName<Marks>>,
}

impl<'a> Surveyor<'a> {
    pub(super) fn new(diff: &'a TraceDiff) -> Surveyor<'a> {
        let marks = PerSide::from_fn(|side| ByName::new(diff.tree(side).trace()));
        Surveyor { diff, marks }
    }

    /// Summarizes the calls of a node on each side.
    pub(super) fn node(&mut self, node: MergedId) -> PerSide<Survey> {
        let node = self.diff.merged().node(node);
        PerSide::from_fn(|side| match node.call(side) {
            Some(call) => self.call(side, call),
            None => Survey::default(),
        })
    }

    fn call(&mut self, side: Side, root: CallId) -> Survey {
        let tree = self.diff.tree(side);
        let mut survey = Survey::default();
        let end = tree.end(root);
        let (mut at, mut module_end, mut op_end) = (root, root, root);
        while at < end {
            if at != root && is_common(self.diff, side, at) {
                at = tree.end(at);
                continue;
            }
            match tree.kind(at) {
                CallKind::Op
                    if at >= op_end
                        && is_work(tree, at)
                        && self.diff.compiled_region_of(side, at).is_none() =>
                {
                    let name = tree.name(at);
                    let node = name.strip_prefix(AUTOGRAD_PREFIX);
                    survey.backward += usize::from(node.is_some());
                    survey.ops.push(node.unwrap_or(name).to_owned());
                    op_end = tree.end(at);
                }
                CallKind::Frame
                    if at >= module_end
                        && tree.is_module(at)
                        && !is_replaced(self.diff, side, at) =>
                {
                    survey.modules.push(ModuleName::class_or_name(tree.name(at)).to_owned());
                    module_end = tree.end(at);
                }
                CallKind::Runtime => survey.launches_graph |= launches_graph(tree, at),
                CallKind::Op
                | CallKind::Frame
                | CallKind::Thread
                | CallKind::Unlinked
                | CallKind::Gpu => {}
            }
            survey.marks.add(self.marks(side, at));
            at = CallId(at.0 + 1);
        }
        survey
    }

    fn marks(&mut self, side: Side, call: CallId) -> Marks {
        let tree = self.diff.tree(side);
        if !matches!(tree.kind(call), CallKind::Op | CallKind::Frame) {
            return Marks::default();
        }
        let trace = tree.trace();
        let name = trace.name_id(tree.event(call).expect("every op and frame has an event"));
        self.marks[side].get(name, || Marks::of(trace.text(name)))
    }
}

/// Whether a call launches a captured graph, even if the GPU events of the graph were not recorded.
pub(super) fn launches_graph(tree: &CallTree, call: CallId) -> bool {
    tree.kind(call) == CallKind::Runtime && names_graph_launch(tree.name(call))
}

/// Whether a compiled region replaced an op below a call. The region stands for the call, too.
fn is_replaced(diff: &TraceDiff, side: Side, call: CallId) -> bool {
    let tree = diff.tree(side);
    let mut ops = tree.subtree(call).filter(|&below| tree.kind(below) == CallKind::Op);
    ops.any(|op| diff.compiled_region_of(side, op).is_some())
}

/// Whether a call has a counterpart with the same name.
fn is_common(diff: &TraceDiff, side: Side, call: CallId) -> bool {
    let merged = diff.merged();
    diff.counterpart(side, call).is_some()
        && !diff.is_difference(merged.node(merged.of(side, call)))
}

impl Survey {
    /// Whether all ops, or all but one, are autograd nodes of the backward pass. The remaining op may be the one that
    /// creates the first gradient.
    pub(super) fn is_backward(&self) -> bool {
        self.backward > 0 && self.ops.len() - self.backward <= 1
    }

    /// The names that describe the call: the classes of its modules or, if it calls no modules, its ops.
    pub(super) fn names(&self) -> &[String] {
        if self.modules.is_empty() { &self.ops } else { &self.modules }
    }
}

/// Class of the innermost module at or above a call; empty if there is none. The wrapper module of `torch.compile` is
/// ignored.
pub(super) fn class_around(tree: &CallTree, call: CallId) -> &str {
    let class = |module: CallId| ModuleName::class_or_name(tree.name(module));
    let mut modules = std::iter::successors(tree.module(call), |&module| {
        tree.parent(module).and_then(|above| tree.module(above))
    });
    modules.find(|&module| class(module) != COMPILED_MODULE).map_or("", class)
}

/// The calls in the compared steps, except those in which a part of the forward pass runs again.
pub(super) fn run_once<'a>(
    diff: &'a TraceDiff,
    compared: &'a StepPairs,
    side: Side,
) -> impl Iterator<Item = CallId> + 'a {
    let tree = diff.tree(side);
    let trace = tree.trace();
    let mut known = ByName::new(trace);
    let mut end = CallId(0);
    tree.calls().filter(move |&call| {
        let event = tree.event(call).filter(|_| tree.kind(call) == CallKind::Frame);
        let runs_again = event.is_some_and(|event| {
            let name = trace.name_id(event);
            known.get(name, || {
                let name = trace.text(name);
                name.contains(RECOMPUTING) && AGAIN.iter().any(|end| name.ends_with(end))
            })
        });
        if runs_again {
            end = end.max(tree.end(call));
        }
        call >= end && compared.is_compared(diff, side, call)
    })
}

/// For each module class, the number of calls to its modules in the compared steps. Modules that run again during the
/// backward pass are not counted.
pub(super) struct Modules<'a> {
    of_class: BTreeMap<&'a str, PerSide<u64>>,
    /// The number of calls to each module class, split by the class of the enclosing module. The key is the class of
    /// the enclosing module (empty for outermost modules), followed by the module's own class.
    in_class: BTreeMap<(&'a str, &'a str), PerSide<u64>>,
}

impl<'a> Modules<'a> {
    pub(super) fn of(diff: &'a TraceDiff, compared: &'a StepPairs) -> Modules<'a> {
        let mut modules = Modules { of_class: BTreeMap::new(), in_class: BTreeMap::new() };
        for side in Side::BOTH {
            let tree = diff.tree(side);
            let is_module =
                |call: &CallId| tree.kind(*call) == CallKind::Frame && tree.is_module(*call);
            for call in run_once(diff, compared, side).filter(is_module) {
                let class = ModuleName::class_or_name(tree.name(call));
                let around = tree.parent(call).map_or("", |above| class_around(tree, above));
                modules.in_class.entry((around, class)).or_default()[side] += 1;
                modules.of_class.entry(class).or_default()[side] += 1;
            }
        }
        modules
    }

    pub(super) fn calls(&self, class: &str) -> PerSide<u64> {
        self.of_class.get(class).copied().unwrap_or_default()
    }

    /// Whether both sides call modules of class `class`, but a different number of times. Both the number of calls
    /// inside modules of class `around` and the number of all calls must differ.
    pub(super) fn is_repeated(&self, around: &str, class: &str) -> bool {
        let inside = self.in_class.get(&(around, class)).copied().unwrap_or_default();
        let calls = [inside, self.calls(class)];
        calls.iter().all(|calls| {
            calls.baseline > 0 && calls.candidate > 0 && calls.baseline != calls.candidate
        })
    }
}

/// For each module class and each op, the number of calls to the op in the compared steps for which the innermost
/// module has this class.
pub(super) struct OpsOfModules<'a>(BTreeMap<(&'a str, &'a str), PerSide<u64>>);

impl<'a> OpsOfModules<'a> {
    pub(super) fn of(diff: &'a TraceDiff, compared: &'a StepPairs) -> OpsOfModules<'a> {
        let mut ops: BTreeMap<(&str, &str), PerSide<u64>> = BTreeMap::new();
        for side in Side::BOTH {
            let tree = diff.tree(side);
            let is_op = |call: &CallId| tree.kind(*call) == CallKind::Op;
            for call in run_once(diff, compared, side).filter(is_op) {
                let Some(module) = tree.module(call) else { continue };
                // Under `autocast`, an op contains itself.
                if tree.parent(call).is_some_and(|above| tree.name(above) == tree.name(call)) {
                    continue;
                }
                let class = ModuleName::class_or_name(tree.name(module));
                ops.entry((class, tree.name(call))).or_default()[side] += 1;
            }
        }
        OpsOfModules(ops)
    }

    pub(super) fn calls(&self, class: &str, op: &str) -> Option<PerSide<u64>> {
        self.0.get(&(class, op)).copied()
    }
}

/// Whether a call is an op, and not a range that a user or a framework named.
fn is_work(tree: &CallTree, call: CallId) -> bool {
    let event = tree.event(call);
    event.is_some_and(|event| tree.trace().category(event) == Category::CpuOp)
}

/// Whether a node is part of an optimizer step or of another optimizer method, such as `zero_grad`.
pub(super) fn is_in_optimizer(diff: &TraceDiff, node: MergedId) -> bool {
    diff.merged().node(node).calls().any(|(side, call)| {
        let tree = diff.tree(side);
        diff.phases(side).phase(call) == Phase::TrainOptimizer
            || std::iter::once(call)
                .chain(tree.ancestors(call))
                .any(|above| is_optimizer_frame(tree.name(above)))
    })
}

/// Whether a frame runs optimizer code other than a learning rate schedule.
pub(super) fn is_optimizer_frame(name: &str) -> bool {
    name.starts_with(OPTIMIZER_FRAME) && !name.contains("lr_scheduler")
}

/// The nearest autograd node of the backward pass at or above a merged node; `None` outside of the backward pass.
pub(super) fn autograd_node(diff: &TraceDiff, node: MergedId) -> Option<(Side, CallId)> {
    let (side, call) = either(diff, node);
    let tree = diff.tree(side);
    let mut above = std::iter::once(call).chain(tree.ancestors(call));
    let found = above.find(|&above| tree.name(above).starts_with(AUTOGRAD_PREFIX))?;
    Some((side, found))
}
