//! Adds new ops to a recording, between existing calls or around them.

use super::{Forest, Kind, Recording, SplitMix, ops_of, portion};
use crate::support::recording::{Event, Rooms};
use std::collections::BTreeMap;

/// Duration of a new op in ns, and the spans of the op's launch and kernel relative to the start of the op.
const OP: i64 = 30_000;
const LAUNCH: (i64, i64) = (8_000, 13_000);
const KERNEL: (i64, i64) = (16_000, 24_000);

/// Inserts new ops between calls at random positions. The number of new ops is `percent`% of the number of
/// existing ops.
pub(super) fn ops(recording: &Recording, percent: f64, random: &mut SplitMix) -> Option<Recording> {
    let forest = Forest::of(&recording.events);
    let all = ops_of(recording, &forest);
    let spots: Vec<(i64, usize)> = free_spots(recording, &forest).into_iter().collect();
    if all.is_empty() || spots.is_empty() {
        return None;
    }
    let spots = random.sample(&spots, portion(all.len(), percent));
    let rooms = Rooms::new(spots.iter().map(|&(at, _)| (at, OP)).collect());
    let mut maker = OpMaker::new(recording, &forest, &all);
    let mut changed = recording.clone();
    changed.make_room(&rooms);
    for &(at, neighbour) in &spots {
        maker.add(at + rooms.before(at), neighbour, random, &mut changed.events);
    }
    Some(changed)
}

/// Wraps `percent`% of the ops, each in a new op; some of the new ops also contain the next one or two calls.
pub(super) fn wrappers(
    recording: &Recording,
    percent: f64,
    random: &mut SplitMix,
) -> Option<Recording> {
    let events = &recording.events;
    let forest = Forest::of(events);
    let mut runs = Vec::new();
    for (parent, list) in forest.sibling_lists() {
        let host = |at: &usize| events[*at].kind.is_host() && events[*at].end > events[*at].start;
        for (first, &at) in list.iter().enumerate().filter(|&(_, &at)| events[at].kind == Kind::Op)
        {
            let run = list[first..].iter().copied().take_while(host).take(1 + random.below(3));
            runs.extend(run.last().map(|last| (parent, at, last)));
        }
    }
    let chosen = random.sample(&runs, portion(ops_of(recording, &forest).len(), percent));
    let wrappers = without_overlap(chosen, events).into_iter().enumerate();
    let wrappers = wrappers.map(|(number, run)| wrapper(number % 7, run, events)).collect();
    let mut changed = recording.clone();
    changed.insert(wrappers);
    (!runs.is_empty()).then_some(changed)
}

/// A sequence of consecutive calls below one parent (a run), given by the parent, the first call and the last call.
type Run = (Option<usize>, usize, usize);

/// Sorts the runs below each parent by start time, and drops each run that shares calls with an earlier run.
fn without_overlap(mut runs: Vec<Run>, events: &[Event]) -> Vec<Run> {
    runs.sort_by_key(|&(parent, first, _)| {
        (parent, events[first].lane.clone(), events[first].start)
    });
    runs.dedup_by(|next, kept| {
        let same = next.0 == kept.0 && events[next.1].lane == events[kept.1].lane;
        same && events[next.1].start < events[kept.2].end
    });
    runs
}

/// The position in the file at which a new op is inserted, and the new op, which encloses a run of calls. If two events
/// have the same span, the event that comes first in the file is the outer event.
fn wrapper(number: usize, (parent, first, last): Run, events: &[Event]) -> (usize, Event) {
    let span = (events[first].start, events[last].end);
    let fills = parent.filter(|&at| (events[at].start, events[at].end) == span);
    let name = format!("wrapper::level_{number}");
    let op = Event::new(Kind::Op, &events[first].category, &name, &events[first].lane, span);
    (fills.map_or(first, |parent| parent + 1), op)
}

/// The times at which a call ends and a new call can begin, each with the position of the call that ends.
fn free_spots(recording: &Recording, forest: &Forest) -> BTreeMap<i64, usize> {
    let events = &recording.events;
    let mut spots = BTreeMap::new();
    for (parent, list) in forest.sibling_lists() {
        let open = |at: i64| match parent {
            Some(parent) => events[parent].kind != Kind::Runtime && at < events[parent].end,
            None => true,
        };
        for &at in list.iter().filter(|&&at| open(events[at].end)) {
            spots.insert(events[at].end, at);
        }
    }
    spots
}

/// Creates ops that resemble the ops in the trace.
struct OpMaker<'a> {
    events: &'a [Event],
    ops: &'a [usize],
    /// A launch in the trace and a GPU event that it launched; `None` if the trace has no such launch.
    launch: Option<(&'a Event, &'a Event)>,
    correlation: i64,
}

impl<'a> OpMaker<'a> {
    fn new(recording: &'a Recording, forest: &Forest, ops: &'a [usize]) -> Self {
        let events = &recording.events;
        let kernel = (0..events.len())
            .find(|&at| events[at].kind == Kind::Gpu && forest.parents[at].is_some());
        let launch =
            kernel.and_then(|kernel| Some((&events[forest.parents[kernel]?], &events[kernel])));
        OpMaker { events, ops, launch, correlation: recording.free_correlation() }
    }

    /// Adds an op that starts at `start`, on the same thread as `neighbour`. Half of the added ops have a
    /// kernel.
    fn add(&mut self, start: i64, neighbour: usize, random: &mut SplitMix, to: &mut Vec<Event>) {
        let like = &self.events[self.ops[random.below(self.ops.len())]];
        let number = random.below(5);
        let name = if random.below(2) == 0 { &*like.name } else { &*format!("extra::op_{number}") };
        let lane = &self.events[neighbour].lane;
        to.push(Event::new(Kind::Op, &like.category, name, lane, (start, start + OP)));
        let Some((launch, kernel)) = self.launch.filter(|_| random.below(2) == 0) else {
            return;
        };
        let span = |(from, until)| (start + from, start + until);
        let call = Event::new(Kind::Runtime, &launch.category, &launch.name, lane, span(LAUNCH));
        let name = format!("extra_kernel_{number}");
        let run = Event::new(Kind::Gpu, &kernel.category, &name, &kernel.lane, span(KERNEL));
        to.extend([call.correlated(self.correlation), run.correlated(self.correlation)]);
        self.correlation += 1;
    }
}
