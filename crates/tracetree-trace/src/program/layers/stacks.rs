//! Finds the stacks of module layers in a [`CallTree`].
//!
//! Candidates are the module classes that have measured work and occur as several siblings
//! (`BertLayer_0`, `BertLayer_1`, … below one `BertEncoder_0`). If any candidate contains modules,
//! candidates without inner modules are ignored. As a result, three consecutive embeddings do not
//! count as layers. Siblings that do different work, such as a text encoder and an image encoder of
//! the same class, are not layers either. Modules that contain stacks of layers are not layers
//! themselves:
//!
//! ```text
//! Model ─┬─ Encoder_0 ─── Layer_0 … Layer_11     two encoders, each a stack of twelve layers
//!        └─ Encoder_1 ─── Layer_12 … Layer_23
//! ```
//! The candidate class that takes the most time forms the first stack. Another class also forms a
//! stack if its modules are neither inside another stack nor around one, and if they take at least
//! 1/`FAIR_SHARE` of the first stack's time.

use super::{Layer, Stack, StackKind};
use crate::order::Order as _;
use crate::program::measure::{Measure, Times};
use crate::trace::Nanos;
use crate::tree::{CallId, CallKind, CallTree, ModuleName};
use rustc_hash::{FxHashMap, FxHashSet};

/// Modules without inner modules form a stack only if they take at least 1/`LEAF_SHARE` of the
/// total time. For example, two consecutive dropouts do not count as layers.
const LEAF_SHARE: i64 = 10;

/// Each additional stack must take at least 1/`FAIR_SHARE` of the first stack's time.
const FAIR_SHARE: i64 = 20;

/// A stack, with the calls of its layers.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) stack: Stack,
    /// The calls of each layer, as pairs: (layer, module call) in a module stack, and (layer, GPU
    /// event) in a graph stack.
    pub(super) members: Vec<(u32, CallId)>,
}

/// The module stacks of a tree, sorted by time.
pub(super) fn of_modules(tree: &CallTree, measure: Measure) -> Vec<Found> {
    let times = Times::of(tree, measure);
    let groups = sibling_groups(tree, &times);
    choose(tree, groups, times.total()).into_iter().map(|group| group.into_stack(tree)).collect()
}

/// The instances of one class below one parent module.
#[derive(Debug)]
struct Group<'t> {
    class: &'t str,
    /// The instances, in order of their first call.
    instances: Vec<&'t str>,
    calls: Vec<(u32, CallId)>,
    time: Nanos,
    is_composite: bool,
}

impl Group<'_> {
    fn first_calls(&self) -> Vec<CallId> {
        let mut first: Vec<Option<CallId>> = vec![None; self.instances.len()];
        for &(layer, call) in &self.calls {
            first[layer as usize].get_or_insert(call);
        }
        first.into_iter().flatten().collect()
    }

    fn into_stack(self, tree: &CallTree) -> Found {
        let instance =
            |name: &&str| Layer { instance: ModuleName::instance_or_name(name).to_owned() };
        let class = self.class.to_owned();
        let layers = self.instances.iter().map(instance).collect();
        let mut members = self.calls;
        members.order_by_key(|&(layer, call)| (layer, tree.start(call), call));
        Found { stack: Stack { kind: StackKind::Modules, class, layers }, members }
    }
}

/// Whether a module call contains calls of other modules; `modules` are all module calls, in
/// preorder.
fn contains_modules(tree: &CallTree, modules: &[CallId], call: CallId) -> bool {
    let next = modules.partition_point(|&module| module <= call);
    modules.get(next).is_some_and(|&module| tree.is_below(module, call))
}

fn sibling_groups<'t>(tree: &'t CallTree, times: &Times) -> Vec<Group<'t>> {
    let all: Vec<CallId> = tree.module_calls().collect();
    let mut modules = all.clone();
    modules.retain(|&call| times.below(tree, call) > Nanos::ZERO);
    // A module instance belongs to the stack that contains its first call; the backward pass may
    // call the instance again elsewhere.
    modules.order_by_key(|&call| (tree.start(call), call));
    let mut groups: Vec<Group<'t>> = Vec::new();
    let mut of_keys: FxHashMap<(&str, &str), usize> = FxHashMap::default();
    let mut of_instances: FxHashMap<&str, (usize, u32)> = FxHashMap::default();
    for call in modules {
        let name = tree.name(call);
        let (at, layer) = *of_instances.entry(name).or_insert_with(|| {
            let above = tree.parent(call).and_then(|parent| tree.module(parent));
            let key = (above.map_or("", |above| tree.name(above)), ModuleName::class_or_name(name));
            let at = *of_keys.entry(key).or_insert_with(|| {
                groups.push(Group::empty(key.1));
                groups.len() - 1
            });
            groups[at].instances.push(name);
            (at, groups[at].instances.len() as u32 - 1)
        });
        groups[at].calls.push((layer, call));
        groups[at].time += times.below(tree, call);
        groups[at].is_composite |= contains_modules(tree, &all, call);
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

fn choose<'t>(tree: &'t CallTree, mut groups: Vec<Group<'t>>, total: Nanos) -> Vec<Group<'t>> {
    groups.retain(|group| group.instances.len() > 1);
    if groups.iter().any(|group| group.is_composite) {
        groups.retain(|group| group.is_composite);
    }
    groups.retain(|group| group.is_composite || group.time.0 >= total.0 / LEAF_SHARE);
    groups.retain(|group| are_alike(tree, &group.first_calls()));
    groups.order_by_key(|group| (std::cmp::Reverse(group.time), group.calls[0].1));
    let nesting = Nesting::of(tree, &groups);
    let mut chosen: Vec<usize> = Vec::new();
    for at in (0..groups.len()).filter(|&at| !nesting.contains_longer(&groups, at)) {
        let least = chosen.first().map_or(0, |&first| groups[first].time.0 / FAIR_SHARE);
        let is_apart = chosen.iter().all(|&other| !nesting.are_nested(at, other));
        if groups[at].time.0 >= least && is_apart {
            chosen.push(at);
        }
    }
    let is_chosen = |(at, group)| chosen.contains(&at).then_some(group);
    groups.into_iter().enumerate().filter_map(is_chosen).collect()
}

/// Which groups are nested in which other groups.
struct Nesting {
    /// (inner, outer).
    pairs: FxHashSet<(usize, usize)>,
}

impl Nesting {
    fn of(tree: &CallTree, groups: &[Group<'_>]) -> Nesting {
        let of_calls: FxHashMap<CallId, usize> = groups
            .iter()
            .enumerate()
            .flat_map(|(at, group)| group.calls.iter().map(move |&(_, call)| (call, at)))
            .collect();
        let mut pairs = FxHashSet::default();
        for (inner, group) in groups.iter().enumerate() {
            for &(_, call) in &group.calls {
                let above = tree.ancestors(call).filter_map(|above| of_calls.get(&above));
                pairs.extend(above.map(|&outer| (inner, outer)));
            }
        }
        Nesting { pairs }
    }

    fn are_nested(&self, a: usize, b: usize) -> bool {
        self.pairs.contains(&(a, b)) || self.pairs.contains(&(b, a))
    }

    /// Whether the groups nested in a group take most of its time, and the longest nested group
    /// also has more modules than the group itself. If so, the members of the nested groups are the
    /// layers.
    fn contains_longer(&self, groups: &[Group<'_>], outer: usize) -> bool {
        let inner = (0..groups.len()).filter(|&inner| self.pairs.contains(&(inner, outer)));
        let longer: Vec<usize> = inner.collect();
        let longest = longer.iter().map(|&inner| groups[inner].instances.len()).max();
        let time: Nanos = longer.iter().map(|&inner| groups[inner].time).sum();
        longest > Some(groups[outer].instances.len()) && time + time > groups[outer].time
    }
}

/// Two calls are similar if more than 1/`COMMON_SHARE` of the ops and modules that they call are
/// common to both calls.
const COMMON_SHARE: usize = 2;

/// How many calls of each op and each module class are below a call.
type Counts<'t> = FxHashMap<&'t str, usize>;

/// Whether enough of the given sibling calls are similar to the median-sized sibling: at least half
/// of them, and at least two. Layers need not be identical (for example, every fourth layer may be
/// sparse, or the first two layers dense), but most of their work is the same.
fn are_alike(tree: &CallTree, calls: &[CallId]) -> bool {
    let mut counted: Vec<Counts<'_>> = calls.iter().map(|&call| counts(tree, call)).collect();
    counted.sort_by_cached_key(|counts| counts.values().sum::<usize>());
    // For an even number of calls, the median is the larger of the two middle sizes.
    let Some(middle) = counted.get(counted.len() / 2) else { return false };
    let alike = counted.iter().filter(|counts| is_like(counts, middle)).count();
    alike > 1 && alike * 2 >= counted.len()
}

fn counts(tree: &CallTree, call: CallId) -> Counts<'_> {
    let mut counts = Counts::default();
    for below in tree.subtree(call).skip(1) {
        if tree.kind(below) == CallKind::Op || tree.is_module(below) {
            *counts.entry(ModuleName::class_or_name(tree.name(below))).or_default() += 1;
        }
    }
    counts
}

fn is_like(one: &Counts<'_>, other: &Counts<'_>) -> bool {
    let of = |counts: &Counts<'_>, name: &&str| counts.get(*name).copied().unwrap_or(0);
    let common: usize = one.iter().map(|(name, &count)| count.min(of(other, name))).sum();
    let all: usize = one.values().sum::<usize>() + other.values().sum::<usize>() - common;
    // Two calls without children, as in a trace with few events, count as similar, because nothing
    // distinguishes them.
    all == 0 || common * COMMON_SHARE > all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_calls_are_similar_if_more_than_half_of_their_inner_calls_are_common() {
        let counts =
            |names: &[(&'static str, usize)]| names.iter().copied().collect::<Counts<'_>>();
        let like = |one: &[(&'static str, usize)], other: &[(&'static str, usize)]| {
            let (one, other) = (counts(one), counts(other));
            assert_eq!(is_like(&one, &other), is_like(&other, &one));
            is_like(&one, &other)
        };
        assert!(!like(&[("mm", 2), ("add", 1)], &[("mm", 2), ("mul", 1)]));
        assert!(like(&[("mm", 3), ("add", 1)], &[("mm", 3), ("mul", 1)]));
        // Three common calls out of six are exactly half, which is not enough. Call counts matter,
        // not only names.
        assert!(!like(&[("mm", 3)], &[("mm", 6)]) && like(&[("mm", 4)], &[("mm", 6)]));
        assert!(like(&[], &[]) && !like(&[("mm", 1)], &[]));
    }
}
