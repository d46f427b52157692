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

mod gather;
mod hints;

use super::account::Ledger;
use super::categories::CategoryTable;
use super::changes::Scale;
use super::changes::{ChangeKind, Changes};
use super::comparability::Comparability;
use super::efficiency::{Bound, DevicePeaks, Efficiency, TraceEfficiency};
use super::kernel_facts::{Generation, Role};
use super::precision::Precision;
use super::steps::StepPairs;
use super::wall::Wall;
use crate::diff::TraceDiff;
use crate::order::Order as _;
use crate::program::Measure;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::CallId;
use gather::{Group, Key, groups};
pub use hints::Hint;
use hints::{Evidence, hints};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// If a group's kernels are shorter than this on both sides, latency decides, not the work.
const SHORT_US: f64 = 10.0;
/// If both sides take more than five times the minimum time, the peaks limit neither.
const NEAR: f64 = 0.2;
/// The software's part of a row is notable if it exceeds this share of the GPU time of the slower side, and …
const NOTABLE: f64 = 0.002;
/// … this share of the row's time.
const NOTABLE_OF_ROW: f64 = 0.05;
/// With fewer rows or columns than this, unfused attention costs little.
const LONG_SEQUENCE: u64 = 64;

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

/// What differs between two platforms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub enum Differs {
    /// The devices.
    Devices,
    /// The versions of the driver or the libraries, but not the devices.
    Versions,
}

impl Differs {
    /// What differs, according to the notes about the two traces; `None` if nothing does, or if it is unknown.
    pub(crate) fn of(comparability: &Comparability) -> Option<Differs> {
        let has = |code| comparability.both.get(code).is_some();
        if has("DIFFERENT_DEVICE") {
            Some(Differs::Devices)
        } else {
            has("DIFFERENT_VERSIONS").then_some(Differs::Versions)
        }
    }
}

/// How the difference of a row is explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[doc(hidden)]
pub enum Explained {
    /// By hardware and software.
    Modelled,
    /// The kernels are so short that latency decides.
    Short,
    /// The minimum time of the work is unknown, or the work is a copy to or from the host, or communication.
    NotModelled,
    /// The program was changed.
    Changed,
}

impl Explained {
    /// `modelled`, `short`, `not_modelled` or `changed`.
    pub fn label(self) -> &'static str {
        match self {
            Explained::Modelled => "modelled",
            Explained::Short => "short",
            Explained::NotModelled => "not_modelled",
            Explained::Changed => "changed",
        }
    }
}

/// An op with the same shapes, types and module class, on both platforms.
#[derive(Debug, Clone, PartialEq)]
#[doc(hidden)]
pub struct PortingRow {
    /// The class of work, such as `linear`, `batched matmul` or `convolution`.
    pub class: String,
    /// The op: the lowest common op, or the op that chose between the implementations below it.
    pub name: String,
    /// `Input Dims` on each side.
    pub dims: PerSide<String>,
    /// `Input type` on each side.
    pub types: PerSide<String>,
    /// The class of the innermost module; empty outside of modules.
    pub module: String,
    /// Number of calls in the compared steps.
    pub calls: PerSide<u64>,
    /// GPU time in the compared steps.
    pub time: PerSide<Nanos>,
    /// Difference in GPU time per step, candidate − baseline.
    pub difference: Nanos,
    /// How the difference is explained.
    pub explained: Explained,
    /// The ratio of the minimum times, candidate / baseline: the lowest and the highest estimate.
    pub rho: Option<(f64, f64)>,
    /// Whether a side comes near its peaks. If not, `rho` is 1.
    pub is_near_peak: bool,
    /// The part of the difference that the hardware explains.
    pub hardware: Nanos,
    /// The part of the difference that the hardware does not explain.
    pub software: Nanos,
    /// Minimum time as a percentage of the measured time, at the published peaks.
    pub peak_pct: PerSide<Option<f64>>,
    /// What limits the op at the peaks.
    pub bound: Option<Bound>,
    /// The libraries that run it, the one with the most time first.
    pub libraries: PerSide<String>,
    /// The GPU generation that the longest kernel was written for.
    pub generation: PerSide<Option<Generation>>,
    /// The alignment that the longest kernel requires, in elements.
    pub alignment: PerSide<Option<u32>>,
    /// The precision in which the longest kernel multiplies.
    pub precision: PerSide<Option<&'static str>>,
    /// The variant of the longest kernel, such as `in registers`.
    pub variant: PerSide<Option<&'static str>>,
    /// The tile of the longest kernel; may be empty.
    pub tile: PerSide<String>,
    /// The name of the longest kernel, shortened.
    pub kernel: PerSide<String>,
    /// Number and time of the kernels in each role.
    pub roles: PerSide<BTreeMap<Role, (u64, Nanos)>>,
    /// What to try.
    pub hints: Vec<Hint>,
    /// The call with the most time on each side.
    pub largest: PerSide<Option<CallId>>,
    /// Positions of the attribution rows.
    pub(in crate::analysis) rows: Vec<usize>,
}

impl PortingRow {
    /// Ratio of the times per step, candidate / baseline; `None` if a time is zero.
    pub fn ratio(&self, steps: PerSide<u64>) -> Option<f64> {
        self.time.ratio().map(|ratio| ratio * steps.baseline as f64 / steps.candidate as f64)
    }

    /// The share of the time that is spent on anything but the work itself, such as layouts and memsets, in percent.
    pub fn not_work_pct(&self, side: Side) -> Option<f64> {
        let all: Nanos = self.roles[side].values().map(|&(_, time)| time).sum();
        let work = self.roles[side].get(&Role::Work).map_or(Nanos::ZERO, |&(_, time)| time);
        (all > Nanos::ZERO && work > Nanos::ZERO)
            .then(|| 100.0 * (all - work).0 as f64 / all.0 as f64)
    }

    /// What runs on a side, as a short text such as `hipBLASLt 64x224x64` or `CUTLASS (Turing, align 1)`. The generation is
    /// named if it is not the device's.
    pub fn implementation(&self, side: Side, device: Option<(i64, i64)>) -> String {
        let mut text = self.libraries[side].clone();
        let mut inside = Vec::new();
        let is_other = |of: &Generation| device.is_some_and(|device| device.0 != of.version.0);
        if let Some(generation) = self.generation[side].filter(is_other) {
            inside.push(generation.name.to_owned());
        }
        if let Some(elements) = self.alignment[side].filter(|&elements| elements < 8) {
            inside.push(format!("align {elements}"));
        }
        inside.extend(self.variant[side].map(str::to_owned));
        if text.is_empty() {
            text = self.kernel[side].clone();
        } else if inside.is_empty() && !self.tile[side].is_empty() {
            text += &format!(" {}", self.tile[side]);
        }
        if inside.is_empty() { text } else { format!("{text} ({})", inside.join(", ")) }
    }
}

/// Attention that is written out as a product, a softmax and a product under one module class.
#[derive(Debug, Clone, PartialEq)]
#[doc(hidden)]
pub struct Unfused {
    /// The class of the module.
    pub module: String,
    /// Number of queries and of keys.
    pub sizes: (u64, u64),
    /// GPU time in the compared steps.
    pub time: PerSide<Nanos>,
}

/// Sums over rows.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[doc(hidden)]
pub struct PortingSums {
    /// Time of the rows in the compared steps.
    pub time: PerSide<Nanos>,
    /// Difference per step.
    pub difference: Nanos,
    /// Explained by the hardware.
    pub hardware: Nanos,
    /// Not explained by the hardware.
    pub software: Nanos,
    /// Difference of short kernels.
    pub short: Nanos,
    /// Difference of work without a model.
    pub not_modelled: Nanos,
    /// Difference of work that belongs to a change of the program.
    pub changed: Nanos,
    /// The range of `rho`, weighted by the baseline's time of the modelled rows; `None` if no row is modelled, or if no
    /// modelled row comes near the peaks.
    pub rho: Option<(f64, f64)>,
    /// Minimum time as a percentage of the time of the modelled rows.
    pub peak_pct: PerSide<Option<f64>>,
}

impl PortingSums {
    /// Adds up rows.
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a PortingRow>) -> PortingSums {
        let mut sums = PortingSums::default();
        let (mut weight, mut low, mut high, mut is_near) = (0.0, 0.0, 0.0, false);
        let mut least: PerSide<f64> = PerSide::default();
        let mut modelled: PerSide<f64> = PerSide::default();
        for row in rows {
            for side in Side::BOTH {
                sums.time[side] += row.time[side];
                if let Some(pct) = row.peak_pct[side].filter(|_| row.rho.is_some()) {
                    least[side] += pct * row.time[side].0 as f64;
                    modelled[side] += row.time[side].0 as f64;
                }
            }
            sums.difference += row.difference;
            match row.explained {
                Explained::Modelled => {
                    sums.hardware += row.hardware;
                    sums.software += row.software;
                }
                Explained::Short => sums.short += row.difference,
                Explained::NotModelled => sums.not_modelled += row.difference,
                Explained::Changed => sums.changed += row.difference,
            }
            if let Some((a, b)) = row.rho {
                let time = row.time.baseline.0 as f64;
                weight += time;
                low += a * time;
                high += b * time;
                is_near |= row.is_near_peak;
            }
        }
        sums.rho = (weight > 0.0 && is_near).then(|| (low / weight, high / weight));
        sums.peak_pct =
            PerSide::from_fn(|side| (modelled[side] > 0.0).then(|| least[side] / modelled[side]));
        sums
    }
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

/// What all rows are compared with.
#[derive(Clone, Copy)]
struct Compared<'a> {
    scale: Scale,
    differs: Option<Differs>,
    peaks: PerSide<Option<&'a DevicePeaks>>,
    devices: PerSide<Option<(i64, i64)>>,
}

impl Compared<'_> {
    fn row(self, key: Key, group: &Group<'_>, difference: Nanos) -> PortingRow {
        let sides = &group.sides;
        let [[dims_a, types_a], [dims_b, types_b]] = key.shapes.clone();
        let (dims, types) = (PerSide::new(dims_a, dims_b), PerSide::new(types_a, types_b));
        let inputs = types.as_ref().map(|types| Precision::of_types(types));
        let kernels = PerSide::from_fn(|side| sides[side].facts(inputs[side]));
        let time = sides.as_ref().map(|here| here.time);
        let class = class(&key.name, group.category);
        let explained = explained(&key, group);
        let rho = (explained == Explained::Modelled)
            .then(|| self.rho(sides.as_ref().map(|here| &here.efficiency), time));
        let software = rho.map_or(Nanos::ZERO, |(low, high, _)| self.software(time, low, high));
        let evidence = PerSide::from_fn(|side| Evidence {
            kernels: &kernels[side],
            time: time[side],
            dims: &dims[side],
            device: self.devices[side],
            is_16_bit: matches!(inputs[side], Some(Precision::Fp16 | Precision::Bf16)),
        });
        let hints = hints(&evidence, class == "convolution");
        let of_kernels = |pick: fn(&gather::Kernels) -> String| kernels.as_ref().map(pick);
        PortingRow {
            calls: sides.as_ref().map(|here| here.calls.len() as u64),
            time,
            difference,
            explained,
            rho: rho.map(|(low, high, _)| (low, high)),
            is_near_peak: rho.is_some_and(|(.., is_near)| is_near),
            hardware: if rho.is_some() { difference - software } else { Nanos::ZERO },
            software,
            peak_pct: sides.as_ref().map(|here| here.efficiency.roofline_pct()),
            bound: Side::BOTH.into_iter().find_map(|side| sides[side].efficiency.bound()),
            libraries: of_kernels(|kernels| kernels.libraries.clone()),
            generation: kernels.as_ref().map(|kernels| kernels.generation),
            alignment: kernels.as_ref().map(|kernels| kernels.alignment),
            precision: kernels.as_ref().map(|kernels| kernels.precision),
            variant: kernels.as_ref().map(|kernels| kernels.variant),
            tile: of_kernels(|kernels| kernels.tile.clone()),
            kernel: of_kernels(|kernels| kernels.main.clone()),
            roles: kernels.map(|kernels| kernels.roles),
            hints,
            rows: group.rows.clone(),
            largest: sides.as_ref().map(|here| here.largest.map(|(_, call)| call)),
            class,
            name: key.name,
            dims,
            types,
            module: key.module,
        }
    }

    /// The lowest and the highest estimate of the ratio of the minimum times, and whether a side comes near its peaks.
    fn rho(self, work: PerSide<&Efficiency>, time: PerSide<Nanos>) -> (f64, f64, bool) {
        let same = (1.0, 1.0, false);
        if self.differs != Some(Differs::Devices) {
            return same;
        }
        let least = work.map(Efficiency::roofline_us);
        let PerSide { baseline: Some(a), candidate: Some(b) } = least else { return same };
        let share = |side: Side, least: f64| least / time[side].as_micros();
        let nearest = share(Side::Baseline, a).max(share(Side::Candidate, b));
        if nearest < NEAR || a <= 0.0 {
            return same;
        }
        // The work is the same, so its amount per call cancels out, even if the sides have different numbers of steps.
        let steps = self.scale.steps.baseline as f64 / self.scale.steps.candidate as f64;
        let published = steps * b / a;
        let achievable = PerSide::from_fn(|side| {
            self.peaks[side].and_then(|peaks| work[side].achievable_us(peaks))
        });
        let achievable = match (achievable.baseline, achievable.candidate) {
            (Some(a), Some(b)) => steps * b / a,
            (_, _) => published,
        };
        (published.min(achievable), published.max(achievable), true)
    }

    /// The difference per step that exceeds what the hardware explains.
    fn software(self, time: PerSide<Nanos>, low: f64, high: f64) -> Nanos {
        let [a, b] =
            Side::BOTH.map(|side| time[side].0 as f64 / self.scale.steps[side].max(1) as f64);
        let part = if b > a * high {
            b - a * high
        } else if b < a * low {
            b - a * low
        } else {
            0.0
        };
        Nanos(part.round() as i64)
    }
}

fn explained(key: &Key, group: &Group<'_>) -> Explained {
    let sides = &group.sides;
    let counts = sides.as_ref().map(|here| here.counts().0);
    let is_one_sided = counts.baseline == 0 || counts.candidate == 0;
    let is_short = Side::BOTH
        .into_iter()
        .all(|side| sides[side].time.as_micros() < SHORT_US * counts[side] as f64);
    let is_transfer = matches!(group.category, "memcpy" | "communication");
    let is_known =
        Side::BOTH.into_iter().all(|side| sides[side].efficiency.roofline_us().is_some());
    match () {
        () if key.is_changed => Explained::Changed,
        () if is_transfer || is_one_sided => Explained::NotModelled,
        () if is_short => Explained::Short,
        () if is_known => Explained::Modelled,
        () => Explained::NotModelled,
    }
}

/// The class of work, in the words of users.
fn class(name: &str, category: &str) -> String {
    let op = name.strip_prefix("aten::").unwrap_or(name);
    let class = match category {
        _ if op.contains("convolution") => "convolution",
        _ if op.contains("attention") => "attention",
        _ if matches!(op, "copy_" | "contiguous" | "clone" | "cat") => "copies",
        "gemm" if op.contains("bmm") => "batched matmul",
        "gemm" => "linear",
        "copy" => "copies",
        "memcpy" => "copies to and from the host",
        "" | "unclassified" => "other",
        category => category,
    };
    class.to_owned()
}

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
