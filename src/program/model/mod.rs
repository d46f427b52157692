//! [`CallTree`] → what sort of model was run, with the evidence: what `tracetree info` says of it.
//!
//! Modules tell most, ops next; of a served model whose graphs are replayed, only kernel names are
//! left. What nothing tells is left out, and little evidence is called little.

mod engine;
mod network;
mod products;
mod shapes;
mod signs;
mod sizes;

use super::layers::{Stack, StackKind};
use super::{Layers, Measure, Steps};
use crate::tree::CallTree;
use network::Network;
use serde::Serialize;
use shapes::Shapes;
use signs::Signs;

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
    /// Class of the outermost module with most time: the main network of a pipeline. Without modules, the
    /// file of the model that its frames are of (`resnet.py`).
    pub root: Option<String>,
    /// What sort of network it is.
    pub architecture: Option<Found<Architecture>>,
    /// Layers of each stack of it, by class: `BertLayer x 12`.
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
        let network = Network::of(tree);
        let shapes = Shapes::of(tree, &network, measure);
        let architecture = Architecture::of(tree);
        // Towers of a recommender have no vectors between layers that are all as wide.
        let is_recommender =
            architecture.as_ref().is_some_and(|found| found.what == Architecture::Recommender);
        Model {
            layers: layers(&Layers::in_steps(tree, measure, &Steps::of(tree)), &network),
            root: network.name,
            architecture,
            heads: shapes.heads,
            head_size: shapes.head_size,
            hidden_size: shapes.hidden_size.filter(|_| !is_recommender),
            types: shapes.types,
            engine: engine::of(tree),
        }
    }
}

/// The stacks of the main network; those of graphs belong to it, as far as anything tells.
fn layers(layers: &Layers, network: &Network<'_>) -> Vec<String> {
    let own = network.instances();
    let is_own = |stack: &&Stack| match stack.kind {
        StackKind::Modules => {
            own.is_empty() || stack.layers.iter().any(|layer| own.contains(layer.instance.as_str()))
        }
        StackKind::Graph => true,
    };
    let stacks = layers.stacks().iter().filter(is_own);
    stacks.map(|stack| format!("{} x {}", stack.class, stack.layers.len())).collect()
}
