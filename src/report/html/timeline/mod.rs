//! Builds the page's timeline, which shows one step on both sides as slices in lanes. Both sides are aligned at the
//! start of the step.
//!
//! ```text
//! MI300X  main thread   ├ Conv2d_0 ───────┤├ Linear_0 ──┤
//!         GPU 0 str. 7      ├ igemm ───┤      ├ Cijk ─┤
//! H100    main thread   ├ Conv2d_0 ──┤├ Linear_0 ─┤
//!         GPU 0 str. 7     ├ cudnn ─┤     ├ sm90 ─┤
//! ```
//! Times are in nanoseconds, measured on each side from the start of the step on that side. The timeline has a limited
//! size, however large the trace is: it shows only the longest calls in the step and the longest calls near the parts with the
//! largest lag.

mod choice;
mod kept;
mod lanes;
mod places;
mod shown;
mod slice;

use super::page_tree::{kind_letter, relation_letter};
use super::texts::{PageText, Texts};
use crate::analysis::Analysis;
use crate::side::{PerSide, Side};
use crate::tree::CallTree;
use lanes::Lane;
use places::Place;
use serde::Serialize;
use shown::Shown;
use slice::Slice;

/// The letter for a GPU event that runs in the step but was launched outside of it. This letter
/// replaces the letter for the relation.
const OUTSIDE: char = 'o';

/// The timeline data that the script draws.
#[derive(Serialize)]
pub(super) struct Timeline {
    /// The name of the step on each side; empty if the whole trace is shown.
    steps: [String; 2],
    /// Host time in the step on each side, in ns.
    host: [i64; 2],
    /// End of the last event that the step launched, for each side, in ns.
    end: [i64; 2],
    lanes: Vec<Lane>,
    slices: Slices,
    /// Where in the step the listed parts of the lag curve are.
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
    /// Index of each slice's lane.
    lane: Vec<u32>,
    /// Row of each slice in its lane, from 0; calls are below their caller.
    row: Vec<u32>,
    start: Vec<i64>,
    time: Vec<i64>,
    name: Vec<PageText>,
    /// Node of each slice in the merged tree. The counterpart of a slice is the slice on the opposite side with the
    /// same node.
    node: Vec<usize>,
    /// The kind of each slice as one letter, as in the page's tree.
    kind: String,
    /// The relation of each slice as one letter, as in the page's tree. `o` marks events launched outside of the step.
    relation: String,
}

/// Builds the timeline; `None` if there is no step to show.
pub(super) fn of(analysis: &Analysis, texts: &mut Texts) -> Option<Timeline> {
    let shown = Shown::choose(analysis);
    let parts = places::of(analysis, &shown);
    let calls = kept::calls(analysis, &shown, &parts);
    let of = calls.baseline.len() + calls.candidate.len();
    if of == 0 {
        return None;
    }
    let slices = choice::choose(analysis, &shown, &calls, &parts);
    let (lanes, placed, dropped) = lanes::place(analysis, &slices, texts);
    let remark = remark(analysis, &shown, (placed.len(), of), dropped);
    let mut columns = Slices::default();
    for place in &placed {
        columns.push(analysis, place.slice, place.lane, place.row, texts);
    }
    Some(Timeline {
        steps: Side::BOTH.map(|side| shown.name(analysis, side)),
        host: Side::BOTH.map(|side| shown.host_time(side).0),
        end: Side::BOTH.map(|side| shown.end(side).0),
        lanes,
        slices: columns,
        parts,
        remark,
    })
}

impl Slices {
    fn push(
        &mut self,
        analysis: &Analysis,
        slice: &Slice,
        lane: usize,
        row: usize,
        texts: &mut Texts,
    ) {
        let tree: &CallTree = analysis.tree(slice.side);
        let node = analysis.diff().merged().node(slice.node);
        self.lane.push(lane as u32);
        self.row.push(row as u32);
        self.start.push(slice.start.0);
        self.time.push(slice.time.0);
        self.name.push(texts.name(slice.side, tree, slice.call));
        self.node.push(slice.node.index());
        self.kind.push(kind_letter(analysis, node));
        self.relation.push(if slice.is_inside { relation_letter(analysis, node) } else { OUTSIDE });
    }
}

/// A remark that names the step shown and describes the omitted calls.
fn remark(
    analysis: &Analysis,
    shown: &Shown,
    (drawn, of): (usize, usize),
    dropped: PerSide<usize>,
) -> String {
    let mut text = match shown.told(analysis) {
        Some(step) => format!("Step {step} on both sides, aligned at the start of the step."),
        None => "Both traces in full, aligned at the start, because there are no steps.".to_owned(),
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
