//! Builds the data for the page's script: one JSON value that is safe inside a `script` element.

use super::column::step;
use super::page_rows::{PageRows, node_of};
use super::page_tree::PageTree;
use super::texts::{PageText, Texts};
use super::timeline::{self, Timeline};
use crate::analysis::Analysis;
use crate::analysis::account::Row;
use crate::analysis::changes::Change;
use crate::analysis::wall::WallTotals;
use crate::diff::MergedId;
use crate::program::{Measure, Word};
use crate::report::nodes::facets::Facet;
use crate::report::text::Unit;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::CallKind;
use serde::Serialize;
use std::fmt;
use std::io::{self, BufWriter, Write};

/// Maximum number of merged-tree nodes in a page; each node takes about 35 bytes.
const NODES: usize = 120_000;
/// Maximum number of rows in a page; each row takes about 120 bytes.
const ROWS: usize = 20_000;

/// If a node has less than 1/`VISIBLE` of the total of a column, its time counts as time of the parent node.
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
    /// Mean duration of a compared step on each side, in ns, as in the headline.
    step: [i64; 2],
    /// Mean idle time of a compared step on each side, in ns, as on the first screen.
    waits: [i64; 2],
    /// Device idle time by node.
    idle: Vec<NodeTime>,
    /// By how much the time of the node's row is longer than the time for which it kept the device busy; negative. The
    /// tree's own times, `idle` and `overlap` add up to the time of the steps.
    overlap: Vec<NodeTime>,
    /// Host self time of ops by node; empty if the measured time is host time.
    host: Vec<NodeTime>,
    pub(super) tree: PageTree<'a>,
    rows: PageRows<'a>,
    /// One step on both sides, for the timeline; `None` if no step can be shown.
    pub(super) timeline: Option<Timeline>,
    texts: Vec<String>,
    /// The strings that are names of kernels, with their short names.
    kernels: Vec<(PageText, String)>,
    /// The kinds of call that a path query can name.
    query_words: [&'static str; Word::ALL.len()],
}

/// Position of a node in the tree, as the difference from the previous one; then its baseline and candidate time in ns.
type NodeTime = (i64, i64, i64);

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
        step: per_compared_step(analysis, WallTotals::own),
        waits: per_compared_step(analysis, |totals| totals.idle),
        idle: by_node(analysis, &tree, idle(analysis)),
        overlap: by_node(analysis, &tree, overlap(analysis)),
        host: by_node(analysis, &tree, host(analysis)),
        tree,
        rows,
        timeline,
        kernels: texts.kernels(),
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

/// The mean of a time over the compared steps on each side, in ns.
pub(super) fn per_compared_step(analysis: &Analysis, pick: fn(&WallTotals) -> Nanos) -> [i64; 2] {
    Side::BOTH.map(|side| {
        let totals = analysis.wall().totals(side);
        pick(&totals).0 / totals.steps.max(1) as i64
    })
}

fn changes(analysis: &Analysis, tree: &PageTree<'_>) -> Vec<ChangePlaces> {
    let places = |change: &Change| ChangePlaces {
        rows: change.rows.clone(),
        nodes: change.nodes.iter().filter_map(|&node| tree.position(node)).collect(),
    };
    analysis.changes().list().iter().map(places).collect()
}

type Times = Vec<(MergedId, PerSide<Nanos>)>;

/// Idle time in the steps.
fn idle(analysis: &Analysis) -> Times {
    let rows = analysis.wall().idle().iter().filter(|row| row.part.is_of_window());
    rows.filter_map(|row| Some((row.owner.or(row.lowest_common)?, row.time))).collect()
}

/// The busy time of each row minus its own time: both are the same unless several events run at once, or work runs
/// outside of the steps.
fn overlap(analysis: &Analysis) -> Times {
    let busy = analysis.rows().iter().zip(analysis.wall().busy_in_window());
    let time = |(row, busy): (&Row, PerSide<Nanos>)| {
        let excess = PerSide::from_fn(|side| busy[side] - row.time[side]);
        Some((node_of(analysis, row)?, excess)).filter(|_| excess != PerSide::default())
    };
    busy.filter_map(time).collect()
}

/// The self time of ops in the steps, if GPU time is measured.
fn host(analysis: &Analysis) -> Times {
    if analysis.ledger().measure() == Measure::HostSelfTime {
        return Vec::new();
    }
    let merged = analysis.diff().merged();
    let times = merged.nodes().map(|(id, node)| {
        let time = PerSide::from_fn(|side| {
            let tree = analysis.tree(side);
            let call = node.call(side).filter(|&call| tree.kind(call) == CallKind::Op);
            call.map_or(Nanos::ZERO, |call| tree.self_time(call))
        });
        (id, time)
    });
    times.filter(|(_, time)| *time != PerSide::default()).collect()
}

/// Adds up times by node of the page's tree. If the time of a node is too short to be visible, it is added to the
/// node's parent, which keeps the sums correct and the page small.
fn by_node(analysis: &Analysis, tree: &PageTree<'_>, all: Times) -> Vec<NodeTime> {
    let merged = analysis.diff().merged();
    // Few nodes have such time, so entries are stored only for these nodes. For each node, `of_nodes` contains 1 + the
    // index of the node's entry in `times`, or 0 if the node has no time.
    let (mut of_nodes, mut times) = (vec![0_u32; merged.len()], Vec::<[i64; 2]>::new());
    let mut total = [0, 0];
    for (id, added) in all {
        let of_node = &mut of_nodes[id.index()];
        if *of_node == 0 {
            times.push([0, 0]);
            *of_node = times.len() as u32;
        }
        let time = &mut times[*of_node as usize - 1];
        for side in Side::BOTH {
            time[side as usize] += added[side].0;
            total[side as usize] += added[side].0.abs();
        }
    }
    let least = total[0].max(total[1]) / VISIBLE;
    let (mut listed, mut last) = (Vec::new(), 0);
    // Nodes are visited in reverse preorder, that is, children before their parents, so the time of a node is complete
    // when the node is visited.
    for id in merged.ids().rev() {
        let of_node = of_nodes[id.index()];
        let Some(&time) = times.get((of_node as usize).wrapping_sub(1)) else { continue };
        let position = tree.position(id);
        match (merged.parent(id), position) {
            (_, Some(position)) if time[0].abs().max(time[1].abs()) >= least => {
                listed.push((step(&mut last, position), time[0], time[1]));
            }
            (Some(above), _) => match &mut of_nodes[above.index()] {
                // The parent has no entry yet, so the parent takes over the node's entry.
                none @ 0 => *none = of_node,
                known => {
                    let sum = &mut times[*known as usize - 1];
                    *sum = [sum[0] + time[0], sum[1] + time[1]];
                }
            },
            (None, Some(position)) => listed.push((step(&mut last, position), time[0], time[1])),
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
