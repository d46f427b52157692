//! What the script of the page works on: one JSON value, safe inside a `script` element.

use super::page_rows::PageRows;
use super::page_tree::PageTree;
use super::texts::Texts;
use super::timeline::{self, Timeline};
use crate::analysis::Analysis;
use crate::report::nodes::facets::Facet;
use crate::report::text::Unit;
use crate::side::Side;
use serde::Serialize;
use std::fmt;
use std::io::{self, BufWriter, Write};

/// Most nodes of the merged tree in a page: some 35 bytes each.
const NODES: usize = 120_000;
/// Most rows in a page: some 120 bytes each.
const ROWS: usize = 20_000;

/// Idle time of less than this part of all of it is counted at the call above.
const VISIBLE: i64 = 1_000;

/// Bytes of data that are written at once: more than a file's own buffer, so that it takes no copy.
const BUFFER: usize = 1 << 17;

#[derive(Serialize)]
pub(super) struct PageData<'a> {
    measure: &'static str,
    unit: &'static str,
    /// What people call the two sides.
    names: [&'a str; 2],
    /// Part of the larger time by which a time may change and still be grey.
    noise: f64,
    /// For each graph launch with captured calls, on each side: the uid from which on theirs count,
    /// and its own.
    captured: [Vec<(u32, u32)>; 2],
    /// Idle time of the devices in ns by the node that had it: position in the tree, trace1, trace2.
    idle: Vec<(u32, i64, i64)>,
    pub(super) tree: PageTree<'a>,
    rows: PageRows<'a>,
    /// One step of both sides; `None` where there is nothing to show.
    pub(super) timeline: Option<Timeline>,
    texts: Vec<String>,
}

/// What a page leaves out to stay small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LeftOut {
    pub(super) nodes: u64,
    pub(super) rows: u64,
    pub(super) texts: u64,
}

/// The data of a page, and what it leaves out.
pub(super) fn embed<'a>(
    analysis: &'a Analysis,
    facets: &[Facet],
    unit: Unit,
) -> (PageData<'a>, LeftOut) {
    let mut texts = Texts::new();
    let tree = PageTree::new(analysis, NODES, &mut texts);
    let rows = PageRows::new(analysis, &tree, facets, ROWS, &mut texts);
    let timeline = timeline::of(analysis, &mut texts);
    let left_out =
        LeftOut { nodes: tree.left_out(), rows: rows.left_out(), texts: texts.shortened() };
    let data = PageData {
        measure: analysis.measure().label(),
        unit: unit.label(),
        names: Side::BOTH.map(|side| analysis.side_name(side)),
        noise: analysis.thresholds().relative,
        captured: Side::BOTH.map(|side| captured(analysis, side)),
        idle: idle(analysis, &tree),
        tree,
        rows,
        timeline,
        texts: texts.into_list(),
    };
    (data, left_out)
}

/// Idle time of the steps by the node that had it. What is too little to be seen is counted at the
/// call above, so that sums stay right and the page stays small.
fn idle(analysis: &Analysis, tree: &PageTree<'_>) -> Vec<(u32, i64, i64)> {
    let merged = analysis.diff().merged();
    // Few nodes have any: of each node which of the times is its, counted from 1; 0 for none.
    let (mut of_nodes, mut times) = (vec![0_u32; merged.len()], Vec::<[i64; 2]>::new());
    let mut total = [0, 0];
    for row in analysis.wall().idle().iter().filter(|row| row.part.is_of_window()) {
        let Some(id) = row.owner.or(row.lowest_common) else { continue };
        let of_node = &mut of_nodes[id.index()];
        if *of_node == 0 {
            times.push([0, 0]);
            *of_node = times.len() as u32;
        }
        let time = &mut times[*of_node as usize - 1];
        for side in Side::BOTH {
            time[side as usize] += row.time[side].0;
            total[side as usize] += row.time[side].0;
        }
    }
    let least = total[0].max(total[1]) / VISIBLE;
    let mut listed = Vec::new();
    // A call stands behind those above it: from the end on, nothing is added to what was looked at.
    for id in merged.ids().rev() {
        let of_node = of_nodes[id.index()];
        let Some(&time) = times.get((of_node as usize).wrapping_sub(1)) else { continue };
        let position = tree.position(id);
        match (merged.parent(id), position) {
            (_, Some(position)) if time[0].max(time[1]) >= least => {
                listed.push((position, time[0], time[1]));
            }
            (Some(above), _) => match &mut of_nodes[above.index()] {
                // The time goes on as that of the call above.
                none @ 0 => *none = of_node,
                known => {
                    let sum = &mut times[*known as usize - 1];
                    *sum = [sum[0] + time[0], sum[1] + time[1]];
                }
            },
            (None, Some(position)) => listed.push((position, time[0], time[1])),
            (None, None) => {}
        }
    }
    listed
}

fn captured(analysis: &Analysis, side: Side) -> Vec<(u32, u32)> {
    let ranges = analysis.tree(side).trace().captured_ranges();
    ranges.into_iter().map(|(first, launch)| (first.0, launch.0)).collect()
}

/// As JSON text without `<`, written as it is made: it is the largest part of a report.
impl fmt::Display for PageData<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = BufWriter::with_capacity(BUFFER, WithoutTags(f));
        serde_json::to_writer(&mut out, self).map_err(|_| fmt::Error)?;
        out.flush().map_err(|_| fmt::Error)
    }
}

/// Any value as JSON text without `<`.
pub(super) fn without_tags(value: &impl Serialize) -> io::Result<String> {
    let text = serde_json::to_string(value).map_err(io::Error::other)?;
    Ok(text.replace('<', "\\u003c"))
}

/// Writes JSON with each `<` escaped. They stand only inside of strings, where the escape means the
/// same: no name can end the element or open a comment.
struct WithoutTags<'a, 'f>(&'a mut fmt::Formatter<'f>);

impl Write for WithoutTags<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // What is written at once is text, and the buffer before this one cuts none of it in two.
        let text = str::from_utf8(bytes).map_err(io::Error::other)?;
        for (at, part) in text.split('<').enumerate() {
            let escape = if at > 0 { "\\u003c" } else { "" };
            let written = self.0.write_str(escape).and_then(|()| self.0.write_str(part));
            written.map_err(io::Error::other)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
