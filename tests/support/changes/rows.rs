//! Changes groups of sibling modules of the same class, such as layers or experts: adds modules to a group, or changes
//! the order in which its modules run.

use super::modules::{class_of, number_by_order};
use super::repeating::{has_room, module_again, module_number};
use super::{Forest, Recording, SplitMix};
use crate::support::score::contents;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Minimum number of sibling modules in a group of layers or experts.
const LAYERS: usize = 3;
const EXPERTS: usize = 4;
/// For every `GROWTH` modules in a group, one module is added.
const GROWTH: usize = 3;

/// Makes the largest group of identical layers longer by appending copies of the last layer. Each copy is an additional
/// instance. Then drops `percent`% of the ops. Returns `None` if there is no group of identical layers.
pub(super) fn more_layers(
    recording: &Recording,
    percent: f64,
    random: &mut SplitMix,
) -> Option<Recording> {
    let names = largest(recording, &Forest::of(&recording.events), |forest, places| {
        places.iter().all(|&at| has_room(recording, forest, at))
    })?;
    let mut changed = recording.clone();
    for _ in 0..(names.len() / GROWTH).max(1) {
        // Each copy is inserted directly after the last layer, so the copies that were made earlier get higher numbers.
        let forest = Forest::of(&changed.events);
        let places = places_of(&changed, &forest, names.last()?);
        changed = module_again(&changed, &forest, &places);
    }
    super::removing::ops(&changed, percent, random)
}

/// The names of the modules in the largest group of identical layers, in execution order. The largest group is the
/// group with the most calls. The function `usable` receives the positions of the calls of a group's last layer, and
/// decides whether the group can be used.
pub(super) fn largest(
    recording: &Recording,
    forest: &Forest,
    usable: impl Fn(&Forest, &[usize]) -> bool,
) -> Option<Vec<Arc<str>>> {
    let events = &recording.events;
    let size = |row: &[usize]| row.iter().map(|&at| forest.sizes[at]).sum::<u32>();
    let rows = rows(recording, forest).into_iter().filter_map(|row| {
        let mut names: Vec<Arc<str>> = Vec::new();
        for &at in &row {
            if !names.contains(&events[at].name) {
                names.push(events[at].name.clone());
            }
        }
        let last = places_of(recording, forest, names.last()?);
        let apart = last.windows(2).all(|two| events[two[0]].end <= events[two[1]].start);
        (names.len() >= LAYERS && apart && usable(forest, &last)).then(|| (size(&row), names))
    });
    rows.max_by_key(|(size, _)| *size).map(|(_, names)| names)
}

/// The positions of all calls of a module.
pub(super) fn places_of(recording: &Recording, forest: &Forest, name: &str) -> Vec<usize> {
    let named = |at: &usize| &*recording.events[*at].name == name;
    forest.preorder.iter().copied().filter(named).collect()
}

/// Groups of siblings that are modules of the same class. Each group is in time order. Only groups of at least
/// [`LAYERS`] modules are included.
fn rows(recording: &Recording, forest: &Forest) -> Vec<Vec<usize>> {
    let mut found = Vec::new();
    for (_, list) in forest.sibling_lists() {
        let mut classes: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for &at in list {
            if let Some((class, _)) = module_number(&recording.events[at]) {
                classes.entry(class).or_default().push(at);
            }
        }
        found.extend(classes.into_values().filter(|row| row.len() >= LAYERS));
    }
    found
}

/// Rotates the execution order of the modules in a group, everywhere in the recording. Instance numbers are not
/// rotated, because the profiler numbers instances in execution order. Calls between the modules keep their
/// positions.
///
/// At least three quarters of the modules in the group must have contents (such as shapes) that no other module in the
/// group has. If fewer modules were distinct, the rotation would be invisible.
pub(super) fn shuffle(recording: &Recording, random: &mut SplitMix) -> Option<Recording> {
    let events = &recording.events;
    let forest = Forest::of(events);
    let contents = contents(events, &forest, class_of);
    let mut rows_by_name: BTreeMap<Vec<&str>, Vec<Vec<usize>>> = BTreeMap::new();
    for row in rows(recording, &forest) {
        let distinct: BTreeSet<u64> = row.iter().map(|&at| contents[at]).collect();
        let names: Vec<&str> = row.iter().map(|&at| &*events[at].name).collect();
        let instances: BTreeSet<&str> = names.iter().copied().collect();
        let long = row.len() >= EXPERTS && instances.len() == row.len();
        if long && distinct.len() * 4 >= row.len() * 3 {
            rows_by_name.entry(names).or_default().push(row);
        }
    }
    let rows: Vec<Vec<Vec<usize>>> = rows_by_name.into_values().collect();
    let rows = random.pick(&rows)?;
    let by = 1 + random.below(rows[0].len() - 1);
    let mut moves = vec![0; events.len()];
    for row in rows {
        rotate(recording, &forest, row, by, &mut moves);
    }
    let mut changed = super::moving::moved(recording, &forest, moves);
    number_by_order(recording, &mut changed);
    Some(changed)
}

/// Moves each module in a group `by` positions toward the start, and moves the first `by` modules to the end.
fn rotate(recording: &Recording, forest: &Forest, row: &[usize], by: usize, moves: &mut [i64]) {
    let event = |at: usize| &recording.events[at];
    let mut free = event(row[0]).start;
    for (slot, &old) in row.iter().enumerate() {
        let new = row[(slot + by) % row.len()];
        moves[new] = free - event(new).start;
        free += event(new).end - event(new).start;
        let Some(&next) = row.get(slot + 1) else { break };
        let gap = (event(old).end, event(next).start);
        for &between in siblings(forest, old) {
            if gap.0 <= event(between).start && event(between).start < gap.1 {
                moves[between] = free - gap.0;
            }
        }
        free += gap.1 - gap.0;
    }
}

/// The list of siblings that contains a call.
fn siblings(forest: &Forest, at: usize) -> &[usize] {
    let top = || forest.threads.iter().find(|roots| roots.contains(&at));
    match forest.parents[at] {
        Some(parent) => &forest.children[parent],
        None => top().map_or(&[], Vec::as_slice),
    }
}
