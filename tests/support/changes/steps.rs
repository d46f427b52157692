//! Starts a recording in the middle of a step, or reorders the steps.

use super::repeating::{place_of_step, step_number};
use super::{Forest, Kind, Recording, SplitMix};
use crate::support::recording::Event;
use crate::support::score::{likeness, without_addresses};
use std::collections::BTreeMap;

/// Starts the recording at a random point in the middle half of the first step. On all threads, removes the calls that
/// end before the new start of the recording, and the GPU events that these calls launched. Calls that are running at
/// the new start are shortened. Each of them then starts one nanosecond after its parent, so that the order in the file
/// does not matter. Without recorded steps, the whole recording is treated as one step.
pub(super) fn start_in_the_middle(
    recording: &Recording,
    random: &mut SplitMix,
) -> Option<Recording> {
    let events = &recording.events;
    let forest = Forest::of(events);
    let steps = events.iter().filter(|event| step_number(event).is_some());
    let first = steps.min_by_key(|step| step.start).map(|step| (step.start, step.end));
    let host = || events.iter().filter(|event| event.kind.is_host());
    let whole = || Some((host().map(|one| one.start).min()?, host().map(|one| one.end).max()?));
    let (from, until) = first.or_else(whole)?;
    let cut = from + (until - from) * (250 + random.below(501) as i64) / 1000;
    let mut marked: Vec<bool> = events.iter().map(|event| is_before(event, cut)).collect();
    for &at in forest.preorder.iter().filter(|&&at| events[at].kind == Kind::Gpu) {
        marked[at] = forest.parents[at].is_some_and(|launch| marked[launch]);
    }
    let mut changed = recording.clone();
    // If a call is running at the cut, its ancestors are running, too, and they precede the call in preorder.
    let spans = |at: &usize| events[*at].start < cut && !marked[*at];
    let on_host = |at: &usize| events[*at].kind.is_host() && spans(at);
    let mut open: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for at in forest.preorder.iter().copied().filter(on_host) {
        open.entry(&events[at].lane).or_default().push(at);
        changed.events[at].start = cut;
    }
    for calls in open.into_values() {
        for (depth, &at) in calls.iter().rev().enumerate() {
            changed.events[at].start -= depth as i64;
        }
    }
    for event in &mut changed.events {
        if event.kind == Kind::Annotation {
            event.start = event.start.max(cut);
        }
    }
    changed.remove(&marked);
    changed.events.iter().any(|event| event.kind.is_host()).then_some(changed)
}

/// Whether an event would be missing if the recording started at `cut`. For a GPU event with a launch, the caller
/// decides instead: the event is missing if its launch is missing.
fn is_before(event: &Event, cut: i64) -> bool {
    match event.kind {
        Kind::Op | Kind::Frame | Kind::Runtime | Kind::Annotation => event.end <= cut,
        Kind::Gpu => event.start < cut,
        Kind::Other => false,
    }
}

/// Swaps two consecutive recorded steps on all threads, together with the GPU events that these steps launched. Step
/// numbers are not swapped, because the profiler numbers steps in execution order.
///
/// The names or the arguments of the ops in the two steps must differ, because a swap of two identical steps would be
/// invisible. Returns `None` if there are fewer than three steps, if no two adjacent steps differ, or if calls on some
/// thread span the boundary between two steps.
pub(super) fn reorder(recording: &Recording, random: &mut SplitMix) -> Option<Recording> {
    let events = &recording.events;
    let mut steps: Vec<&Event> =
        events.iter().filter(|event| step_number(event).is_some()).collect();
    steps.sort_by_key(|step| step.start);
    let firsts: Vec<usize> = (0..steps.len().checked_sub(1).filter(|&pairs| pairs > 1)?).collect();
    let mut pairs = random.sample(&firsts, firsts.len()).into_iter();
    pairs.find_map(|first| swap(recording, &steps, first))
}

/// Swaps a step with the next step.
fn swap(recording: &Recording, steps: &[&Event], first: usize) -> Option<Recording> {
    let place = |at: usize| place_of_step(recording, steps, steps.get(at)?);
    let (one, two) = (place(first)?, place(first + 1)?);
    let before = first.checked_sub(1).and_then(place).map(|place| place.until);
    let after = place(first + 2).map(|place| place.from);
    let ranges = [
        (before.unwrap_or(steps[first].start.min(one.from)), one.from),
        (one.until, two.from),
        (two.until, after.unwrap_or(steps[first + 1].end.max(two.until))),
    ];
    let cuts = cuts(recording, ranges)?;
    let numbers = [first, first + 1].map(|at| steps[at].name.clone());
    let forest = Forest::of(&recording.events);
    let step_of: Vec<Option<usize>> =
        (0..recording.events.len()).map(|at| step_of(recording, &forest, at, cuts)).collect();
    if ops_of_step(recording, &step_of, 0) == ops_of_step(recording, &step_of, 1) {
        return None;
    }
    let by = [cuts[2] - cuts[1], cuts[0] - cuts[1]];
    let mut changed = recording.clone();
    for (event, step) in changed.events.iter_mut().zip(&step_of) {
        // On the GPU, the range of a step starts later than the step itself, so the range is identified by its name.
        let named =
            numbers.iter().position(|name| event.kind == Kind::Annotation && event.name == *name);
        if let Some(step) = named.or(*step) {
            *event = event.clone().moved(by[step]);
        }
        if let Some(step) = named {
            event.name = numbers[1 - step].clone();
        }
    }
    Some(changed)
}

/// For each of the three time ranges, a time at which no call is running, apart from calls that contain both steps;
/// `None` if there is no such time.
fn cuts(recording: &Recording, ranges: [(i64, i64); 3]) -> Option<[i64; 3]> {
    let (from, until) = (ranges[0].0, ranges[2].1);
    let inner: Vec<&Event> = recording
        .events
        .iter()
        .filter(|event| event.kind.is_host() || is_step(event))
        .filter(|event| from < event.end && event.start < until)
        .filter(|event| from < event.start || event.end < until)
        .collect();
    let free = |&at: &i64| !inner.iter().any(|event| event.start < at && at < event.end);
    let cut = |(from, until): (i64, i64)| {
        let ends = inner.iter().flat_map(|event| [event.start, event.end]);
        let mut points: Vec<i64> = ends.filter(|&at| from <= at && at <= until).collect();
        points.extend([from, until]);
        points.sort_unstable();
        points.into_iter().find(free)
    };
    Some([cut(ranges[0])?, cut(ranges[1])?, cut(ranges[2])?])
}

/// Whether an event is the host range of a step.
fn is_step(event: &Event) -> bool {
    step_number(event).is_some()
}

/// The index (0 or 1) of the swapped step that an event belongs to; `None` if the event belongs to neither step.
fn step_of(recording: &Recording, forest: &Forest, at: usize, cuts: [i64; 3]) -> Option<usize> {
    let event = match recording.events[at].kind {
        Kind::Gpu => &recording.events[forest.parents[at].unwrap_or(at)],
        Kind::Op | Kind::Frame | Kind::Runtime | Kind::Annotation => &recording.events[at],
        Kind::Other => return None,
    };
    let inside = |step: usize| cuts[step] <= event.start && event.end <= cuts[step + 1];
    let starts = |step: usize| cuts[step] <= event.start && event.start < cuts[step + 1];
    (0..2).find(|&step| inside(step) || event.kind == Kind::Gpu && starts(step))
}

/// The names and arguments of the ops in a step, sorted.
fn ops_of_step(
    recording: &Recording,
    step_of: &[Option<usize>],
    step: usize,
) -> Vec<(String, u64)> {
    let events = recording.events.iter().zip(step_of);
    let ops = events.filter(|(event, of)| event.kind == Kind::Op && **of == Some(step));
    let mut ops: Vec<(String, u64)> =
        ops.map(|(event, _)| (without_addresses(&event.name), likeness(event))).collect();
    ops.sort_unstable();
    ops
}
