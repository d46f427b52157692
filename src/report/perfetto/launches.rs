//! Draws arrows from launches to their GPU events, each as two flow events.

use super::clock::Clock;
use super::tracks::{Track, Tracks};
use crate::analysis::Analysis;
use crate::side::Side;
use crate::tree::{CallId, CallKind};
use serde::Serialize;

/// One end of an arrow. An end binds to the innermost slice on its track at that time.
#[derive(Serialize)]
pub(super) struct FlowEnd {
    ph: &'static str,
    /// `e` binds the end of an arrow to the enclosing slice instead of the next one.
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'static str>,
    id: usize,
    cat: &'static str,
    name: &'static str,
    #[serde(flatten)]
    track: Track,
    ts: f64,
}

/// The launch that an arrow connects to a GPU event: the call that made the event run, if it is in
/// the trace and began before the event. If host and GPU clocks disagree, no arrow can be drawn.
pub(super) fn launch(analysis: &Analysis, side: Side, call: CallId) -> Option<CallId> {
    let tree = analysis.tree(side);
    let event = tree.event(call).filter(|_| tree.kind(call) == CallKind::Gpu)?;
    let launch = tree.running_launch(call)?;
    let begun = tree.trace().start(tree.event(launch)?);
    (begun <= tree.trace().start(event)).then_some(launch)
}

/// Both ends of an arrow with this number.
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
