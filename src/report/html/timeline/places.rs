//! The leading causes → where each stands in the step that is shown: the instance that differs most.

use super::shown::Shown;
use crate::analysis::{Analysis, IdleKind, Part};
use crate::diff::MergedId;
use crate::report::nodes::times_below;
use crate::side::Side;
use crate::trace::Nanos;
use crate::tree::CallKind;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A cause in the step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct CausePlace {
    /// Position in the list of causes.
    cause: usize,
    /// Its node of the merged tree.
    pub(super) node: usize,
    /// When it begins on the side that is first, since the step began.
    pub(super) from: i64,
    /// When it ends on the side that is last, with the GPU events that it launched.
    pub(super) to: i64,
}

/// The causes that have a call in the step.
pub(super) fn of(analysis: &Analysis, shown: &Shown) -> Vec<CausePlace> {
    let mut below: BTreeMap<Option<IdleKind>, Vec<i64>> = BTreeMap::new();
    let mut places = Vec::new();
    for (at, cause) in analysis.causes().leading().iter().enumerate() {
        let kind = IdleKind::ALL.into_iter().find(|kind| kind.label() == cause.reason.label());
        let below = below.entry(kind).or_insert_with(|| differences(analysis, kind));
        let spans = cause.nodes.iter().filter_map(|&id| Some((id, span(analysis, shown, id)?)));
        let most = spans.min_by_key(|&(id, _)| (Reverse(below[id.index()].abs()), id));
        places.extend(most.map(|(id, (from, to))| CausePlace {
            cause: at,
            node: id.index(),
            from: from.0,
            to: to.0,
        }));
    }
    places
}

/// Candidate − baseline at and below each node: of the idle time of one kind, else of the accounted time.
/// On a host alone both are told in one word.
fn differences(analysis: &Analysis, kind: Option<IdleKind>) -> Vec<i64> {
    let merged = analysis.diff().merged();
    let busy = times_below(analysis);
    let mut differences: Vec<i64> = vec![0; merged.len()];
    for row in analysis.wall().idle() {
        if let Some(owner) =
            row.owner.filter(|_| Some(row.kind) == kind && row.part == Part::Window)
        {
            differences[owner.index()] += row.difference().0;
        }
    }
    for id in merged.ids().rev() {
        if let Some(parent) = merged.parent(id) {
            let below = differences[id.index()];
            differences[parent.index()] += below;
        }
    }
    if kind.is_none() || super::is_host(analysis) {
        for (difference, (one, two)) in
            differences.iter_mut().zip(busy.baseline.iter().zip(&busy.candidate))
        {
            *difference += (*two - *one).0;
        }
    }
    differences
}

/// From the first moment of a node's calls to the last, with the GPU events below, since the step began;
/// `None` where no call of it was made in the step.
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
