//! Rows of the account → nodes where one side needs fewer kernels than the other.
//!
//! Structure only. All kernels whose lowest common node is the same are held against each other, for
//! each stretch between two common children of that node where it is no op. Copies and memsets are
//! left out, since libraries and profilers differ in them without reason.
//!
//! ```text
//! Block                       Block
//! ├── >> aten::mul            └── << triton_poi_fused_add_mul_0   1 kernel
//! └── >> aten::add   2 kernels                                    fused in trace2
//! ```
//! A *fusion* is claimed where the node is common to both sides, fewer ops launch fewer kernels on
//! one side, and every op of the other side is explained by one of them (see `explain`), on at
//! least two instances. All else is a change of the kernel count.

mod absorbed;
mod explain;
mod instances;
mod pieces;
mod regions;

pub use explain::FusionEvidence;
pub(super) use explain::shapes;

use super::Analysis;
use crate::diff::MergedId;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use instances::Instance;
use pieces::Pieces;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// How many instances must show the same before it is called a fusion.
const ENOUGH: usize = 2;

/// What a change of the kernel count is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KernelChange {
    /// This side does in fewer kernels what the other does in several ops.
    FusedIn(Side, FusionEvidence),
    /// The counts differ; why is not known.
    Count,
}

/// Nodes of one path at which the number of kernels differs in the same way.
#[derive(Debug, Clone, PartialEq)]
pub struct FusionRow {
    /// Modules and ops from the thread down to the node, without instance numbers, then the node.
    pub path: String,
    /// What the change is.
    pub change: KernelChange,
    /// Kernels of one instance on each side.
    pub kernel_count: PerSide<usize>,
    /// Names of the ops that launch them, in order; of the kernels where there is no op.
    pub ops: PerSide<Vec<String>>,
    /// Names of the kernels of the first instance with their counts, by name.
    pub kernels: PerSide<BTreeMap<String, u64>>,
    /// Sum of the kernels' times over the instances that agree.
    pub time: PerSide<Nanos>,
    /// Nodes of this path with kernels on both sides, launched by these ops.
    pub instances: usize,
    /// Those of them with these kernel counts and this change.
    pub agreeing: usize,
    /// The first of them.
    pub first: MergedId,
}

impl FusionRow {
    /// Candidate − baseline of the times.
    pub fn difference(&self) -> Nanos {
        self.time.candidate - self.time.baseline
    }
}

/// Where instances are: path and the ops that launch on each side.
type Place<'a> = (&'a str, &'a [&'a str], &'a [&'a str]);

/// What makes instances agree: the place, the kernel counts and the change.
type Agreement<'a> = (Place<'a>, (usize, usize), KernelChange);

/// What makes instances one row: they agree, and directly below a thread they run the same kernels.
type Group<'a> = (Agreement<'a>, &'a [&'a str]);

impl Analysis {
    /// Where the number of kernels differs: largest difference of time first, then by path.
    pub fn fusions(&self) -> &[FusionRow] {
        self.cached.fusions.get_or_init(|| self.find_fusions())
    }

    fn find_fusions(&self) -> Vec<FusionRow> {
        let pieces = Pieces::of(self);
        let instances = instances::find(&pieces);
        let mut of_place: BTreeMap<(Place<'_>, &[&str]), usize> = BTreeMap::new();
        let mut agreeing: BTreeMap<Agreement<'_>, usize> = BTreeMap::new();
        let mut groups: BTreeMap<Group<'_>, Vec<&Instance<'_>>> = BTreeMap::new();
        for instance in &instances {
            let place = place(instance);
            *of_place.entry((place, &instance.told_apart_by)).or_default() += 1;
            let counts = instance.counts();
            if counts.baseline != counts.candidate {
                let agreement = (place, (counts.baseline, counts.candidate), instance.change);
                *agreeing.entry(agreement).or_default() += 1;
                groups.entry((agreement, &instance.told_apart_by)).or_default().push(instance);
            }
        }
        let mut rows: Vec<FusionRow> = groups
            .into_iter()
            .map(|((agreement, kernels), group)| {
                let change = match agreeing[&agreement] < group[0].enough {
                    true => KernelChange::Count,
                    false => agreement.2,
                };
                row(&pieces, change, &group, of_place[&(agreement.0, kernels)])
            })
            .collect();
        rows.sort_by(|a, b| order(a).cmp(&order(b)));
        rows
    }
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
        let events = group.iter().flat_map(|instance| &instance.kernels[side]);
        events.map(|&event| pieces.time(side, event)).sum()
    };
    FusionRow {
        path: first.path.clone(),
        change,
        kernel_count: first.counts(),
        ops: first.ops.as_ref().map(|ops| ops.iter().map(|&op| op.to_owned()).collect()),
        kernels: PerSide::from_fn(|side| names(pieces.analysis, first, side)),
        time: PerSide::from_fn(time),
        instances,
        agreeing: group.len(),
        first: first.node,
    }
}

fn names(analysis: &Analysis, instance: &Instance<'_>, side: Side) -> BTreeMap<String, u64> {
    let mut names = BTreeMap::new();
    for &event in &instance.kernels[side] {
        *names.entry(analysis.tree(side).name(event).to_owned()).or_default() += 1;
    }
    names
}
