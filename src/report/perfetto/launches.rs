//! Draws arrows from launches to their GPU events, each as two flow events.

use super::clock::Clock;
use super::tracks::{Track, Tracks};
use crate::analysis::Analysis;
use crate::side::Side;
use crate::tree::{CallId, CallKind};
use serde::Serialize;

/// One end of an arrow. The end is attached to the innermost slice on the track at the time `ts`.
#[derive(Serialize)]
pub(super) struct FlowEnd {
    ph: &'static str,
    /// `e` attaches the arrow's end to the enclosing slice instead of the next slice.
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'static str>,
    id: usize,
    cat: &'static str,
    name: &'static str,
    #[serde(flatten)]
    track: Track,
    ts: f64,
}

/// The call that launched a GPU event; an arrow leads from the call to the event. `None` if the trace does not contain
/// the call, or if the event starts before the call because the host clock and the GPU clock disagree.
pub(super) fn launch(analysis: &Analysis, side: Side, call: CallId) -> Option<CallId> {
    let tree = analysis.tree(side);
    let event = tree.event(call).filter(|_| tree.kind(call) == CallKind::Gpu)?;
    let launch = tree.running_launch(call)?;
    let begun = tree.trace().start(tree.event(launch)?);
    (begun <= tree.trace().start(event)).then_some(launch)
}

/// The two ends of an arrow.
pub(super) fn arrow(
    (analysis, clock, tracks): (&Analysis, Clock, &Tracks),
    side: Side,
    (launch, call): (CallId, CallId),
    id: usize,
) -> Option<[FlowEnd; 2]> {
    let tree = analysis.tree(side);
    let end = |ph, bp, call| {
        let event = tree.event(call)?;
        Some(FlowEnd {
            ph,
            bp,
            id,
            cat: "launch",
            name: "launch",
            track: tracks.of(analysis, side, event),
            ts: clock.at(side, tree.trace().start(event)).as_micros(),
        })
    };
    Some([end("s", None, launch)?, end("f", Some("e"), call)?])
}
