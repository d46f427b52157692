//! The result of a time comparison: the verdict, its evidence, and the thresholds for a significant
//! difference.

use crate::analysis::robust::Few;
use crate::side::PerSide;
use crate::trace::Nanos;

/// Differences below this share of the total are tested but not reported, to keep reports short.
const TOLD_SHARE: f64 = 0.001;

/// How large a time difference must be, and how certain a verdict must be, for the difference to count as a
/// change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// The minimum relative difference: 0.02 requires one time to be 2% longer than the other.
    pub relative: f64,
    /// The minimum time difference per repeat. If `None`, no absolute threshold is used in tests, and the
    /// minimum difference to report is a share of the total.
    pub absolute: Option<Nanos>,
    /// The accepted share of false findings among the call sites that are reported as changed.
    pub false_discovery_rate: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Thresholds { relative: 0.02, absolute: None, false_discovery_rate: 0.05 }
    }
}

impl Thresholds {
    /// The minimum difference to report: the absolute threshold if the user set one, otherwise 0.1%
    /// of the larger of the two totals in µs.
    #[doc(hidden)]
    pub fn least(&self, totals: PerSide<f64>) -> Nanos {
        let share = totals.baseline.max(totals.candidate) * TOLD_SHARE;
        self.absolute.unwrap_or(Nanos((share * 1e3) as i64)).max(Nanos(1))
    }

    /// Whether two times in µs differ by less than the thresholds.
    pub(super) fn are_close(&self, times: PerSide<f64>) -> bool {
        let PerSide { baseline, candidate } = times;
        let is_close = baseline > 0.0
            && candidate > 0.0
            && (candidate / baseline).ln().abs() < self.relative.ln_1p();
        is_close
            || (candidate - baseline).abs()
                < self.absolute.unwrap_or_default().max(Nanos(1)).as_micros()
    }
}

/// How the candidate compares with the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// The candidate takes more time, and the repeats support this difference.
    Slower,
    /// The candidate takes less time, and the repeats support this difference.
    Faster,
    /// The time difference is below a threshold.
    Similar,
    /// The time difference is above the thresholds, but the repeats do not support the difference.
    WithinNoise,
    /// The time difference is above the thresholds, but it was not tested, because a side has no repeats or
    /// because the sides were recorded with different options.
    NotTested,
}

impl Verdict {
    /// The name of the verdict in tables: `slower`, `faster`, `similar`, `within_noise` or `not_tested`.
    pub fn label(self) -> &'static str {
        match self {
            Verdict::Slower => "slower",
            Verdict::Faster => "faster",
            Verdict::Similar => "similar",
            Verdict::WithinNoise => "within_noise",
            Verdict::NotTested => "not_tested",
        }
    }

    /// Whether the verdict reports a change that the repeats support.
    pub fn is_change(self) -> bool {
        match self {
            Verdict::Slower | Verdict::Faster => true,
            Verdict::Similar | Verdict::WithinNoise | Verdict::NotTested => false,
        }
    }
}

/// Whether both sides did the same work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Work {
    #[default]
    /// The ops, arguments, kernels and kernel counts per step are the same on both sides.
    Same,
    /// The arguments or kernels differ.
    Changed,
    /// Only one side has the work.
    OneSided,
}

impl Work {
    /// The name in tables: `same`, `changed` or `one_sided`.
    pub fn label(self) -> &'static str {
        match self {
            Work::Same => "same",
            Work::Changed => "changed",
            Work::OneSided => "one_sided",
        }
    }
}

/// The kind of repeats on which the verdict for a call site is based.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[doc(hidden)]
pub enum Repeats {
    #[default]
    /// Both sides have several runs.
    Runs,
    /// A side has a single run, and both traces have at least two steps. The steps of a run share the state of the
    /// machine, so the spread between steps does not predict the time in another run, and nothing is tested.
    Steps,
    /// A side has a single run, and there are no steps to compare.
    None,
    /// There are repeats, but they do not count: the two sides were recorded with different options, and the
    /// times include the overhead of these options.
    OtherOptions,
}

impl Repeats {
    /// The name in tables of what a verdict is based on: `runs`, `none`, or `other_options` if different profiling
    /// overhead contributes to the difference.
    pub fn basis(self) -> &'static str {
        match self {
            Repeats::Runs => "runs",
            Repeats::Steps | Repeats::None => "none",
            Repeats::OtherOptions => "other_options",
        }
    }
}

/// A verdict and its evidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Number of steps or runs on each side that count as repeats.
    pub repeats: PerSide<usize>,
    /// Whether the repeats are runs or steps.
    pub of: Repeats,
    /// The compared values in µs: the mean over the repeats or, without repeats, the total time.
    pub mean_us: PerSide<f64>,
    /// Median time over the repeats, in µs.
    pub median_us: PerSide<f64>,
    /// Median absolute deviation over the repeats in µs, scaled to estimate the standard deviation.
    pub deviation_us: PerSide<f64>,
    /// The largest difference between two repeats, in µs.
    pub spread_us: PerSide<f64>,
    /// Hodges–Lehmann shift, candidate − baseline, in µs; `None` if a side has no samples.
    pub shift_us: Option<f64>,
    /// p-value of the moderated t test or, for the step time over runs, of the exact one-sided permutation test;
    /// `None` if the test was not applied, either because there are no
    /// repeats or because the time in a repeat is zero.
    pub p: Option<f64>,
    /// The false discovery rate over all call sites if every test with a p-value of at most `p` counts as a
    /// finding.
    pub q: Option<f64>,
    /// Whether the difference exceeds the maximum rounding error of the clock, which is one tick per event.
    pub is_resolved: bool,
    /// Whether every repeat on one side takes longer than every repeat on the other side.
    pub is_apart: bool,
    /// The few repeats that explain most of the difference; `None` if the difference is spread over many
    /// repeats.
    pub few: Option<Few>,
}

impl Judgement {
    /// The candidate's compared value divided by the baseline's; `None` unless both are positive.
    #[doc(hidden)]
    pub fn ratio(&self) -> Option<f64> {
        let PerSide { baseline, candidate } = self.mean_us;
        (baseline > 0.0 && candidate > 0.0).then(|| candidate / baseline)
    }

    /// Absolute difference of the compared values, in µs.
    pub(super) fn difference_us(&self) -> f64 {
        (self.mean_us.candidate - self.mean_us.baseline).abs()
    }

    /// Whether both sides have several runs, on which a verdict can be based.
    pub(crate) fn is_tested(&self) -> bool {
        self.of == Repeats::Runs && self.repeats.baseline.min(self.repeats.candidate) > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_close_up_to_two_percent_and_not_from_there_on() {
        let standard = Thresholds::default();
        assert!(standard.are_close(PerSide::new(1_000.0, 1_019.9)));
        assert!(!standard.are_close(PerSide::new(1_000.0, 1_020.1)));
        assert!(!standard.are_close(PerSide::new(1_020.1, 1_000.0)));
        assert!(!standard.are_close(PerSide::new(0.0, 1.0)));
        assert!(standard.are_close(PerSide::new(0.0, 0.0)));
    }

    #[test]
    fn a_smallest_relevant_difference_is_exact_to_the_nanosecond() {
        let one = Thresholds { absolute: Some(Nanos(1_000)), ..Thresholds::default() };
        assert!(one.are_close(PerSide::new(5.0, 5.999)));
        assert!(!one.are_close(PerSide::new(5.0, 6.001)));
    }

    #[test]
    fn differences_from_a_thousandth_of_the_larger_total_are_reported_by_default() {
        let totals = PerSide::new(2_000.0, 5_000.0);
        assert_eq!(Thresholds::default().least(totals), Nanos(5_000));
        let own = Thresholds { absolute: Some(Nanos(70)), ..Thresholds::default() };
        assert_eq!(own.least(totals), Nanos(70));
    }
}
