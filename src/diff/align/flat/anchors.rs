//! Matches of items → for each call, which anchors are in its subtree.

use crate::diff::NONE;
use crate::diff::outline::Outline;
use crate::side::{PerSide, Side};
use crate::tree::Counts;
use std::ops::Range;

/// The anchors, numbered so that those of any subtree have consecutive numbers.
#[derive(Debug, Default)]
pub(in crate::diff::align) struct Anchors {
    sides: PerSide<OneSide>,
}

#[derive(Debug, Default)]
struct OneSide {
    /// Number of anchors before each call.
    before: Counts,
    /// The numbers of the anchors, in the order of this side's calls.
    numbers: Vec<u32>,
    /// The calls of the anchors, by number.
    calls: Vec<u32>,
}

impl Anchors {
    /// The anchors between calls of trees of these sizes. The pairs of each thread are in order.
    pub(super) fn new(lengths: PerSide<usize>, pairs: &[(u32, u32)]) -> Anchors {
        if pairs.is_empty() {
            return Anchors::default();
        }
        let sides = PerSide::from_fn(|side| {
            let calls: Vec<u32> = pairs.iter().map(|&(a, b)| PerSide::new(a, b)[side]).collect();
            let mut column = vec![NONE; lengths[side]];
            for (number, &call) in (0..).zip(&calls) {
                column[call as usize] = number;
            }
            OneSide {
                before: Counts::of(column.iter().map(|&number| u8::from(number != NONE))),
                numbers: column.into_iter().filter(|&number| number != NONE).collect(),
                calls,
            }
        });
        Anchors { sides }
    }

    pub(in crate::diff::align) fn is_empty(&self) -> bool {
        self.sides.baseline.calls.is_empty()
    }

    /// The numbers of the anchors among the calls from one to another.
    pub(in crate::diff::align) fn within(&self, side: Side, calls: Range<u32>) -> Range<u32> {
        if self.is_empty() {
            return 0..0;
        }
        let side = &self.sides[side];
        let before = |call: u32| side.before.before(call as usize) as usize;
        let (from, to) = (before(calls.start), before(calls.end));
        match side.numbers.get(from).filter(|_| to > from) {
            Some(&first) => first..first + (to - from) as u32,
            None => 0..0,
        }
    }

    /// The numbers of the anchors at or below a call.
    pub(in crate::diff::align) fn below(
        &self,
        outline: &Outline<'_>,
        side: Side,
        call: u32,
    ) -> Range<u32> {
        if self.is_empty() { 0..0 } else { self.within(side, call..outline.end(call)) }
    }

    /// Whether a call is an anchor.
    pub(in crate::diff::align) fn is_anchor(&self, side: Side, call: u32) -> bool {
        !self.within(side, call..call + 1).is_empty()
    }

    /// All anchors.
    pub(in crate::diff::align) fn pairs(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let PerSide { baseline, candidate } = &self.sides;
        baseline.calls.iter().copied().zip(candidate.calls.iter().copied())
    }
}
