//! The graphs of two traces → one graph in which some parts are the candidate's.
//!
//! ```text
//! matched points, in order   ──┬────────┬─────────────────┬────
//! baseline between them        │  gap   │ gap  op a  gap  │
//! candidate between them       │  gap   │ gap  op b  gap  │
//! a change that replaces a by b         └─ candidate's ───┘
//! ```
//! Points of matched calls that are in the same order on both sides divide both lines into segments. A change
//! takes over the segments that contain its calls, and the works of its rows at matched launches.

use super::owners::Owners;
use super::play::{Do, PlayWork, Program, Scale};
use super::recorded::{Action, Item, Point, Recorded};
use crate::diff::TraceDiff;
use crate::program::StepId;
use crate::side::{PerSide, Side};
use std::ops::Range;

const NONE: u32 = u32::MAX;

/// Two graphs, divided into segments at matched points.
#[derive(Debug)]
pub struct Mix<'r> {
    sides: PerSide<&'r Recorded>,
    segments: Vec<Segment>,
    /// The change of each item's point and of the host time before it, per side.
    items: PerSide<Vec<(u32, u32)>>,
    /// The change of each work, per side.
    works: PerSide<Vec<u32>>,
}

/// The items of both sides up to a matched point, which is the last item of both ranges. Only the last segment
/// has no such point.
#[derive(Debug, Clone)]
struct Segment {
    items: PerSide<Range<usize>>,
    is_anchored: bool,
}

impl<'r> Mix<'r> {
    /// Divides two graphs.
    pub(super) fn new(
        sides: PerSide<&'r Recorded>,
        diff: &TraceDiff,
        owners: &Owners<'_>,
    ) -> Mix<'r> {
        let segments = segments(sides, diff);
        let items = PerSide::from_fn(|side| owners.items(side, &sides[side].items));
        let works = PerSide::from_fn(|side| owners.works(side, &sides[side].works));
        Mix { sides, segments, items, works }
    }

    /// The graph of a side with the parts of some changes as on the other side.
    pub(super) fn with(&self, side: Side, is_taken: &[bool]) -> Program<'r> {
        let own = self.sides[side];
        let taken = |change: u32| change != NONE && is_taken[change as usize];
        let mut program = Program { before: own.before.clone(), ..Program::default() };
        for segment in &self.segments {
            self.segment(side, segment, &taken, &mut program);
        }
        program
    }

    fn segment(
        &self,
        side: Side,
        segment: &Segment,
        taken: &impl Fn(u32) -> bool,
        program: &mut Program<'r>,
    ) {
        let other = side.other();
        let inner = |side: Side| {
            let range = segment.items[side].clone();
            range.start..range.end - usize::from(segment.is_anchored)
        };
        let is_taken = |side: Side, at: usize| taken(self.items[side][at].0);
        let mut all = Side::BOTH.into_iter().flat_map(|of| inner(of).map(move |at| (of, at)));
        let is_mixed = !inner(side).is_empty() || !inner(other).is_empty();
        let takes_all = is_mixed && all.all(|(of, at)| is_taken(of, at));
        if takes_all {
            self.put_all(other, inner(other), program);
        } else if is_mixed {
            self.put(side, inner(side), |change| !taken(change), program);
            self.put(other, inner(other), taken, program);
        }
        if !segment.is_anchored {
            return;
        }
        let anchor = |side: Side| self.sides[side].items[segment.items[side].end - 1];
        let host = if takes_all { anchor(other).time } else { anchor(side).time };
        program.host(host);
        self.anchor(side, anchor(side), anchor(other), taken, program);
    }

    /// Items as recorded.
    fn put_all(&self, side: Side, items: Range<usize>, program: &mut Program<'r>) {
        for item in &self.sides[side].items[items] {
            program.host(item.time);
            program.act(self.sides[side], item.action, Scale::NONE);
            step(item, program);
        }
    }

    /// The parts of items whose change is wanted.
    fn put(
        &self,
        side: Side,
        items: Range<usize>,
        is_wanted: impl Fn(u32) -> bool,
        program: &mut Program<'r>,
    ) {
        let of = self.sides[side];
        for (item, &(point, time)) in of.items[items.clone()].iter().zip(&self.items[side][items]) {
            if is_wanted(time) {
                program.host(item.time);
            }
            if is_wanted(point) {
                program.act(of, item.action, Scale::NONE);
                step(item, program);
            }
        }
    }

    /// A matched point: its works are those of each side whose change is wanted.
    fn anchor(
        &self,
        side: Side,
        own: Item,
        other: Item,
        taken: &impl Fn(u32) -> bool,
        program: &mut Program<'r>,
    ) {
        let start = program.works.len() as u32;
        let mut launch = |of: Side, item: Item, is_wanted: &dyn Fn(u32) -> bool| {
            let Action::Launch(first, end) = item.action else { return };
            for at in first as usize..end as usize {
                if is_wanted(self.works[of][at]) {
                    program.push(self.sides[of], at, Scale::NONE);
                }
            }
        };
        launch(side, own, &|change| !taken(change));
        launch(side.other(), other, &|change| taken(change));
        let end = program.works.len() as u32;
        if end > start {
            program.line.push(Do::Launch(start, end));
        }
        if let Action::Wait(_) = own.action {
            program.act(self.sides[side], own.action, Scale::NONE);
        }
        step(&own, program);
    }

    /// The baseline's graph with the candidate's durations: what a replay of equal programs should
    /// reproduce.
    pub(super) fn transferred(&self) -> Program<'r> {
        let PerSide { baseline, candidate } = self.sides;
        let mut program = Program { before: candidate.before.clone(), ..Program::default() };
        program.before.resize(baseline.before.len().max(candidate.before.len()), 0);
        let mut lost = 0;
        for segment in &self.segments {
            let [own, other] = Side::BOTH.map(|side| &self.sides[side].items[segment.items[side].clone()]);
            let sum = |items: &[Item]| items.iter().map(|item| item.time).sum::<i64>();
            let (have, want) = (sum(own), sum(other));
            if have == 0 {
                program.host(want);
            }
            let anchors = segment.is_anchored.then(|| (own.len() - 1, other.len() - 1));
            let inner = anchors.unwrap_or((own.len(), other.len()));
            let busy = |recorded: &Recorded, items: &[Item]| -> i64 {
                items.iter().map(|item| launched(recorded, item)).sum()
            };
            let mut given = busy(baseline, &own[..inner.0]);
            let mut wanted = busy(candidate, &other[..inner.1]) + lost;
            lost = if given == 0 { std::mem::take(&mut wanted) } else { 0 };
            for (at, item) in own.iter().enumerate() {
                if have > 0 {
                    program.host((item.time as f64 * want as f64 / have as f64).round() as i64);
                }
                if let Some((_, anchor)) = anchors.filter(|&(own, _)| own == at) {
                    given = launched(baseline, item);
                    wanted = launched(candidate, &other[anchor]);
                    if given > 0 {
                        wanted += std::mem::take(&mut lost);
                    } else {
                        lost += std::mem::take(&mut wanted);
                    }
                    if let (Action::Launch(a, b), Action::Launch(c, d)) =
                        (item.action, other[anchor].action)
                        && b - a == d - c
                    {
                        let first = program.works.len();
                        program.act(candidate, other[anchor].action, Scale::NONE);
                        let extra = wanted - launched(candidate, &other[anchor]);
                        if let Some(work) = program.works[first..].last_mut() {
                            work.time += extra;
                        }
                        continue;
                    }
                }
                let scale = if given > 0 { wanted as f64 / given as f64 } else { 1.0 };
                let first = program.works.len();
                program.act(baseline, item.action, Scale { host: 1.0, work: scale });
                for work in &mut program.works[first..] {
                    self.retune(work);
                }
                step(item, &mut program);
            }
        }
        program
    }

    /// Gives a work the typical values of the candidate.
    fn retune(&self, work: &mut PlayWork<'r>) {
        work.typical = &self.sides.candidate.typical;
        work.latency = work.latency.map(|latency| {
            let usual = |side: Side| self.sides[side].typical.usual_latency();
            latency + usual(Side::Candidate) - usual(Side::Baseline)
        });
    }

    /// Share of the items of both sides that are matched points.
    pub fn matched_share(&self) -> f64 {
        let anchors = self.segments.iter().filter(|segment| segment.is_anchored).count();
        let all = self.sides.baseline.items.len() + self.sides.candidate.items.len();
        2.0 * anchors as f64 / all.max(1) as f64
    }
}

fn launched(recorded: &Recorded, item: &Item) -> i64 {
    match item.action {
        Action::Launch(first, end) => {
            recorded.works[first as usize..end as usize].iter().map(|work| work.time).sum()
        }
        Action::Nothing | Action::Wait(_) => 0,
    }
}

fn step(item: &Item, program: &mut Program<'_>) {
    if let Point::Step(_) = item.point {
        program.line.push(Do::Step);
    }
}

fn segments(sides: PerSide<&Recorded>, diff: &TraceDiff) -> Vec<Segment> {
    let merged = diff.merged();
    let key = |side: Side, point: Point| match point {
        Point::Start(call) => Some(2 * merged.of(side, call).index()),
        Point::End(call) => Some(2 * merged.of(side, call).index() + 1),
        Point::Step(_) => None,
    };
    let mut positions = vec![NONE; 2 * merged.len()];
    let mut steps: Vec<(StepId, u32)> = Vec::new();
    for (at, item) in (0..).zip(&sides.candidate.items) {
        match (key(Side::Candidate, item.point), item.point) {
            (Some(key), _) => positions[key] = at,
            (None, Point::Step(step)) => steps.push((step, at)),
            (None, Point::Start(_) | Point::End(_)) => {}
        }
    }
    let partner = |step: StepId| match diff.step_pairs() {
        Some(pairs) => pairs.iter().find(|(of, _)| *of == step).map(|pair| pair.1),
        None => Some(step),
    };
    let pairs: Vec<(u32, u32)> = (0..)
        .zip(&sides.baseline.items)
        .filter_map(|(at, item)| {
            let other = match (key(Side::Baseline, item.point), item.point) {
                (Some(key), _) => positions[key],
                (None, Point::Step(step)) => {
                    let step = partner(step)?;
                    steps.iter().find(|(of, _)| *of == step)?.1
                }
                (None, Point::Start(_) | Point::End(_)) => NONE,
            };
            (other != NONE).then_some((at, other))
        })
        .collect();
    let mut segments = Vec::new();
    let mut reached = PerSide::new(0, 0);
    for (a, b) in longest_in_order(&pairs) {
        let ends = PerSide::new(a as usize + 1, b as usize + 1);
        segments.push(Segment {
            items: PerSide::from_fn(|side| reached[side]..ends[side]),
            is_anchored: true,
        });
        reached = ends;
    }
    let rest = PerSide::from_fn(|side| reached[side]..sides[side].items.len());
    segments.push(Segment { items: rest, is_anchored: false });
    segments
}

/// The longest list of pairs, sorted by the first position, that is also sorted by the second.
fn longest_in_order(pairs: &[(u32, u32)]) -> Vec<(u32, u32)> {
    // For each length, the pair that the list of this length with the smallest end ends with.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (at, &(_, other)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|&end| pairs[end].1 < other);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        if length == ends.len() {
            ends.push(at);
        } else {
            ends[length] = at;
        }
    }
    let mut list = Vec::with_capacity(ends.len());
    let mut next = ends.last().copied();
    while let Some(at) = next {
        list.push(pairs[at]);
        next = before[at];
    }
    list.reverse();
    list
}

#[cfg(test)]
mod tests {
    use super::longest_in_order;

    #[test]
    fn pairs_that_cross_are_left_out() {
        let pairs = [(0, 1), (1, 5), (2, 2), (3, 3), (4, 0), (5, 9)];
        assert_eq!(longest_in_order(&pairs), [(0, 1), (2, 2), (3, 3), (5, 9)]);
        assert_eq!(longest_in_order(&[]), []);
    }
}
