//! Builds the page's timeline, which shows one step on both sides as slices in lanes.
//!
//! ```text
//! MI300X  main thread   ├ Conv2d_0 ───────┤├ Linear_0 ──┤
//!         GPU 0 str. 7      ├ igemm ───┤      ├ Cijk ─┤
//! H100    GPU 0 str. 7      ├ cudnn ─┤        ├ sm90 ─┤
//!         main thread   ├ Conv2d_0 ──┤├ Linear_0 ─┤
//! ```
//! The anchors of the lag curve are matched calls; the script can draw each at the same position on both sides. Times
//! are in units of 0.1 µs, measured on each side from the start of the step on that side. The timeline has a limited
//! size, however large the trace is: it shows only the longest calls in the step and the longest calls near the parts
//! with the largest lag.

mod choice;
mod kept;
mod lanes;
mod places;
mod shown;

use super::page_tree::PageTree;
use super::texts::Texts;
use crate::analysis::Analysis;
use crate::side::{PerSide, Side};
use lanes::{Lane, Placed};
use places::{Anchors, Place};
use serde::Serialize;
use shown::{Shown, ticks};

/// The timeline data that the script draws.
#[derive(Serialize)]
pub(super) struct Timeline {
    /// The name of the step on each side; empty if the whole trace is shown.
    steps: [String; 2],
    /// Host time in the step on each side.
    host: [i64; 2],
    /// End of the last event that the step launched, for each side.
    end: [i64; 2],
    lanes: Vec<Lane>,
    slices: Slices,
    anchors: Anchors,
    /// The calls of the listed parts of the lag curve.
    parts: Vec<Place>,
    #[serde(skip)]
    remark: String,
}

impl Timeline {
    /// A sentence that names the step shown and describes the omitted calls.
    pub(super) fn remark(&self) -> &str {
        &self.remark
    }
}

/// The slices, ordered by side, lane, row and start, as one column per property.
#[derive(Default, Serialize)]
struct Slices {
    /// Node of each slice in the merged tree, as the difference from the previous slice's node. The counterpart of a
    /// slice is the slice on the opposite side with the same node.
    node: Vec<i64>,
    /// Time from the end of the previous slice in the row to the start of the slice; from the start of the step for
    /// the first slice in a row.
    gap: Vec<i64>,
    time: Vec<i64>,
    /// The slices of GPU events that run in the step but were launched outside of it.
    outside: Vec<usize>,
}

/// Builds the timeline; `None` if there is no step to show.
pub(super) fn of(analysis: &Analysis, tree: &PageTree<'_>, texts: &mut Texts) -> Option<Timeline> {
    let shown = Shown::choose(analysis);
    let parts = places::of(analysis, &shown);
    let calls = kept::calls(analysis, &shown, &parts);
    let of = calls.baseline.len() + calls.candidate.len();
    let mut slices = choice::choose(analysis, &shown, &calls, &parts);
    // The page's tree has the name of each call.
    slices.retain(|slice| tree.position(slice.node).is_some());
    if slices.is_empty() {
        return None;
    }
    let (lanes, placed, dropped) = lanes::place(analysis, &slices, texts);
    let remark = remark(analysis, &shown, (placed.len(), of), dropped);
    Some(Timeline {
        steps: Side::BOTH.map(|side| shown.name(analysis, side)),
        host: Side::BOTH.map(|side| ticks(shown.host_time(side))),
        end: Side::BOTH.map(|side| ticks(shown.end(side))),
        lanes,
        anchors: places::anchors(analysis, &shown, &placed, texts),
        slices: Slices::of(&placed),
        parts,
        remark,
    })
}

impl Slices {
    fn of(placed: &[Placed<'_>]) -> Slices {
        let mut slices = Slices::default();
        let mut last_node = 0;
        for rows in placed.chunk_by(|a, b| (a.lane, a.row) == (b.lane, b.row)) {
            let mut last_end = 0;
            for Placed { slice, .. } in rows {
                let node = slice.node.index() as i64;
                let (start, end) = (ticks(slice.start), ticks(slice.end()));
                if !slice.is_inside {
                    slices.outside.push(slices.node.len());
                }
                slices.node.push(node - std::mem::replace(&mut last_node, node));
                slices.gap.push(start - std::mem::replace(&mut last_end, end));
                slices.time.push(end - start);
            }
        }
        slices
    }
}

/// A remark that names the step shown and describes the omitted calls.
fn remark(
    analysis: &Analysis,
    shown: &Shown,
    (drawn, of): (usize, usize),
    dropped: PerSide<usize>,
) -> String {
    let mut text = match shown.shown_count(analysis) {
        Some(step) => format!("Step {step} on both sides."),
        None => "Both traces in full, because there are no steps.".to_owned(),
    };
    text += " Omitted: calls that spend nearly all their time in one child";
    if drawn < of {
        text += &format!(
            "; {} of {of} events (the shortest ones that are not near the parts with the largest lag)",
            of - drawn
        );
    }
    let lanes = dropped.baseline + dropped.candidate;
    if lanes > 0 {
        text += &format!("; the threads and streams with the least time ({lanes})");
    }
    text + ". The Perfetto file contains everything."
}
