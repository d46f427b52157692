//! Creates the changes for the outermost calls that have no counterpart with the same name: changes of layers, ops, the
//! optimizer, attention, device reads, data loading, collectives, or Python code.

use crate::analysis::changes::draft::Drafts;
use crate::analysis::changes::kind::ChangeKind;
use crate::analysis::changes::place::{Position, either, function};
use crate::analysis::changes::subject::Subject;
use crate::analysis::changes::survey::{
    RECOMPUTING, Survey, Surveyor, autograd_node, class_around, is_in_optimizer,
};
use crate::analysis::kernel_facts::short_name;
use crate::analysis::steps::StepPairs;
use crate::diff::{MergedId, MergedNode, TraceDiff};
use crate::side::{PerSide, Side};
use crate::trace::CUT_MODULE;
use crate::tree::{AUTOGRAD_PREFIX, CallId, CallKind, CallTree, ModuleName};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Ops that read a tensor value on the host.
const READS: [&str; 5] =
    ["aten::item", "aten::_local_scalar_dense", "aten::is_nonzero", "aten::nonzero", "aten::equal"];

/// Ops that set tensors to zero.
const ZEROES: [&str; 2] = ["aten::zero_", "aten::_foreach_zero_"];

/// Ops that the backward pass calls only if it runs a part of the forward pass again.
const FORWARD: [&str; 7] = [
    "aten::batch_norm",
    "aten::conv2d",
    "aten::dropout",
    "aten::layer_norm",
    "aten::linear",
    "aten::rms_norm",
    "aten::scaled_dot_product_attention",
];

/// Ops that convert the element type.
pub(super) const CASTS: [&str; 4] =
    ["aten::to", "aten::_to_copy", "aten::copy_", "ToCopyBackward0"];

/// Substrings of the names of attention ops. Each substring identifies an implementation of scaled dot product
/// attention.
const ATTENTION: [(&str, &str); 5] = [
    ("cudnn_attention", "cuDNN"),
    ("flash_attention", "Flash"),
    ("efficient_attention", "memory-efficient"),
    ("dot_product_fused_attention", "fused"),
    ("attention_math", "math"),
];

/// Assigns one of the outermost unmatched calls to a change.
pub(super) fn claim(drafts: &mut Drafts<'_>, surveyor: &mut Surveyor<'_>, root: MergedId) {
    if let Some(at) = drafts.covering(root) {
        drafts.add_root(at, root);
        return;
    }
    if let Some(at) = drafts.unmatched_module(root) {
        drafts.add_root(at, root);
        return;
    }
    let surveys = surveyor.node(root);
    if let Some(region) = compiled(drafts, &surveys) {
        drafts.add_root(region, root);
        return;
    }
    // On a CPU, the backward pass runs below a Python call such as `Tensor.backward`, so the ops below the call are
    // examined too.
    let is_backward = autograd_node(drafts.diff, root).is_some()
        || Side::BOTH.into_iter().any(|side| surveys[side].is_backward());
    if !is_backward {
        let position = drafts.position_above(root);
        claim_root(drafts, root, (&surveys, false), position);
        return;
    }
    match claim_backward(drafts, root) {
        Some(at) => {
            drafts.at(at).has_backward = true;
            drafts.add_root(at, root);
        }
        None => {
            let forward = drafts.forward_of(root);
            let position = forward
                .map_or_else(|| drafts.position_at(root), |forward| drafts.position_at(forward));
            claim_root(drafts, root, (&surveys, true), position);
        }
    }
}

/// The compilation change, if an unmatched call runs only modules that both sides call equally often: one of the sides
/// runs them compiled.
fn compiled(drafts: &Drafts<'_>, surveys: &PerSide<Survey>) -> Option<usize> {
    let region = drafts.find(ChangeKind::Compilation).first().copied()?;
    let mut classes = Side::BOTH.iter().flat_map(|&side| &surveys[side].modules).peekable();
    classes.peek()?;
    let is_on_both = |class: &String| {
        let calls = drafts.modules.calls(class);
        calls.baseline > 0 && calls.baseline == calls.candidate
    };
    classes.all(is_on_both).then_some(region)
}

/// Assigns the unmatched autograd nodes below a call to the changes of their forward ops. Returns the change that
/// contains most of these nodes.
fn claim_backward(drafts: &mut Drafts<'_>, root: MergedId) -> Option<usize> {
    let diff = drafts.diff;
    let merged = diff.merged();
    let mut nodes: Vec<MergedId> = Vec::new();
    if autograd_node(diff, root).is_none() {
        for (side, call) in merged.node(root).calls() {
            let tree = diff.tree(side);
            let below =
                tree.subtree(call).filter(|&call| tree.name(call).starts_with(AUTOGRAD_PREFIX));
            let below = below.map(|call| merged.of(side, call));
            nodes.extend(below.filter(|&node| matches!(merged.node(node), MergedNode::Only(..))));
        }
    }
    let is_only_root = nodes.len() < 2;
    if is_only_root {
        nodes = vec![root];
    }
    let mut counts: BTreeMap<usize, u64> = BTreeMap::new();
    for node in nodes {
        let Some(forward) = drafts.forward_of(node) else { continue };
        let cause = drafts.of_calls(forward).or_else(|| of_layer(drafts, forward));
        let Some(at) = cause else { continue };
        *counts.entry(at).or_default() += 1;
        if !is_only_root {
            drafts.at(at).has_backward = true;
            drafts.add_root(at, node);
        }
    }
    counts.into_iter().max_by_key(|&(at, count)| (count, Reverse(at))).map(|(at, _)| at)
}

/// Finds the change that added or removed the layer of a forward op. If one of several identical layers was removed,
/// the alignment may leave one layer unmatched in the forward pass and a different layer in the backward pass.
/// Therefore, the search looks for a change of layers whose class is the class of a module that encloses the op.
fn of_layer(drafts: &Drafts<'_>, forward: MergedId) -> Option<usize> {
    let diff = drafts.diff;
    let (side, call) = either(diff, forward);
    let tree = diff.tree(side);
    let mut stack = tree.module_stack(call).into_iter();
    stack.find_map(|module| {
        let class = ModuleName::class_or_name(tree.name(module));
        let mut layers = drafts.find(ChangeKind::Layers).into_iter();
        layers.find(|&at| drafts.all()[at].subject.class() == class)
    })
}

fn claim_root(
    drafts: &mut Drafts<'_>,
    root: MergedId,
    (surveys, is_backward): (&PerSide<Survey>, bool),
    position: Position,
) {
    let (diff, modules) = (drafts.diff, drafts.modules);
    let (kind, subject) = kind(drafts, root, surveys, &position);
    let (is_hook, class) = (matches!(subject, Subject::Hooks(_)), subject.class().to_owned());
    let at = drafts.draft(kind, subject);
    let is_recomputed = kind == ChangeKind::Checkpointing;
    if drafts.at(at).nodes.is_empty() && !is_recomputed {
        drafts.at(at).position = position;
    }
    if kind == ChangeKind::Layers {
        drafts.at(at).counts.get_or_insert_with(|| modules.calls(&class));
    }
    if is_recomputed && drafts.at(at).names == PerSide::default() {
        drafts.at(at).names = PerSide::from_fn(|side| recomputed(diff, drafts.compared, side));
    }
    let draft = drafts.at(at);
    // Without stacks, only the ops that run again are known.
    let is_by_ops = Side::BOTH.iter().all(|&side| {
        let mut names = draft.names[side].keys();
        names.all(|name| FORWARD.contains(&name.as_str()))
    });
    let is_named = |name: &&String| !is_recomputed || is_by_ops && FORWARD.contains(&name.as_str());
    draft.has_backward |= is_backward;
    draft.has_forward |= !is_backward;
    for side in Side::BOTH {
        draft.marks[side].add(surveys[side].marks);
        // The module that a hook wraps is not what was added or removed.
        let survey = &surveys[side];
        let names = if is_hook { &survey.ops } else { survey.names() };
        for name in names.iter().filter(is_named) {
            draft.name(side, name);
        }
        let Some(call) = diff.merged().node(root).call(side) else { continue };
        if diff.tree(side).kind(call) == CallKind::Runtime {
            let tree = diff.tree(side);
            for kernel in tree.subtree(call).filter(|&below| tree.kind(below) == CallKind::Gpu) {
                draft.name(side, &short_name(tree.name(kernel)));
            }
        } else if surveys[side].names().is_empty() && !is_recomputed && !is_hook {
            draft.name(side, diff.plain_name(side, call));
        }
        let function = first_function(diff.tree(side), call).unwrap_or_default();
        *draft.functions[side].entry(function.to_owned()).or_default() += 1;
    }
    drafts.add_root(at, root);
}

/// The function that a frame runs. If the frame is a wrapper, it is searched in the nested frame that contains the most
/// calls.
fn first_function(tree: &CallTree, call: CallId) -> Option<&str> {
    const WRAPPERS: usize = 6;
    let largest = |&call: &CallId| {
        let frames = tree.children(call).filter(|&below| tree.kind(below) == CallKind::Frame);
        frames.max_by_key(|&below| (tree.end(below).0 - below.0, Reverse(below)))
    };
    let mut frames = std::iter::successors(Some(call), largest).take(WRAPPERS);
    frames.find_map(|call| function(tree.name(call)))
}

/// The classes of the outermost modules that run again in the backward pass, each with its number of calls.
pub(super) fn recomputed(
    diff: &TraceDiff,
    compared: &StepPairs,
    side: Side,
) -> BTreeMap<String, u64> {
    let tree = diff.tree(side);
    let mut counts = BTreeMap::new();
    let is_outermost = |call: &CallId| {
        tree.is_module(*call)
            && compared.is_compared(diff, side, *call)
            && tree.parent(*call).is_some_and(|above| tree.module(above).is_none())
    };
    for call in tree.calls().filter(is_outermost) {
        if tree.ancestors(call).any(|above| tree.name(above).contains(RECOMPUTING)) {
            let class = ModuleName::class_or_name(tree.name(call));
            *counts.entry(class.to_owned()).or_default() += 1;
        }
    }
    counts
}

fn kind(
    drafts: &Drafts<'_>,
    root: MergedId,
    surveys: &PerSide<Survey>,
    position: &Position,
) -> (ChangeKind, Subject) {
    let diff = drafts.diff;
    let both = || Side::BOTH.into_iter().map(|side| &surveys[side]);
    let ops: Vec<&String> = both().flat_map(|survey| &survey.ops).collect();
    let place = || position.clone();
    let names = names_around(diff, root);
    let is_around = |word: &str| names.iter().any(|name| name.contains(word));
    if both().any(|survey| survey.launches_graph) {
        return (ChangeKind::Graphs, Subject::Whole);
    }
    let has_only = |mark: fn(&Survey) -> bool| mark(&surveys.baseline) != mark(&surveys.candidate);
    if has_only(|survey| survey.marks.compiling) {
        return (ChangeKind::WarmUp, Subject::Compiling);
    }
    if is_in_optimizer(diff, root) {
        let zeroes = ops.iter().all(|op| ZEROES.contains(&op.as_str()));
        let is_zeroing = zeroes && is_around("zero_grad");
        let subject = if is_zeroing { Subject::Zeroing } else { Subject::Whole };
        return (ChangeKind::Optimizer, subject);
    }
    let runs_again = || ops.iter().any(|op| FORWARD.contains(&op.as_str()));
    if has_only(|survey| survey.marks.recomputing && !survey.ops.is_empty())
        || runs_again() && autograd_node(diff, root).is_some()
    {
        return (ChangeKind::Checkpointing, Subject::Whole);
    }
    let loads = both().any(|survey| survey.marks.loading && survey.modules.is_empty());
    if loads || is_around("DataLoader") || is_around("dataloader.py") {
        return (ChangeKind::InputPipeline, Subject::Whole);
    }
    let calls_modules = both().any(|survey| !survey.modules.is_empty());
    let attends =
        |op: &&String| backend(op).is_some() || !calls_modules && op.contains("scaled_dot_product");
    if is_around("scaled_dot_product") || ops.iter().any(attends) {
        return (ChangeKind::Attention, Subject::Whole);
    }
    if ops.iter().any(|op| op.starts_with("c10d::") || op.starts_with("nccl:")) {
        return (ChangeKind::Collectives, Subject::Whole);
    }
    let reads = both().any(|survey| survey.ops.iter().any(|op| is_read(op)));
    if reads && ops.iter().all(|op| is_read(op) || *op == "aten::detach") {
        return (ChangeKind::HostRead, Subject::At(place()));
    }
    let windows = diff.windows();
    let is_other_window = |class: &String| {
        class.ends_with(CUT_MODULE) || windows.iter().any(|window| window.class == *class)
    };
    if both().flat_map(|survey| &survey.modules).any(is_other_window) {
        return (ChangeKind::Recording, Subject::Layers);
    }
    let mut classes = both().flat_map(|survey| &survey.modules);
    let (side, call) = either(diff, root);
    let tree = diff.tree(side);
    let around = tree.parent(call).map_or("", |above| class_around(tree, above));
    if let Some(class) = classes.find(|class| drafts.modules.is_repeated(around, class)) {
        return (ChangeKind::Layers, Subject::Class(class.clone()));
    }
    if tree.kind(call) == CallKind::Runtime {
        return (ChangeKind::Ops, Subject::Launched(place()));
    }
    let are_all = |is: fn(&str) -> bool| !ops.is_empty() && ops.iter().all(|op| is(op.as_str()));
    match ops.is_empty() && both().all(|survey| survey.modules.is_empty()) {
        false if are_all(|op| op.contains("BackwardHookFunction")) => {
            (ChangeKind::Ops, Subject::Hooks(place()))
        }
        true if is_around("torch/autograd/grad_mode.py") => {
            (ChangeKind::Python, Subject::GradientMode(place()))
        }
        true if is_around("lr_scheduler.py") => (ChangeKind::Python, Subject::Schedule(place())),
        true if blocks(diff, root) => (ChangeKind::Python, Subject::Blocking(place())),
        true => (ChangeKind::Python, Subject::At(place())),
        false if are_all(|op| CASTS.contains(&op)) => (ChangeKind::Ops, Subject::Casts(place())),
        false if has_only(|survey| survey.marks.compiled) => {
            (ChangeKind::Ops, Subject::Compiled(place()))
        }
        false if repeats(diff, root) => (ChangeKind::Ops, Subject::Repeated(place())),
        false => (ChangeKind::Ops, Subject::At(place())),
    }
}

/// Whether an unmatched op is a direct child of an op with the same name, or contains a matched op with the same name.
fn repeats(diff: &TraceDiff, root: MergedId) -> bool {
    diff.merged().node(root).calls().all(|(side, call)| {
        let tree = diff.tree(side);
        let is_same = |&below: &CallId| {
            diff.counterpart(side, below).is_some() && tree.name(below) == tree.name(call)
        };
        let is_in_same =
            || tree.parent(call).is_some_and(|above| tree.name(above) == tree.name(call));
        tree.kind(call) == CallKind::Op
            && (is_in_same() || tree.subtree(call).skip(1).any(|below| is_same(&below)))
    })
}

pub(in crate::analysis::changes) fn is_read(op: &str) -> bool {
    READS.contains(&op)
}

/// Whether an unmatched call, or a call below it, runs a blocking function.
fn blocks(diff: &TraceDiff, root: MergedId) -> bool {
    const BLOCKS: [&str; 6] = ["sleep", "wait", "acquire", "poll", "recv", "read"];
    diff.merged().node(root).calls().any(|(side, call)| {
        diff.tree(side).subtree(call).any(|call| {
            let name = diff.plain_name(side, call);
            let function = name.rsplit([' ', ':']).next().unwrap_or(name).trim_end_matches('>');
            BLOCKS.contains(&function)
        })
    })
}

fn names_around(diff: &TraceDiff, node: MergedId) -> Vec<&str> {
    let calls = diff.merged().node(node).calls();
    let names = calls.flat_map(|(side, call)| {
        let tree = diff.tree(side);
        std::iter::once(call).chain(tree.ancestors(call)).map(|above| tree.name(above))
    });
    names.collect()
}

/// The name of the attention implementation to which an op belongs; `None` for all other ops.
pub(in crate::analysis::changes) fn backend(op: &str) -> Option<&'static str> {
    ATTENTION.iter().find(|(word, _)| op.contains(word)).map(|(_, name)| *name)
}
