//! [`CallTree`] → its stacks of layers: repeated sibling modules, or repeated kernels of a graph.
//!
//! Candidates are the classes that occur as several siblings (`BertLayer_0`, `BertLayer_1`, … below
//! one `BertEncoder_0`) with accounted work below. Modules that hold modules go before leaves, so
//! that three embeddings side by side are no layers. The class with the most time is a stack, and so
//! is each further one that is not nested with a chosen one and has a fair share of time.

use super::{Layer, Stack, StackKind, periods};
use crate::program::Measure;
use crate::trace::Nanos;
use crate::tree::{CallId, CallKind, CallTree, ModuleName};
use rustc_hash::{FxHashMap, FxHashSet};

/// A further stack has at least one part in this many of the first one's time.
const FAIR_SHARE: i64 = 20;

/// A stack with the calls that begin its layers.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) stack: Stack,
    /// (layer, module call) for modules, (layer, GPU event) for graphs.
    pub(super) members: Vec<(u32, CallId)>,
}

/// All stacks of a tree: those of modules first, by time, then those of graphs.
pub(super) fn find(tree: &CallTree, measure: Measure) -> Vec<Found> {
    let sums = Sums::new(tree, measure);
    let groups = sibling_groups(tree, &sums);
    let chosen = choose(tree, groups);
    let mut found: Vec<Found> = chosen.into_iter().map(|group| group.into_stack(tree)).collect();
    found.extend(graph_stacks(tree, &found));
    found
}

/// Accounted time and number of modules in any subtree.
struct Sums {
    time_before: Vec<Nanos>,
    modules_before: Vec<u32>,
}

impl Sums {
    fn new(tree: &CallTree, measure: Measure) -> Sums {
        let mut sums = Sums {
            time_before: Vec::with_capacity(tree.len() + 1),
            modules_before: Vec::with_capacity(tree.len() + 1),
        };
        let (mut time, mut modules) = (Nanos::ZERO, 0);
        for call in tree.calls() {
            sums.time_before.push(time);
            sums.modules_before.push(modules);
            if measure.slot(tree, call).is_some() {
                time += measure.time(tree, call);
            }
            modules += u32::from(tree.is_module(call));
        }
        sums.time_before.push(time);
        sums.modules_before.push(modules);
        sums
    }

    fn time(&self, tree: &CallTree, call: CallId) -> Nanos {
        self.time_before[call.index() + tree.size(call)] - self.time_before[call.index()]
    }

    fn holds_modules(&self, tree: &CallTree, call: CallId) -> bool {
        let end = call.index() + tree.size(call);
        self.modules_before[end] - self.modules_before[call.index()] > 1
    }
}

/// The instances of one class below one module.
#[derive(Debug)]
struct Group<'t> {
    class: &'t str,
    /// In order of their first call.
    instances: Vec<&'t str>,
    calls: Vec<(u32, CallId)>,
    time: Nanos,
    is_composite: bool,
}

impl Group<'_> {
    fn into_stack(self, tree: &CallTree) -> Found {
        let instance =
            |name: &&str| Layer { instance: ModuleName::instance_or_name(name).to_owned() };
        let class = self.class.to_owned();
        let layers = self.instances.iter().map(instance).collect();
        let mut members = self.calls;
        members.sort_by_key(|&(layer, call)| (layer, start(tree, call), call));
        Found { stack: Stack { kind: StackKind::Modules, class, layers }, members }
    }
}

fn start(tree: &CallTree, call: CallId) -> Option<Nanos> {
    tree.event(call).map(|event| tree.trace().start(event))
}

fn sibling_groups<'t>(tree: &'t CallTree, sums: &Sums) -> Vec<Group<'t>> {
    let mut modules: Vec<CallId> = tree
        .calls()
        .filter(|&call| tree.is_module(call) && sums.time(tree, call) > Nanos::ZERO)
        .collect();
    // The first call of an instance tells where it belongs: backward may call it again elsewhere.
    modules.sort_by_key(|&call| (start(tree, call), call));
    let mut groups: Vec<Group<'t>> = Vec::new();
    let mut of_keys: FxHashMap<(&str, &str), usize> = FxHashMap::default();
    let mut of_instances: FxHashMap<&str, (usize, u32)> = FxHashMap::default();
    for call in modules {
        let name = tree.name(call);
        let (at, layer) = *of_instances.entry(name).or_insert_with(|| {
            let above = tree.ancestors(call).find(|&above| tree.is_module(above));
            let key = (above.map_or("", |above| tree.name(above)), ModuleName::class_or_name(name));
            let at = *of_keys.entry(key).or_insert_with(|| {
                groups.push(Group::empty(key.1));
                groups.len() - 1
            });
            groups[at].instances.push(name);
            (at, groups[at].instances.len() as u32 - 1)
        });
        groups[at].calls.push((layer, call));
        groups[at].time += sums.time(tree, call);
        groups[at].is_composite |= sums.holds_modules(tree, call);
    }
    groups
}

impl<'t> Group<'t> {
    fn empty(class: &'t str) -> Self {
        Group {
            class,
            instances: Vec::new(),
            calls: Vec::new(),
            time: Nanos::ZERO,
            is_composite: false,
        }
    }
}

fn choose<'t>(tree: &'t CallTree, mut groups: Vec<Group<'t>>) -> Vec<Group<'t>> {
    groups.retain(|group| group.instances.len() > 1);
    if groups.iter().any(|group| group.is_composite) {
        groups.retain(|group| group.is_composite);
    }
    groups.sort_by_key(|group| (std::cmp::Reverse(group.time), group.calls[0].1));
    let least = groups.first().map_or(0, |first| first.time.0 / FAIR_SHARE);
    let mut chosen: Vec<Group<'t>> = Vec::new();
    for group in groups {
        let is_apart = chosen.iter().all(|other| !are_nested(tree, &group, other));
        if group.time.0 >= least && is_apart {
            chosen.push(group);
        }
    }
    chosen
}

fn are_nested(tree: &CallTree, a: &Group<'_>, b: &Group<'_>) -> bool {
    let (mine, theirs) = (calls_of(&a.calls), calls_of(&b.calls));
    let is_in = |calls: &FxHashSet<CallId>, of: &FxHashSet<CallId>| {
        calls.iter().any(|&call| tree.ancestors(call).any(|above| of.contains(&above)))
    };
    is_in(&mine, &theirs) || is_in(&theirs, &mine)
}

fn calls_of(members: &[(u32, CallId)]) -> FxHashSet<CallId> {
    members.iter().map(|&(_, call)| call).collect()
}

/// One stack for each distinct sequence of kernels that a graph replays, by first launch.
fn graph_stacks(tree: &CallTree, modules: &[Found]) -> Vec<Found> {
    let mut found: Vec<(Vec<&str>, Found)> = Vec::new();
    let of_stacks: Vec<_> = modules.iter().map(|found| calls_of(&found.members)).collect();
    let in_module = |launch: CallId| {
        let mut above = tree.ancestors(launch);
        above.any(|above| of_stacks.iter().any(|calls| calls.contains(&above)))
    };
    for launch in tree.calls().filter(|&call| is_graph_launch(tree, call) && !in_module(call)) {
        let events: Vec<CallId> = tree.children(launch).collect();
        let names: Vec<&str> = events.iter().map(|&event| tree.name(event)).collect();
        let layers = periods::layers(&numbered(&names));
        if layers.is_empty() {
            continue;
        }
        let at = found.iter().position(|(known, _)| *known == names).unwrap_or_else(|| {
            found.push((names, Found::graph(found.len(), layers.len())));
            found.len() - 1
        });
        for (layer, range) in layers.into_iter().enumerate() {
            found[at].1.members.extend(range.map(|event| (layer as u32, events[event])));
        }
    }
    found.into_iter().map(|(_, found)| found).collect()
}

impl Found {
    fn graph(number: usize, layers: usize) -> Found {
        let layer = |at: usize| Layer { instance: format!("graph_{number}.{at}") };
        let class = format!("graph_{number}");
        let layers = (0..layers).map(layer).collect();
        Found { stack: Stack { kind: StackKind::Graph, class, layers }, members: Vec::new() }
    }
}

/// Whether a call is the launch of a captured graph.
pub(crate) fn is_graph_launch(tree: &CallTree, call: CallId) -> bool {
    tree.kind(call) == CallKind::Runtime
        && tree.is_gpu_path(call)
        && tree.name(call).contains("GraphLaunch")
}

/// Equal names get equal numbers.
fn numbered(names: &[&str]) -> Vec<u32> {
    let mut numbers: FxHashMap<&str, u32> = FxHashMap::default();
    names
        .iter()
        .map(|&name| {
            let next = numbers.len() as u32;
            *numbers.entry(name).or_insert(next)
        })
        .collect()
}
