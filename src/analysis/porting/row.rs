//! The values of the comparison of two platforms: a row for each group of ops, and the sums over rows.

use super::gather::Kernels;
use super::hints::Hint;
use crate::analysis::comparability::Comparability;
use crate::analysis::efficiency::Bound;
use crate::analysis::kernel_facts::{Generation, Role};
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::CallId;

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
    /// What its kernels are.
    pub kernels: PerSide<Kernels>,
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
        let roles = &self.kernels[side].roles;
        let all: Nanos = roles.values().map(|&(_, time)| time).sum();
        let work = roles.get(&Role::Work).map_or(Nanos::ZERO, |&(_, time)| time);
        (all > Nanos::ZERO && work > Nanos::ZERO)
            .then(|| 100.0 * (all - work).0 as f64 / all.0 as f64)
    }

    /// What runs on a side, as a short text such as `hipBLASLt 64x224x64` or `CUTLASS (Turing, align 1)`. The generation is
    /// named if it is not the device's.
    pub fn implementation(&self, side: Side, device: Option<(i64, i64)>) -> String {
        let text = self.library(side, device);
        let Kernels { libraries, tile, .. } = &self.kernels[side];
        let has_tile = text == *libraries && !text.is_empty() && !tile.is_empty();
        if has_tile { format!("{text} {tile}") } else { text }
    }

    /// Like [`PortingRow::implementation`], without the tile.
    pub fn library(&self, side: Side, device: Option<(i64, i64)>) -> String {
        let kernels = &self.kernels[side];
        let mut inside = Vec::new();
        let is_other = |of: &Generation| device.is_some_and(|device| device.0 != of.version.0);
        if let Some(generation) = kernels.generation.filter(is_other) {
            inside.push(generation.name.to_owned());
        }
        if let Some(elements) = kernels.alignment.filter(|&elements| elements < 8) {
            inside.push(format!("align {elements}"));
        }
        inside.extend(kernels.variant.map(str::to_owned));
        let text = match kernels.libraries.as_str() {
            "" => kernels.main.as_str(),
            library => library,
        };
        if inside.is_empty() { text.to_owned() } else { format!("{text} ({})", inside.join(", ")) }
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
