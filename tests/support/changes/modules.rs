//! Removes, reorders or moves whole modules in a recording.

use super::repeating::{MODULE, module_number, numbers_of, renumber};
use super::{Forest, Kind, Recording, SplitMix};
use crate::support::recording::Event;
use crate::support::score::{contents, without_addresses};
use std::collections::{BTreeMap, BTreeSet};

/// If at least this many siblings have the same class, they are treated as identical layers.
const LAYERS: usize = 3;

/// The modules that have at least two siblings of the same class. Each module is given by the positions of its calls.
pub(super) fn layers(recording: &Recording, forest: &Forest) -> Vec<Vec<usize>> {
    let events = &recording.events;
    let mut layers: BTreeSet<&str> = BTreeSet::new();
    for (_, list) in forest.sibling_lists() {
        let modules = list.iter().filter_map(|&at| Some((module_number(&events[at])?, at)));
        let mut classes: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for ((class, _), at) in modules {
            classes.entry(class).or_default().push(at);
        }
        let rows = classes.into_values().filter(|row| row.len() >= LAYERS);
        layers.extend(rows.flatten().map(|at| &*events[at].name));
    }
    let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for &at in forest.preorder.iter().filter(|&&at| layers.contains(&*events[at].name)) {
        places.entry(&events[at].name).or_default().push(at);
    }
    let mut found: Vec<Vec<usize>> = places.into_values().collect();
    found.retain(|list| list.windows(2).all(|two| events[two[0]].end <= events[two[1]].start));
    found
}

/// Removes one of several identical layers everywhere in the recording; later instances get lower numbers.
pub(super) fn drop_layer(recording: &Recording, random: &mut SplitMix) -> Option<Recording> {
    let forest = Forest::of(&recording.events);
    let places = random.pick(&layers(recording, &forest))?.clone();
    let subtree: Vec<usize> = places.iter().flat_map(|&at| forest.subtree(at)).collect();
    let gone = numbers_of(recording, subtree.iter());
    let mut marked = vec![false; recording.events.len()];
    subtree.iter().for_each(|&at| marked[at] = true);
    let mut changed = recording.clone();
    changed.remove(&marked);
    for event in &mut changed.events {
        renumber(event, |class, number| {
            let before = gone.get(class).map_or(0, |gone| gone.range(..number).count());
            number - before as u32
        });
    }
    Some(changed)
}

/// Swaps two modules that have the same class but different contents, everywhere in the recording. Instance numbers
/// are not swapped, because the profiler numbers instances in execution order.
pub(super) fn swap_branches(recording: &Recording, random: &mut SplitMix) -> Option<Recording> {
    let forest = Forest::of(&recording.events);
    let branches = branches(recording, &forest);
    let (one, two) = *random.pick(&branches)?;
    let names = [one, two].map(|at| recording.events[at].name.clone());
    let mut moves = vec![0; recording.events.len()];
    for (_, list) in forest.sibling_lists() {
        let place = |name: &str| list.iter().position(|&at| &*recording.events[at].name == name);
        if let (Some(from), Some(to)) = (place(&names[0]), place(&names[1]))
            && from < to
        {
            exchange(recording, &list[from..=to], &mut moves);
        }
    }
    let mut changed = super::moving::moved(recording, &forest, moves);
    number_by_order(recording, &mut changed);
    Some(changed)
}

/// Pairs of adjacent instances of the same class below one parent. The two instances have different contents. Instances
/// that contain modules are excluded: if two such layers differ in a single op, swapping them is indistinguishable from
/// moving that op.
fn branches(recording: &Recording, forest: &Forest) -> Vec<(usize, usize)> {
    let events = &recording.events;
    let contents = contents(events, forest, class_of);
    let mut found = Vec::new();
    for (_, list) in forest.sibling_lists() {
        let is_leaf = |at: usize| {
            let below = forest.subtree(at).into_iter().skip(1);
            below.into_iter().all(|below| module_number(&events[below]).is_none())
        };
        let modules = list.iter().filter_map(|&at| Some((module_number(&events[at])?.0, at)));
        let modules: Vec<(&str, usize)> = modules.filter(|&(_, at)| is_leaf(at)).collect();
        found.extend(modules.windows(2).filter_map(|two| {
            let ((class, one), (other, two)) = (two[0], two[1]);
            let differ = contents[one] != contents[two] && events[one].name != events[two].name;
            (class == other && differ).then_some((one, two))
        }));
    }
    found
}

/// The class of a module. For a call that is not a module, the name without addresses.
pub(super) fn class_of(name: &str) -> String {
    match name.strip_prefix(MODULE).and_then(|rest| rest.rsplit_once('_')) {
        Some((class, _)) => class.to_owned(),
        None => without_addresses(name),
    }
}

/// Swaps the first and the last of several consecutive siblings, and shifts the siblings in
/// between.
fn exchange(recording: &Recording, row: &[usize], moves: &mut [i64]) {
    let (first, last) = (&recording.events[row[0]], &recording.events[row[row.len() - 1]]);
    let longer = (last.end - last.start) - (first.end - first.start);
    for &at in &row[1..row.len() - 1] {
        moves[at] = longer;
    }
    moves[row[0]] = last.end - first.end;
    moves[row[row.len() - 1]] = first.start - last.start;
}

/// Renumbers the instances of each class in the new execution order. The set of numbers does not change.
pub(super) fn number_by_order(before: &Recording, after: &mut Recording) {
    let (old, new) = (order_of_instances(&before.events), order_of_instances(&after.events));
    let mut numbers: BTreeMap<(String, u32), u32> = BTreeMap::new();
    for (class, row) in new {
        let old = old.get(&class).into_iter().flatten();
        numbers.extend(row.into_iter().zip(old).map(|(now, &then)| ((class.clone(), now), then)));
    }
    for event in &mut after.events {
        renumber(event, |class, number| {
            numbers.get(&(class.to_owned(), number)).copied().unwrap_or(number)
        });
    }
}

/// The instance numbers of each module class, in order of first appearance.
fn order_of_instances(events: &[Event]) -> BTreeMap<String, Vec<u32>> {
    let mut modules: Vec<(i64, &str, u32)> = events
        .iter()
        .filter_map(|event| {
            module_number(event).map(|(class, number)| (event.start, class, number))
        })
        .collect();
    modules.sort_unstable();
    let mut order: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for (_, class, number) in modules {
        let row = order.entry(class.to_owned()).or_default();
        if !row.contains(&number) {
            row.push(number);
        }
    }
    order
}

/// Moves a module one level up, so that the module is called by its former grandparent. Each moved call must be the
/// last call in its parent. The parent then ends where the moved call starts. The module is moved everywhere in the
/// recording.
pub(super) fn move_module(recording: &Recording, random: &mut SplitMix) -> Option<Recording> {
    let events = &recording.events;
    let forest = Forest::of(events);
    let last = |at: usize| {
        let parent = forest.parents[at].filter(|&parent| events[parent].kind == Kind::Frame)?;
        let first = events[parent].start < events[at].start;
        let ends =
            forest.children[parent].last() == Some(&at) && events[at].end < events[parent].end;
        (first && ends && forest.parents[parent].is_some()).then_some(parent)
    };
    let movable = |at: &usize| module_number(&events[*at]).is_some() && last(*at).is_some();
    let names: BTreeSet<&str> =
        forest.preorder.iter().filter(|at| movable(at)).map(|&at| &*events[at].name).collect();
    let name = *random.pick(&names.into_iter().collect::<Vec<_>>())?;
    let mut changed = recording.clone();
    for &at in forest.preorder.iter().filter(|&&at| &*events[at].name == name) {
        if let Some(parent) = last(at) {
            changed.events[parent].end = events[at].start;
        }
    }
    Some(changed)
}
