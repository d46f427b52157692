//! The sentences of the bill.

use super::super::changes::RangeGaps;
use super::super::figures::Figures;
use super::super::replay::{HostPause, WaitPrice};
use crate::escape::one_line;
use crate::order::Order as _;
use crate::program::{Measure, Phase, counted};
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use std::cmp::Reverse;

/// Phases whose factors differ by less than this are not listed one by one.
const ALIKE: f64 = 1.15;
/// A phase is listed if its difference is at least this share of all differences, …
const LISTED: f64 = 0.1;
/// … and at most this many are.
const MOST: usize = 3;

/// What all sentences need.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sentences<'a> {
    pub(super) figures: Figures,
    pub(super) measure: Measure,
    pub(super) names: &'a PerSide<String>,
    /// Number of compared steps on each side.
    pub(super) steps: PerSide<u64>,
}

impl Sentences<'_> {
    fn change(&self, time: PerSide<Nanos>) -> String {
        self.figures.change(time.map(|time| time.0 as f64))
    }

    fn name(&self, side: Side) -> String {
        one_line(&self.names[side]).into_owned()
    }

    pub(super) fn wait(&self, wait: &WaitPrice) -> String {
        let time = self.change(wait.time);
        if wait.is_known() {
            format!("The step waits for {}: {time}", wait.name)
        } else {
            format!("The step waits in the range {}: {time}", one_line(&wait.name))
        }
    }

    /// The wait in a range that contains most of the difference in the time between calls.
    pub(super) fn range(&self, range: &RangeGaps) -> String {
        let per_step = |side: Side| range.time[side].0 as f64 / self.steps[side].max(1) as f64;
        let time = self.figures.change(PerSide::from_fn(per_step));
        match range.waits_for() {
            Some(what) => format!("The step waits for {what}: {time}"),
            None => {
                format!("The host is between calls in the range {}: {time}", one_line(&range.name))
            }
        }
    }

    /// The host times of each phase.
    pub(super) fn host(&self, phases: &[(Phase, PerSide<Nanos>)]) -> String {
        let what = "Host time of the same calls";
        let sum = |side: Side| phases.iter().map(|(_, time)| time[side]).sum::<Nanos>();
        let all = PerSide::from_fn(sum);
        let with_factor = |time: PerSide<Nanos>| match time.ratio() {
            Some(ratio) => format!("{} ({ratio:.2}×)", self.change(time)),
            None => self.change(time),
        };
        let size = |time: &PerSide<Nanos>| time.difference().abs();
        let differences: i64 = phases.iter().map(|(_, time)| size(time).0).sum();
        let mut listed: Vec<&(Phase, PerSide<Nanos>)> = phases
            .iter()
            .filter(|(_, time)| size(time).0 as f64 >= LISTED * differences as f64)
            .collect();
        listed.order_by_key(|&&(phase, time)| (Reverse(size(&time)), phase));
        listed.truncate(MOST);
        let factors = listed.iter().map(|(_, time)| time.ratio().unwrap_or(f64::INFINITY));
        let (least, most) =
            factors.fold((f64::INFINITY, 0.0_f64), |(a, b), factor| (a.min(factor), b.max(factor)));
        if phases.len() <= 1 || (listed.len() > 1 && most <= ALIKE * least) {
            return format!("{what}: {}", with_factor(all));
        }
        let of_phase = |(phase, time): &&(Phase, PerSide<Nanos>)| {
            format!("{} {}", phase_name(*phase), with_factor(*time))
        };
        let phases: Vec<String> = listed.iter().map(of_phase).collect();
        format!("{what}: {}", phases.join(", "))
    }

    pub(super) fn pauses(&self, pauses: &[HostPause]) -> String {
        let Some(longest) = pauses.first() else { return String::new() };
        let on = |pause: &HostPause| {
            let is_slower = pause.time.candidate > pause.time.baseline;
            if is_slower { Side::Candidate } else { Side::Baseline }
        };
        let count = |side: Side| pauses.iter().filter(|pause| on(pause) == side).count();
        let time = self.figures.with_unit(longest.time[on(longest)].0 as f64);
        let place = one_line(&longest.place);
        let phase = if longest.phase == Phase::Unknown {
            String::new()
        } else {
            format!(" ({})", phase_name(longest.phase))
        };
        let all = counted(pauses.len() as u64, "pause");
        let sides = match Side::BOTH.map(count) {
            [0, _] | [_, 0] => format!(", only in {}", self.name(on(longest))),
            [a, b] => format!(" ({a} | {b})"),
        };
        let separator = if place.is_empty() { "" } else { " " };
        format!("{all} of the host{sides}; the longest {time}{separator}{place}{phase}")
    }

    /// The durations of the same kernels or ops: those of one op if it has most of the difference, otherwise the common
    /// factor. If single durations outweigh it, a factor explains nothing.
    pub(super) fn clock(
        &self,
        leading: Option<(&str, Option<f64>)>,
        ratio: Option<f64>,
        price: Nanos,
    ) -> String {
        let all = match self.measure {
            Measure::GpuTime => "kernels",
            Measure::HostSelfTime => "ops",
        };
        let (what, ratio) = match (leading, self.measure) {
            (Some((name, ratio)), Measure::GpuTime) => {
                (format!("kernels of {}", one_line(name)), ratio)
            }
            (Some((name, ratio)), Measure::HostSelfTime) => (one_line(name).into_owned(), ratio),
            (None, _) => (all.to_owned(), ratio),
        };
        match ratio.filter(|ratio| (ratio - 1.0) * price.0 as f64 > 0.0) {
            Some(ratio) if (ratio - 1.0).abs() < 0.005 => {
                format!("The same {what} take {ratio:.4} times as long")
            }
            Some(ratio) => format!("The same {what} take {ratio:.2} times as long"),
            None if ratio == Some(1.0) => {
                format!(
                    "The same {all} take as long, but start sooner or later after their launches"
                )
            }
            None => format!("Some of the same {all} take longer, others less"),
        }
    }

    pub(super) fn hardware(&self, gpu_time: Nanos) -> String {
        let [base, new] = Side::BOTH.map(|side| self.name(side));
        let time = self.figures.signed(gpu_time.0 as f64);
        format!("Hardware: the {new} instead of the {base} (GPU time {time})")
    }

    pub(super) fn software(&self, gpu_time: Nanos) -> String {
        let time = self.figures.signed(gpu_time.0 as f64);
        format!(
            "Software: libraries and kernels of the {} (GPU time {time})",
            self.name(Side::Candidate)
        )
    }

    fn device(&self) -> &'static str {
        match self.measure {
            Measure::GpuTime => "GPU",
            Measure::HostSelfTime => "step",
        }
    }

    /// The idle time that the host times of the same calls explain.
    pub(super) fn in_calls(&self, time: Nanos) -> String {
        format!("The {} waits {} for the host in the same calls", self.device(), more(time))
    }

    /// The idle time between recorded calls.
    pub(super) fn between(&self, time: Nanos, before: Option<&str>) -> String {
        let most = before.map_or_else(String::new, |op| format!(", most of it before {op}"));
        let sentence = format!(
            "The {} waits {} for the host between recorded calls{most}",
            self.device(),
            more(time)
        );
        one_line(&sentence).into_owned()
    }

    /// The idle time at the same calls that their host times do not explain.
    pub(super) fn overlap(&self, time: Nanos) -> String {
        let (overlap, slower, less) = if time > Nanos::ZERO {
            ("more", "slower", "less")
        } else {
            ("less", "faster", "more")
        };
        format!(
            "The {} waits {overlap} although the host is not {slower}: host and device overlap {less}",
            self.device()
        )
    }
}

fn more(time: Nanos) -> &'static str {
    if time > Nanos::ZERO { "more" } else { "less" }
}

fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Prefill => "prefill",
        Phase::Decode => "decode",
        Phase::Mixed => "mixed batches",
        Phase::Idle => "idle steps",
        Phase::TrainForward => "forward",
        Phase::TrainBackward => "backward",
        Phase::TrainOptimizer => "optimizer",
        Phase::Unknown => "elsewhere",
    }
}
