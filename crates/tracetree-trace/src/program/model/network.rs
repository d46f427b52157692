//! Finds the name and the calls of the network that took the most time.
//!
//! A pipeline runs several networks one after the other. Sizes and layers are reported for the main
//! network.

use super::names::names;
use crate::trace::TextId;
use crate::tree::{CallId, CallKind, CallTree, ModuleName};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Modules that wrap a model without being part of the model.
const WRAPPERS: [&str; 6] = [
    "DistributedDataParallel",
    "FullyShardedDataParallel",
    "DataParallel",
    "OptimizedModule",
    "DeepSpeedEngine",
    "Float16Module",
];

/// The modules of one class count as a network if the work that they launch takes more than
/// 1/`ROOT_SHARE` of all GPU time. Without this limit, a sampler would count as the network if it
/// were the only module in the trace, because the model itself runs as a replayed graph.
const ROOT_SHARE: i64 = 10;

/// A class whose modules take less than 1/`ROOT_SHARE` of all GPU time also counts as a network if
/// one of its modules has at least this many module calls below it. This exception applies only to
/// traces without graph replays, and only in two cases: in training, where forward passes may take
/// only a small part of the time, and during a capture, where modules take no time because no
/// kernels run.
const MANY_MODULES: usize = 8;

/// Folders in which libraries keep one file per model, and the prefixes of the file names.
const MODEL_FILES: [(&str, &str); 8] = [
    ("diffusers/models/", "transformer_"),
    ("diffusers/models/", "unet_"),
    ("sglang/srt/models/", ""),
    ("timm/models/", ""),
    ("torchrec/models/", ""),
    ("torchvision/models/", ""),
    ("transformers/models/", "modeling_"),
    ("vllm/model_executor/models/", ""),
];

/// Names of files in model folders that several models share. Files whose names begin with `_` are
/// also shared.
const SHARED_FILES: [&str; 6] =
    ["adapters", "interfaces", "registry", "transformers", "utils", "vision"];

/// The network that took the most time in a trace.
#[derive(Debug, Default)]
pub(super) struct Network<'t> {
    /// Class of the network's outermost module; in a trace without modules, the Python file that
    /// contains the network's code.
    pub(super) name: Option<String>,
    /// The network's outermost calls; empty if there are no modules.
    pub(super) calls: Vec<CallId>,
    /// Whether the trace has modules of other networks.
    pub(super) has_others: bool,
    tree: Option<&'t CallTree>,
}

/// All outermost modules that belong to one class.
#[derive(Default)]
struct Outermost {
    time: i64,
    modules: usize,
    calls: Vec<CallId>,
}

impl<'t> Network<'t> {
    pub(super) fn of(tree: &'t CallTree) -> Network<'t> {
        let all: i64 = tree.roots().map(|root| gpu_time(tree, root)).sum();
        let weight = |call| if all > 0 { gpu_time(tree, call) } else { tree.duration(call).0 };
        let mut classes: BTreeMap<&str, Outermost> = BTreeMap::new();
        for call in outermost(tree) {
            let class = classes.entry(ModuleName::class_or_name(tree.name(call))).or_default();
            class.time += weight(call);
            class.modules = class.modules.max(modules_below(tree, call));
            class.calls.push(call);
        }
        let is_replayed = !tree.replays().is_empty();
        let is_training = is_training(tree);
        classes.retain(|_, class| {
            let is_large = class.time > all / ROOT_SHARE;
            let may_be_small = !is_replayed && (is_training || class.time == 0);
            is_large || (may_be_small && class.modules >= MANY_MODULES)
        });
        let has_others = classes.len() > 1;
        let most = classes
            .into_iter()
            .max_by_key(|(name, class)| (class.time, class.modules, Reverse(*name)));
        match most {
            Some((name, class)) => Network {
                name: Some(name.to_owned()),
                calls: class.calls,
                has_others,
                tree: Some(tree),
            },
            None => Network { name: model_file(tree), tree: Some(tree), ..Network::default() },
        }
    }

    /// Names of the network's modules: `BertLayer_3`.
    pub(super) fn instances(&self) -> BTreeSet<&'t str> {
        let Some(tree) = self.tree else { return BTreeSet::new() };
        let below = self.calls.iter().flat_map(|&call| tree.subtree(call));
        let modules = below.filter_map(|call| ModuleName::of(tree.name(call)));
        modules.map(|module| module.instance).collect()
    }
}

/// Whether the trace contains training. In training, at least one backward op names the thread of
/// its forward op.
fn is_training(tree: &CallTree) -> bool {
    tree.trace().sequences.iter().any(|(_, sequence)| sequence.forward_thread != 0)
}

/// Module calls that are not inside another module. Modules that only wrap a model do not count.
fn outermost(tree: &CallTree) -> impl Iterator<Item = CallId> + '_ {
    let is_own = |call: CallId| {
        let class = ModuleName::of(tree.name(call)).map(|module| module.class);
        class.is_some_and(|class| !WRAPPERS.contains(&class))
    };
    let frames = tree.calls().filter(|&call| tree.kind(call) == CallKind::Frame);
    frames.filter(move |&call| is_own(call) && !tree.ancestors(call).any(is_own))
}

/// Total time of the GPU events that a call launched.
pub(super) fn gpu_time(tree: &CallTree, call: CallId) -> i64 {
    let events = tree.subtree(call).filter(|&call| tree.kind(call) == CallKind::Gpu);
    events.map(|event| tree.duration(event).0).sum()
}

fn modules_below(tree: &CallTree, call: CallId) -> usize {
    tree.subtree(call).skip(1).filter(|&call| ModuleName::of(tree.name(call)).is_some()).count()
}

/// The model's Python file with the most frames: `resnet.py`.
fn model_file(tree: &CallTree) -> Option<String> {
    let trace = tree.trace();
    let mut stacks: FxHashMap<TextId, usize> = FxHashMap::default();
    for (_, &stack) in trace.call_stacks().iter() {
        *stacks.entry(stack).or_default() += 1;
    }
    let stacks = stacks.into_iter().map(|(stack, count)| (trace.text(stack), count));
    let frames = names(tree).into_iter().filter(|(kind, ..)| *kind == CallKind::Frame);
    let mut files: BTreeMap<&str, usize> = BTreeMap::new();
    for (text, count) in frames.map(|(_, name, count)| (name, count)).chain(stacks) {
        if let Some(file) = file_of_model(text) {
            *files.entry(file).or_default() += count;
        }
    }
    let most = files.into_iter().max_by_key(|&(file, count)| (count, Reverse(file)));
    most.map(|(file, _)| file.to_owned())
}

/// `vllm/model_executor/models/gpt_oss.py(615): forward` → `gpt_oss.py`.
fn file_of_model(frame: &str) -> Option<&str> {
    MODEL_FILES.iter().find_map(|(folder, begins)| {
        let path = frame.split_once(folder)?.1;
        let path = &path[..path.find(".py")? + ".py".len()];
        let file = path.rsplit('/').next()?;
        let name = file.strip_prefix(begins)?.strip_suffix(".py")?;
        (!name.starts_with('_') && !SHARED_FILES.contains(&name)).then_some(file)
    })
}

#[cfg(test)]
mod tests {
    use super::file_of_model;

    #[test]
    fn files_of_models_are_distinguished_from_shared_files() {
        let found = |frame| file_of_model(frame);
        assert_eq!(
            found("vllm/model_executor/models/gpt_oss.py(615): forward"),
            Some("gpt_oss.py")
        );
        let qwen = "/opt/site-packages/transformers/models/qwen2/modeling_qwen2.py(33): forward";
        assert_eq!(found(qwen), Some("modeling_qwen2.py"));
        let stack =
            "<built-in function linear>;torchvision/models/resnet.py(249): forward;a.py(1): b";
        assert_eq!(found(stack), Some("resnet.py"));
        for other in [
            "sglang/srt/models/utils.py(12): f",
            "timm/models/_manipulate.py(5): checkpoint_seq",
            "diffusers/models/resnet.py(20): forward",
            "transformers/models/qwen2/tokenization_qwen2.py(3): f",
            "mymodels/resnet.py(3): forward",
        ] {
            assert_eq!(found(other), None, "{other}");
        }
    }
}
