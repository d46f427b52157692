//! Rows grouped: by name, by name and arguments, and what each lowest common op became on each side.

use super::Row;
use crate::analysis::Analysis;
use crate::side::{PerSide, Side};
use crate::trace::{Argument, Nanos};
use crate::tree::CallId;
use std::collections::{BTreeMap, BTreeSet};

/// Rows that are looked at together: of one name, or of one name and arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct RowGroup {
    /// Their name.
    pub name: String,
    /// Their positions, the first first.
    pub rows: Vec<usize>,
    /// Sum of their times.
    pub time: PerSide<Nanos>,
    /// Sum of the distances between the two sides of each row.
    pub abs_difference: Nanos,
}

impl RowGroup {
    /// Number of its rows.
    pub fn row_count(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Candidate / baseline of the sums; `None` where one of them is zero.
    pub fn ratio(&self) -> Option<f64> {
        self.time.ratio()
    }
}

/// What the instances of one lowest common op became.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lowering {
    /// Number of rows.
    pub row_count: u64,
    /// What ran below it on each side.
    pub sides: PerSide<LoweringSide>,
}

/// What ran below an op on one side: names with count and time, sorted by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoweringSide {
    /// Sum of the times of all events.
    pub time: Nanos,
    /// The ops that launched, by name.
    pub ops: BTreeMap<String, (u64, Nanos)>,
    /// The accounted events, by name.
    pub kernels: BTreeMap<String, (u64, Nanos)>,
}

impl Analysis {
    /// Rows grouped by name: largest baseline time first, then candidate time, then name.
    pub fn by_name(&self) -> Vec<RowGroup> {
        let mut groups: BTreeMap<String, RowGroup> = BTreeMap::new();
        for (at, row) in self.rows().iter().enumerate() {
            let name = self.row_name(row);
            add(groups.entry(name.clone()).or_insert_with(|| empty(name)), at, row);
        }
        let mut groups: Vec<RowGroup> = groups.into_values().collect();
        groups.sort_by_key(order);
        groups
    }

    /// Rows grouped by name and arguments of both sides, in the order of [`Analysis::by_name`].
    pub fn by_unique_args(&self) -> Vec<RowGroup> {
        let mut groups: BTreeMap<(String, [[&str; 2]; 4]), RowGroup> = BTreeMap::new();
        for (at, row) in self.rows().iter().enumerate() {
            let name = self.row_name(row);
            let key = (name.clone(), self.argument_texts(row));
            add(groups.entry(key).or_insert_with(|| empty(name)), at, row);
        }
        let mut groups: Vec<RowGroup> = groups.into_values().collect();
        groups.sort_by(|a, b| order(a).cmp(&order(b)).then(a.rows[0].cmp(&b.rows[0])));
        groups
    }

    /// One of the arguments of a row's op on one side; empty where it was not recorded.
    pub fn argument_text(&self, row: &Row, argument: Argument, side: Side) -> &str {
        let tree = self.tree(side);
        let arguments = row.calls[side].and_then(|call| tree.arguments(call));
        arguments.map_or("", |arguments| tree.trace().text(arguments.text(argument)))
    }

    /// All arguments of a row's op, baseline and candidate in turn.
    pub(in crate::analysis) fn argument_texts(&self, row: &Row) -> [[&str; 2]; 4] {
        Argument::ALL.map(|argument| Side::BOTH.map(|side| self.argument_text(row, argument, side)))
    }

    /// For each row name, the ops and kernels that it became on each side.
    pub fn lowerings(&self) -> BTreeMap<String, Lowering> {
        let mut lowerings: BTreeMap<String, Lowering> = BTreeMap::new();
        for row in self.rows() {
            let lowering = lowerings.entry(self.row_name(row)).or_default();
            lowering.row_count += 1;
            for side in Side::BOTH {
                self.add_lowering(&mut lowering.sides[side], row, side);
            }
        }
        lowerings
    }

    fn add_lowering(&self, lowering: &mut LoweringSide, row: &Row, side: Side) {
        let tree = self.tree(side);
        lowering.time += row.time[side];
        let mut counted: BTreeSet<CallId> = BTreeSet::new();
        for &event in &row.events[side] {
            let time = self.measure.time(tree, event);
            add_named(&mut lowering.kernels, tree.name(event), 1, time);
            if let Some(op) = self.op_of(side, event) {
                // An op that launches three kernels is one op.
                add_named(&mut lowering.ops, tree.name(op), u64::from(counted.insert(op)), time);
            }
        }
    }
}

fn add_named(names: &mut BTreeMap<String, (u64, Nanos)>, name: &str, count: u64, time: Nanos) {
    let entry = names.entry(name.to_owned()).or_default();
    entry.0 += count;
    entry.1 += time;
}

fn empty(name: String) -> RowGroup {
    RowGroup { name, rows: vec![], time: PerSide::default(), abs_difference: Nanos::ZERO }
}

fn add(sums: &mut RowGroup, at: usize, row: &Row) {
    sums.rows.push(at);
    sums.time.baseline += row.time.baseline;
    sums.time.candidate += row.time.candidate;
    sums.abs_difference += row.difference().abs();
}

fn order(sums: &RowGroup) -> impl Ord + use<> {
    use std::cmp::Reverse;
    (Reverse(sums.time.baseline), Reverse(sums.time.candidate), sums.name.clone())
}
