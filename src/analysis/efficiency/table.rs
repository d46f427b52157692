//! Groups the ops of both sides of an [`Analysis`] by name and shapes, and sorts the groups by their possible saving.
//!
//! Attribution rows whose events are all covered by models are grouped by name, baseline shapes and candidate shapes.
//! If models cover only part of a row, as in a compiled region with its own kernels, the row is split into its modeled
//! ops. Each of these ops is grouped with all ops, on either side, that have the same name and shapes.

use super::roofline::Efficiency;
use super::trace::TraceEfficiency;
use crate::analysis::account::Row;
use crate::analysis::grouped::Grouped;
use crate::analysis::runs::has_runs;
use crate::analysis::{Attribution, RowNameIds};
use crate::order::Order as _;
use crate::side::{PerSide, Side};
use crate::trace::{Arguments, TextId};
use crate::tree::CallId;

/// A group of attribution rows or ops with the same name, shapes and types.
#[derive(Debug, Clone, PartialEq)]
#[doc(hidden)]
pub struct EfficiencyRow {
    /// Name of the grouped rows or ops.
    pub name: String,
    /// `Input Dims` on each side; empty on a side without rows.
    pub dims: PerSide<String>,
    /// `Input type` on each side; empty on a side without rows.
    pub types: PerSide<String>,
    /// Number of grouped attribution rows or op calls.
    pub count: PerSide<u64>,
    /// Work and time of the group's measured events.
    pub efficiency: PerSide<Efficiency>,
    /// The measured events in the group, from which the group's time in each additional run is computed; empty if there
    /// are no additional runs.
    pub(crate) events: PerSide<Vec<CallId>>,
}

/// Key of a group: the name, and the shapes and types on both sides.
type Key<'a> = (String, [[&'a str; 2]; 2]);

/// The ids of a row or of an op, which determine the key of its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Ids {
    /// An attribution row: its name, and its shapes and types on both sides.
    Row(RowNameIds, [[TextId; 2]; 2]),
    /// A modeled op: its side, and the number of its job on that side (see `jobs.rs`).
    Job(Side, usize),
}

impl Attribution {
    /// The efficiency of the trace on one side.
    pub fn efficiency(&self, side: Side) -> &TraceEfficiency {
        &self.trace_facts[side].efficiency
    }

    /// The work and time of an attribution row's events on one side.
    #[doc(hidden)]
    pub fn row_efficiency(&self, row: &Row, side: Side) -> Efficiency {
        self.efficiency(side).of_events(&row.events[side])
    }
}

/// The modeled ops, grouped by name and shapes. The groups are sorted by possible saving on the candidate, then by
/// possible saving on the baseline, then by time, largest first.
pub(in crate::analysis) fn sort_by_efficiency(analysis: &Attribution) -> Vec<EfficiencyRow> {
    let mut table = Table::new(analysis);
    for row in analysis.rows() {
        table.add(row);
    }
    let mut rows: Vec<EfficiencyRow> = table.groups.into_sorted().map(|(_, row)| row).collect();
    // The sort is stable, so ties remain in the order of name, shapes and types.
    rows.order_by(|a, b| {
        let saved =
            |row: &EfficiencyRow, side: Side| row.efficiency[side].savable_us().unwrap_or(-1.0);
        let by = |side: Side| saved(b, side).total_cmp(&saved(a, side));
        let time =
            |row: &EfficiencyRow| row.efficiency.candidate.time + row.efficiency.baseline.time;
        by(Side::Candidate).then(by(Side::Baseline)).then(time(b).cmp(&time(a)))
    });
    rows
}

struct Table<'a> {
    analysis: &'a Attribution,
    groups: Grouped<Ids, Key<'a>, EfficiencyRow>,
    counted: PerSide<Vec<bool>>,
}

impl<'a> Table<'a> {
    fn new(analysis: &'a Attribution) -> Table<'a> {
        let counted = PerSide::from_fn(|side| vec![false; analysis.efficiency(side).job_count()]);
        Table { analysis, groups: Grouped::new(), counted }
    }

    fn add(&mut self, row: &'a Row) {
        let analysis = self.analysis;
        let whole = |side: Side| {
            row.events[side].is_empty() || analysis.row_efficiency(row, side).is_modelled()
        };
        if Side::BOTH.iter().all(|&side| whole(side)) {
            self.add_row(row);
        } else {
            self.add_parts(row);
        }
    }

    fn add_row(&mut self, row: &'a Row) {
        let analysis = self.analysis;
        let shapes = Side::BOTH.map(|side| {
            let Arguments { dims, types, .. } = analysis.arguments_of(row, side);
            [dims, types]
        });
        let text =
            |side: Side| shapes[side as usize].map(|id| analysis.tree(side).trace().text(id));
        let key = || (analysis.row_name(row), Side::BOTH.map(text));
        let ids = Ids::Row(analysis.row_name_ids(row), shapes);
        let group = self.groups.entry(ids, key, empty_row);
        for side in Side::BOTH {
            let efficiency = analysis.efficiency(side);
            group.count[side] += u64::from(!row.events[side].is_empty());
            for &event in &row.events[side] {
                let time = analysis.time_of(side, event);
                group.efficiency[side].add(time, efficiency.job(event), efficiency.peaks());
            }
            if has_runs(analysis) {
                group.events[side].extend(&row.events[side]);
            }
        }
    }

    fn add_parts(&mut self, row: &'a Row) {
        for side in Side::BOTH {
            for &event in &row.events[side] {
                self.add_part(side, event);
            }
        }
    }

    fn add_part(&mut self, side: Side, event: CallId) {
        let analysis = self.analysis;
        let efficiency = analysis.efficiency(side);
        let (Some(job), Some(number)) = (efficiency.job(event), efficiency.number(event)) else {
            return;
        };
        let key = || {
            let [op, dims, types] = efficiency.op_and_shapes(job);
            (op.to_owned(), [[dims, types]; 2])
        };
        let group = self.groups.entry(Ids::Job(side, number), key, empty_row);
        let counted = &mut self.counted[side][number];
        group.count[side] += u64::from(!std::mem::replace(counted, true));
        let time = analysis.time_of(side, event);
        group.efficiency[side].add(time, Some(job), efficiency.peaks());
        if has_runs(analysis) {
            group.events[side].push(event);
        }
    }
}

fn empty_row((name, shapes): &Key<'_>) -> EfficiencyRow {
    let of = |at: usize| PerSide::new(shapes[0][at].to_owned(), shapes[1][at].to_owned());
    EfficiencyRow {
        name: name.clone(),
        dims: of(0),
        types: of(1),
        count: PerSide::default(),
        efficiency: PerSide::default(),
        events: PerSide::default(),
    }
}
