//! Divides the difference of a group of ops into what the hardware explains and the software's part.

use super::gather::{Group, Key};
use super::hints::{Evidence, hints};
use super::row::{Differs, Explained, PortingRow};
use crate::analysis::changes::Scale;
use crate::analysis::efficiency::{DevicePeaks, Efficiency};
use crate::analysis::precision::Precision;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;

/// If a group's kernels are shorter than this on both sides, latency decides, not the work.
const SHORT_US: f64 = 10.0;
/// If both sides take more than five times the minimum time, the peaks limit neither.
const NEAR: f64 = 0.2;

/// What all rows are compared with.
#[derive(Clone, Copy)]
pub(super) struct Compared<'a> {
    pub(super) scale: Scale,
    pub(super) differs: Option<Differs>,
    pub(super) peaks: PerSide<Option<&'a DevicePeaks>>,
    pub(super) devices: PerSide<Option<(i64, i64)>>,
}

impl Compared<'_> {
    /// The row of a group of ops, for its difference per step.
    pub(super) fn row(self, key: Key, group: &Group<'_>, difference: Nanos) -> PortingRow {
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
            kernels,
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
