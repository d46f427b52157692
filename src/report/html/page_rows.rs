//! The rows of the account → columns for the page: the largest differences, within a budget.

use super::page_tree::PageTree;
use super::texts::{PageText, Texts};
use crate::analysis::{Analysis, Row};
use crate::report::facets::Facet;
use crate::side::Side;
use crate::trace::Nanos;
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Kernel names that a row lists on one side; the rest is one entry more.
const KERNELS: usize = 24;

/// Events of one name in one row on one side: name, number, time in ns.
type KernelGroup = (PageText, u64, i64);

/// The kept rows in their order, a column for each property.
#[derive(Serialize)]
pub(super) struct PageRows {
    /// Number of the row in `diff_stats.csv`.
    id: Vec<u32>,
    name: Vec<PageText>,
    /// Position of the row's node in the page's tree; -1 where it is left out.
    node: Vec<i64>,
    /// Position of the lowest common node; -1 where there is none or it is left out.
    common: Vec<i64>,
    common_name: Vec<PageText>,
    /// Times in ns.
    time1: Vec<i64>,
    time2: Vec<i64>,
    /// Accounted events.
    count1: Vec<u32>,
    count2: Vec<u32>,
    uid1: Vec<i64>,
    uid2: Vec<i64>,
    /// Positions in `argument_table`.
    arguments: Vec<u32>,
    /// Shapes, concrete inputs, strides and types, of both sides in turn.
    argument_table: Vec<Vec<PageText>>,
    kernels1: Vec<Vec<KernelGroup>>,
    kernels2: Vec<Vec<KernelGroup>>,
    facets: Vec<FacetColumn>,
    /// Rows of the analysis, kept or not.
    total: usize,
}

#[derive(Serialize)]
struct FacetColumn {
    key: &'static str,
    title: &'static str,
    value: Vec<PageText>,
}

impl PageRows {
    /// At most `most` rows.
    pub(super) fn new(
        analysis: &Analysis<'_>,
        tree: &PageTree<'_>,
        facets: &[Facet],
        most: usize,
        texts: &mut Texts,
    ) -> PageRows {
        let mut rows = PageRows::empty(analysis, facets);
        let mut arguments = FxHashMap::default();
        for id in choose(analysis, most) {
            let row = &analysis.rows()[id];
            rows.id.push(id as u32);
            rows.push_place(analysis, tree, row, texts);
            rows.push_figures(analysis, row);
            rows.push_arguments(analysis, row, &mut arguments, texts);
            rows.kernels1.push(kernels(analysis, row, Side::Baseline, texts));
            rows.kernels2.push(kernels(analysis, row, Side::Candidate, texts));
            for (column, facet) in rows.facets.iter_mut().zip(facets) {
                column.value.push(texts.id(&facet.texts[facet.values[id] as usize]));
            }
        }
        rows
    }

    /// Number of rows that are left out.
    pub(super) fn left_out(&self) -> u64 {
        (self.total - self.id.len()) as u64
    }

    fn empty(analysis: &Analysis<'_>, facets: &[Facet]) -> PageRows {
        let column =
            |facet: &Facet| FacetColumn { key: facet.key, title: facet.title, value: Vec::new() };
        PageRows {
            id: Vec::new(),
            name: Vec::new(),
            node: Vec::new(),
            common: Vec::new(),
            common_name: Vec::new(),
            time1: Vec::new(),
            time2: Vec::new(),
            count1: Vec::new(),
            count2: Vec::new(),
            uid1: Vec::new(),
            uid2: Vec::new(),
            arguments: Vec::new(),
            argument_table: Vec::new(),
            kernels1: Vec::new(),
            kernels2: Vec::new(),
            facets: facets.iter().map(column).collect(),
            total: analysis.rows().len(),
        }
    }

    fn push_place(
        &mut self,
        analysis: &Analysis<'_>,
        tree: &PageTree<'_>,
        row: &Row,
        texts: &mut Texts,
    ) {
        let node = Side::BOTH.iter().find_map(|&side| {
            let call = row.calls[side].or_else(|| row.events[side].first().copied())?;
            Some(analysis.diff().merged().of(side, call))
        });
        let position = |id: Option<_>| id.and_then(|id| tree.position(id)).map_or(-1, i64::from);
        self.name.push(texts.id(&analysis.row_name(row)));
        self.node.push(position(node));
        self.common.push(position(row.lowest_common));
        self.common_name.push(texts.id(analysis.lowest_common_name(row)));
    }

    fn push_figures(&mut self, analysis: &Analysis<'_>, row: &Row) {
        let uid = |side: Side| {
            let tree = analysis.tree(side);
            let event = row.calls[side].and_then(|call| tree.event(call));
            event.map_or(-1, |event| i64::from(tree.trace().uid(event).0))
        };
        self.time1.push(row.time.baseline.0);
        self.time2.push(row.time.candidate.0);
        self.count1.push(row.events.baseline.len() as u32);
        self.count2.push(row.events.candidate.len() as u32);
        self.uid1.push(uid(Side::Baseline));
        self.uid2.push(uid(Side::Candidate));
    }

    fn push_arguments(
        &mut self,
        analysis: &Analysis<'_>,
        row: &Row,
        known: &mut FxHashMap<Vec<PageText>, u32>,
        texts: &mut Texts,
    ) {
        let record: Vec<PageText> =
            analysis.argument_texts(row).into_iter().map(|text| texts.id(text)).collect();
        let next = known.len() as u32;
        let at = *known.entry(record.clone()).or_insert(next);
        if at == next {
            self.argument_table.push(record);
        }
        self.arguments.push(at);
    }
}

/// The rows with the largest difference, then those with the most time, in the order of the rows.
fn choose(analysis: &Analysis<'_>, most: usize) -> Vec<usize> {
    let rows = analysis.rows();
    let mut order: Vec<usize> = (0..rows.len()).collect();
    if rows.len() > most {
        let time = |row: &Row| row.time.baseline.max(row.time.candidate);
        order.sort_by_key(|&at| {
            (Reverse(rows[at].difference().abs()), Reverse(time(&rows[at])), at)
        });
        order.truncate(most);
        order.sort_unstable();
    }
    order
}

/// The events of a row by name, most time first.
fn kernels(analysis: &Analysis<'_>, row: &Row, side: Side, texts: &mut Texts) -> Vec<KernelGroup> {
    let tree = analysis.tree(side);
    let mut groups: BTreeMap<&str, (u64, Nanos)> = BTreeMap::new();
    for &event in &row.events[side] {
        let group = groups.entry(tree.name(event)).or_default();
        group.0 += 1;
        group.1 += analysis.time_of(side, event);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|&(name, (_, time))| (Reverse(time), name));
    let rest = groups.split_off(groups.len().min(KERNELS));
    let mut listed: Vec<KernelGroup> =
        groups.into_iter().map(|(name, (count, time))| (texts.id(name), count, time.0)).collect();
    if !rest.is_empty() {
        let count = rest.iter().map(|(_, (count, _))| count).sum();
        let time: Nanos = rest.iter().map(|&(_, (_, time))| time).sum();
        listed.push((texts.id(&format!("({} more names)", rest.len())), count, time.0));
    }
    listed
}
