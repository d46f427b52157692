//! Finds the layers of the model, and the position of each call relative to the layers: inside a
//! layer, or before, between or after the layers.
//!
//! The forward work of a layer is everything that the layer's module calls. The backward work of a
//! layer is everything that the backward ops of the layer's forward ops call. All other work also
//! has a position, so the times of all positions in a table add up to the total:
//!
//! ```text
//! step  ├─ pre ──┤ layer 0 ├ between ┤ layer 1 ├── post ──────┤
//! ```

mod graphs;
mod periods;
mod runs;
mod stacks;

use super::Measure;
use super::steps::Steps;
use crate::trace::Nanos;
use crate::tree::{CallId, CallKind, CallTree, Stretches};
use graphs::Reaches;
use stacks::Found;

/// The kind of layers in a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(hidden)]
pub enum StackKind {
    /// Sibling modules of the same class.
    Modules,
    /// Repeated sections of a graph replay's kernel sequence.
    Graph,
}

/// A stack of repeated layers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(hidden)]
pub struct Stack {
    /// The kind of layers in the stack.
    pub kind: StackKind,
    /// Class of the modules, or `graph_N` for a graph.
    pub class: String,
    /// The layers, in order of their first call.
    pub layers: Vec<Layer>,
}

/// One layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// Name of the module (`BertLayer_3`), or `graph_N.I` for layer I of a graph.
    pub instance: String,
}

/// Id of a layer in one tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(hidden)]
pub struct LayerId {
    /// Position of the layer's stack in [`Layers::stacks`].
    pub stack: u32,
    /// Position of the layer in its stack.
    pub layer: u32,
}

/// The position of a call relative to the layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(hidden)]
pub enum LayerPlace {
    /// Before the first layer of the call's step.
    Pre,
    /// In a layer.
    Layer(LayerId),
    /// Between the first and the last layer of the call's step, but not inside a layer.
    Between,
    /// After the last layer of the call's step. Backward and optimizer work outside of all layers
    /// also has this position.
    Post,
    /// The trace has no layers.
    NoLayers,
    /// A GPU event whose launch is not in the trace.
    NotCaptured,
}

/// The layers of one tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layers {
    stacks: Vec<Stack>,
    /// The position of each call; empty if the trace has no layers.
    of_calls: Stretches<LayerPlace>,
}

impl Layers {
    /// Finds the layers, and the position of each call.
    pub(crate) fn in_steps(tree: &CallTree, measure: Measure, steps: &Steps) -> Layers {
        let mut found = stacks::of_modules(tree, measure);
        let (replayed, reaches) = graphs::of_graphs(tree, steps, &found);
        found.extend(replayed);
        if found.is_empty() {
            return Layers { stacks: Vec::new(), of_calls: Stretches::new() };
        }
        let (ids, layers) = layered(tree, &found);
        let extents = Extents::new(tree, steps, &found, reaches);
        let place = |(call, layer): (CallId, u32)| match layer {
            IN_NONE => extents.place(tree, steps, call),
            layer => LayerPlace::Layer(ids[layer as usize]),
        };
        let of_calls = tree.calls().zip(layers).map(place).collect();
        Layers { stacks: found.into_iter().map(|found| found.stack).collect(), of_calls }
    }

    /// The stacks of layers: module stacks sorted by time, then the stacks of single graph
    /// launches, then those of piecewise replays.
    #[doc(hidden)]
    pub fn stacks(&self) -> &[Stack] {
        &self.stacks
    }

    /// A layer's stack.
    pub fn stack(&self, layer: LayerId) -> &Stack {
        &self.stacks[layer.stack as usize]
    }

    /// Number of layers in all stacks.
    pub fn len(&self) -> usize {
        self.stacks.iter().map(|stack| stack.layers.len()).sum()
    }

    /// Whether no layer was found.
    #[doc(hidden)]
    pub fn is_empty(&self) -> bool {
        self.stacks.is_empty()
    }

    /// The position of a call. A GPU event has the position of its launch.
    pub fn place(&self, call: CallId) -> LayerPlace {
        self.of_calls.get(call.index()).unwrap_or(LayerPlace::NoLayers)
    }
}

/// Marks a call outside of all layers.
const IN_NONE: u32 = u32::MAX;

/// The layers of all stacks, and the index of each call's layer among these.
fn layered(tree: &CallTree, found: &[Found]) -> (Vec<LayerId>, Vec<u32>) {
    let mut layers = vec![IN_NONE; tree.len()];
    let mut ids = Vec::new();
    for (stack, found) in (0..).zip(found) {
        let first = ids.len() as u32;
        ids.extend((0..found.stack.layers.len() as u32).map(|layer| LayerId { stack, layer }));
        for &(layer, call) in &found.members {
            layers[call.index()] = first + layer;
        }
    }
    inherit(tree, &mut layers);
    // Forward ops may come after their backward ops in preorder, because the threads are in no
    // particular order.
    let links = tree.backward_links().iter();
    let linked: Vec<(CallId, u32)> = links
        .filter(|(_, back)| layers[back.index()] == IN_NONE)
        .map(|&(forward, back)| (back, layers[forward.index()]))
        .collect();
    if linked.is_empty() {
        return (ids, layers);
    }
    for (back, layer) in linked {
        layers[back.index()] = layer;
    }
    inherit(tree, &mut layers);
    (ids, layers)
}

/// Assigns each call that has no layer to its parent's layer. Parents precede their children in
/// preorder.
fn inherit(tree: &CallTree, layers: &mut [u32]) {
    for call in tree.calls() {
        if layers[call.index()] == IN_NONE
            && let Some(parent) = tree.parent(call)
        {
            layers[call.index()] = layers[parent.index()];
        }
    }
}

/// The call that actually ran: the call itself or, for a captured call, the graph launch above it.
fn ran(tree: &CallTree, call: CallId) -> CallId {
    if tree.is_captured(call) {
        tree.ancestors(call).find(|&above| !tree.is_captured(above)).unwrap_or(call)
    } else {
        call
    }
}

/// The extents of the layers: host time spans in each step and in the whole trace, and ranges of
/// calls in each graph launch.
struct Extents {
    of_steps: Vec<Option<(Nanos, Nanos)>>,
    whole: Option<(Nanos, Nanos)>,
    of_graphs: Reaches,
}

impl Extents {
    fn new(tree: &CallTree, steps: &Steps, found: &[Found], of_graphs: Reaches) -> Extents {
        let mut extents = Extents { of_steps: vec![None; steps.len()], whole: None, of_graphs };
        let members = || found.iter().flat_map(|found| &found.members).map(|&(_, member)| member);
        // The backward pass may call modules again on its own thread; these calls do not extend the
        // span of the forward pass.
        let is_forward = |&member: &CallId| {
            let thread = |call| tree.event(call).map(|event| tree.trace().thread_of(event));
            tree.kind(member) == CallKind::Gpu
                || thread(member) == members().next().and_then(thread)
        };
        for member in members().filter(is_forward) {
            let call = match tree.kind(member) {
                CallKind::Gpu => tree.running_launch(member).unwrap_or(member),
                CallKind::Thread
                | CallKind::Unlinked
                | CallKind::Frame
                | CallKind::Op
                | CallKind::Runtime => ran(tree, member),
            };
            if tree.is_captured(member) {
                // All captured calls below a launch have the same start time, so preorder
                // determines which captured calls come before the layers.
                let last = CallId(tree.end(member).0 - 1);
                let reach = extents.of_graphs.entry(call).or_insert((member, last));
                *reach = (reach.0.min(member), reach.1.max(last));
            }
            let Some(event) = tree.event(call) else { continue };
            let span = (tree.trace().start(event), tree.trace().end(event));
            widen(&mut extents.whole, span);
            if let Some(step) = steps.step(call) {
                widen(&mut extents.of_steps[step.index()], span);
            }
        }
        extents
    }

    /// The position of a call outside of all layers.
    fn place(&self, tree: &CallTree, steps: &Steps, call: CallId) -> LayerPlace {
        let Some(whole) = self.whole else { return LayerPlace::NoLayers };
        let host = match tree.kind(call) {
            CallKind::Gpu => match tree.running_launch(call) {
                Some(launch) => launch,
                None => return LayerPlace::NotCaptured,
            },
            CallKind::Unlinked => return LayerPlace::NotCaptured,
            CallKind::Thread | CallKind::Frame | CallKind::Op | CallKind::Runtime => {
                ran(tree, call)
            }
        };
        if let Some(&(first, last)) = self.of_graphs.get(&host) {
            return order(call < first, call > last);
        }
        let own_step = steps.step(host).and_then(|step| self.of_steps[step.index()]);
        let (first, last) = own_step.unwrap_or(whole);
        let start = tree.start(host).unwrap_or(first);
        order(start < first, start >= last)
    }
}

fn order(is_before: bool, is_behind: bool) -> LayerPlace {
    match (is_before, is_behind) {
        (true, _) => LayerPlace::Pre,
        (false, true) => LayerPlace::Post,
        (false, false) => LayerPlace::Between,
    }
}

fn widen(span: &mut Option<(Nanos, Nanos)>, by: (Nanos, Nanos)) {
    *span = Some(span.map_or(by, |(start, end)| (start.min(by.0), end.max(by.1))));
}
