//! Finds nodes at which one side runs fewer kernels than the other.
//!
//! Times are ignored. The kernels of the two sides are compared at each lowest common node, separately for each
//! interval between two common children of the node. A launch directly below an op does not separate intervals. Copies
//! and memsets are ignored, because they differ arbitrarily between libraries and between profilers.
//!
//! ```text
//! Block                       Block
//! ├── >> aten::mul            └── << triton_poi_fused_add_mul_0   1 kernel
//! └── >> aten::add   2 kernels                                    fused in trace2
//! ```
//! A *fusion* is reported if one side has fewer ops and fewer kernels at a common node, and its ops explain every op on
//! the other side (see `explain`). At least two instances must agree on the change; in a compiled region, one is
//! enough. If the kernel counts differ for another reason, a *change of the kernel count* is reported.

mod absorbed;
mod change;
mod explain;
mod instances;
mod leaves;
mod pieces;
mod regions;

use crate::analysis::account::Ledger;
use crate::analysis::categories::CategoryTable;
use crate::order::Order as _;
pub use change::{FusionEvidence, KernelChange};
pub(super) use leaves::shapes;

use crate::diff::{MergedId, TraceDiff};
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use instances::Instance;
use pieces::Pieces;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A group of nodes with the same path at which the kernel count differs between the sides in the same way.
#[derive(Debug, Clone, PartialEq)]
pub struct FusionRow {
    /// The names of the modules and ops that enclose the node, then the name of the node itself, all without
    /// instance numbers.
    pub path: String,
    /// How the kernel count differs.
    pub change: KernelChange,
    /// Number of kernels at a single node, for each side.
    pub kernel_count: PerSide<usize>,
    /// Names of the ops that launch the kernels, in order. For a kernel without an op, the name of the kernel.
    pub ops: PerSide<Vec<String>>,
    /// The names of the kernels at the first node, with their counts, for each side.
    pub kernels: PerSide<BTreeMap<String, u64>>,
    /// Total kernel time over all nodes of the row.
    pub time: PerSide<Nanos>,
    /// Number of nodes with the path and the launching ops of this row, including nodes with other kernel counts.
    pub instances: usize,
    /// Number of nodes among `instances` that also have the kernel counts and the change of this row.
    pub agreeing: usize,
    /// The first of the nodes counted in `agreeing`.
    pub first: MergedId,
}

impl FusionRow {
    /// Difference between the kernel times, candidate − baseline.
    pub fn difference(&self) -> Nanos {
        self.time.candidate - self.time.baseline
    }
}

/// The path of an instance, and the names of the launching ops on each side. All instances in a row have the same path
/// and ops.
type Place<'a> = (&'a str, &'a [&'a str], &'a [&'a str]);

/// Instances agree if they have the same [`Place`], kernel counts and change.
type Agreement<'a> = (Place<'a>, (usize, usize), KernelChange);

/// Instances form one row if they agree. If their node is a thread, they must also run kernels with the same names.
type Group<'a> = (Agreement<'a>, &'a [&'a str]);

pub(super) fn find_fusions(
    diff: &TraceDiff,
    ledger: &Ledger,
    categories: &CategoryTable,
) -> Vec<FusionRow> {
    let pieces = Pieces::of(diff, ledger, categories);
    let instances = instances::find(&pieces);
    let mut of_place: BTreeMap<(Place<'_>, &[&str]), usize> = BTreeMap::new();
    let mut agreeing: BTreeMap<Agreement<'_>, usize> = BTreeMap::new();
    let mut groups: BTreeMap<Group<'_>, Vec<&Instance<'_>>> = BTreeMap::new();
    for instance in &instances {
        let place = place(instance);
        *of_place.entry((place, &instance.differ_by)).or_default() += 1;
        let counts = instance.counts();
        if counts.baseline != counts.candidate {
            let agreement = (place, (counts.baseline, counts.candidate), instance.change);
            *agreeing.entry(agreement).or_default() += 1;
            groups.entry((agreement, &instance.differ_by)).or_default().push(instance);
        }
    }
    let mut rows: Vec<FusionRow> = groups
        .into_iter()
        .map(|((agreement, kernels), group)| {
            let change = if agreeing[&agreement] < group[0].enough {
                KernelChange::Count
            } else {
                agreement.2
            };
            row(&pieces, change, &group, of_place[&(agreement.0, kernels)])
        })
        .collect();
    rows.order_by(|a, b| order(a).cmp(&order(b)));
    rows
}

fn place<'a>(instance: &'a Instance<'_>) -> Place<'a> {
    (&instance.path, &instance.ops.baseline, &instance.ops.candidate)
}

fn order(row: &FusionRow) -> impl Ord + '_ {
    let counts = (row.kernel_count.baseline, row.kernel_count.candidate);
    (Reverse(row.difference().abs()), &row.path, counts, row.change, row.first)
}

fn row(
    pieces: &Pieces<'_>,
    change: KernelChange,
    group: &[&Instance<'_>],
    instances: usize,
) -> FusionRow {
    let first = group[0];
    let time = |side: Side| {
        // Host time is the duration of an op including nested calls.
        let events = group.iter().flat_map(|instance| &instance.kernels[side]);
        events.map(|&event| pieces.diff.tree(side).duration(event)).sum()
    };
    FusionRow {
        path: first.path.clone(),
        change,
        kernel_count: first.counts(),
        ops: first.ops.as_ref().map(|ops| ops.iter().map(|&op| op.to_owned()).collect()),
        kernels: PerSide::from_fn(|side| names(pieces.diff, first, side)),
        time: PerSide::from_fn(time),
        instances,
        agreeing: group.len(),
        first: first.node,
    }
}

fn names(diff: &TraceDiff, instance: &Instance<'_>, side: Side) -> BTreeMap<String, u64> {
    let mut names = BTreeMap::new();
    for &event in &instance.kernels[side] {
        *names.entry(diff.tree(side).name(event).to_owned()).or_default() += 1;
    }
    names
}
