//! Finds the layers of graph replays. A replay calls no modules, so layers are found as repeated
//! sequences of kernels.
//!
//! A replay is usually one graph launch. Some engines capture the model piecewise: the parts
//! between attention calls are captured separately. A replay then consists of all graph launches in
//! one step and everything launched between them:
//!
//! ```text
//! step   graph │ attention │ graph │ attention │ graph │ …      one replay, of many layers
//! ```

use super::periods::parts;
use super::stacks::Found;
use super::{Layer, Stack, StackKind};
use crate::order::Order as _;
use crate::program::{StepId, Steps};
use crate::trace::{TextId, ThreadId};
use crate::tree::{CallId, CallKind, CallTree};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// If a step has at least this many graph launches, they are treated as pieces of one larger graph.
const FEWEST_PIECES: usize = 3;

/// For each graph launch, the first and the last GPU event in the layers of the replay.
pub(super) type Reaches = FxHashMap<CallId, (CallId, CallId)>;

/// Finds the stacks of layers in replayed kernel sequences. All replays with the same kernel
/// sequence share their stacks: each repeated section of the sequence forms one stack. The stacks
/// of single graph launches come before those of piecewise replays; within both groups, stacks are
/// sorted by their first launch. Also returns, for each replay, the range of GPU events that the
/// layers cover.
pub(super) fn of_graphs(
    tree: &CallTree,
    steps: &Steps,
    modules: &[Found],
) -> (Vec<Found>, Reaches) {
    let mut known = Known::default();
    let mut reaches = Reaches::default();
    let mut pieces: Pieces = Vec::new();
    let covered = covered(tree, modules);
    for launch in tree.calls().filter(|&call| tree.is_graph_launch(call)) {
        if covered[launch.index()] || is_covered_inside(tree, launch, &covered) {
            continue;
        }
        let replay = Replay { launches: vec![launch], events: gpu_events(tree, launch) };
        if !known.add(tree, &replay, &mut reaches) {
            add_piece(tree, steps, launch, &mut pieces);
        }
    }
    for (_, launches) in pieces.iter().filter(|(_, launches)| launches.len() >= FEWEST_PIECES) {
        known.add(tree, &Replay::of_pieces(tree, launches), &mut reaches);
    }
    (known.found, reaches)
}

/// The graph launches in which no layers were found, grouped by step and thread.
type Pieces = Vec<((StepId, ThreadId), Vec<CallId>)>;

/// Adds a graph launch to the pieces for the launch's step and thread. A launch outside of all
/// steps is ignored, because without a step, nothing shows where one pass over the model ends and
/// the next begins.
fn add_piece(tree: &CallTree, steps: &Steps, launch: CallId, pieces: &mut Pieces) {
    let (Some(step), Some(event)) = (steps.step(launch), tree.event(launch)) else { return };
    let key = (step, tree.trace().thread_of(event));
    match pieces.last_mut().filter(|(last, _)| *last == key) {
        Some((_, launches)) => launches.push(launch),
        None => pieces.push((key, vec![launch])),
    }
}

/// For each call, whether it is inside a module layer.
fn covered(tree: &CallTree, modules: &[Found]) -> Vec<bool> {
    let mut covered = vec![false; tree.len()];
    let mut end = 0;
    let mut members: Vec<CallId> =
        modules.iter().flat_map(|found| &found.members).map(|&(_, member)| member).collect();
    members.sort_unstable();
    for member in members {
        let reach = tree.end(member).index();
        covered[member.index().max(end)..reach.max(end)].fill(true);
        end = end.max(reach);
    }
    covered
}

/// The GPU events launched by one pass over a captured model, in order.
struct Replay {
    launches: Vec<CallId>,
    events: Vec<CallId>,
}

impl Replay {
    /// All GPU work from the first graph launch to the last, including kernels launched
    /// individually in between.
    fn of_pieces(tree: &CallTree, graphs: &[CallId]) -> Replay {
        let range = graphs[0].0..tree.end(graphs[graphs.len() - 1]).0;
        let calls = || range.clone().map(CallId);
        let launches = calls().filter(|&call| tree.kind(call) == CallKind::Runtime);
        let events = calls().filter(|&call| tree.kind(call) == CallKind::Gpu);
        Replay { launches: launches.collect(), events: events.collect() }
    }
}

/// Layers must take at least 1/`REPLAY_SHARE` of a replay's time. For example, three small
/// consecutive matrix products in a large graph are not the layers of a model.
const REPLAY_SHARE: i64 = 4;

impl Replay {
    /// Whether the layers take at least 1/[`REPLAY_SHARE`] of the replay's time.
    fn is_mostly(&self, tree: &CallTree, parts: &[Vec<Range<usize>>]) -> bool {
        let time = |events: &[CallId]| -> i64 { events.iter().map(|&e| tree.duration(e).0).sum() };
        let layered = parts.iter().flatten().map(|range| time(&self.events[range.clone()]));
        layered.sum::<i64>() * REPLAY_SHARE >= time(&self.events)
    }
}

/// The distinct kernel sequences found so far, each with its stacks of layers.
#[derive(Default)]
struct Known {
    of_sequences: FxHashMap<Vec<TextId>, Vec<KnownPart>>,
    found: Vec<Found>,
}

/// A repeated section of a kernel sequence: the index of the section's stack in `found`, and the
/// position ranges of the section's layers.
type KnownPart = (usize, Vec<Range<usize>>);

impl Known {
    /// Adds a replay to the stacks of its kernel sequence. Returns whether the sequence has any
    /// stacks.
    fn add(&mut self, tree: &CallTree, replay: &Replay, reaches: &mut Reaches) -> bool {
        let event = |&call: &CallId| tree.event(call).expect("a GPU event");
        let names: Vec<TextId> =
            replay.events.iter().map(|call| tree.trace().name_id(event(call))).collect();
        let found = &mut self.found;
        let parts = self.of_sequences.entry(names).or_insert_with_key(|names| {
            let parts = parts(&numbered(names));
            let number = |layers: Vec<Range<usize>>| {
                found.push(Found::graph(found.len(), layers.len()));
                (found.len() - 1, layers)
            };
            if replay.is_mostly(tree, &parts) {
                parts.into_iter().map(number).collect()
            } else {
                Vec::new()
            }
        });
        for (stack, layers) in parts.iter() {
            for (layer, range) in layers.iter().enumerate() {
                let members = replay.events[range.clone()].iter();
                found[*stack].members.extend(members.map(|&event| (layer as u32, event)));
            }
        }
        let first = parts.first().and_then(|(_, layers)| layers.first());
        let last = parts.last().and_then(|(_, layers)| layers.last());
        let (Some(first), Some(last)) = (first, last) else { return false };
        let reach = (replay.events[first.start], replay.events[last.end - 1]);
        reaches.extend(replay.launches.iter().map(|&launch| (launch, reach)));
        true
    }
}

impl Found {
    fn graph(number: usize, layers: usize) -> Found {
        let layer = |at: usize| Layer { instance: format!("graph_{number}.{at}") };
        let class = format!("graph_{number}");
        let layers = (0..layers).map(layer).collect();
        Found { stack: Stack { kind: StackKind::Graph, class, layers }, members: Vec::new() }
    }
}

/// Whether module layers were found among the captured calls below a graph launch.
fn is_covered_inside(tree: &CallTree, launch: CallId, covered: &[bool]) -> bool {
    tree.subtree(launch).any(|below| covered[below.index()])
}

/// The GPU events of a replay, including the GPU events below captured calls, sorted by start time.
fn gpu_events(tree: &CallTree, launch: CallId) -> Vec<CallId> {
    let below = tree.subtree(launch).filter(|&below| tree.kind(below) == CallKind::Gpu);
    let mut events: Vec<CallId> = below.collect();
    events.order_by_key(|&event| (tree.start(event), event));
    events
}

/// Assigns a number to each distinct kernel name.
fn numbered(names: &[TextId]) -> Vec<u32> {
    let mut numbers: FxHashMap<TextId, u32> = FxHashMap::default();
    names
        .iter()
        .map(|&name| {
            let next = numbers.len() as u32;
            *numbers.entry(name).or_insert(next)
        })
        .collect()
}
