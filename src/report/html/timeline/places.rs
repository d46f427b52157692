//! Finds where the leading causes occur in the step that is shown. If a cause occurs several times, the occurrence
//! with the largest difference is chosen.

use super::shown::Shown;
use crate::analysis::Analysis;
use crate::analysis::causes::Cause;
use crate::analysis::wall::{IdleKind, Part};
use crate::diff::MergedId;
use crate::report::nodes::{own_time, own_times};
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::CallKind;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// The position of a cause in the step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct CausePlace {
    /// Index of the cause in the list of causes.
    cause: usize,
    /// Node of the cause in the merged tree.
    pub(super) node: usize,
    /// For a cause in GPU time, the GPU event with the largest difference below the node.
    pub(super) event: Option<usize>,
    /// Start of the cause on the side where it starts earlier, in ns since the start of the step.
    pub(super) from: i64,
    /// End of the cause on the side where it ends later, including the GPU events that the cause's calls launched.
    pub(super) to: i64,
}

/// Finds the leading causes that have a call in the step.
pub(super) fn of(analysis: &Analysis, shown: &Shown) -> Vec<CausePlace> {
    let leading = analysis.causes().leading();
    let measures: BTreeSet<_> = leading.iter().map(measure).collect();
    let mut places = Vec::new();
    for (kind, extent) in measures {
        let differences = differences(analysis, kind, extent);
        let is_told = |(_, cause): &(usize, &Cause)| measure(cause) == (kind, extent);
        for (at, cause) in leading.iter().enumerate().filter(is_told) {
            let in_step = cause.nodes.iter().copied().filter(|&id| is_in(analysis, shown, id));
            let most = in_step.min_by_key(|&id| (Reverse(differences[id.index()].abs()), id));
            let span = most.and_then(|id| Some((id, span(analysis, shown, id)?)));
            places.extend(span.map(|(id, (from, to))| CausePlace {
                cause: at,
                node: id.index(),
                event: kind.is_none().then(|| largest_event(analysis, id)).flatten(),
                from: from.0,
                to: to.0,
            }));
        }
    }
    places.sort_unstable_by_key(|place| place.cause);
    places
}

/// Returns how the time of a cause is measured: the kind of idle time (`None` if the cause is not idle time),
/// and whether the nodes below the cause's node are included.
fn measure(cause: &Cause) -> (Option<IdleKind>, Extent) {
    let kind = IdleKind::ALL.into_iter().find(|kind| kind.label() == cause.reason.label());
    // A cause without a node is the sum of many small causes. For each of these, only the time of the call site itself
    // counts.
    (kind, if cause.node.is_some() { Extent::Below } else { Extent::Own })
}

/// Whether the time of a cause's node includes the time of the nodes below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Extent {
    Own,
    Below,
}

/// For each node, the time difference (candidate − baseline). `extent` says whether the nodes below the node are
/// included. If `kind` is `None`, the time is the attributed time. Otherwise, it is the idle time of this kind; in
/// host-only traces, the attributed time is added to it.
fn differences(analysis: &Analysis, kind: Option<IdleKind>, extent: Extent) -> Vec<i64> {
    let merged = analysis.diff().merged();
    let mut differences: Vec<i64> = vec![0; merged.len()];
    for row in analysis.wall().idle() {
        if let Some(owner) =
            row.owner.filter(|_| Some(row.kind) == kind && row.part == Part::Window)
        {
            differences[owner.index()] += row.difference().0;
        }
    }
    if kind.is_none() || super::slice::is_host(analysis) {
        for (side, sign) in [(Side::Baseline, -1), (Side::Candidate, 1)] {
            for (id, time) in own_times(analysis, side) {
                differences[id.index()] += sign * time.0;
            }
        }
    }
    if extent == Extent::Below {
        for id in merged.ids().rev() {
            if let Some(parent) = merged.parent(id) {
                let below = differences[id.index()];
                differences[parent.index()] += below;
            }
        }
    }
    differences
}

/// Among the GPU events below a node, finds the event with the largest time difference, and returns its node.
fn largest_event(analysis: &Analysis, id: MergedId) -> Option<usize> {
    let merged = analysis.diff().merged();
    let node = merged.node(id);
    let of_side = |side: Side| {
        let (tree, call) = (analysis.tree(side), node.call(side));
        let below = call.into_iter().flat_map(move |call| tree.subtree(call));
        let events = below.filter(move |&call| tree.kind(call) == CallKind::Gpu);
        events.map(move |call| merged.of(side, call))
    };
    let difference = |id: MergedId| {
        let own = PerSide::from_fn(|side| own_time(analysis, side, merged.node(id)));
        own.difference().abs()
    };
    let events = Side::BOTH.into_iter().flat_map(of_side);
    events.min_by_key(|&id| (Reverse(difference(id)), id)).map(|id| id.index())
}

/// Whether the step made or launched a call of the node on either side.
fn is_in(analysis: &Analysis, shown: &Shown, id: MergedId) -> bool {
    let node = analysis.diff().merged().node(id);
    Side::BOTH.iter().any(|&side| {
        node.call(side).is_some_and(|call| {
            analysis.tree(side).event(call).is_some() && shown.holds(analysis, side, call)
        })
    })
}

/// The interval that covers a node's calls and the GPU events below them on both sides, in time since the start of the
/// step. Returns `None` if no call of the node was made in the step.
fn span(analysis: &Analysis, shown: &Shown, id: MergedId) -> Option<(Nanos, Nanos)> {
    let node = analysis.diff().merged().node(id);
    let of_side = |side: Side| {
        let (tree, call) = (analysis.tree(side), node.call(side)?);
        tree.event(call).filter(|_| shown.holds(analysis, side, call))?;
        let runs = |&below: &_| below == call || tree.kind(below) == CallKind::Gpu;
        let events = tree.subtree(call).filter(runs).filter_map(|call| tree.event(call));
        let spans = events.map(|event| {
            let trace = tree.trace();
            (shown.since(side, trace.start(event)), shown.since(side, trace.end(event)))
        });
        spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    };
    Side::BOTH.into_iter().filter_map(of_side).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}
