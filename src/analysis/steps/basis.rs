//! Determines what the windows of a comparison span: steps, or all measured events.

use crate::diff::TraceDiff;
use crate::side::Side;

/// What a window spans: steps or events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(hidden)]
pub enum WallBasis {
    /// The windows span the steps of both sides; times are given per step.
    Steps,
    /// The windows span all measured events, because a side has no steps; times are given for the whole
    /// window.
    Events,
}

impl WallBasis {
    /// Returns `Steps` if both sides have steps, otherwise `Events`.
    pub(in crate::analysis) fn of(diff: &TraceDiff) -> WallBasis {
        if Side::BOTH.iter().all(|&side| !diff.steps(side).is_empty()) {
            WallBasis::Steps
        } else {
            WallBasis::Events
        }
    }
}
