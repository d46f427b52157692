//! Builds the data for the page's script: one JSON value that is safe inside a `script` element.

use super::page_rows::PageRows;
use super::page_tree::PageTree;
use super::texts::Texts;
use super::timeline::{self, Timeline};
use crate::analysis::Analysis;
use crate::analysis::changes::Change;
use crate::program::Word;
use crate::report::nodes::facets::Facet;
use crate::report::text::Unit;
use crate::side::Side;
use serde::Serialize;
use std::fmt;
use std::io::{self, BufWriter, Write};

/// Maximum number of merged-tree nodes in a page; each node takes about 35 bytes.
const NODES: usize = 120_000;
/// Maximum number of rows in a page; each row takes about 120 bytes.
const ROWS: usize = 20_000;

/// If the idle time of a call is less than 1/`VISIBLE` of the total idle time, it counts as idle time of the parent
/// call.
const VISIBLE: i64 = 1_000;

/// Size of the output buffer in bytes. This buffer is larger than the output file's own buffer, so its content is
/// written directly to the file without being copied into the file's buffer.
const BUFFER: usize = 1 << 17;

#[derive(Serialize)]
pub(super) struct PageData<'a> {
    measure: &'static str,
    unit: &'static str,
    names: [&'a str; 2],
    /// Number of steps on each side, or 1 for both sides if a side has no steps. The page divides times by this number
    /// unless it shows totals.
    steps: [u64; 2],
    /// For each change, its rows and nodes on the page, in the order of the list of changes.
    changes: Vec<ChangePlaces>,
    /// A time difference is shown in gray if it is less than this fraction of the larger of the two times.
    noise: f64,
    /// For each side, an entry per graph launch that has captured calls: the first uid of the captured calls, and the
    /// uid of the launch.
    captured: [Vec<(u32, u32)>; 2],
    /// Device idle time by node: position of the node in the tree, then baseline and candidate idle time in ns.
    idle: Vec<(u32, i64, i64)>,
    pub(super) tree: PageTree<'a>,
    rows: PageRows<'a>,
    /// One step on both sides, for the timeline; `None` if no step can be shown.
    pub(super) timeline: Option<Timeline>,
    texts: Vec<String>,
    /// The kinds of call that a path query can name.
    query_words: [&'static str; Word::ALL.len()],
}

/// The attribution rows and the nodes in which a change occurs.
#[derive(Serialize)]
struct ChangePlaces {
    /// Ids of the attribution rows in which the change occurs.
    rows: Vec<usize>,
    /// Positions, in the page's tree, of the nodes at which the change occurs.
    nodes: Vec<u32>,
}

/// How many nodes and rows were omitted, and how many strings were shortened, to keep the page small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LeftOut {
    pub(super) nodes: u64,
    pub(super) rows: u64,
    pub(super) texts: u64,
}

/// Builds the data of a page, and counts what is omitted from it.
pub(super) fn embed<'a>(
    analysis: &'a Analysis,
    facets: &[Facet],
    unit: Unit,
) -> (PageData<'a>, LeftOut) {
    let mut texts = Texts::new();
    let tree = PageTree::new(analysis, NODES, &mut texts);
    let rows = PageRows::new(analysis, &tree, facets, ROWS, &mut texts);
    let timeline = timeline::of(analysis, &tree, &mut texts);
    let left_out =
        LeftOut { nodes: tree.left_out(), rows: rows.left_out(), texts: texts.shortened() };
    let data = PageData {
        measure: analysis.ledger().measure().label(),
        unit: unit.label(),
        names: Side::BOTH.map(|side| analysis.names()[side].as_str()),
        steps: steps(analysis),
        changes: changes(analysis, &tree),
        noise: analysis.options().thresholds.relative,
        captured: Side::BOTH.map(|side| captured(analysis, side)),
        idle: idle(analysis, &tree),
        tree,
        rows,
        timeline,
        texts: texts.into_list(),
        query_words: Word::ALL.map(Word::label),
    };
    (data, left_out)
}

/// Number of steps on each side; 1 for both sides if a side has no steps.
pub(super) fn steps(analysis: &Analysis) -> [u64; 2] {
    let counts = Side::BOTH.map(|side| analysis.diff().steps(side).len() as u64);
    if counts.contains(&0) { [1, 1] } else { counts }
}

fn changes(analysis: &Analysis, tree: &PageTree<'_>) -> Vec<ChangePlaces> {
    let places = |change: &Change| ChangePlaces {
        rows: change.rows.clone(),
        nodes: change.nodes.iter().filter_map(|&node| tree.position(node)).collect(),
    };
    analysis.changes().list().iter().map(places).collect()
}

/// Idle time in the steps, attributed to nodes. If the idle time of a node is too short to be visible, it is added to
/// the node's parent, which keeps the sums correct and the page small.
fn idle(analysis: &Analysis, tree: &PageTree<'_>) -> Vec<(u32, i64, i64)> {
    let merged = analysis.diff().merged();
    // Few nodes have idle time, so entries are stored only for these nodes. For each node, `of_nodes` contains 1 + the
    // index of the node's entry in `times`, or 0 if the node has no idle time.
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
    // Nodes are visited in reverse preorder, that is, children before their parents, so the time of a node is complete
    // when the node is visited.
    for id in merged.ids().rev() {
        let of_node = of_nodes[id.index()];
        let Some(&time) = times.get((of_node as usize).wrapping_sub(1)) else { continue };
        let position = tree.position(id);
        match (merged.parent(id), position) {
            (_, Some(position)) if time[0].max(time[1]) >= least => {
                listed.push((position, time[0], time[1]));
            }
            (Some(above), _) => match &mut of_nodes[above.index()] {
                // The parent has no entry yet, so the parent takes over the node's entry.
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

/// Writes a value as JSON without `<`. The JSON is the largest part of a report, so it is written directly instead of
/// being built in memory first.
impl fmt::Display for PageData<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = BufWriter::with_capacity(BUFFER, WithoutTags(f));
        serde_json::to_writer(&mut out, self).map_err(|_| fmt::Error)?;
        out.flush().map_err(|_| fmt::Error)
    }
}

/// Serializes any value as JSON without `<`.
pub(super) fn without_tags(value: &impl Serialize) -> io::Result<String> {
    let text = serde_json::to_string(value).map_err(io::Error::other)?;
    Ok(text.replace('<', "\\u003c"))
}

/// Writes JSON with each `<` escaped. In JSON, `<` occurs only inside strings, where an escaped `<` has the same
/// meaning. A name from a trace therefore cannot close the `script` element or open an HTML comment.
struct WithoutTags<'a, 'f>(&'a mut fmt::Formatter<'f>);

impl Write for WithoutTags<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Each write contains valid UTF-8, because the buffer never splits a character.
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
