//! Determines from annotations, Python frames, ops and kernels which engine or framework ran the
//! model.

use super::Found;
use super::names::names;
use crate::trace::{Category, EventId, TextId};
use crate::tree::{CallKind, CallTree};
use std::collections::BTreeMap;

/// An inference engine or framework, and the annotations, Python files, ops and kernels that
/// identify it.
struct Engine {
    name: &'static str,
    /// Identifies the engine's annotations: they start with the first string of a pair, and contain
    /// its second string after that.
    annotations: &'static [(&'static str, &'static str)],
    frames: &'static [&'static str],
    ops: &'static [&'static str],
}

/// Weight of an annotation or a frame as evidence for an engine. Ops and kernels have a lower
/// weight, because engines borrow them from each other.
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

/// The engine with the most evidence.
pub(super) fn of(tree: &CallTree) -> Option<Found<String>> {
    let (trace, calls) = (tree.trace(), names(tree));
    let is_annotation = |&event: &EventId| trace.category(event) == Category::UserAnnotation;
    // A trace may have many annotations, but few names of annotations.
    let mut annotations: BTreeMap<TextId, usize> = BTreeMap::new();
    for event in trace.events().filter(is_annotation) {
        *annotations.entry(trace.name_id(event)).or_default() += 1;
    }
    let annotations = annotations.into_iter().map(|(name, count)| (trace.text(name), count));
    let annotations: Vec<(&str, usize)> = annotations.collect();
    let votes = ENGINES.iter().map(|engine| (engine, engine.votes(&calls, &annotations)));
    // On a tie the first engine in the list wins, so every engine is listed before the engines and
    // frameworks that it is built on.
    let (engine, votes) =
        votes.reduce(|best, next| if weight(&next.1) > weight(&best.1) { next } else { best })?;
    if votes.is_empty() {
        return None;
    }
    let is_thin = weight(&votes) < OWN_WEIGHT;
    let evidence = votes.iter().map(|((kind, _), count)| format!("{kind} ({count})")).collect();
    Some(Found { what: engine.name.to_owned(), evidence, is_thin })
}

/// The names that identify an engine, and how often each of them occurs. The key is the name with
/// its weight as evidence.
type Votes = BTreeMap<(String, usize), usize>;

fn weight(votes: &Votes) -> usize {
    votes.iter().map(|((_, weight), count)| weight * count).sum()
}

impl Engine {
    fn votes(&self, calls: &[(CallKind, &str, usize)], annotations: &[(&str, usize)]) -> Votes {
        let mut votes = Votes::new();
        for &(kind, name, count) in calls {
            if let Some(vote) = self.vote(kind, name) {
                *votes.entry(vote).or_default() += count;
            }
        }
        let says = |name: &str| {
            self.annotations.iter().any(|&(begin, behind)| {
                name.strip_prefix(begin).is_some_and(|rest| rest.contains(behind))
            })
        };
        let said = annotations.iter().filter(|(name, _)| says(name));
        let count: usize = said.map(|(_, count)| count).sum();
        if count > 0 {
            votes.insert(("annotations".to_owned(), OWN_WEIGHT), count);
        }
        votes
    }

    fn vote(&self, kind: CallKind, name: &str) -> Option<(String, usize)> {
        let (marks, what, weight) = match kind {
            CallKind::Frame => (self.frames, "frames of", OWN_WEIGHT),
            CallKind::Op => (self.ops, "ops", 10),
            CallKind::Gpu => (self.ops, "kernels", 1),
            CallKind::Thread | CallKind::Runtime | CallKind::Unlinked => return None,
        };
        let is_there = |mark: &&&str| match kind {
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
