//! Groups the ops of both sides of an [`Analysis`] by name and shapes, and sorts the groups by their possible saving.
//!
//! Attribution rows whose events are all covered by models are grouped by name, baseline shapes and candidate shapes.
//! If models cover only part of a row, as in a compiled region with its own kernels, the row is split into its modeled
//! ops. Each of these ops is grouped with all ops, on either side, that have the same name and shapes.

use super::roofline::Efficiency;
use super::trace::TraceEfficiency;
use crate::analysis::account::{Ledger, Row, RowNameIds};
use crate::analysis::grouped::Grouped;
use crate::analysis::runs::{Run, has_runs};
use crate::diff::TraceDiff;
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

/// The modeled ops, grouped by name and shapes. The groups are sorted by possible saving on the candidate, then by
/// possible saving on the baseline, then by time, largest first.
pub(in crate::analysis) fn sort_by_efficiency(
    diff: &TraceDiff,
    ledger: &Ledger,
    efficiency: &PerSide<TraceEfficiency>,
    runs: &PerSide<Vec<Run>>,
) -> Vec<EfficiencyRow> {
    let mut table = Table::new(diff, ledger, efficiency, runs);
    for row in ledger.rows() {
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
    diff: &'a TraceDiff,
    ledger: &'a Ledger,
    runs: &'a PerSide<Vec<Run>>,
    efficiency: &'a PerSide<TraceEfficiency>,
    groups: Grouped<Ids, Key<'a>, EfficiencyRow>,
    counted: PerSide<Vec<bool>>,
}

impl<'a> Table<'a> {
    fn new(
        diff: &'a TraceDiff,
        ledger: &'a Ledger,
        efficiency: &'a PerSide<TraceEfficiency>,
        runs: &'a PerSide<Vec<Run>>,
    ) -> Table<'a> {
        let counted = PerSide::from_fn(|side| vec![false; efficiency[side].job_count()]);
        Table { diff, ledger, runs, efficiency, groups: Grouped::new(), counted }
    }

    fn add(&mut self, row: &'a Row) {
        let whole = |side: Side| {
            row.events[side].is_empty()
                || self.efficiency[side].of_events(&row.events[side]).is_modelled()
        };
        if Side::BOTH.iter().all(|&side| whole(side)) {
            self.add_row(row);
        } else {
            self.add_parts(row);
        }
    }

    fn add_row(&mut self, row: &'a Row) {
        let shapes = Side::BOTH.map(|side| {
            let Arguments { dims, types, .. } = row.arguments(self.diff, side);
            [dims, types]
        });
        let text =
            |side: Side| shapes[side as usize].map(|id| self.diff.tree(side).trace().text(id));
        let key = || (row.name(self.diff), Side::BOTH.map(text));
        let ids = Ids::Row(row.name_ids(self.diff), shapes);
        let group = self.groups.entry(ids, key, empty_row);
        for side in Side::BOTH {
            let efficiency = &self.efficiency[side];
            group.count[side] += u64::from(!row.events[side].is_empty());
            for &event in &row.events[side] {
                let time = self.ledger.time_of(self.diff, side, event);
                group.efficiency[side].add(time, efficiency.job(event), efficiency.peaks());
            }
            if has_runs(self.runs) {
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
        let efficiency = &self.efficiency[side];
        let Some(job) = efficiency.job(event) else { return };
        let key = || {
            let [op, dims, types] = efficiency.op_and_shapes(job);
            (op.to_owned(), [[dims, types]; 2])
        };
        let group = self.groups.entry(Ids::Job(side, job.number), key, empty_row);
        let counted = &mut self.counted[side][job.number];
        group.count[side] += u64::from(!std::mem::replace(counted, true));
        let time = self.ledger.time_of(self.diff, side, event);
        group.efficiency[side].add(time, Some(job), efficiency.peaks());
        if has_runs(self.runs) {
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
