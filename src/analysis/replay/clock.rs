//! Converts the durations of GPU events of one side to the clock of the other side.

use super::play::Speed;
use crate::side::{PerSide, Side};
use crate::tree::CallId;

/// The times of the same work on both sides, as a fraction: how much slower the clock of a side is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Clock(pub(super) PerSide<i128>);

impl Clock {
    /// Both sides run equally fast.
    pub(super) const EQUAL: Clock = Clock(PerSide { baseline: 1, candidate: 1 });

    /// The time that work of the other side takes at the clock of a side.
    fn at(self, side: Side, time: i64) -> i64 {
        let (own, other) = (self.0[side].max(1), self.0[side.other()].max(1));
        ((2 * i128::from(time) * own + other) / (2 * other)) as i64
    }
}

/// Work of the other side, at the clock of this side.
pub(super) struct AtClock(pub(super) Clock, pub(super) Side);

impl Speed for AtClock {
    fn host(&self, time: i64) -> i64 {
        time
    }

    fn work(&self, _: CallId, time: i64) -> i64 {
        self.0.at(self.1, time)
    }

    fn waits(&self, _: CallId) -> bool {
        true
    }
}
