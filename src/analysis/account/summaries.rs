//! Groups attribution rows by name, or by name and arguments. For each lowest common op, also collects the ops and
//! kernels that implement it on each side.

use super::Row;
use crate::analysis::account::Ledger;
use crate::diff::TraceDiff;
use crate::order::Order as _;
use crate::side::{PerSide, Side};
use crate::trace::{Nanos, TextId, Trace};
use crate::tree::CallId;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::hash::Hash;

/// A group of attribution rows that have the same name, or the same name and arguments.
#[derive(Debug, Clone, PartialEq)]
#[doc(hidden)]
pub struct RowGroup {
    /// The name of the grouped rows.
    pub name: String,
    /// Positions of the grouped rows in the attribution table, in ascending order.
    pub rows: Vec<usize>,
    /// Total time of the grouped rows.
    pub time: PerSide<Nanos>,
    /// Sum of the absolute values of the time differences of the grouped rows.
    pub abs_difference: Nanos,
}

impl RowGroup {
    /// Number of rows.
    pub fn row_count(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Ratio of the group's total times, candidate / baseline; `None` if either time is zero.
    pub fn ratio(&self) -> Option<f64> {
        self.time.ratio()
    }
}

/// The lowering of a lowest common op: the ops and kernels that implement it on each side, over all instances of the
/// op.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lowering {
    /// Number of rows.
    pub row_count: u64,
    /// The ops and kernels below the op on each side.
    pub sides: PerSide<LoweringSide>,
}

/// The ops and kernels below an op on one side, sorted by name, with their counts and times.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoweringSide {
    /// Total time of the measured events below the op.
    pub time: Nanos,
    /// Count and time of the ops that launched GPU work, by name.
    pub ops: BTreeMap<String, (u64, Nanos)>,
    /// Count and time of the measured events, by name.
    pub kernels: BTreeMap<String, (u64, Nanos)>,
}

/// Rows grouped by name. The groups are sorted by descending baseline time, then by candidate time, then
/// by name.
pub fn by_name(diff: &TraceDiff, ledger: &Ledger) -> Vec<RowGroup> {
    grouped_rows(diff, ledger, |_| ())
}

/// Rows grouped by name and by the arguments on both sides. The groups are sorted as in [`by_name`].
#[doc(hidden)]
pub fn by_unique_args(diff: &TraceDiff, ledger: &Ledger) -> Vec<RowGroup> {
    grouped_rows(diff, ledger, |row| PerSide::from_fn(|side| row.arguments(diff, side)))
}

/// For each row name, the ops and kernels that implement the rows of this name on each side.
pub fn lowerings(diff: &TraceDiff, ledger: &Ledger) -> BTreeMap<String, Lowering> {
    let mut counts: BTreeMap<String, (u64, PerSide<Counts>)> = BTreeMap::new();
    for row in ledger.rows() {
        let of_name = counts.entry(row.name(diff)).or_default();
        of_name.0 += 1;
        for side in Side::BOTH {
            count_lowering(diff, ledger, &mut of_name.1[side], row, side);
        }
    }
    let lowering = |(name, (row_count, counts)): (String, (u64, PerSide<Counts>))| {
        let sides = PerSide::from_fn(|side| counts[side].named(diff.tree(side).trace()));
        (name, Lowering { row_count, sides })
    };
    counts.into_iter().map(lowering).collect()
}

/// Groups the rows by their name and by the result of `key`.
fn grouped_rows<K: Eq + Hash>(
    diff: &TraceDiff,
    ledger: &Ledger,
    key: impl Fn(&Row) -> K,
) -> Vec<RowGroup> {
    let mut numbers: FxHashMap<(String, K), usize> = FxHashMap::default();
    let mut groups: Vec<RowGroup> = Vec::new();
    for (at, row) in ledger.rows().iter().enumerate() {
        let group = *numbers.entry((row.name(diff), key(row))).or_insert_with_key(|key| {
            groups.push(empty(key.0.clone()));
            groups.len() - 1
        });
        add(&mut groups[group], at, row);
    }
    groups.order_by(|a, b| order(a).cmp(&order(b)));
    groups
}

fn count_lowering(diff: &TraceDiff, ledger: &Ledger, counts: &mut Counts, row: &Row, side: Side) {
    let tree = diff.tree(side);
    let name = |call: CallId| {
        tree.trace().name_id(tree.event(call).expect("every op and attributed call has an event"))
    };
    counts.time += row.time[side];
    let mut counted: FxHashSet<CallId> = FxHashSet::default();
    for &event in &row.events[side] {
        let time = ledger.measure().time(tree, event);
        add_count(&mut counts.kernels, name(event), 1, time);
        if let Some(op) = diff.op_of(side, event) {
            // An op that launches several kernels counts once.
            add_count(&mut counts.ops, name(op), u64::from(counted.insert(op)), time);
        }
    }
}

type ByName = BTreeMap<TextId, (u64, Nanos)>;

/// Like [`LoweringSide`], but with name ids instead of names. The names are looked up only after counting, because
/// there are many events but few distinct names.
#[derive(Default)]
struct Counts {
    time: Nanos,
    ops: ByName,
    kernels: ByName,
}

impl Counts {
    fn named(&self, trace: &Trace) -> LoweringSide {
        let named = |counts: &ByName| {
            counts.iter().map(|(&name, &count)| (trace.text(name).to_owned(), count)).collect()
        };
        LoweringSide { time: self.time, ops: named(&self.ops), kernels: named(&self.kernels) }
    }
}

fn add_count(counts: &mut ByName, name: TextId, count: u64, time: Nanos) {
    let entry = counts.entry(name).or_default();
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

/// The sort key of a group: baseline time, candidate time, name, position of the first row.
fn order(sums: &RowGroup) -> impl Ord + '_ {
    (Reverse(sums.time.baseline), Reverse(sums.time.candidate), &sums.name, sums.rows[0])
}
