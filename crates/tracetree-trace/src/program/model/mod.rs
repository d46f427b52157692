//! Determines the kind of model that ran, with evidence, for `tracetree info`.
//!
//! Modules are the best evidence, followed by ops. If a served model runs as replayed graphs,
//! kernel names are the only evidence. Properties without evidence are omitted, and weak evidence
//! is marked as weak.

mod engine;
mod names;
mod network;
mod products;
mod shapes;
mod signs;
mod sizes;

use super::layers::{Stack, StackKind};
use super::{Layers, Measure, Steps};
use crate::side::PerSide;
use crate::tree::CallTree;
use network::Network;
use serde::Serialize;
use shapes::Shapes;
use signs::Signs;

/// The kind of neural network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[doc(hidden)]
pub enum Architecture {
    /// A recommender: embedding tables with pooled lookups.
    Recommender,
    /// A denoiser that is called repeatedly.
    Diffusion,
    /// A network that scans over a state, without attention.
    StateSpace,
    /// A network that scans over a state in some layers and uses attention in other layers.
    Hybrid,
    /// A transformer whose layers route tokens to experts.
    MixtureOfExperts,
    /// A transformer that generates text: causal, with a key-value cache or rotary positions.
    DecoderTransformer,
    /// A transformer that processes the whole input at once: a text or image encoder.
    EncoderTransformer,
    /// A network with attention, but without evidence for a decoder or an encoder.
    Transformer,
    /// Convolutions without attention.
    Convolutional,
    /// Recurrent cells that are called once per time step.
    Recurrent,
}

impl Architecture {
    /// The architecture indicated by the names of all calls.
    pub(crate) fn of(tree: &CallTree) -> Option<Found<Architecture>> {
        Signs::of(tree).architecture()
    }

    /// Display name: `decoder transformer`, …
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

/// A property of the model, with the evidence for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[doc(hidden)]
pub struct Found<T> {
    /// The detected property.
    pub what: T,
    /// The names that indicate the property, each with its number of occurrences.
    pub evidence: Vec<String>,
    /// Whether the evidence is weak: only kernel names, or few calls.
    pub is_thin: bool,
}

/// The model that ran, as far as the trace reveals its properties.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[doc(hidden)]
pub struct Model {
    /// Class of the outermost module that takes the most time. In a pipeline of several networks,
    /// this is the class of the main network. In a trace without modules, this is the name of the
    /// Python file with the most frames (`resnet.py`).
    pub root: Option<String>,
    /// The kind of network.
    pub architecture: Option<Found<Architecture>>,
    /// For each stack, the class of its layers and their number: `BertLayer x 12`.
    pub layers: Vec<String>,
    /// Number of query heads in each attention layer.
    pub heads: Option<u64>,
    /// Width of one attention head, in elements.
    pub head_size: Option<u64>,
    /// Width of the vectors between layers, in elements.
    pub hidden_size: Option<u64>,
    /// Input types of matrix products and attention, most frequent first.
    pub types: Vec<String>,
    /// The engine or framework that runs the model.
    pub engine: Option<Found<String>>,
}

impl Model {
    /// Examines the names and shapes of all calls.
    pub fn of(tree: &CallTree) -> Model {
        let measure = Measure::of(PerSide::new(tree, tree));
        let network = Network::of(tree);
        let shapes = Shapes::of(tree, &network, measure);
        let architecture = Architecture::of(tree);
        // The towers of a recommender model use different vector widths between layers.
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

/// The stacks of layers in the main network. Layers of replayed graphs are always included, because
/// nothing shows which network they are part of.
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
