//! Divides the host timelines of both sides into segments at the starts and ends of matched calls. Only starts and ends
//! that are in the same order on both sides divide the timelines.

use super::parts::Point;
use super::recorded::Recorded;
use crate::analysis::in_order::longest_in_order;
use crate::diff::TraceDiff;
use crate::program::StepId;
use crate::side::{PerSide, Side};
use rustc_hash::FxHashMap;
use std::ops::Range;

const NONE: u32 = u32::MAX;

/// The items on both sides from the previous matched point (exclusive) to the next matched point (inclusive).
/// The last segment does not end with a matched point.
#[derive(Debug, Clone)]
pub(super) struct Segment {
    pub(super) items: PerSide<Range<usize>>,
    pub(super) is_anchored: bool,
}

impl Segment {
    /// The items of a side before the matched point.
    pub(super) fn inner(&self, side: Side) -> Range<usize> {
        let range = self.items[side].clone();
        range.start..range.end - usize::from(self.is_anchored)
    }

    /// The matched point: its item on a side, and its item on the other side.
    pub(super) fn anchors(&self, side: Side) -> Option<[usize; 2]> {
        self.is_anchored.then(|| [side, side.other()].map(|side| self.items[side].end - 1))
    }
}

/// The segments of both sides, in order; for each, the items at which it ends (exclusive).
#[derive(Debug)]
pub(super) struct Segments(Vec<PerSide<u32>>);

impl Segments {
    pub(super) fn get(&self, at: usize) -> Segment {
        let start = at.checked_sub(1).map_or_else(PerSide::default, |before| self.0[before]);
        let item = |side: Side| start[side] as usize..self.0[at][side] as usize;
        Segment { items: PerSide::from_fn(item), is_anchored: at + 1 < self.0.len() }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Segment> {
        (0..self.0.len()).map(|at| self.get(at))
    }
}

/// As many pairs as possible that are in the same order on both sides. The choice does not depend on which side is the
/// baseline.
fn in_order_on_both_sides(
    sides: PerSide<&Recorded>,
    mut pairs: Vec<(u32, u32)>,
) -> Vec<(u32, u32)> {
    let key = |side: Side| {
        let items = &sides[side].items;
        (items.len(), items.iter().map(|item| item.time).sum::<i64>())
    };
    if key(Side::Baseline) <= key(Side::Candidate) {
        return longest_in_order(&pairs, |pair| pair.1);
    }
    for pair in &mut pairs {
        *pair = (pair.1, pair.0);
    }
    pairs.sort_unstable();
    let swapped = |(b, a): (u32, u32)| (a, b);
    longest_in_order(&pairs, |pair| pair.1).into_iter().map(swapped).collect()
}

/// The segments of both sides, in order.
pub(super) fn segments(sides: PerSide<&Recorded>, diff: &TraceDiff) -> Segments {
    let merged = diff.merged();
    let key = |side: Side, point: Point| match point {
        Point::Start(call) => Some(2 * merged.of(side, call).index()),
        Point::End(call) => Some(2 * merged.of(side, call).index() + 1),
        Point::Step(_) => None,
    };
    let mut positions = vec![NONE; 2 * merged.len()];
    let mut steps: FxHashMap<StepId, u32> = FxHashMap::default();
    for (at, item) in (0..).zip(&sides.candidate.items) {
        match (key(Side::Candidate, item.point), item.point) {
            (Some(key), _) => positions[key] = at,
            (None, Point::Step(step)) => drop(steps.insert(step, at)),
            (None, Point::Start(_) | Point::End(_)) => {}
        }
    }
    let counterparts = diff.step_pairs().map(|pairs| pairs.iter().copied().collect());
    let counterpart = |step: StepId| match &counterparts {
        Some(counterparts) => FxHashMap::<StepId, StepId>::get(counterparts, &step).copied(),
        None => Some(step),
    };
    let pairs: Vec<(u32, u32)> = (0..)
        .zip(&sides.baseline.items)
        .filter_map(|(at, item)| {
            let other = match (key(Side::Baseline, item.point), item.point) {
                (Some(key), _) => positions[key],
                (None, Point::Step(step)) => *steps.get(&counterpart(step)?)?,
                (None, Point::Start(_) | Point::End(_)) => NONE,
            };
            (other != NONE).then_some((at, other))
        })
        .collect();
    let in_order = in_order_on_both_sides(sides, pairs).into_iter();
    let ends = in_order.map(|(a, b)| PerSide::new(a + 1, b + 1));
    let last = sides.map(|side| side.items.len() as u32);
    Segments(ends.chain([last]).collect())
}
