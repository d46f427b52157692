//! Converts the times of two traces to a common clock, so that their first steps start
//! simultaneously.

use crate::analysis::Analysis;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::CallKind;

/// For each side, the offset that is added to all times on that side. The offsets are chosen so that the earliest
/// event in either trace starts at 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Clock {
    shift: PerSide<Nanos>,
}

impl Clock {
    pub(super) fn new(analysis: &Analysis) -> Clock {
        let anchor = anchors(analysis);
        let before = PerSide::from_fn(|side| anchor[side] - first(analysis, side));
        let zero = before.baseline.max(before.candidate);
        Clock { shift: anchor.map(|anchor| zero - anchor) }
    }

    /// Converts a time on one side to the common clock.
    pub(super) fn at(self, side: Side, time: Nanos) -> Nanos {
        time + self.shift[side]
    }
}

/// Returns two times, one on each side, that are to be simultaneous on the common clock.
fn anchors(analysis: &Analysis) -> PerSide<Nanos> {
    let steps =
        PerSide::from_fn(|side| analysis.diff().steps(side).spans().first().map(|step| step.start));
    if let (Some(baseline), Some(candidate)) = (steps.baseline, steps.candidate) {
        return PerSide::new(baseline, candidate);
    }
    first_pair(analysis).unwrap_or_else(|| PerSide::from_fn(|side| first(analysis, side)))
}

/// Start times of the baseline's earliest matched call and of that call's counterpart.
fn first_pair(analysis: &Analysis) -> Option<PerSide<Nanos>> {
    let start = |side: Side, call| {
        let tree = analysis.tree(side);
        tree.event(call).map(|event| tree.trace().start(event))
    };
    let tree = analysis.tree(Side::Baseline);
    tree.calls()
        .filter(|&call| tree.kind(call) != CallKind::Gpu)
        .filter_map(|call| {
            let counterpart = analysis.diff().counterpart(Side::Baseline, call)?;
            Some((start(Side::Baseline, call)?, call, start(Side::Candidate, counterpart)?))
        })
        .min()
        .map(|(baseline, _, candidate)| PerSide::new(baseline, candidate))
}

/// Start of a side's first call; zero if the side has no calls.
fn first(analysis: &Analysis, side: Side) -> Nanos {
    let tree = analysis.tree(side);
    let events = tree.calls().filter_map(|call| tree.event(call));
    events.map(|event| tree.trace().start(event)).min().unwrap_or_default()
}
