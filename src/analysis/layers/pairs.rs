//! Matches the layers of the two traces.
//!
//! Layers are matched greedily: the two layers with the most matched calls between them are matched first. Stacks may
//! have no matched calls, for example if they are graph replays on two platforms without common kernel names. Such
//! stacks are matched in order, by class unless they are graph replays, and their layers are matched by position.

use crate::analysis::account::Ledger;
use crate::diff::TraceDiff;
use crate::order::Order as _;
use crate::program::{LayerId, LayerPlace, Layers, Stack, StackKind};
use crate::side::{PerSide, Side};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Two matched layers, a layer without a counterpart, or a kind of work outside of layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PlacePair {
    /// The work before the first layer of a step.
    Pre,
    /// A layer.
    Layer {
        /// Index of the layer's stack. Two matched stacks have the same index.
        stack: u32,
        /// The layer on each side; `None` on a side without a counterpart.
        layers: PerSide<Option<LayerId>>,
    },
    /// The work between the layers of a step.
    Between,
    /// The work after the last layer of a step.
    Post,
    /// The work of a trace without layers.
    NoLayers,
    /// GPU events whose launch is not in the trace.
    NotCaptured,
}

/// The matched layers, and the work outside of layers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerPairs {
    layers: PerSide<Arc<Layers>>,
    places: Vec<PlacePair>,
    of_places: PerSide<FxHashMap<LayerPlace, usize>>,
}

impl LayerPairs {
    /// Matches the layers of both traces.
    pub fn of(diff: &TraceDiff, ledger: &Ledger) -> LayerPairs {
        let layers = PerSide::from_fn(|side| diff.program(side).layers(ledger.measure()).clone());
        let votes = votes(diff, &layers);
        let mut places = vec![PlacePair::Pre];
        for (at, stacks) in pair_stacks(&layers, &votes).into_iter().enumerate() {
            let paired = pair_layers(&layers, stacks, &votes);
            places.extend(paired.into_iter().map(|(a, b)| {
                let id = |stack: Option<u32>, layer: Option<u32>| {
                    Some(LayerId { stack: stack?, layer: layer? })
                };
                PlacePair::Layer {
                    stack: at as u32,
                    layers: PerSide::new(id(stacks.0, a), id(stacks.1, b)),
                }
            }));
        }
        places.extend([
            PlacePair::Between,
            PlacePair::Post,
            PlacePair::NoLayers,
            PlacePair::NotCaptured,
        ]);
        let of_places = PerSide::from_fn(|side| positions(&places, side));
        LayerPairs { layers, places, of_places }
    }

    /// The layers of one side.
    pub fn layers(&self, side: Side) -> &Layers {
        &self.layers[side]
    }

    /// All layers, and all kinds of work outside of layers. The work before the layers comes first, followed by the
    /// layers of each stack and then by all other work.
    pub fn places(&self) -> &[PlacePair] {
        &self.places
    }

    /// The position in [`LayerPairs::places`] of the layer, or of the work outside of layers, that contains a call.
    pub fn place_of(&self, side: Side, call: crate::tree::CallId) -> usize {
        self.of_places[side][&self.layers[side].place(call)]
    }

    /// Class of the layers in a layer's stack; empty outside of layers. If the sides differ, the result contains both
    /// names, separated by `|`.
    pub fn stack_name(&self, place: PlacePair) -> String {
        let name = |side: Side| {
            place.layer(side).map(|layer| self.layers[side].stack(layer).class.as_str())
        };
        match (name(Side::Baseline), name(Side::Candidate)) {
            (Some(a), Some(b)) if a != b => format!("{a} | {b}"),
            (Some(name), _) | (None, Some(name)) => name.to_owned(),
            (None, None) => String::new(),
        }
    }

    /// Name of the layer on one side; empty if that side has no such layer.
    pub fn instance(&self, place: PlacePair, side: Side) -> &str {
        place
            .layer(side)
            .map_or("", |id| &self.layers[side].stack(id).layers[id.layer as usize].instance)
    }

    /// Whether the layer is part of a graph replay on either side.
    pub(crate) fn is_graph(&self, place: PlacePair) -> bool {
        Side::BOTH.into_iter().any(|side| {
            place
                .layer(side)
                .is_some_and(|layer| self.layers[side].stack(layer).kind == StackKind::Graph)
        })
    }
}

impl PlacePair {
    /// The layer on one side, if any.
    pub fn layer(self, side: Side) -> Option<LayerId> {
        self.stack_and_layers().and_then(|(_, layers)| layers[side])
    }

    /// The index of the layer's stack, and the layer on each side; `None` outside of layers.
    pub(super) fn stack_and_layers(self) -> Option<(u32, PerSide<Option<LayerId>>)> {
        match self {
            PlacePair::Layer { stack, layers } => Some((stack, layers)),
            PlacePair::Pre
            | PlacePair::Between
            | PlacePair::Post
            | PlacePair::NoLayers
            | PlacePair::NotCaptured => None,
        }
    }

    /// The name in tables: `pre`, `layer`, `between`, `post`, `(no layers)` or `(launch not in trace)`.
    pub fn label(self) -> &'static str {
        match self {
            PlacePair::Pre => "pre",
            PlacePair::Layer { .. } => "layer",
            PlacePair::Between => "between",
            PlacePair::Post => "post",
            PlacePair::NoLayers => "(no layers)",
            PlacePair::NotCaptured => crate::tree::UNLINKED,
        }
    }
}

fn positions(places: &[PlacePair], side: Side) -> FxHashMap<LayerPlace, usize> {
    let on_side = |place: PlacePair| match place {
        PlacePair::Pre => Some(LayerPlace::Pre),
        PlacePair::Layer { .. } => place.layer(side).map(LayerPlace::Layer),
        PlacePair::Between => Some(LayerPlace::Between),
        PlacePair::Post => Some(LayerPlace::Post),
        PlacePair::NoLayers => Some(LayerPlace::NoLayers),
        PlacePair::NotCaptured => Some(LayerPlace::NotCaptured),
    };
    places.iter().enumerate().filter_map(|(at, &place)| Some((on_side(place)?, at))).collect()
}

/// Number of matched calls between each pair of layers.
type Votes = BTreeMap<(LayerId, LayerId), u64>;

fn votes(diff: &TraceDiff, layers: &PerSide<Arc<Layers>>) -> Votes {
    let mut votes = Votes::new();
    for call in diff.tree(Side::Baseline).calls() {
        let LayerPlace::Layer(a) = layers.baseline.place(call) else { continue };
        let counterpart = diff.counterpart(Side::Baseline, call);
        if let Some(LayerPlace::Layer(b)) = counterpart.map(|call| layers.candidate.place(call)) {
            *votes.entry((a, b)).or_default() += 1;
        }
    }
    votes
}

/// Pairs of ids, with `None` for an id without a counterpart. They are in the order of the baseline; an id that only
/// the candidate has comes after the pair that precedes it in the candidate.
type IdPairs = Vec<(Option<u32>, Option<u32>)>;

fn pair_stacks(layers: &PerSide<Arc<Layers>>, votes: &Votes) -> IdPairs {
    let mut sums: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for (&(a, b), count) in votes {
        *sums.entry((a.stack, b.stack)).or_default() += count;
    }
    let mut pairs = strongest_first(&sums);
    for (a, stack) in layers.baseline.stacks().iter().enumerate() {
        let free = |&(b, other): &(usize, &Stack)| {
            !pairs.iter().any(|&(x, y)| x == a as u32 || y == b as u32)
                && other.kind == stack.kind
                && (stack.kind == StackKind::Graph || other.class == stack.class)
        };
        let counterpart = layers.candidate.stacks().iter().enumerate().find(free);
        pairs.extend(counterpart.map(|(b, _)| (a as u32, b as u32)));
    }
    let counts = (layers.baseline.stacks().len(), layers.candidate.stacks().len());
    in_order(&pairs, counts)
}

fn pair_layers(
    layers: &PerSide<Arc<Layers>>,
    stacks: (Option<u32>, Option<u32>),
    votes: &Votes,
) -> IdPairs {
    let count = |side: Side, stack: Option<u32>| {
        stack.map_or(0, |stack| layers[side].stacks()[stack as usize].layers.len())
    };
    let counts = (count(Side::Baseline, stacks.0), count(Side::Candidate, stacks.1));
    let mut own: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for (&(a, b), &count) in votes {
        if (Some(a.stack), Some(b.stack)) == stacks {
            own.insert((a.layer, b.layer), count);
        }
    }
    let pairs = if own.is_empty() {
        (0..counts.0.min(counts.1) as u32).map(|at| (at, at)).collect()
    } else {
        strongest_first(&own)
    };
    in_order(&pairs, counts)
}

/// Matches ids greedily: repeatedly picks the two unmatched ids with the most matched calls between them. If there are
/// several, the two with the smallest difference in position are picked first, so the result does not depend on which
/// trace is the baseline.
fn strongest_first(votes: &BTreeMap<(u32, u32), u64>) -> Vec<(u32, u32)> {
    let mut order: Vec<((u32, u32), u64)> =
        votes.iter().map(|(&pair, &count)| (pair, count)).collect();
    order.order_by_key(|&((a, b), count)| (std::cmp::Reverse(count), a.abs_diff(b), a + b, a));
    let (mut used, mut pairs) = ((BTreeSet::new(), BTreeSet::new()), Vec::new());
    for ((a, b), _) in order {
        if !used.0.contains(&a) && !used.1.contains(&b) {
            used.0.insert(a);
            used.1.insert(b);
            pairs.push((a, b));
        }
    }
    pairs
}

fn in_order(pairs: &[(u32, u32)], counts: (usize, usize)) -> IdPairs {
    let counterpart_of_a: BTreeMap<u32, u32> = pairs.iter().copied().collect();
    let counterpart_of_b: BTreeMap<u32, u32> = pairs.iter().map(|&(a, b)| (b, a)).collect();
    let mut behind: BTreeMap<Option<u32>, Vec<u32>> = BTreeMap::new();
    let mut last = None;
    for b in 0..counts.1 as u32 {
        match counterpart_of_b.get(&b) {
            Some(&a) => last = Some(a),
            None => behind.entry(last).or_default().push(b),
        }
    }
    let only = |a: Option<u32>| {
        behind.get(&a).into_iter().flatten().map(|&b| (None, Some(b))).collect::<Vec<_>>()
    };
    let mut ordered = only(None);
    for a in 0..counts.0 as u32 {
        ordered.push((Some(a), counterpart_of_a.get(&a).copied()));
        ordered.extend(only(Some(a)));
    }
    ordered
}
