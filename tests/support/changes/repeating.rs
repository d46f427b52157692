//! Repeats a module or recorded steps, or removes recorded steps.

use super::{Forest, Kind, Recording, SplitMix};
use crate::support::recording::{Event, Rooms};
use std::collections::{BTreeMap, BTreeSet};

/// Prefixes by which the names of modules and of steps are recognized.
pub(super) const MODULE: &str = "nn.Module: ";
pub(super) const STEP: &str = "ProfilerStep#";
/// A module is repeated only if it contains at most 1/`LARGEST_MODULE` of the recording's host calls.
const LARGEST_MODULE: usize = 10;

/// Repeats every call of one module. Each repeated call directly follows the original call, and belongs to an
/// additional instance of the module.
pub(super) fn module(recording: &Recording, random: &mut SplitMix) -> Option<Recording> {
    let forest = Forest::of(&recording.events);
    let places = random.pick(&repeatable_modules(recording, &forest))?.clone();
    Some(module_again(recording, &forest, &places))
}

/// Repeats every call of one of several identical layers. Each repeated call directly follows the original call, and
/// belongs to an additional instance of the layer.
pub(super) fn layer(recording: &Recording, random: &mut SplitMix) -> Option<Recording> {
    let forest = Forest::of(&recording.events);
    let mut layers = super::modules::layers(recording, &forest);
    layers.retain(|places| places.iter().all(|&at| has_room(recording, &forest, at)));
    Some(module_again(recording, &forest, random.pick(&layers)?))
}

pub(super) fn module_again(recording: &Recording, forest: &Forest, places: &[usize]) -> Recording {
    let subtrees: Vec<Vec<usize>> = places.iter().map(|&at| forest.subtree(at)).collect();
    let numbers = numbers_of(recording, subtrees.iter().flatten());
    let spans = places.iter().map(|&at| &recording.events[at]);
    let rooms = Rooms::new(spans.map(|event| (event.end, event.end - event.start)).collect());
    let mut changed = recording.clone();
    changed.make_room(&rooms);
    for event in &mut changed.events {
        renumber(event, |class, number| {
            let inside = numbers.get(class).filter(|inside| inside.last() < Some(&number));
            number + inside.map_or(0, |inside| inside.len() as u32)
        });
    }
    let mut copier = Copier::new(recording);
    for (&place, subtree) in places.iter().zip(&subtrees) {
        let event = &recording.events[place];
        let by = event.end + rooms.before(event.end) - event.start;
        for mut copy in copier.copy(recording, subtree, by) {
            renumber(&mut copy, |class, number| new_number(&numbers, class, number));
            changed.events.push(copy);
        }
    }
    changed
}

/// Whether a call ends before its parent ends, so that a copy of the call can follow.
pub(super) fn has_room(recording: &Recording, forest: &Forest, at: usize) -> bool {
    let end = |at: usize| recording.events[at].end;
    forest.parents[at].is_none_or(|parent| end(at) < end(parent))
}

/// Removes the calls in two fifths of the recorded steps, on all threads.
pub(super) fn fewer_steps(recording: &Recording, random: &mut SplitMix) -> Option<Recording> {
    let count = recording.events.iter().filter(|event| step_number(event).is_some()).count();
    let mut changed = None;
    for left in (count - 2 * count / 5 + 1..=count).rev() {
        let now = changed.as_ref().unwrap_or(recording);
        changed = drop_step(now, random.below(left)).or(changed);
    }
    changed
}

fn drop_step(recording: &Recording, which: usize) -> Option<Recording> {
    let mut steps: Vec<&Event> =
        recording.events.iter().filter(|event| step_number(event).is_some()).collect();
    steps.sort_by_key(|step| step.start);
    let Place { from, until, .. } = place_of_step(recording, &steps, steps.get(which)?)?;
    let forest = Forest::of(&recording.events);
    let marked: Vec<bool> = (0..recording.events.len())
        .map(|at| is_inside(recording, &forest, at, steps[which], (from, until)))
        .collect();
    let number = step_number(steps[which])?;
    let mut changed = recording.clone();
    changed.remove(&marked);
    for event in &mut changed.events {
        if let Some(later) = step_number(event).filter(|&later| later > number) {
            event.name = format!("{STEP}{}", later - 1).into();
        }
    }
    Some(changed)
}

/// Repeats `more` out of every `among` recorded steps, on all threads. Each copy directly follows the original step.
pub(super) fn steps(
    recording: &Recording,
    (more, among): (usize, usize),
    random: &mut SplitMix,
) -> Option<Recording> {
    let count = recording.events.iter().filter(|event| step_number(event).is_some()).count();
    let mut changed = None;
    for _ in 0..(more * count).div_ceil(among) {
        let now = changed.as_ref().unwrap_or(recording);
        changed = repeat_step(now, random.below(count)).or(changed);
    }
    changed
}

fn repeat_step(recording: &Recording, which: usize) -> Option<Recording> {
    let mut steps: Vec<&Event> =
        recording.events.iter().filter(|event| step_number(event).is_some()).collect();
    steps.sort_by_key(|step| step.start);
    let Place { from, until, at } = place_of_step(recording, &steps, steps[which])?;
    let forest = Forest::of(&recording.events);
    let inside: Vec<usize> = (0..recording.events.len())
        .filter(|&at| is_inside(recording, &forest, at, steps[which], (from, until)))
        .collect();
    let mut changed = recording.clone();
    changed.make_room(&Rooms::new(vec![(at, until - from)]));
    let number = step_number(steps[which])?;
    for event in &mut changed.events {
        if let Some(later) = step_number(event).filter(|&later| later > number) {
            event.name = format!("{STEP}{}", later + 1).into();
        }
    }
    for mut copy in Copier::new(recording).copy(recording, &inside, at - from) {
        if step_number(&copy) == Some(number) {
            copy.name = format!("{STEP}{}", number + 1).into();
        }
        changed.events.push(copy);
    }
    Some(changed)
}

/// The time span of the calls in a step, and the time at which a copy of these calls can start, in ns.
pub(super) struct Place {
    pub(super) from: i64,
    pub(super) until: i64,
    at: i64,
}

/// The time span of the calls in a step. A call is in a step if it is on the step's thread, starts during the step, and
/// is directly below the training loop. The training loop is the innermost call that contains all steps.
pub(super) fn place_of_step(
    recording: &Recording,
    steps: &[&Event],
    step: &Event,
) -> Option<Place> {
    let events = &recording.events;
    let forest = Forest::of(events);
    let all = (steps.first()?.start, steps.last()?.end - 1);
    let on_thread = |roots: &&Vec<usize>| roots.iter().any(|&at| events[at].lane == step.lane);
    let mut list: &[usize] = forest.threads.iter().find(on_thread)?;
    let (mut start, mut end) = (i64::MIN, i64::MAX);
    while let Some(&outer) = list.iter().find(|&&at| holds(&events[at], all)) {
        list = &forest.children[outer];
        (start, end) = (events[outer].start, events[outer].end);
    }
    let mut calls =
        list.iter().map(|&at| &events[at]).filter(|event| holds_start(step, event.start));
    let first = calls.next()?;
    let (from, until) = (first.start, calls.next_back().unwrap_or(first).end);
    let at = if until < end { until } else { from };
    (until > from && at > start).then_some(Place { from, until, at })
}

fn holds(call: &Event, (from, until): (i64, i64)) -> bool {
    call.start <= from && until < call.end
}

fn holds_start(step: &Event, start: i64) -> bool {
    step.start <= start && start < step.end
}

/// Whether an event belongs to the given step. The calls in the step have the time span `span`.
fn is_inside(
    recording: &Recording,
    forest: &Forest,
    at: usize,
    step: &Event,
    span: (i64, i64),
) -> bool {
    let event = &recording.events[at];
    let within =
        |event: &Event| span.0 <= event.start && event.start < span.1 && event.end <= span.1;
    match event.kind {
        Kind::Op | Kind::Frame | Kind::Runtime => within(event),
        Kind::Gpu => forest.parents[at].is_some_and(|launch| within(&recording.events[launch])),
        Kind::Annotation => event.lane == step.lane && holds_start(step, event.start),
        Kind::Other => false,
    }
}

/// Modules that can run twice. Each module is given by the positions of its calls. No call is nested inside another
/// call of the same module.
fn repeatable_modules(recording: &Recording, forest: &Forest) -> Vec<Vec<usize>> {
    let events = &recording.events;
    let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for &at in forest.preorder.iter().filter(|&&at| module_number(&events[at]).is_some()) {
        places.entry(&events[at].name).or_default().push(at);
    }
    let limit = forest.preorder.len() / LARGEST_MODULE;
    let mut found: Vec<Vec<usize>> = places.into_values().collect();
    found.retain(|list| {
        let calls: u32 = list.iter().map(|&at| forest.sizes[at]).sum();
        let apart = list.windows(2).all(|pair| events[pair[0]].end <= events[pair[1]].start);
        apart
            && (2..=limit).contains(&(calls as usize))
            && list.iter().all(|&at| has_room(recording, forest, at))
    });
    found
}

/// The instance numbers of the modules among the given events, by class.
pub(super) fn numbers_of<'a>(
    recording: &Recording,
    among: impl Iterator<Item = &'a usize>,
) -> BTreeMap<String, BTreeSet<u32>> {
    let mut numbers: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    for (class, number) in among.filter_map(|&at| module_number(&recording.events[at])) {
        numbers.entry(class.to_owned()).or_default().insert(number);
    }
    numbers
}

/// The number of a copied instance. The copies of a class directly follow the highest number among the copied instances
/// of this class.
fn new_number(numbers: &BTreeMap<String, BTreeSet<u32>>, class: &str, number: u32) -> u32 {
    let Some(inside) = numbers.get(class) else {
        return number;
    };
    let rank = inside.iter().position(|&other| other == number).unwrap_or(0) as u32;
    inside.last().unwrap_or(&number) + 1 + rank
}

pub(super) fn renumber(event: &mut Event, new: impl Fn(&str, u32) -> u32) {
    if let Some((class, number)) = module_number(event) {
        event.name = format!("{MODULE}{class}_{}", new(class, number)).into();
    }
}

/// `nn.Module: Linear_3` → (`Linear`, 3).
pub(super) fn module_number(event: &Event) -> Option<(&str, u32)> {
    let (class, number) = event.name.strip_prefix(MODULE)?.rsplit_once('_')?;
    Some((class, number.parse().ok().filter(|_| event.kind == Kind::Frame)?))
}

/// The number of a recorded step, taken from the step's annotation on the host.
pub(super) fn step_number(event: &Event) -> Option<u32> {
    let on_host = event.kind == Kind::Annotation && &*event.category == "user_annotation";
    event.name.strip_prefix(STEP)?.parse().ok().filter(|_| on_host)
}

/// Copies events and gives the copies new correlation ids.
struct Copier {
    next: i64,
}

impl Copier {
    fn new(recording: &Recording) -> Self {
        Copier { next: recording.free_correlation() }
    }

    fn copy(&mut self, recording: &Recording, which: &[usize], by: i64) -> Vec<Event> {
        let mut ids: BTreeMap<i64, i64> = BTreeMap::new();
        let copies = which.iter().map(|&at| recording.events[at].clone().moved(by));
        copies
            .map(|mut copy| {
                copy.origin = None;
                match copy.correlation {
                    Some(id) => {
                        let fresh = *ids.entry(id).or_insert(self.next);
                        self.next = self.next.max(fresh + 1);
                        copy.correlated(fresh)
                    }
                    None => copy,
                }
            })
            .collect()
    }
}
