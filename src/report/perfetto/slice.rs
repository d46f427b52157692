//! Draws a call as a slice of the timeline, with the call's uid, counterpart and time difference, and the arrows between
//! calls: from launches to their GPU events, and between the matched calls with the largest differences.

use super::clock::Clock;
use super::tracks::{Track, Tracks};
use crate::analysis::Analysis;
use crate::diff::{MergedId, MergedNode};
use crate::order::Order as _;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::{CallId, CallKind};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A slice in trace event format, whose times are in µs.
#[derive(Serialize)]
pub(super) struct Slice<'a> {
    ph: &'static str,
    name: &'a str,
    cat: &'static str,
    #[serde(flatten)]
    track: Track,
    ts: f64,
    dur: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    bind_id: Option<usize>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    flow_out: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    flow_in: bool,
    args: SliceArgs<'a>,
}

#[derive(Serialize)]
struct SliceArgs<'a> {
    /// Position of the call in `traceEvents` of the original trace.
    uid: u32,
    relation: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    counterpart_uid: Option<u32>,
    /// Name of the counterpart, if it differs from the call's own name.
    #[serde(skip_serializing_if = "Option::is_none")]
    counterpart_name: Option<&'a str>,
    /// Difference in the attributed time of this call and the calls below it, candidate − baseline, in µs.
    #[serde(skip_serializing_if = "Option::is_none")]
    accounted_diff_us: Option<f64>,
}

/// The data that is used to build slices.
pub(super) struct Slices<'a> {
    pub(super) analysis: &'a Analysis,
    /// Attributed time of each node, including all nodes below the node.
    pub(super) times: &'a PerSide<Vec<Nanos>>,
    pub(super) clock: Clock,
    pub(super) tracks: &'a Tracks,
    pub(super) arrows: &'a Arrows,
}

impl<'d> Slices<'d> {
    /// The slice for a call; `None` for the tree's roots.
    pub(super) fn slice(&self, id: MergedId, side: Side, call: CallId) -> Option<Slice<'d>> {
        let tree = self.analysis.tree(side);
        let trace = tree.trace();
        let event = tree.event(call)?;
        let arrow = self.arrows.at(id);
        let earlier = arrow.is_some() && self.is_earlier(id, side);
        Some(Slice {
            ph: "X",
            name: trace.name(event),
            cat: trace.category(event).label(),
            track: self.tracks.of(self.analysis, side, event),
            ts: self.clock.at(side, trace.start(event)).as_micros(),
            dur: trace.duration(event).as_micros(),
            bind_id: arrow,
            flow_out: earlier,
            flow_in: arrow.is_some() && !earlier,
            args: self.args(id, side, call, trace.uid(event).0),
        })
    }

    fn args(&self, id: MergedId, side: Side, call: CallId, uid: u32) -> SliceArgs<'d> {
        let (diff, other) = (self.analysis.diff(), self.analysis.tree(side.other()));
        let counterpart = diff.counterpart(side, call);
        let counterpart_event = counterpart.and_then(|call| other.event(call));
        let time = self.times.as_ref().map(|times| times[id.index()]);
        let delta = time.candidate - time.baseline;
        SliceArgs {
            uid,
            relation: diff.relation(side, call).label(),
            counterpart_uid: counterpart_event.map(|event| other.trace().uid(event).0),
            counterpart_name: counterpart
                .map(|call| other.name(call))
                .filter(|&name| name != self.analysis.tree(side).name(call)),
            accounted_diff_us: (delta.0 != 0).then(|| delta.as_micros()),
        }
    }

    /// Whether the slice on this side starts before the matched slice on the other side. Arrows start at the earlier
    /// slice, because they must point forward in time.
    fn is_earlier(&self, id: MergedId, side: Side) -> bool {
        let MergedNode::Both(first, second) = self.analysis.diff().merged().node(id) else {
            return false;
        };
        let start = |side: Side, call: CallId| {
            let tree = self.analysis.tree(side);
            tree.event(call).map(|event| self.clock.at(side, tree.trace().start(event)))
        };
        let baseline_first = start(Side::Baseline, first) <= start(Side::Candidate, second);
        baseline_first == (side == Side::Baseline)
    }
}

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

/// Maximum number of arrows; more arrows would hide the slices.
const ARROWS: usize = 200;

/// The arrows, each identified by a number. An arrow connects the two slices of a matched node, one
/// on each side.
pub(super) struct Arrows {
    numbers: BTreeMap<MergedId, usize>,
}

impl Arrows {
    /// Chooses the nodes to draw arrows for. Both calls of such a node must be in the file.
    pub(super) fn new(analysis: &Analysis, keep: &[bool]) -> Arrows {
        let mut rows: Vec<(usize, Nanos, MergedId)> = analysis
            .rows()
            .iter()
            .enumerate()
            .filter(|(_, row)| row.difference() != Nanos::ZERO)
            .filter_map(|(at, row)| {
                let (first, second) = (row.calls.baseline?, row.calls.candidate?);
                analysis.tree(Side::Baseline).event(first)?;
                analysis.tree(Side::Candidate).event(second)?;
                let id = analysis.diff().merged().of(Side::Baseline, first);
                keep[id.index()].then_some((at, row.difference().abs(), id))
            })
            .collect();
        rows.order_by_key(|&(at, difference, _)| (Reverse(difference), at));
        rows.truncate(ARROWS);
        let numbers = rows.into_iter().enumerate().map(|(at, (_, _, id))| (id, at + 1)).collect();
        Arrows { numbers }
    }

    /// The number that identifies a node's arrow; `None` if the node has no arrow.
    pub(super) fn at(&self, id: MergedId) -> Option<usize> {
        self.numbers.get(&id).copied()
    }
}
