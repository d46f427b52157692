//! Parses the user annotations in a trace, which mark steps, request batches, and phases of
//! training.
//!
//! ```text
//! ProfilerStep#7                                                   step 7
//! execute_context_1(888_788544)_generation_0(0)                    prefill of 888 tokens (vLLM)
//! execute_32_context_0(sq0sk0…)_generation_32(sq32sk55086…)        decode of 32 tokens (vLLM)
//! step[DECODE bs=32], step[EXTEND bs=1 toks=512]                   decode, prefill (SGLang)
//! capture_32_DECODE, capture_8192_PIECEWISE                        graphs for a batch of 32, 8192
//! ## forward ##, ## backward ##, ## optim ##, Optimizer.step#SGD   parts of training
//! ```
//! Annotations in an unknown form are ignored; the meaning of an annotation is never guessed.

use super::phase::Phase;
use crate::order::Order as _;
use crate::trace::{ByName, Category, EventId, Nanos, ThreadId, Trace};

/// A recognized annotation on a host thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub struct Annotation {
    /// The annotation's event.
    pub event: EventId,
    /// The thread that recorded the annotation.
    pub thread: ThreadId,
    /// Start time in ns.
    pub start: Nanos,
    /// End time in ns, exclusive.
    pub end: Nanos,
    /// The kind of activity that the annotation marks.
    pub meaning: Meaning,
}

/// The kind of activity that an annotation marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub enum Meaning {
    /// `ProfilerStep#N`.
    Step(u64),
    /// One forward pass of an inference engine.
    Batch(Batch),
    /// A part of a training step: the forward pass, the backward pass or the optimizer.
    Training(Phase),
    /// The capture of graphs; the value is the batch size.
    Capture(u64),
}

/// The requests that an inference engine processes in one forward pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub struct Batch {
    /// Prefill, decode, mixed or idle, or unknown if the annotation names no phase.
    pub phase: Phase,
    /// Number of requests.
    pub requests: u64,
    /// Number of computed tokens, if the annotation states it.
    pub tokens: Option<u64>,
}

/// The recognized annotations in a trace, sorted by thread, then by start time, then by length
/// (longest first).
#[doc(hidden)]
pub fn annotations(trace: &Trace) -> Vec<Annotation> {
    // A trace has many ops but few distinct names, so each name is parsed once.
    let mut ops_that_say = ByName::new(trace);
    let mut found: Vec<Annotation> = trace
        .events()
        .filter_map(|event| {
            let (category, name) = (trace.category(event), trace.name_id(event));
            let find = || meaning(category, trace.text(name));
            let may_say = match category {
                Category::CpuOp => ops_that_say.get(name, || find().is_some()),
                Category::UserAnnotation => true,
                Category::PythonFunction
                | Category::Runtime
                | Category::Kernel
                | Category::Memcpy
                | Category::Memset
                | Category::GpuUserAnnotation => false,
            };
            let meaning = if may_say { find()? } else { return None };
            let (start, end) = (trace.start(event), trace.end(event));
            Some(Annotation { event, thread: trace.thread_of(event), start, end, meaning })
        })
        .collect();
    found.order_by_key(|a| (a.thread, a.start, std::cmp::Reverse(a.end), a.event));
    found
}

fn meaning(category: Category, name: &str) -> Option<Meaning> {
    match category {
        Category::UserAnnotation => profiler_step(name)
            .or_else(|| batch(name))
            .or_else(|| capture(name))
            .or_else(|| training(name)),
        // The 2021 profiler recorded steps and optimizers as operators.
        Category::CpuOp => profiler_step(name).or_else(|| optimizer(name)),
        Category::PythonFunction
        | Category::Runtime
        | Category::Kernel
        | Category::Memcpy
        | Category::Memset
        | Category::GpuUserAnnotation => None,
    }
}

fn profiler_step(name: &str) -> Option<Meaning> {
    Some(Meaning::Step(name.strip_prefix("ProfilerStep#")?.parse().ok()?))
}

fn batch(name: &str) -> Option<Meaning> {
    vllm_batch(name).or_else(|| sglang_batch(name)).map(Meaning::Batch)
}

/// `execute_[tokens_]context_N(…)_generation_M(…)`.
fn vllm_batch(name: &str) -> Option<Batch> {
    let rest = name.strip_prefix("execute_")?;
    let at = rest.find("context_")?;
    let total = rest[..at].trim_end_matches('_');
    let (context, generation) = rest[at..].split_once(")_generation_")?;
    let context = Requests::read(context.strip_prefix("context_")?)?;
    let generation = Requests::read(generation.strip_suffix(')')?)?;
    let shown = context.tokens.zip(generation.tokens).map(|(a, b)| a.saturating_add(b));
    Some(Batch {
        phase: match (context.count > 0, generation.count > 0) {
            (true, true) => Phase::Mixed,
            (true, false) => Phase::Prefill,
            (false, true) => Phase::Decode,
            (false, false) => Phase::Idle,
        },
        requests: context.count.saturating_add(generation.count),
        tokens: shown.or_else(|| total.parse().ok()),
    })
}

/// The meaning of `N(K_…` or `N(sqK…`: N requests with a total of K query tokens.
struct Requests {
    count: u64,
    tokens: Option<u64>,
}

impl Requests {
    fn read(text: &str) -> Option<Requests> {
        let (count, inner) = text.split_once('(')?;
        let inner = inner.strip_prefix("sq").unwrap_or(inner);
        Some(Requests { count: count.parse().ok()?, tokens: leading_number(inner) })
    }
}

/// Parses `step[MODE bs=N toks=K]`. A decode batch computes one token per request.
fn sglang_batch(name: &str) -> Option<Batch> {
    let inner = name.strip_prefix("step[")?.strip_suffix(']')?;
    let mut words = inner.split_whitespace();
    let phase = match words.next()? {
        "EXTEND" | "PREFILL" | "SPLIT_PREFILL" => Phase::Prefill,
        "DECODE" => Phase::Decode,
        "MIXED" => Phase::Mixed,
        "IDLE" => Phase::Idle,
        _ => Phase::Unknown,
    };
    let field = |key: &str| words.clone().find_map(|word| leading_number(word.strip_prefix(key)?));
    let requests = field("bs=")?;
    let tokens = field("toks=").or_else(|| (phase == Phase::Decode).then_some(requests));
    Some(Batch { phase, requests, tokens })
}

/// `capture_<size>_<MODE>`.
fn capture(name: &str) -> Option<Meaning> {
    let (size, _) = name.strip_prefix("capture_")?.split_once('_')?;
    Some(Meaning::Capture(size.parse().ok()?))
}

fn training(name: &str) -> Option<Meaning> {
    let text = name.trim_matches(|c: char| c == '#' || c.is_whitespace()).to_ascii_lowercase();
    // `## forward:over_arch ##` names a part of the forward pass.
    let phase = match text.split(':').next()? {
        "forward" | "fwd" => Phase::TrainForward,
        "backward" | "bwd" => Phase::TrainBackward,
        "optimizer" | "optim" | "optimizer_step" => Phase::TrainOptimizer,
        "distributeddataparallel.forward" | "fullyshardeddataparallel.forward" => {
            Phase::TrainForward
        }
        _ => return optimizer(name),
    };
    Some(Meaning::Training(phase))
}

/// PyTorch itself records `Optimizer.step#SGD.step` and `Optimizer.zero_grad#SGD.zero_grad`.
fn optimizer(name: &str) -> Option<Meaning> {
    let known = ["Optimizer.step#", "Optimizer.zero_grad#"];
    known
        .iter()
        .any(|prefix| name.starts_with(prefix))
        .then_some(Meaning::Training(Phase::TrainOptimizer))
}

fn leading_number(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(name: &str) -> Option<Meaning> {
        meaning(Category::UserAnnotation, name)
    }

    fn batch_of(phase: Phase, requests: u64, tokens: Option<u64>) -> Option<Meaning> {
        Some(Meaning::Batch(Batch { phase, requests, tokens }))
    }

    #[test]
    fn vllm_names_context_and_generation() {
        let old = "execute_context_1(888_788544)_generation_0(0)";
        assert_eq!(said(old), batch_of(Phase::Prefill, 1, Some(888)));
        let decode = "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk9)";
        assert_eq!(said(decode), batch_of(Phase::Decode, 32, Some(32)));
        let mixed =
            "execute_8192_context_9(sq8155sk8430sqsq7sqsk7)_generation_37(sq37sk3sqsq3sqsk4)";
        assert_eq!(said(mixed), batch_of(Phase::Mixed, 46, Some(8192)));
        let idle = "execute_context_0(0)_generation_0(0)";
        assert_eq!(said(idle), batch_of(Phase::Idle, 0, Some(0)));
    }

    #[test]
    fn sglang_names_a_mode() {
        assert_eq!(said("step[DECODE bs=32]"), batch_of(Phase::Decode, 32, Some(32)));
        assert_eq!(said("step[EXTEND bs=2 toks=512]"), batch_of(Phase::Prefill, 2, Some(512)));
        assert_eq!(said("step[TARGET_VERIFY bs=4]"), batch_of(Phase::Unknown, 4, None));
    }

    #[test]
    fn unknown_values_print_nothing() {
        for name in ["nccl:all_reduce", "forwarding", "execute_model", "step[]", "ProfilerStep#x"] {
            assert_eq!(said(name), None, "{name}");
        }
        assert_eq!(meaning(Category::CpuOp, "forward"), None);
    }

    #[test]
    fn each_mode_of_sglang_has_its_phase() {
        for (mode, phase) in [
            ("EXTEND", Phase::Prefill),
            ("PREFILL", Phase::Prefill),
            ("SPLIT_PREFILL", Phase::Prefill),
            ("MIXED", Phase::Mixed),
            ("IDLE", Phase::Idle),
        ] {
            assert_eq!(said(&format!("step[{mode} bs=3]")), batch_of(phase, 3, None), "{mode}");
        }
    }
}
