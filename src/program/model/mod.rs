//! [`CallTree`] → what sort of model was run, with the evidence: what `tracetree info` says of it.
//!
//! Modules tell most, ops next; of a served model whose graphs are replayed, only kernel names are
//! left. What nothing tells is left out, and little evidence is called little.

mod engine;
mod shapes;
mod signs;

use super::{Layers, Measure, Steps};
use crate::tree::{CallId, CallKind, CallTree, ModuleName};
use serde::Serialize;
use signs::Signs;
use std::collections::BTreeMap;

/// What sort of network a model is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Architecture {
    /// Embedding tables and pooled lookups.
    Recommender,
    /// A denoiser that is called again and again.
    Diffusion,
    /// Scans over a state, without attention.
    StateSpace,
    /// Scans over a state in some layers, attention in others.
    Hybrid,
    /// A transformer whose layers route tokens to experts.
    MixtureOfExperts,
    /// A transformer that generates: causal, with a cache of keys and values or rotary positions.
    DecoderTransformer,
    /// A transformer that reads all at once: text or image encoders.
    EncoderTransformer,
    /// Attention, and nothing that tells whether it is a decoder's or an encoder's.
    Transformer,
    /// Convolutions without attention.
    Convolutional,
    /// Cells that are called step by step.
    Recurrent,
}

impl Architecture {
    /// The architecture that the names of all calls tell.
    pub(crate) fn of(tree: &CallTree) -> Option<Found<Architecture>> {
        Signs::of(tree).architecture()
    }

    /// As people say it: `decoder transformer`, …
    pub fn label(self) -> &'static str {
        match self {
            Architecture::Recommender => "recommender",
            Architecture::Diffusion => "diffusion",
            Architecture::StateSpace => "state space",
            Architecture::Hybrid => "hybrid of state space and attention",
            Architecture::MixtureOfExperts => "mixture of experts",
            Architecture::DecoderTransformer => "decoder transformer",
            Architecture::EncoderTransformer => "encoder transformer",
            Architecture::Transformer => "transformer",
            Architecture::Convolutional => "convolutional",
            Architecture::Recurrent => "recurrent",
        }
    }
}

/// Something that was found, and by what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Found<T> {
    /// What was found.
    pub what: T,
    /// Names that tell it, with their counts.
    pub evidence: Vec<String>,
    /// Whether the evidence is little: kernel names alone, or few calls.
    pub is_thin: bool,
}

/// The model that was run, as far as the trace tells.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Model {
    /// Class of the outermost module with most time.
    pub root: Option<String>,
    /// What sort of network it is.
    pub architecture: Option<Found<Architecture>>,
    /// Layers of each stack, by class: `BertLayer x 12`.
    pub layers: Vec<String>,
    /// Heads of the attention's queries.
    pub heads: Option<u64>,
    /// Width of one head.
    pub head_size: Option<u64>,
    /// Width of the vectors between layers.
    pub hidden_size: Option<u64>,
    /// Types of the inputs of matrix products and attention, most frequent first.
    pub types: Vec<String>,
    /// The engine or framework that runs it.
    pub engine: Option<Found<String>>,
}

impl Model {
    /// Looks at the names and shapes of all calls.
    pub fn of(tree: &CallTree) -> Model {
        let measure = match tree.roots().any(|root| tree.is_gpu_path(root)) {
            true => Measure::GpuTime,
            false => Measure::HostSelfTime,
        };
        let shapes = shapes::Shapes::of(tree);
        Model {
            root: root(tree),
            architecture: Architecture::of(tree),
            layers: layers(&Layers::in_steps(tree, measure, &Steps::of(tree))),
            heads: shapes.heads,
            head_size: shapes.head_size,
            hidden_size: shapes.hidden_size,
            types: shapes.types,
            engine: engine::of(tree),
        }
    }
}

/// Modules around a model that are none of its own.
const WRAPPERS: [&str; 6] = [
    "DistributedDataParallel",
    "FullyShardedDataParallel",
    "DataParallel",
    "OptimizedModule",
    "DeepSpeedEngine",
    "Float16Module",
];

/// A module that launched less than one part in this many of all GPU time is not the model: beside a
/// replayed graph, a sampler is left.
const ROOT_SHARE: i64 = 10;

/// Class of the outermost module that launched most, wrappers left out; by time on the host where the
/// trace has no GPU events.
fn root(tree: &CallTree) -> Option<String> {
    let is_own = |call: CallId| {
        let class = ModuleName::of(tree.name(call)).map(|module| module.class);
        class.is_some_and(|class| !WRAPPERS.contains(&class))
    };
    let is_outermost = |&call: &CallId| is_own(call) && !tree.ancestors(call).any(is_own);
    let launched = |call: CallId| -> i64 {
        let below = (call.index()..call.index() + tree.size(call)).map(|at| CallId(at as u32));
        below.filter(|&c| tree.kind(c) == CallKind::Gpu).map(|c| tree.duration(c).0).sum()
    };
    let all: i64 = tree.roots().map(launched).sum();
    let weight = |call| if all > 0 { launched(call) } else { tree.duration(call).0 };
    let mut times: BTreeMap<&str, i64> = BTreeMap::new();
    for call in tree.calls().filter(|&call| tree.kind(call) == CallKind::Frame).filter(is_outermost)
    {
        *times.entry(ModuleName::class_or_name(tree.name(call))).or_default() += weight(call);
    }
    times.retain(|_, time| *time > all / ROOT_SHARE);
    let most = times.into_iter().max_by_key(|&(class, time)| (time, std::cmp::Reverse(class)));
    most.map(|(class, _)| class.to_owned())
}

fn layers(layers: &Layers) -> Vec<String> {
    let stacks = layers.stacks().iter();
    stacks.map(|stack| format!("{} x {}", stack.class, stack.layers.len())).collect()
}
