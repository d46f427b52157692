//! Compares the same model on two kinds of GPU, op by op: how much of the difference in GPU time the hardware explains,
//! and how much is due to the libraries and kernels that run there.
//!
//! ```text
//! r    minimum time of the work at a device's peaks
//! ρ    r on the candidate's device / r on the baseline's: a range, from published to achievable peaks;
//!      1 if neither side comes near its peaks, or if the devices are the same
//!
//! time on the baseline · ρ ──▶ time that the candidate's hardware explains
//! software = time on the candidate − the nearest end of that range; 0 inside it
//! hardware = difference − software
//! ```
//! The differences of all rows add up to the difference in GPU time: hardware + software + short kernels + work without a
//! model + changes of the program.

mod explained;
mod gather;
mod hints;
mod row;

pub use gather::Kernels;
pub use hints::Hint;
pub use row::{Differs, Explained, PortingRow, PortingSums, Unfused};

use super::account::Ledger;
use super::categories::CategoryTable;
use super::changes::{ChangeKind, Changes, Scale};
use super::comparability::Comparability;
use super::efficiency::TraceEfficiency;
use super::steps::StepPairs;
use super::wall::Wall;
use crate::diff::TraceDiff;
use crate::order::Order as _;
use crate::program::Measure;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use explained::Compared;
use gather::groups;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// The software's part of a row is notable if it exceeds this share of the GPU time of the slower side, and …
const NOTABLE: f64 = 0.002;
/// … this share of the row's time.
const NOTABLE_OF_ROW: f64 = 0.05;

/// The comparison of two platforms.
#[derive(Debug, Clone, Default)]
#[doc(hidden)]
pub struct Porting {
    /// What differs between the platforms; `None` if devices and versions are the same or unknown.
    pub differs: Option<Differs>,
    /// Compared steps on each side; times are sums over these steps.
    pub steps: PerSide<u64>,
    /// The groups of ops, the largest absolute software part first, then the largest difference.
    pub rows: Vec<PortingRow>,
    /// GPU time of the compared steps.
    pub time: PerSide<Nanos>,
    /// Attention that is written out as a product, a softmax and a product, the longest first.
    pub unfused: Vec<Unfused>,
}

impl Porting {
    /// For each attribution row, the factor by which the other side's hardware changes the GPU time of each side: the
    /// baseline's time with the candidate's hardware, and the candidate's time with the baseline's. `None` if the
    /// hardware explains nothing.
    pub(in crate::analysis) fn hardware_factors(&self, rows: usize) -> Option<PerSide<Vec<f64>>> {
        self.sums().rho?;
        let mut factors = PerSide::new(vec![1.0; rows], vec![1.0; rows]);
        for row in &self.rows {
            for side in Side::BOTH {
                let sign = if side == Side::Baseline { 1.0 } else { -1.0 };
                let more = sign * row.hardware.0 as f64 * self.steps[side] as f64;
                let time = row.time[side].0 as f64;
                if time > 0.0 {
                    for &at in &row.rows {
                        factors[side][at] = (1.0 + more / time).max(0.0);
                    }
                }
            }
        }
        Some(factors)
    }

    /// The sums over all rows.
    pub fn sums(&self) -> PortingSums {
        PortingSums::of(&self.rows)
    }

    /// The classes of work with their sums, the class with the most time first.
    pub fn classes(&self) -> Vec<(&str, PortingSums)> {
        let mut of: BTreeMap<&str, Vec<&PortingRow>> = BTreeMap::new();
        for row in &self.rows {
            of.entry(&row.class).or_default().push(row);
        }
        let sums = of.into_iter().map(|(class, rows)| (class, PortingSums::of(rows)));
        let mut sums: Vec<_> = sums.collect();
        let most = |sums: &PortingSums| sums.time.baseline.max(sums.time.candidate);
        sums.order_by(|(a, one), (b, two)| most(two).cmp(&most(one)).then(a.cmp(b)));
        sums
    }

    /// The rows that are slower on one side than the hardware explains, the largest part first.
    pub fn slower_on(&self, side: Side) -> impl Iterator<Item = &PortingRow> {
        let per_step = |side: Side| self.time[side].0 as f64 / self.steps[side].max(1) as f64;
        let least = NOTABLE * per_step(Side::Baseline).max(per_step(Side::Candidate));
        let steps = self.steps;
        let is_notable = move |row: &&PortingRow| {
            let sign = if side == Side::Candidate { 1 } else { -1 };
            let own =
                PerSide::from_fn(|side: Side| row.time[side].0 as f64 / steps[side].max(1) as f64);
            let part = (sign * row.software.0) as f64;
            part > least && part > NOTABLE_OF_ROW * own.baseline.min(own.candidate)
        };
        self.rows.iter().filter(is_notable)
    }
}

/// Compares the platforms, op by op.
#[allow(clippy::too_many_arguments)]
pub(super) fn porting(
    diff: &TraceDiff,
    ledger: &Ledger,
    compared: &StepPairs,
    wall: &Wall,
    categories: &CategoryTable,
    comparability: &Comparability,
    efficiency: &PerSide<TraceEfficiency>,
    changes: &Changes,
) -> Porting {
    let scale = Scale::of(wall);
    let differs = Differs::of(comparability);
    // On one platform, with the same versions, there is nothing to compare.
    if ledger.measure() != Measure::GpuTime || differs.is_none() {
        return Porting { differs, steps: scale.steps, ..Porting::default() };
    }
    let devices = PerSide::from_fn(|side| {
        diff.tree(side).trace().header().devices.first().and_then(|device| device.capability)
    });
    let is_changed = rows_of_changes(changes);
    let groups = groups(diff, ledger, compared, efficiency, categories, &is_changed);
    let exact: Vec<i128> = groups
        .iter()
        .map(|(_, group)| scale.difference(group.sides.as_ref().map(|here| here.time)))
        .collect();
    let differences = scale.round_all(&exact);
    let peaks = efficiency.as_ref().map(TraceEfficiency::peaks);
    let rows = groups.into_iter().zip(differences);
    let mut rows: Vec<PortingRow> = rows
        .map(|((key, group), difference)| {
            let compared = Compared { scale, differs, peaks, devices };
            compared.row(key, &group, difference)
        })
        .collect();
    let unfused = unfused(&rows);
    // The rows are sorted by key, and the sort is stable.
    rows.order_by(|a, b| {
        let size = |row: &PortingRow| (row.software.abs(), row.difference.abs());
        size(b).cmp(&size(a))
    });
    let time = PerSide::from_fn(|side| rows.iter().map(|row| row.time[side]).sum());
    Porting { differs, steps: scale.steps, rows, time, unfused }
}

/// The positions of the attribution rows that belong to a change of the program. Everything that a user can set is such a
/// change; only the choice of kernels belongs to the platform.
fn rows_of_changes(changes: &Changes) -> FxHashSet<usize> {
    let is_program = |kind: ChangeKind| match kind {
        ChangeKind::Compilation
        | ChangeKind::Graphs
        | ChangeKind::Precision
        | ChangeKind::MathMode
        | ChangeKind::Shapes
        | ChangeKind::MemoryFormat
        | ChangeKind::Attention
        | ChangeKind::Checkpointing
        | ChangeKind::Layers
        | ChangeKind::Ops
        | ChangeKind::Arguments
        | ChangeKind::Optimizer
        | ChangeKind::HostRead
        | ChangeKind::Synchronization
        | ChangeKind::InputPipeline
        | ChangeKind::Collectives => true,
        ChangeKind::Environment
        | ChangeKind::Python
        | ChangeKind::KernelSelection
        | ChangeKind::Allocator
        | ChangeKind::Leak
        | ChangeKind::Memory
        | ChangeKind::Workspace
        | ChangeKind::Streams
        | ChangeKind::WarmUp
        | ChangeKind::Recording => false,
    };
    let of_program = changes.list().iter().filter(|change| is_program(change.kind));
    of_program.flat_map(|change| change.rows.iter().copied()).collect()
}

/// With fewer rows or columns than this, unfused attention costs little.
const LONG_SEQUENCE: u64 = 64;

/// Finds each softmax over long rows, with the products and the pointwise ops of the same module that read or write its
/// matrix.
fn unfused(rows: &[PortingRow]) -> Vec<Unfused> {
    let mut found: BTreeMap<(&str, u64, u64), PerSide<Nanos>> = BTreeMap::new();
    for softmax in rows.iter().filter(|row| row.name == "aten::_softmax") {
        let Some((n, m)) = last_sizes(&softmax.dims.baseline) else { continue };
        if n < LONG_SEQUENCE || m < LONG_SEQUENCE {
            continue;
        }
        let sum = found.entry((&softmax.module, n, m)).or_default();
        let mut products = 0;
        let mut all = softmax.time;
        for row in
            rows.iter().filter(|row| row.module == softmax.module && row.name != softmax.name)
        {
            let sizes = sizes(&row.dims.baseline);
            let has_both = sizes.contains(&n) && sizes.contains(&m);
            let is_product = row.name == "aten::bmm" || row.name == "aten::baddbmm";
            let is_pointwise = matches!(row.name.as_str(), "aten::mul" | "aten::div" | "aten::add")
                && last_sizes(&row.dims.baseline) == Some((n, m));
            if is_product && has_both || is_pointwise {
                products += u64::from(is_product);
                for side in Side::BOTH {
                    all[side] += row.time[side];
                }
            }
        }
        if products > 0 {
            *sum = all;
        }
    }
    let mut found: Vec<Unfused> = found
        .into_iter()
        .filter(|(_, time)| time.candidate > Nanos::ZERO)
        .map(|((module, n, m), time)| Unfused { module: module.to_owned(), sizes: (n, m), time })
        .collect();
    found.order_by(|a, b| b.time.candidate.cmp(&a.time.candidate));
    found
}

fn sizes(dims: &str) -> Vec<u64> {
    dims.split(|c: char| !c.is_ascii_digit()).filter_map(|size| size.parse().ok()).collect()
}

/// The last two sizes of the first tensor in `Input Dims`.
fn last_sizes(dims: &str) -> Option<(u64, u64)> {
    let first = dims.trim_start_matches('[').split(']').next()?;
    let sizes = sizes(first);
    Some((*sizes.get(sizes.len().checked_sub(2)?)?, *sizes.last()?))
}
