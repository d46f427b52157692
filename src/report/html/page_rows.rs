//! Converts the attribution rows into columns for the page. If not all rows fit the size budget, only the rows with the
//! largest differences are kept.

use super::column::{Column, steps};
use super::page_tree::PageTree;
use super::texts::{PageText, Texts};
use crate::analysis::Analysis;
use crate::analysis::account::Row;
use crate::diff::MergedId;
use crate::order::Order as _;
use crate::program::Measure;
use crate::report::nodes::facets::Facet;
use crate::side::{PerSide, Side};
use crate::trace::{Argument, Nanos, TextId};
use crate::tree::CallId;
use rustc_hash::FxHashMap;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use std::cmp::Reverse;

/// Maximum number of kernel names per row and side; all other kernels of the row are combined into one additional
/// entry.
const KERNELS: usize = 24;

/// The shapes, concrete inputs, strides and types of an op, in this order. Each takes two entries: the baseline's
/// value, then the candidate's value.
type ArgumentRecord = [PageText; 8];

/// All events with the same name on one side of a row: the name, the number of events, and their total time in ns.
type KernelGroup = (PageText, u64, i64);

/// The kept rows in order, as one column per property.
pub(super) struct PageRows<'a> {
    analysis: &'a Analysis,
    /// Index of the row in `diff_stats.csv`.
    id: Vec<u32>,
    name: Vec<PageText>,
    /// Position of the row's node in the page's tree; -1 if the page omits the node.
    node: Vec<i32>,
    /// Position of the row's lowest common node; -1 if the row has no such node or the page omits the node.
    common: Vec<i32>,
    common_name: Vec<PageText>,
    /// Indices into `argument_table`.
    arguments: Vec<u32>,
    argument_table: Vec<ArgumentRecord>,
    kernels1: Vec<Vec<KernelGroup>>,
    kernels2: Vec<Vec<KernelGroup>>,
    /// For each row whose work is modeled, the index of the row and an index into `work_table`.
    work: Vec<(u32, u32)>,
    work_table: Vec<Work>,
    facets: Vec<FacetColumn>,
}

/// Modeled work: billions of operations in the baseline and in the candidate, then millions of bytes in the baseline
/// and in the candidate.
type Work = [Option<f64>; 4];

#[derive(Serialize)]
struct FacetColumn {
    key: &'static str,
    title: &'static str,
    value: Vec<PageText>,
}

impl<'a> PageRows<'a> {
    /// Converts at most `most` rows.
    pub(super) fn new(
        analysis: &'a Analysis,
        tree: &PageTree<'_>,
        facets: &[Facet],
        most: usize,
        texts: &mut Texts,
    ) -> PageRows<'a> {
        let mut rows = PageRows::empty(analysis, facets);
        let (mut arguments, mut work) = (FxHashMap::default(), FxHashMap::default());
        for id in choose(analysis, most) {
            let row = &analysis.rows()[id];
            rows.id.push(id as u32);
            rows.push_place(analysis, tree, row, texts);
            rows.push_arguments(analysis, row, &mut arguments, texts);
            rows.push_work(analysis, row, &mut work);
            rows.kernels1.push(kernels(analysis, row, Side::Baseline, texts));
            rows.kernels2.push(kernels(analysis, row, Side::Candidate, texts));
            for (column, facet) in rows.facets.iter_mut().zip(facets) {
                column.value.push(texts.id(&facet.texts[facet.values[id] as usize]));
            }
        }
        rows
    }

    pub(super) fn left_out(&self) -> u64 {
        (self.analysis.rows().len() - self.id.len()) as u64
    }

    fn empty(analysis: &'a Analysis, facets: &[Facet]) -> PageRows<'a> {
        let column =
            |facet: &Facet| FacetColumn { key: facet.key, title: facet.title, value: Vec::new() };
        PageRows {
            analysis,
            id: Vec::new(),
            name: Vec::new(),
            node: Vec::new(),
            common: Vec::new(),
            common_name: Vec::new(),
            arguments: Vec::new(),
            argument_table: Vec::new(),
            kernels1: Vec::new(),
            kernels2: Vec::new(),
            work: Vec::new(),
            work_table: Vec::new(),
            facets: facets.iter().map(column).collect(),
        }
    }

    fn push_place(
        &mut self,
        analysis: &Analysis,
        tree: &PageTree<'_>,
        row: &Row,
        texts: &mut Texts,
    ) {
        let node = node_of(analysis, row);
        let position = |id: Option<_>| {
            id.and_then(|id| tree.position(id)).map_or(-1, |position| position as i32)
        };
        self.name.push(texts.id(&row.name(analysis.diff())));
        self.node.push(position(node));
        self.common.push(position(row.lowest_common));
        self.common_name.push(texts.id(row.lowest_common_name(analysis.diff())));
    }

    fn rows(&self) -> impl Iterator<Item = &'a Row> {
        self.id.iter().map(|&id| &self.analysis.rows()[id as usize])
    }

    /// Attributed times of the kept rows, in ns.
    fn times(&self, side: Side) -> impl Iterator<Item = i64> {
        self.rows().map(move |row| row.time[side].0)
    }

    /// Attributed event counts of the kept rows.
    fn counts(&self, side: Side) -> impl Iterator<Item = usize> {
        self.rows().map(move |row| row.events[side].len())
    }

    fn uids(&self, side: Side) -> impl Iterator<Item = i64> {
        let tree = self.analysis.tree(side);
        self.rows().map(move |row| {
            let event = row.calls[side].and_then(|call| tree.event(call));
            event.map_or(-1, |event| i64::from(tree.trace().uid(event).0))
        })
    }

    /// Stores the modeled work of the row that was pushed last.
    fn push_work(&mut self, analysis: &Analysis, row: &Row, known: &mut FxHashMap<[u64; 4], u32>) {
        let done =
            PerSide::from_fn(|side| analysis.efficiency()[side].of_events(&row.events[side]));
        let [one, two] = [&done.baseline, &done.candidate];
        let work = [one.gflops(), two.gflops(), one.mbytes(), two.mbytes()];
        if work[0].is_none() && work[1].is_none() {
            return;
        }
        let next = known.len() as u32;
        let bits = work.map(|value| value.map_or(u64::MAX, f64::to_bits));
        let at = *known.entry(bits).or_insert(next);
        if at == next {
            self.work_table.push(work);
        }
        self.work.push((self.id.len() as u32 - 1, at));
    }

    fn push_arguments(
        &mut self,
        analysis: &Analysis,
        row: &Row,
        known: &mut FxHashMap<ArgumentRecord, u32>,
        texts: &mut Texts,
    ) {
        let mut record: ArgumentRecord = [PageText::EMPTY; 8];
        let recorded = Side::BOTH.map(|side| analysis.tree(side).arguments(row.calls[side]?));
        for (pair, argument) in record.chunks_exact_mut(2).zip(Argument::ALL) {
            for ((text, side), recorded) in pair.iter_mut().zip(Side::BOTH).zip(recorded) {
                if let Some(arguments) = recorded {
                    let trace = analysis.tree(side).trace();
                    *text = texts.of_trace(side, trace, arguments.text(argument));
                }
            }
        }
        let next = known.len() as u32;
        let at = *known.entry(record).or_insert(next);
        if at == next {
            self.argument_table.push(record);
        }
        self.arguments.push(at);
    }
}

/// Serializes one field per column. Columns that the analysis stores in a different form are
/// converted on the fly, and positions and ids are stored as differences from the previous row.
impl Serialize for PageRows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (one, two) = (Side::Baseline, Side::Candidate);
        let mut columns = serializer.serialize_struct("PageRows", 19)?;
        columns.serialize_field("id", &Column(|| steps(self.id.iter().copied())))?;
        columns.serialize_field("name", &self.name)?;
        columns.serialize_field("node", &Column(|| steps(self.node.iter().copied())))?;
        columns.serialize_field("common", &Column(|| steps(self.common.iter().copied())))?;
        columns.serialize_field("common_name", &self.common_name)?;
        columns.serialize_field("time1", &Column(|| self.times(one)))?;
        columns.serialize_field("time2", &Column(|| self.times(two)))?;
        columns.serialize_field("count1", &Column(|| self.counts(one)))?;
        columns.serialize_field("count2", &Column(|| self.counts(two)))?;
        columns.serialize_field("uid1", &Column(|| steps(self.uids(one))))?;
        columns.serialize_field("uid2", &Column(|| steps(self.uids(two))))?;
        columns.serialize_field("arguments", &self.arguments)?;
        columns.serialize_field("argument_table", &self.argument_table)?;
        columns.serialize_field("kernels1", &self.kernels1)?;
        columns.serialize_field("kernels2", &self.kernels2)?;
        columns.serialize_field("work", &self.work)?;
        columns.serialize_field("work_table", &self.work_table)?;
        columns.serialize_field("facets", &self.facets)?;
        columns.serialize_field("total", &self.analysis.rows().len())?;
        columns.end()
    }
}

/// The node of a row: its call, or its first event if it has no call.
pub(super) fn node_of(analysis: &Analysis, row: &Row) -> Option<MergedId> {
    Side::BOTH.iter().find_map(|&side| {
        let call = row.calls[side].or_else(|| row.events[side].first().copied())?;
        Some(analysis.diff().merged().of(side, call))
    })
}

/// Chooses the rows with the largest differences; if differences are equal, rows with more time are preferred. The
/// chosen rows are returned in row order.
fn choose(analysis: &Analysis, most: usize) -> Vec<usize> {
    let rows = analysis.rows();
    let mut order: Vec<usize> = (0..rows.len()).collect();
    if rows.len() > most {
        let time = |row: &Row| row.time.baseline.max(row.time.candidate);
        order.order_by_key(|&at| {
            (Reverse(rows[at].difference().abs()), Reverse(time(&rows[at])), at)
        });
        order.truncate(most);
        order.sort_unstable();
    }
    order
}

/// The events of a row, grouped by name, longest total time first.
fn kernels(analysis: &Analysis, row: &Row, side: Side, texts: &mut Texts) -> Vec<KernelGroup> {
    let tree = analysis.tree(side);
    let trace = tree.trace();
    let named = |&call: &CallId| {
        let event = tree.event(call).expect("attributed calls are events");
        (trace.name_id(event), analysis.ledger().time_of(analysis.diff(), side, call))
    };
    let mut events: Vec<(TextId, Nanos)> = row.events[side].iter().map(named).collect();
    events.sort_unstable_by_key(|event| event.0);
    let of_name = |events: &[(TextId, Nanos)]| {
        (events[0].0, events.len() as u64, events.iter().map(|event| event.1).sum::<Nanos>())
    };
    let mut groups: Vec<_> = events.chunk_by(|a, b| a.0 == b.0).map(of_name).collect();
    groups.sort_unstable_by_key(|&(name, _, time)| (Reverse(time), trace.text(name)));
    let rest = groups.split_off(groups.len().min(KERNELS));
    let is_gpu = analysis.ledger().measure() == Measure::GpuTime;
    let mut listed: Vec<KernelGroup> = groups
        .into_iter()
        .map(|(name, count, time)| {
            let name = texts.of_trace(side, trace, name);
            (if is_gpu { texts.kernel(name) } else { name }, count, time.0)
        })
        .collect();
    if !rest.is_empty() {
        let count = rest.iter().map(|(_, count, _)| count).sum();
        let time: Nanos = rest.iter().map(|&(.., time)| time).sum();
        listed.push((texts.id(&format!("({} more names)", rest.len())), count, time.0));
    }
    listed
}
