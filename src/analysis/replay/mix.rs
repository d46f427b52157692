//! Builds a dependency graph from one side's graph by replacing some of its parts with the corresponding
//! parts of the other side's graph.
//!
//! ```text
//! matched points, in order   ──┬────────┬─────────────────┬────
//! baseline between them        │  gap   │ gap  op a  gap  │
//! candidate between them       │  gap   │ gap  op b  gap  │
//! a change that replaces a by b         └─ candidate's ───┘
//! ```
//! The host timelines of both sides are divided into segments (`segments.rs`). To take a change from the other side, the segments that contain the change's calls are replaced with the other side's segments. At
//! matched launches, the GPU events in the change's rows are replaced as well.

use super::parts::{Action, Item, Point};
use super::play::{AsRecorded, Do, Program, Speed};
use super::play::{AtClock, Clock};
use super::recorded::Recorded;
use super::segments::{Segment, Segments, segments};
use crate::diff::TraceDiff;
use crate::side::{PerSide, Side};
use std::ops::Range;

/// The changes that are taken from the other side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Changed {
    #[default]
    None,
    /// The change with this number.
    One(u32),
    All,
}

/// How a change is taken from the other side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum How {
    /// The segments of the change become those of the other side, with the host time around its calls.
    #[default]
    Exchange,
    /// Calls that only this side has are removed. Nothing is added, and the host time around them stays.
    Cut,
    /// Like `Cut`, and where both sides have calls of the change, they are exchanged. GPU events of the other side run
    /// at the clock of this side.
    CutAndSwap,
}

/// Determines which parts of a graph are taken from the other side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Taken {
    pub(super) changes: Changed,
    pub(super) how: How,
    /// Whether the host times of matched calls are taken from the other side.
    pub(super) host: bool,
    /// If true, GPU events that belong to no change are taken from the other side, at each matched launch
    /// that has the same number of GPU events on both sides.
    pub(super) works: bool,
}

impl Taken {
    fn has(&self, change: Option<u32>) -> bool {
        match self.changes {
            Changed::None => false,
            Changed::One(one) => change == Some(one),
            Changed::All => change.is_some(),
        }
    }
}

/// The change that an item of the host timeline belongs to, and the change that the host time before the item
/// belongs to.
pub(super) type ItemChange = (Option<u32>, Option<u32>);

/// The graphs of both sides, divided into segments at matched points.
#[derive(Debug)]
pub(super) struct Mix<'r> {
    pub(super) sides: PerSide<&'r Recorded>,
    pub(super) segments: Segments,
    parts: Vec<Part>,
    items: PerSide<Vec<ItemChange>>,
    /// The change that each GPU event belongs to, on each side.
    works: PerSide<Vec<Option<u32>>>,
    /// How much slower the same work runs on one side.
    pub(super) clock: Clock,
}

/// Which parts of a graph contain something of a change.
#[derive(Debug, Clone, Default)]
pub(super) struct PartsOfChange {
    /// The parts, ascending.
    pub(super) parts: Vec<u32>,
    /// Whether a side has calls that are removed without anything in their place.
    pub(super) is_cut: PerSide<bool>,
    /// Whether anything is exchanged.
    pub(super) is_swapped: bool,
}

/// Most segments contain only host time. Consecutive segments of this kind are combined into one part. A
/// segment with a launch, a wait or a change is a separate part.
#[derive(Debug, Clone, Copy)]
enum Part {
    /// Host time outside of runtime calls, and host time in runtime calls.
    Host { outside: PerSide<i64>, in_calls: PerSide<i64> },
    /// The position of a segment that contains more than host time, such as a launch or a change.
    Segment(u32),
}

fn parts(
    sides: PerSide<&Recorded>,
    segments: &Segments,
    items: &PerSide<Vec<ItemChange>>,
) -> Vec<Part> {
    let mut parts = Vec::new();
    for (segment, at) in segments.iter().zip(0..) {
        let is_plain = segment.is_anchored
            && Side::BOTH.iter().all(|&side| {
                let at = segment.items[side].start;
                let item = &sides[side].items[at];
                segment.items[side].len() == 1
                    && items[side][at].1.is_none()
                    && item.action == Action::Nothing
                    && !matches!(item.point, Point::Step(_))
            });
        if !is_plain {
            parts.push(Part::Segment(at));
            continue;
        }
        if !matches!(parts.last(), Some(Part::Host { .. })) {
            parts.push(Part::Host { outside: PerSide::default(), in_calls: PerSide::default() });
        }
        if let Some(Part::Host { outside, in_calls }) = parts.last_mut() {
            for side in Side::BOTH {
                let item = &sides[side].items[segment.items[side].start];
                let sum = if item.in_call { &mut *in_calls } else { &mut *outside };
                sum[side] += item.time;
            }
        }
    }
    parts
}

impl<'r> Mix<'r> {
    /// Divides two graphs into segments. The parameters `items` and `works` contain the change that each item
    /// and each GPU event belongs to.
    pub(super) fn new(
        sides: PerSide<&'r Recorded>,
        diff: &TraceDiff,
        items: PerSide<Vec<ItemChange>>,
        works: PerSide<Vec<Option<u32>>>,
    ) -> Mix<'r> {
        let segments = segments(sides, diff);
        let parts = parts(sides, &segments, &items);
        Mix { sides, segments, parts, items, works, clock: Clock::EQUAL }
    }

    /// Sets how much slower the same work runs on one side.
    pub(super) fn at_clock(self, clock: Clock) -> Mix<'r> {
        Mix { clock, ..self }
    }

    /// Builds the graph of a side with some parts taken from the other side.
    pub(super) fn with(&self, side: Side, taken: &Taken) -> Program<'r> {
        let mut program = self.start(side);
        for part in 0..self.len() {
            self.part(side, part, taken, &mut program);
        }
        program
    }

    /// An empty program that starts like the graph of a side.
    pub(super) fn start(&self, side: Side) -> Program<'r> {
        Program { before: self.sides[side].before.clone(), ..Program::default() }
    }

    /// The number of streams of the side that has more.
    pub(super) fn streams(&self) -> usize {
        let PerSide { baseline, candidate } = self.sides.map(|side| side.streams.len());
        baseline.max(candidate)
    }

    /// The changes that an item and the host time before it belong to.
    pub(super) fn change(&self, side: Side, item: usize) -> ItemChange {
        self.items[side][item]
    }

    /// Whether the host time before the matched point of a segment belongs to a change on any side.
    pub(super) fn is_anchor_changed(&self, side: Side, segment: &Segment) -> bool {
        segment.anchors(side).is_some_and(|[own, other]| {
            self.items[side][own].1.is_some() || self.items[side.other()][other].1.is_some()
        })
    }

    /// Adds the calls of the other side that take the place of calls of this side, with the host times of the other
    /// side, for the changes for which `is_wanted` is true.
    pub(super) fn swap(
        &self,
        side: Side,
        segment: &Segment,
        clock: Clock,
        is_wanted: impl Fn(u32) -> bool,
        program: &mut Program<'r>,
    ) {
        let others = segment.inner(side.other());
        if others.is_empty() {
            return;
        }
        let present = self.changes_in(side, segment.inner(side));
        let is_swapped = |change: Option<u32>| {
            change.is_some_and(|change| is_wanted(change) && present.binary_search(&change).is_ok())
        };
        self.put(side.other(), others, &AtClock(clock, side), is_swapped, program);
    }

    /// The number of parts.
    pub(super) fn len(&self) -> usize {
        self.parts.len()
    }

    /// Adds a part of a side's graph to a program.
    pub(super) fn part(&self, side: Side, part: usize, taken: &Taken, program: &mut Program<'r>) {
        match self.parts[part] {
            Part::Host { outside, in_calls } => {
                let from = if taken.host { side.other() } else { side };
                program.host(outside[from], false);
                program.host(in_calls[from], true);
            }
            Part::Segment(at) => {
                self.segment(side, &self.segments.get(at as usize), taken, program);
            }
        }
    }

    /// For each of `count` changes, the parts that contain something of the change.
    pub(super) fn parts_of_changes(&self, count: usize) -> Vec<PartsOfChange> {
        let mut of_changes: Vec<PartsOfChange> = vec![PartsOfChange::default(); count];
        // For each change in a segment: the sides with calls of the change, and whether the matched point has a part of it.
        let mut found: Vec<(u32, PerSide<bool>, bool)> = Vec::new();
        for (part, at) in self.parts.iter().zip(0..) {
            let &Part::Segment(segment) = part else { continue };
            let segment = self.segments.get(segment as usize);
            let mut add = |change: u32, inside: Option<Side>| {
                let known = found.iter().position(|(known, ..)| *known == change);
                let known = known.unwrap_or_else(|| {
                    found.push((change, PerSide::default(), false));
                    found.len() - 1
                });
                match inside {
                    Some(side) => found[known].1[side] = true,
                    None => found[known].2 = true,
                }
            };
            for side in Side::BOTH {
                let inner = segment.inner(side);
                for item in segment.items[side].clone() {
                    let inside = inner.contains(&item).then_some(side);
                    let (point, time) = self.items[side][item];
                    let works = match self.sides[side].items[item].action {
                        Action::Launch(first, end) => first as usize..end as usize,
                        Action::Nothing | Action::Wait(_) => 0..0,
                    };
                    let works = self.works[side][works].iter().copied();
                    let point = point.filter(|_| inside.is_some());
                    works.chain([point, time]).flatten().for_each(|change| add(change, inside));
                }
            }
            for (change, inside, is_at_point) in found.drain(..) {
                let of_change = &mut of_changes[change as usize];
                of_change.parts.push(at);
                of_change.is_swapped |= is_at_point || (inside.baseline && inside.candidate);
                for side in Side::BOTH {
                    of_change.is_cut[side] |= inside[side] && !inside[side.other()];
                }
            }
        }
        of_changes
    }

    fn segment(&self, side: Side, segment: &Segment, taken: &Taken, program: &mut Program<'r>) {
        if taken.how != How::Exchange {
            return self.cut(side, segment, taken, program);
        }
        let other = side.other();
        let (own_inner, other_inner) = (segment.inner(side), segment.inner(other));
        let is_taken = |side: Side, at: usize| taken.has(self.items[side][at].0);
        let mut all =
            Side::BOTH.into_iter().flat_map(|of| segment.inner(of).map(move |at| (of, at)));
        let is_mixed = !own_inner.is_empty() || !other_inner.is_empty();
        let takes_all = is_mixed && all.all(|(of, at)| is_taken(of, at));
        if takes_all {
            self.put(other, other_inner, &AsRecorded, |_| true, program);
        } else if is_mixed {
            self.put(side, own_inner, &AsRecorded, |change| !taken.has(change), program);
            self.put(other, other_inner, &AsRecorded, |change| taken.has(change), program);
        }
        let Some([own, others]) = segment.anchors(side) else { return };
        let takes = |change: Option<u32>| match change {
            Some(_) => taken.has(change),
            None => taken.host,
        };
        let takes_host = takes_all || (!is_mixed && takes(self.items[side][own].1));
        let [own, others] = [self.sides[side].items[own], self.sides[other].items[others]];
        program.host(if takes_host { others.time } else { own.time }, own.in_call);
        self.anchor(side, own, others, taken, program);
    }

    /// The changes that the given items of a side belong to, sorted.
    fn changes_in(&self, side: Side, items: Range<usize>) -> Vec<u32> {
        let of_items = self.items[side][items].iter();
        let mut changes: Vec<u32> =
            of_items.flat_map(|&(point, time)| [point, time]).flatten().collect();
        changes.sort_unstable();
        changes.dedup();
        changes
    }

    /// Adds a segment without the calls of changes that only this side has.
    fn cut(&self, side: Side, segment: &Segment, taken: &Taken, program: &mut Program<'r>) {
        let other = side.other();
        let replaced = self.changes_in(other, segment.inner(other));
        let is_replaced = |change: Option<u32>| {
            change.is_some_and(|change| replaced.binary_search(&change).is_ok())
        };
        let is_cut = |change: Option<u32>| {
            taken.has(change) && (taken.how == How::CutAndSwap || !is_replaced(change))
        };
        self.put(side, segment.inner(side), &AsRecorded, |change| !is_cut(change), program);
        if taken.how == How::CutAndSwap {
            let is_taken = |change: u32| taken.has(Some(change));
            self.swap(side, segment, self.clock, is_taken, program);
        }
        let Some([own, others]) = segment.anchors(side) else { return };
        let is_taken = taken.has(self.items[side][own].1) || taken.has(self.items[other][others].1);
        let takes_host = taken.how == How::CutAndSwap && is_taken;
        let [own, others] = [self.sides[side].items[own], self.sides[other].items[others]];
        program.host(if takes_host { others.time } else { own.time }, own.in_call);
        self.anchor(side, own, others, taken, program);
    }

    /// Adds items of one side to a program. The host time before an item is added only if `is_wanted` is true
    /// for the change that this time belongs to. The item's action is added only if `is_wanted` is true for
    /// the item's own change.
    fn put(
        &self,
        side: Side,
        items: Range<usize>,
        speed: &impl Speed,
        is_wanted: impl Fn(Option<u32>) -> bool,
        program: &mut Program<'r>,
    ) {
        let of = self.sides[side];
        for (item, &(point, time)) in of.items[items.clone()].iter().zip(&self.items[side][items]) {
            if is_wanted(time) {
                program.host(item.time, item.in_call);
            }
            if is_wanted(point) {
                program.act(of, item.action, speed);
                program.step(item);
            }
        }
    }

    /// Adds the launches, the wait or the step at a matched point. GPU events that belong to a change are
    /// taken from the side that was chosen for this change.
    fn anchor(&self, side: Side, own: Item, other: Item, taken: &Taken, program: &mut Program<'r>) {
        let is_taken = |change: Option<u32>, has_equal: bool, _: Side, _: usize| match change {
            None => taken.works && has_equal,
            Some(_) => taken.has(change) && taken.how != How::Cut,
        };
        let clock = if taken.how == How::CutAndSwap { self.clock } else { Clock::EQUAL };
        self.point((side, own, other), clock, is_taken, program);
    }

    /// Adds the launches, the wait or the step at a matched point. GPU events come from the side that `is_taken` chooses:
    /// it gets the change of an event, whether both sides launch equally many, the side of the event and its position.
    /// Those of the other side run at the given clock.
    pub(super) fn point(
        &self,
        (side, own, other): (Side, Item, Item),
        clock: Clock,
        is_taken: impl Fn(Option<u32>, bool, Side, usize) -> bool,
        program: &mut Program<'r>,
    ) {
        let start = program.works.len() as u32;
        let range = |item: Item| match item.action {
            Action::Launch(first, end) => first as usize..end as usize,
            Action::Nothing | Action::Wait(_) => 0..0,
        };
        let ranges = [(side, range(own)), (side.other(), range(other))];
        let has_equal = ranges[0].1.len() == ranges[1].1.len();
        for (of, range) in ranges {
            for at in range {
                match (is_taken(self.works[of][at], has_equal, of, at), of == side) {
                    (false, true) => program.push(self.sides[of], at, &AsRecorded),
                    (true, false) => program.push(self.sides[of], at, &AtClock(clock, side)),
                    (true, true) | (false, false) => {}
                }
            }
        }
        let end = program.works.len() as u32;
        if end > start {
            program.line.push(Do::Launch(start, end));
        }
        if let Action::Wait(_) = own.action {
            program.act(self.sides[side], own.action, &AsRecorded);
        }
        program.step(&own);
    }
}
