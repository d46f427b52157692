//! One slice of the timeline: a call in a lane.

use crate::diff::MergedId;
use crate::side::Side;
use crate::trace::{EventId, Nanos};
use crate::tree::CallId;

/// Resolution of the times on the page, in ns.
const TICK: i64 = 100;

/// Converts a time to the page's unit. Starts and ends are both rounded down, so nested slices stay nested.
pub(super) fn ticks(time: Nanos) -> i64 {
    time.0.div_euclid(TICK)
}

/// A call that the timeline draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slice {
    pub(super) side: Side,
    pub(super) call: CallId,
    pub(super) event: EventId,
    pub(super) node: MergedId,
    /// Start time, relative to the start of the step.
    pub(super) start: Nanos,
    pub(super) time: Nanos,
    pub(super) is_gpu: bool,
    /// Whether the step made the host call or launched the GPU event.
    pub(super) is_inside: bool,
}

impl Slice {
    pub(super) fn end(&self) -> Nanos {
        self.start + self.time
    }
}
