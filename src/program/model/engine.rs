//! Annotations, Python frames, ops and kernels → the engine or framework that ran the model.

use super::Found;
use crate::trace::Category;
use crate::tree::{CallId, CallKind, CallTree};
use std::collections::BTreeMap;

/// An engine, and how its annotations begin, its Python files, and its ops and kernels.
struct Engine {
    name: &'static str,
    /// How they begin, and what stands further behind.
    annotations: &'static [(&'static str, &'static str)],
    frames: &'static [&'static str],
    ops: &'static [&'static str],
}

/// One annotation or frame tells more than an op or a kernel, which engines borrow from each other.
const OWN_WEIGHT: usize = 1_000;

const ENGINES: [Engine; 8] = [
    Engine {
        name: "vLLM",
        annotations: &[("execute_", "_generation_")],
        frames: &["vllm/"],
        ops: &["vllm::", "_C_cache_ops::"],
    },
    Engine {
        name: "SGLang",
        annotations: &[("step[", "bs=")],
        frames: &["sglang/"],
        ops: &["sgl_kernel::", "sglang::", "sgl_hip::"],
    },
    Engine { name: "xDiT", annotations: &[], frames: &["xfuser/"], ops: &["xfuser::"] },
    Engine {
        name: "TensorRT-LLM",
        annotations: &[],
        frames: &["tensorrt_llm/"],
        ops: &["trtllm::", "tensorrt_llm::"],
    },
    Engine {
        name: "DeepSpeed",
        annotations: &[("DeepSpeed", "")],
        frames: &["deepspeed/"],
        ops: &["deepspeed::"],
    },
    Engine { name: "Megatron", annotations: &[], frames: &["megatron/"], ops: &[] },
    Engine { name: "TorchRec", annotations: &[], frames: &["torchrec/"], ops: &[] },
    Engine {
        name: "torch.compile",
        annotations: &[("Torch-Compiled Region", "")],
        frames: &[],
        ops: &["CompiledFunction", "Torch-Compiled Region"],
    },
];

/// The engine that most of the evidence names.
pub(super) fn of(tree: &CallTree) -> Option<Found<String>> {
    let votes = ENGINES.iter().map(|engine| (engine, engine.votes(tree)));
    // Of equals the first one: engines that run on others stand before them.
    let (engine, votes) =
        votes.reduce(|best, next| if weight(&next.1) > weight(&best.1) { next } else { best })?;
    if votes.is_empty() {
        return None;
    }
    let is_thin = weight(&votes) < OWN_WEIGHT;
    let evidence = votes.iter().map(|((kind, _), count)| format!("{kind} ({count})")).collect();
    Some(Found { what: engine.name.to_owned(), evidence, is_thin })
}

/// How often each mark of an engine was met, and its weight.
type Votes = BTreeMap<(String, usize), usize>;

fn weight(votes: &Votes) -> usize {
    votes.iter().map(|((_, weight), count)| weight * count).sum()
}

impl Engine {
    fn votes(&self, tree: &CallTree) -> Votes {
        let mut votes = Votes::new();
        for call in tree.calls() {
            if let Some(vote) = self.vote(tree, call) {
                *votes.entry(vote).or_default() += 1;
            }
        }
        let trace = tree.trace();
        let says = |event: &crate::trace::EventId| {
            trace.category(*event) == Category::UserAnnotation
                && self.annotations.iter().any(|&(begin, behind)| {
                    trace.name(*event).strip_prefix(begin).is_some_and(|rest| rest.contains(behind))
                })
        };
        let count = trace.events().filter(says).count();
        if count > 0 {
            votes.insert(("annotations".to_owned(), OWN_WEIGHT), count);
        }
        votes
    }

    fn vote(&self, tree: &CallTree, call: CallId) -> Option<(String, usize)> {
        let name = tree.name(call);
        let (marks, what, weight) = match tree.kind(call) {
            CallKind::Frame => (self.frames, "frames of", OWN_WEIGHT),
            CallKind::Op => (self.ops, "ops", 10),
            CallKind::Gpu => (self.ops, "kernels", 1),
            CallKind::Thread | CallKind::Runtime | CallKind::Unlinked => return None,
        };
        let is_there = |mark: &&&str| match tree.kind(call) {
            CallKind::Frame => name.starts_with(**mark) || name.contains(&format!("/{mark}")),
            CallKind::Thread
            | CallKind::Op
            | CallKind::Runtime
            | CallKind::Gpu
            | CallKind::Unlinked => name.contains(**mark),
        };
        marks.iter().find(is_there).map(|mark| (format!("{what} {mark}"), weight))
    }
}
