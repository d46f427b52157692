//! Finds where the parts of the lag curve are in the step that is shown, those in which most time is lost or won back,
//! and the anchors of the curve: matched calls that start at the same point of both programs.

use super::lanes::Placed;
use super::shown::{Shown, ticks};
use crate::analysis::Analysis;
use crate::diff::MergedId;
use crate::report::html::texts::{PageText, Texts};
use crate::report::lag;
use crate::report::text::one_line;
use crate::side::Side;
use crate::trace::Nanos;
use crate::tree::CallKind;
use rustc_hash::FxHashSet;
use serde::Serialize;

/// The position of a part of the program in the step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Place {
    /// Index of the part in the list of the first screen.
    part: usize,
    /// Node of the call at which most is lost.
    pub(super) node: usize,
    /// Start of the call on the side where it starts earlier, in ns since the start of the step.
    #[serde(skip)]
    pub(super) from: i64,
    /// End of the call on the side where it ends later, including the GPU events that it launched.
    #[serde(skip)]
    pub(super) to: i64,
}

/// Finds the listed parts that have a call in the step.
pub(super) fn of(analysis: &Analysis, shown: &Shown) -> Vec<Place> {
    let parts = lag::shown(analysis).map(lag::listed).unwrap_or_default();
    let place = |(part, worst): (usize, MergedId)| {
        let (Nanos(from), Nanos(to)) = span(analysis, shown, worst)?;
        Some(Place { part, node: worst.index(), from, to })
    };
    let worst = parts.iter().enumerate().filter_map(|(at, part)| Some((at, part.worst?)));
    worst.filter_map(place).collect()
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

/// Maximum number of anchors of calls that are not drawn.
const MOST: usize = 3_000;

/// The anchors in the order in which they start on both sides, as columns.
#[derive(Default, Serialize)]
pub(super) struct Anchors {
    /// The start of each anchor on each side, as the difference from the previous anchor.
    start1: Vec<i64>,
    start2: Vec<i64>,
    /// Where another part of the program begins: the number of the anchor, and the title of the part.
    marks: Vec<(usize, PageText)>,
}

/// The anchors; if there are too many, only those of the drawn calls.
pub(super) fn anchors(
    analysis: &Analysis,
    shown: &Shown,
    placed: &[Placed<'_>],
    texts: &mut Texts,
) -> Anchors {
    let lag = analysis.lag();
    let drawn: FxHashSet<MergedId> = placed.iter().map(|placed| placed.slice.node).collect();
    let has_all = lag.points.len() <= MOST;
    let mut anchors = Anchors::default();
    let (mut last, mut part) = ([0, 0], None);
    for point in lag.points.iter().filter(|point| has_all || drawn.contains(&point.node)) {
        let [start1, start2] =
            Side::BOTH.map(|side| ticks(shown.since(side, lag.start[side] + point.at[side])));
        if part != Some(point.part) {
            part = Some(point.part);
            let title = texts.id(&one_line(&lag.parts[point.part].title));
            anchors.marks.push((anchors.start1.len(), title));
        }
        anchors.start1.push(start1 - last[0]);
        anchors.start2.push(start2 - last[1]);
        last = [start1, start2];
    }
    anchors
}
