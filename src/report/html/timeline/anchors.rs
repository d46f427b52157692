//! Selects the anchors of the lag curve that the timeline needs: matched calls that start at the same point of both
//! programs.

use super::lanes::Placed;
use super::shown::Shown;
use super::slice::ticks;
use crate::analysis::Analysis;
use crate::diff::MergedId;
use crate::report::html::texts::{PageText, Texts};
use crate::report::text::one_line;
use crate::side::Side;
use rustc_hash::FxHashSet;
use serde::Serialize;

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
pub(super) fn of(
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
