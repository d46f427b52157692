//! Folds each change that is a consequence of another change into that change.

use super::arguments::{SCALAR_TYPE, list, recorded};
use super::calls::{CASTS, backend};
use super::parameters;
use crate::analysis::changes::counts::{accumulations, is_accumulation};
use crate::analysis::changes::draft::{Draft, Drafts, first, fold_where, functions, names};
use crate::analysis::changes::kind::ChangeKind;
use crate::analysis::changes::place::Position;
use crate::analysis::changes::scale::Scale;
use crate::analysis::changes::subject::{OpFamily, Subject};
use crate::analysis::changes::survey::{OpsOfModules, is_in_optimizer, is_optimizer_frame};
use crate::diff::{MergedId, TraceDiff};
use crate::program::{Phase, Platform, Vendor};
use crate::side::{PerSide, Side};
use crate::trace::Argument;
use crate::tree::{CallId, CallKind};
use std::collections::{BTreeMap, BTreeSet};

/// Ops that run when a tensor is copied to a different memory layout.
const COPIES: [&str; 5] =
    ["aten::contiguous", "aten::clone", "aten::copy_", "CloneBackward0", "aten::empty_like"];

/// Folds differences that are usually consequences of another change: the same calls in a different order or nesting,
/// ops that detach a tensor before the host reads its value, argument values that are sizes, and the effects of model
/// parameters.
pub(super) fn into_any(drafts: &mut Drafts<'_>) {
    let structure = [
        ChangeKind::Graphs,
        ChangeKind::Compilation,
        ChangeKind::Checkpointing,
        ChangeKind::Layers,
        ChangeKind::Attention,
    ];
    let is_rearranged = |draft: &Draft| draft.names.baseline == draft.names.candidate;
    if let Some(cause) = first(drafts, &structure) {
        fold_where(drafts, cause, &[ChangeKind::Ops], is_rearranged);
    }
    // The sizes, types and layouts of an op's tensors determine which implementation the op chooses.
    let tensors = [ChangeKind::Precision, ChangeKind::Shapes, ChangeKind::MemoryFormat];
    if let Some(cause) = first(drafts, &tensors) {
        fold_where(drafts, cause, &[ChangeKind::Ops], |draft| {
            is_rearranged(draft) && !draft.position.module.is_empty()
        });
    }
    for read in drafts.find(ChangeKind::HostRead) {
        let position = drafts.all()[read].position.clone();
        fold_where(drafts, read, &[ChangeKind::Ops], |draft| {
            draft.position == position && names(draft).all(|name| name == "aten::detach")
        });
    }
    let mut sized = drafts.find(ChangeKind::Shapes).into_iter();
    if let Some(shapes) = sized.find(|&at| drafts.all()[at].subject != Subject::Reshaped) {
        fold_where(drafts, shapes, &[ChangeKind::Shapes], |draft| {
            draft.subject == Subject::Reshaped
        });
        fold_where(drafts, shapes, &[ChangeKind::Arguments], |draft| {
            draft.parameter.is_none()
                && draft.pairs.keys().any(|(one, two)| one.starts_with('[') || two.starts_with('['))
        });
    }
    for arguments in drafts.find(ChangeKind::Arguments) {
        parameter_into_sizes(drafts, arguments);
    }
}

/// Folds the consequences of a changed model parameter into the parameter change. A parameter may change tensor sizes
/// and layouts in later ops. In evaluation mode, batch normalization does not run the op that counts batches.
fn parameter_into_sizes(drafts: &mut Drafts<'_>, arguments: usize) {
    let draft = &drafts.all()[arguments];
    let Some(parameter) = draft.parameter else { return };
    let (module, from) = (draft.position.module.clone(), draft.nodes.first().copied());
    if parameters::RESIZING.contains(&parameter) {
        // If the tensor sizes differ for all ops with the changed parameter, the sizes are the cause. For example, a
        // convolution with a larger kernel usually has a larger padding.
        let nodes = draft.nodes.clone();
        let sized = drafts.find(ChangeKind::Shapes).into_iter().find(|&at| {
            let sites: BTreeSet<MergedId> = drafts.all()[at].nodes.iter().copied().collect();
            nodes.iter().all(|node| sites.contains(node))
        });
        if let Some(sized) = sized {
            drafts.fold(arguments, sized);
            return;
        }
        // No parameter of a layer makes tensors channels_last.
        fold_where(drafts, arguments, &[ChangeKind::Shapes, ChangeKind::MemoryFormat], |draft| {
            let is_after = from < draft.nodes.first().copied() || draft.position.module == module;
            is_after && !draft.has_value("channels_last")
        });
    }
    if parameter == "training" {
        fold_where(drafts, arguments, &[ChangeKind::Ops], |draft| {
            draft.position.module == module && names(draft).all(|name| name == "aten::add_")
        });
    }
}

/// Folds the choice of kernels into the environment change: a different device or software version explains it. Whatever
/// a user can set stays a change of its own.
pub(super) fn into_environment(drafts: &mut Drafts<'_>) {
    let notes = &drafts.comparability.both;
    let notes = ["DIFFERENT_DEVICE", "DIFFERENT_VERSIONS"].map(|code| notes.get(code));
    let mut messages: Vec<String> =
        notes.into_iter().flatten().map(|note| note.message.clone()).collect();
    let vendors = PerSide::from_fn(|side| Platform::of(drafts.diff.tree(side).trace()).vendor);
    let PerSide { baseline: one, candidate: two } = vendors;
    let is_known = |vendor: Vendor| matches!(vendor, Vendor::Nvidia | Vendor::Amd);
    let is_other_vendor = one != two && is_known(one) && is_known(two);
    if notes[0].is_none() && is_other_vendor {
        messages.push(format!("GPUs of {} → {}", one.label(), two.label()));
    }
    if messages.is_empty() {
        return;
    }
    let at = drafts.draft(ChangeKind::Environment, Subject::Whole);
    for message in messages {
        drafts.at(at).pair(&message, "");
    }
    fold_where(drafts, at, &[ChangeKind::KernelSelection], |draft| draft.switched.is_none());
    // A math mode is a setting, unless one of the platforms has no such mode.
    let lacks_mode = is_other_vendor || Side::BOTH.into_iter().any(|side| lacks_tf32(drafts, side));
    fold_where(drafts, at, &[ChangeKind::MathMode], |draft| lacks_mode && draft.switched.is_none());
    fold_where(drafts, at, &[ChangeKind::Attention], |draft| {
        !names(draft).any(|name| backend(name).is_some())
    });
    // What an op of PyTorch calls is its implementation. Ops of one vendor's libraries do not exist on the other
    // vendor's platform.
    let diff = drafts.diff;
    let is_of_vendor = |draft: &Draft| {
        let is_miopen = |name: &String| name.to_ascii_lowercase().contains("miopen");
        let has_only =
            |names: &BTreeMap<String, u64>| !names.is_empty() && names.keys().all(is_miopen);
        is_other_vendor && Side::BOTH.into_iter().any(|side| has_only(&draft.names[side]))
    };
    fold_where(drafts, at, &[ChangeKind::Ops, ChangeKind::Synchronization], |draft| {
        let is_inside = draft.nodes.iter().all(|&node| is_in_op(diff, node));
        !names(draft).any(|name| backend(name).is_some()) && is_inside || is_of_vendor(draft)
    });
    fold_where(drafts, at, &[ChangeKind::Shapes], is_of_vendor);
}

/// Whether the devices on a side are NVIDIA GPUs without TF32, which are older than Ampere.
fn lacks_tf32(drafts: &Drafts<'_>, side: Side) -> bool {
    const AMPERE: i64 = 8;
    let trace = drafts.diff.tree(side).trace();
    let capabilities = trace.header().devices.iter().filter_map(|device| device.capability);
    Platform::of(trace).vendor == Vendor::Nvidia
        && capabilities.into_iter().any(|(major, _)| major < AMPERE)
}

/// Whether the nearest call above a node is an op of PyTorch's own library.
fn is_in_op(diff: &TraceDiff, node: MergedId) -> bool {
    diff.merged().parent(node).is_some_and(|above| {
        diff.merged().node(above).calls().all(|(side, call)| {
            let tree = diff.tree(side);
            tree.kind(call) == CallKind::Op && tree.name(call).starts_with("aten::")
        })
    })
}

/// Merges a changed library setting for convolutions into the kernel change that the setting causes.
pub(super) fn switches_into_kernels(drafts: &mut Drafts<'_>) {
    for at in drafts.find(ChangeKind::Arguments) {
        let Some(switched) = drafts.all()[at].switched.clone() else { continue };
        let kinds = match switched.name {
            "cudnn.allow_tf32" => [ChangeKind::MathMode, ChangeKind::KernelSelection],
            _ => [ChangeKind::KernelSelection, ChangeKind::MathMode],
        };
        let mut kernels = kinds.into_iter().flat_map(|kind| drafts.find(kind));
        // One setting explains the kernels. Another setting that also changed remains a change of its own.
        let is_of_family = |at: &usize| {
            let draft = &drafts.all()[*at];
            let is_free = draft.switched.as_ref().is_none_or(|known| known.name == switched.name);
            draft.subject.family() == Some(&OpFamily::Convolutions) && is_free
        };
        if let Some(kernels) = kernels.find(is_of_family) {
            drafts.merge(at, kernels);
            drafts.at(kernels).switched.get_or_insert(switched);
        }
    }
}

/// Merges math mode and kernel selection changes for the same family of ops. Either change may cause the
/// other: switching the math mode makes libraries select different kernels, and an autotuner may select
/// kernels with a different math mode. The change that covers more ops is treated as the cause.
pub(super) fn modes_and_selection(drafts: &mut Drafts<'_>) {
    for selection in drafts.find(ChangeKind::KernelSelection) {
        let family = drafts.all()[selection].subject.family().cloned();
        for mode in drafts.find(ChangeKind::MathMode) {
            let counts = [selection, mode].map(|at| drafts.all()[at].nodes.len());
            // Two settings that changed are two changes.
            let name = |at: usize| drafts.all()[at].switched.as_ref().map(|known| known.name);
            if name(selection).zip(name(mode)).is_some_and(|(one, two)| one != two) {
                continue;
            }
            match drafts.all()[mode].subject.family() == family.as_ref() {
                true if counts[0] > counts[1] => drafts.merge(mode, selection),
                true => drafts.merge(selection, mode),
                false => {}
            }
        }
    }
}

/// Gradients are set to zero by other ops if the optimizer runs differently. Only if one side alone sets them to zero,
/// this is a change of its own.
pub(super) fn zeroing_into_optimizer(drafts: &mut Drafts<'_>) {
    let all = drafts.find(ChangeKind::Optimizer);
    let is_zeroing = |at: &usize| drafts.all()[*at].subject == Subject::Zeroing;
    let (zeroing, other): (Vec<usize>, Vec<usize>) = all.into_iter().partition(is_zeroing);
    if let ([zeroing], [other]) = (zeroing.as_slice(), other.as_slice()) {
        let has_ops =
            |side: Side| drafts.all()[*zeroing].names[side].keys().any(|name| name.contains("::"));
        if has_ops(Side::Baseline) == has_ops(Side::Candidate) {
            drafts.merge_named(*zeroing, *other);
        }
    }
}

/// Reports that only one side calls `torch.autocast`. If both sides do, one may have disabled it.
pub(super) fn autocast(drafts: &mut Drafts<'_>) {
    let is_autocast = |name: &str| name.contains("amp/autocast_mode.py");
    let of_autocast = |at: &usize| names(&drafts.all()[*at]).any(is_autocast);
    let found: Vec<usize> =
        drafts.find(ChangeKind::Python).into_iter().filter(of_autocast).collect();
    if found.is_empty() {
        return;
    }
    let calls = PerSide::from_fn(|side| {
        let tree = drafts.diff.tree(side);
        tree.calls().any(|call| tree.kind(call) == CallKind::Frame && is_autocast(tree.name(call)))
    });
    if calls.baseline != calls.candidate {
        let position = drafts.all()[found[0]].position.clone();
        let at = drafts.draft(ChangeKind::Precision, Subject::Autocast);
        drafts.at(at).position = position;
        found.into_iter().for_each(|part| drafts.merge_named(part, at));
    }
}

/// Folds added or removed casts into the precision change that explains them.
pub(super) fn into_precision(drafts: &mut Drafts<'_>) {
    let is_of_types = |at: &usize| drafts.all()[*at].subject != Subject::Autocast;
    let typed = drafts.find(ChangeKind::Precision).into_iter().find(is_of_types);
    let Some(precision) = typed.or_else(|| first(drafts, &[ChangeKind::Precision])) else {
        return;
    };
    fold_where(drafts, precision, &[ChangeKind::Precision], |draft| {
        draft.subject == Subject::Autocast
    });
    fold_where(drafts, precision, &[ChangeKind::Arguments], |draft| {
        draft.parameter == Some(SCALAR_TYPE)
    });
    // Ops inside a function that does more than cast, such as gradient clipping, remain a separate change.
    fold_where(drafts, precision, &[ChangeKind::Ops], |draft| {
        let has_cast = names(draft).any(|name| name == "aten::to" || name == "aten::_to_copy");
        let is_in_function = functions(draft).next().is_some();
        has_cast && !is_in_function || names(draft).all(|name| CASTS.contains(&name))
    });
    fold_where(drafts, precision, &[ChangeKind::Ops], |draft| {
        matches!(draft.subject, Subject::Repeated(_))
    });
    // XLA converts inside of fusions, and multiplies matrices of other types with other ops.
    fold_where(drafts, precision, &[ChangeKind::Ops], |draft| {
        names(draft).any(|name| name.contains("convert")) && names(draft).all(is_of_xla)
            || names(draft).all(|name| name.starts_with("dot"))
    });
    fold_where(drafts, precision, &[ChangeKind::Python, ChangeKind::Ops], |draft| {
        names(draft).chain(functions(draft)).any(|name| name.contains("autocast"))
    });
}

/// Whether a name has no namespace, such as those of the ops of XLA.
fn is_of_xla(name: &str) -> bool {
    !name.contains("::") && !name.contains(".py")
}

pub(super) fn into_format(drafts: &mut Drafts<'_>) {
    let diff = drafts.diff;
    let Some(format) = first(drafts, &[ChangeKind::MemoryFormat]) else { return };
    fold_where(drafts, format, &[ChangeKind::Ops], |draft| {
        names(draft).all(|name| COPIES.contains(&name))
    });
    fold_where(drafts, format, &[ChangeKind::Ops], |draft| {
        draft.nodes.iter().all(|&node| converts_format(diff, node))
    });
}

/// Merges changes of type or format conversions that have no other explanation. Each is merged into the op change at the
/// same position.
pub(super) fn casts_into_ops(drafts: &mut Drafts<'_>) {
    for casts in drafts.find(ChangeKind::Ops) {
        let Subject::Casts(place) = &drafts.all()[casts].subject else { continue };
        let ops = Subject::At(place.clone());
        let is_same = |&at: &usize| drafts.all()[at].subject == ops;
        if let Some(ops) = drafts.find(ChangeKind::Ops).into_iter().find(is_same) {
            drafts.merge_named(casts, ops);
        }
    }
}

/// Whether the calls of a node run `Tensor.to` with a memory format as the last argument.
fn converts_format(diff: &TraceDiff, node: MergedId) -> bool {
    const PRESERVED: &str = "1";
    diff.merged().node(node).calls().all(|(side, call)| {
        let tree = diff.tree(side);
        let is_op = |call: &CallId| tree.kind(*call) == CallKind::Op;
        let Some(call) = tree.subtree(call).find(is_op) else { return false };
        let values = list(recorded(tree, call, Argument::Concrete));
        tree.name(call) == "aten::to"
            && values.last().is_some_and(|last| {
                !last.is_empty() && last != PRESERVED && last.parse::<u8>().is_ok()
            })
    })
}

/// Folds the consequences of a changed number of module calls into that change. Examples are a changed number of nested
/// module calls, and ops that only seem to be added or removed, because they were matched with an op of a different
/// module.
pub(super) fn into_layers(drafts: &mut Drafts<'_>) {
    let causes = [ChangeKind::Checkpointing, ChangeKind::Layers];
    let Some(cause) = first(drafts, &causes) else { return };
    let mut classes: BTreeSet<String> = BTreeSet::new();
    for at in causes.into_iter().flat_map(|kind| drafts.find(kind)) {
        let draft = &drafts.all()[at];
        classes.extend(names(draft).map(str::to_owned));
        if draft.kind == ChangeKind::Layers {
            classes.insert(draft.subject.class().to_owned());
        }
    }
    fold_where(drafts, cause, &[ChangeKind::Layers], |draft| {
        classes.contains(&draft.position.module) && draft.position.module != draft.subject.class()
    });
    let (ops, modules) = (OpsOfModules::of(drafts.diff, drafts.compared), drafts.modules);
    let kinds = [ChangeKind::Ops, ChangeKind::Attention];
    fold_where(drafts, cause, &kinds, |draft| {
        let class = draft.position.module.as_str();
        let calls = modules.calls(class);
        // If the class runs equally often, only ops that are counted show that the calls are elsewhere.
        let is_counted = |name: &str| ops.calls(class, name).is_some();
        let is_other_count = calls.baseline != calls.candidate || names(draft).any(is_counted);
        // Names of Python functions need no check, because the ops and modules that a function calls are checked.
        let is_elsewhere = |name: &str| {
            let of = |side: Side| draft.names[side].get(name).copied().unwrap_or_default();
            let here = of(Side::Candidate).cmp(&of(Side::Baseline));
            let count = ops.calls(class, name).unwrap_or_else(|| modules.calls(name));
            let everywhere = count.candidate.cmp(&count.baseline);
            here != everywhere
                || count.baseline * calls.candidate == count.candidate * calls.baseline
        };
        is_other_count && names(draft).all(is_elsewhere)
    });
    for checkpointing in drafts.find(ChangeKind::Checkpointing) {
        fold_where(drafts, checkpointing, &[ChangeKind::Ops, ChangeKind::Python], |draft| {
            Side::BOTH.into_iter().any(|side| draft.marks[side].recomputing)
                && !matches!(draft.subject, Subject::Hooks(_))
        });
    }
}

/// The names of the ops that the optimizer calls on one side.
pub(in crate::analysis::changes) fn optimizer_ops(diff: &TraceDiff, side: Side) -> BTreeSet<&str> {
    let (tree, phases) = (diff.tree(side), diff.phases(side));
    let mut names = BTreeSet::new();
    let mut end = CallId(0);
    for call in tree.calls() {
        if tree.kind(call) == CallKind::Frame && is_optimizer_frame(tree.name(call)) {
            end = end.max(tree.end(call));
        }
        let is_inside = call < end || phases.phase(call) == Phase::TrainOptimizer;
        if is_inside && tree.kind(call) == CallKind::Op {
            names.insert(tree.name(call));
        }
    }
    names
}

/// Folds optimizer changes into the change that adds or removes model parameters, because the optimizer then updates
/// more or fewer tensors.
pub(super) fn optimizer_into_structure(drafts: &mut Drafts<'_>) {
    let causes = [ChangeKind::Layers, ChangeKind::Ops, ChangeKind::Arguments];
    for optimizer in drafts.find(ChangeKind::Optimizer) {
        // An op of one optimizer may be matched with an op of the other that has other inputs.
        let diff = drafts.diff;
        fold_where(drafts, optimizer, &[ChangeKind::Precision], |draft| {
            draft.nodes.iter().all(|&node| is_in_optimizer(diff, node))
        });
        let mut found = causes.into_iter().flat_map(|kind| drafts.find(kind));
        let Some(cause) = found.find(|&at| {
            let draft = &drafts.all()[at];
            drafts.resolve(at) == at && (draft.has_forward || names(draft).all(is_accumulation))
        }) else {
            continue;
        };
        // An optimizer change is a consequence if the optimizer runs the same ops on more or fewer tensors.
        let known = PerSide::from_fn(|side| optimizer_ops(drafts.diff, side));
        let is_more_of_the_same = names(&drafts.all()[optimizer])
            .filter(|name| name.contains("::"))
            .all(|name| Side::BOTH.iter().all(|&side| known[side].contains(name)));
        if is_more_of_the_same {
            drafts.fold(optimizer, cause);
        }
    }
    let causes =
        [ChangeKind::Layers, ChangeKind::Ops, ChangeKind::Arguments, ChangeKind::Optimizer];
    let shapes = drafts.find(ChangeKind::Shapes).into_iter();
    let shapes = { shapes }.find(|&at| drafts.all()[at].subject != Subject::Optimizer);
    if let Some(cause) = first(drafts, &causes).or(shapes) {
        fold_where(drafts, cause, &[ChangeKind::Shapes], |draft| {
            draft.subject == Subject::Optimizer
        });
    }
}

/// Whether both sides accumulate gradients, but not the same number per step.
fn has_other_parameters(drafts: &Drafts<'_>) -> bool {
    let counts = accumulations(drafts.diff, drafts.compared);
    let steps = Scale::of(drafts.wall).steps;
    counts.baseline > 0
        && counts.candidate > 0
        && counts.baseline * steps.candidate != counts.candidate * steps.baseline
}

/// Folds changes that affect only the backward pass, such as gradient accumulation, into a change that affects the
/// forward pass.
pub(super) fn backward_into_forward(drafts: &mut Drafts<'_>) {
    let is_forward = |draft: &Draft| draft.has_forward;
    let causes = [
        ChangeKind::Graphs,
        ChangeKind::Compilation,
        ChangeKind::Checkpointing,
        ChangeKind::Layers,
        ChangeKind::Precision,
        ChangeKind::Attention,
        ChangeKind::Ops,
        ChangeKind::Arguments,
        ChangeKind::MemoryFormat,
        ChangeKind::Optimizer,
    ];
    let cause = causes.iter().find_map(|&kind| {
        let is_cause = matches!(
            kind,
            ChangeKind::Graphs
                | ChangeKind::Compilation
                | ChangeKind::Checkpointing
                | ChangeKind::Optimizer
        );
        let mut of_kind = drafts.find(kind).into_iter();
        of_kind.find(|&at| is_cause || is_forward(&drafts.all()[at]))
    });
    if let Some(cause) = cause {
        let kinds =
            [ChangeKind::Ops, ChangeKind::Shapes, ChangeKind::MemoryFormat, ChangeKind::Arguments];
        // Neither compiled code nor running layers again changes the number of parameters.
        let keeps_parameters = matches!(
            drafts.all()[cause].kind,
            ChangeKind::Graphs | ChangeKind::Compilation | ChangeKind::Checkpointing
        ) && has_other_parameters(drafts);
        let is_of_parameters =
            |draft: &Draft| names(draft).next().is_some() && names(draft).all(is_accumulation);
        // Layers and optional tensors have parameters.
        let has_own = |at: &usize| {
            let draft = &drafts.all()[*at];
            let is_layer = draft.kind == ChangeKind::Layers;
            drafts.resolve(*at) == *at && (is_layer || draft.subject == Subject::Tensors)
        };
        let mut owners = [ChangeKind::Layers, ChangeKind::Arguments]
            .into_iter()
            .flat_map(|kind| drafts.find(kind));
        if let Some(owner) = owners.find(has_own).filter(|_| keeps_parameters) {
            fold_where(drafts, owner, &[ChangeKind::Ops], is_of_parameters);
        }
        fold_where(drafts, cause, &kinds, |draft| {
            let is_kept = keeps_parameters && is_of_parameters(draft);
            draft.has_backward && !draft.has_forward && !is_kept
        });
    }
    if let Some(shapes) = first(drafts, &[ChangeKind::Shapes]) {
        fold_where(drafts, shapes, &[ChangeKind::Ops], |draft| names(draft).all(is_accumulation));
    }
}

/// Folds an added or removed call of `torch.no_grad` into the change that adds or removes ops at the same position.
fn into_gradient_free_ops(drafts: &mut Drafts<'_>) {
    for ops in drafts.find(ChangeKind::Ops) {
        let (position, names) =
            (drafts.all()[ops].position.clone(), drafts.all()[ops].names.clone());
        fold_where(drafts, ops, &[ChangeKind::Python], |draft| {
            let is_alone =
                |side: Side| draft.names[side.other()].is_empty() && names[side.other()].is_empty();
            matches!(draft.subject, Subject::GradientMode(_))
                && draft.position == position
                && Side::BOTH.into_iter().any(is_alone)
        });
    }
}

/// Folds changes in Python calls. Calls that switch streams are folded into the stream change. Blocking calls, gradient
/// modes and learning rate schedules remain separate changes. All other calls are folded into a change of a different
/// kind at the same position.
pub(super) fn streams_and_python(drafts: &mut Drafts<'_>) {
    if let Some(streams) = first(drafts, &[ChangeKind::Streams]) {
        fold_where(drafts, streams, &[ChangeKind::Python], |draft| {
            names(draft).any(|name| name.contains("cuda/streams.py"))
        });
    }
    into_gradient_free_ops(drafts);
    let mut at_position: BTreeMap<Position, usize> = BTreeMap::new();
    for (at, draft) in drafts.all().iter().enumerate() {
        if draft.kind != ChangeKind::Python {
            at_position.entry(draft.position.clone()).or_insert(at);
        }
    }
    let stays = |draft: &Draft| {
        matches!(
            draft.subject,
            Subject::Blocking(_) | Subject::GradientMode(_) | Subject::Schedule(_)
        )
    };
    for python in drafts.find(ChangeKind::Python) {
        if stays(&drafts.all()[python]) {
            continue;
        }
        if let Some(&at) = at_position.get(&drafts.all()[python].position) {
            drafts.fold(python, at);
        }
    }
}
