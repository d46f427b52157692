//! Moves calls in a recording to a different time, order or thread.

use super::{Forest, Kind, Recording, SplitMix, ops_of, portion};
use crate::support::recording::{Event, Lane};
use crate::support::score::{contents, without_addresses};
use std::collections::BTreeMap;

/// Swaps ops and frames with the sibling that follows them. The number of swaps is `percent`% of the number of ops.
pub(super) fn neighbours(
    recording: &Recording,
    percent: f64,
    random: &mut SplitMix,
) -> Option<Recording> {
    let events = &recording.events;
    let forest = Forest::of(events);
    let movable = |at: usize| {
        matches!(events[at].kind, Kind::Op | Kind::Frame) && events[at].end > events[at].start
    };
    let contents = contents(events, &forest, without_addresses);
    // Two frames are not swapped if their names are equal except for digits, like the names of two instances
    // of a module class. The profiler numbers instances in execution order, so such a swap would only
    // renumber the instances. Identical ops are not swapped, because the swap would not change the trace at
    // all.
    let differ = |one: usize, two: usize| match events[one].kind {
        Kind::Frame => without_digits(&events[one].name) != without_digits(&events[two].name),
        Kind::Op | Kind::Runtime | Kind::Gpu | Kind::Annotation | Kind::Other => {
            contents[one] != contents[two]
        }
    };
    let lists = forest.sibling_lists().flat_map(|(_, list)| list.windows(2));
    let pairs: Vec<(usize, usize)> = lists
        .map(|pair| (pair[0], pair[1]))
        .filter(|&(one, two)| movable(one) && movable(two) && differ(one, two))
        .collect();
    let mut moves = vec![0; events.len()];
    for (one, two) in random.sample(&pairs, portion(ops_of(recording, &forest).len(), percent)) {
        if moves[one] == 0 && moves[two] == 0 {
            moves[one] = events[two].end - events[one].end;
            moves[two] = events[one].start - events[two].start;
        }
    }
    (!pairs.is_empty()).then(|| moved(recording, &forest, moves))
}

/// Slows down every thread and every stream, each by a different factor between 1 and 3.
pub(super) fn stretch(recording: &Recording, random: &mut SplitMix) -> Recording {
    let mut changed = recording.clone();
    let mut factors: BTreeMap<Lane, i64> = BTreeMap::new();
    for event in changed.events.iter_mut().filter(|event| event.kind != Kind::Other) {
        let lane = event.lane.clone();
        let factor = *factors.entry(lane).or_insert_with(|| 1000 + random.below(2000) as i64);
        event.start = event.start * factor / 1000;
        event.end = event.end * factor / 1000;
    }
    changed
}

/// Moves roughly the later half of the busiest thread's calls to a new thread. The calls are split at the outermost
/// level of the call stack at which no single call contains more than 60% of the thread's host calls.
pub(super) fn split_thread(recording: &Recording, random: &mut SplitMix) -> Option<Recording> {
    let forest = Forest::of(&recording.events);
    let weight = |list: &[usize]| list.iter().map(|&at| forest.sizes[at]).sum::<u32>();
    let mut list: &[usize] = forest.threads.iter().max_by_key(|roots| weight(roots))?;
    let total = weight(list);
    while let Some(&main) = list.iter().find(|&&at| forest.sizes[at] * 5 > total * 3) {
        list = &forest.children[main];
    }
    let share = 40 + random.below(20) as u32;
    let cut = (0..list.len()).find(|&cut| weight(&list[..cut]) * 100 >= total * share)?;
    let lane = free_lane(&recording.events, &recording.events[*list.get(cut)?].lane);
    let mut changed = recording.clone();
    for at in list[cut..].iter().flat_map(|&root| forest.subtree(root)) {
        if recording.events[at].kind.is_host() {
            changed.events[at].lane = lane.clone();
        }
    }
    (cut > 0).then_some(changed)
}

fn without_digits(name: &str) -> String {
    name.replace(|c: char| c.is_ascii_digit(), "")
}

/// Each event has a shift of its own. Shifts each event in time by its own shift plus the shifts of its ancestors.
pub(super) fn moved(recording: &Recording, forest: &Forest, mut moves: Vec<i64>) -> Recording {
    let mut changed = recording.clone();
    for &at in &forest.preorder {
        moves[at] += forest.parents[at].map_or(0, |parent| moves[parent]);
        changed.events[at].start += moves[at];
        changed.events[at].end += moves[at];
    }
    changed
}

/// A pair (pid, tid) with the pid of `beside` and an unused tid.
fn free_lane(events: &[Event], beside: &Lane) -> Lane {
    let used = events.iter().filter_map(|event| event.lane.1.parse::<i64>().ok()).max();
    (beside.0.clone(), (used.unwrap_or(0) + 1).to_string().into())
}
