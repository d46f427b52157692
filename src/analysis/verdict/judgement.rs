//! The result of a time comparison: the verdict, its evidence, and the thresholds for a significant
//! difference.

use crate::analysis::robust::Few;
use crate::side::PerSide;
use crate::trace::Nanos;

/// How large a time difference must be to count as a change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// The minimum relative difference: 0.02 requires one time to be 2% longer than the other.
    pub relative: f64,
    /// The minimum time difference per step; `None` for no absolute threshold.
    pub absolute: Option<Nanos>,
}

impl Default for Thresholds {
    fn default() -> Self {
        Thresholds { relative: 0.02, absolute: None }
    }
}

impl Thresholds {
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
    /// The candidate takes more time, and the runs support this difference.
    Slower,
    /// The candidate takes less time, and the runs support this difference.
    Faster,
    /// The time difference is below a threshold.
    Similar,
    /// The time difference is above the thresholds, but the runs do not support the difference.
    WithinNoise,
    /// The time difference is above the thresholds, but it was not tested, because a side has a single run or
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

    /// Whether the verdict reports a change that the runs support.
    pub fn is_change(self) -> bool {
        match self {
            Verdict::Slower | Verdict::Faster => true,
            Verdict::Similar | Verdict::WithinNoise | Verdict::NotTested => false,
        }
    }
}

/// What a verdict is based on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[doc(hidden)]
pub enum Repeats {
    #[default]
    /// Both sides have several runs.
    Runs,
    /// A side has a single run. The steps of a run share the state of the machine, so the spread between steps does not
    /// predict the time in another run, and nothing is tested.
    None,
    /// There are several runs, but they do not count: the two sides were recorded with different options, and the
    /// times include the overhead of these options.
    OtherOptions,
}

impl Repeats {
    /// The name in tables of what a verdict is based on: `runs`, `none`, or `other_options` if different profiling
    /// overhead contributes to the difference.
    pub fn basis(self) -> &'static str {
        match self {
            Repeats::Runs => "runs",
            Repeats::None => "none",
            Repeats::OtherOptions => "other_options",
        }
    }
}

/// A verdict and its evidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Number of runs on each side.
    pub runs: PerSide<usize>,
    /// What the verdict is based on.
    pub of: Repeats,
    /// The time of the median run, in µs per step.
    pub median_us: PerSide<f64>,
    /// The probability of a difference this large by chance, by the exact one-sided permutation test; `None` if the
    /// difference was not tested.
    pub p: Option<f64>,
    /// Whether the difference exceeds the maximum rounding error of the clock.
    pub is_resolved: bool,
    /// Whether every run of one side takes longer than every run of the other side.
    pub is_apart: bool,
    /// The few runs that explain most of the difference; `None` if the difference is spread over many runs.
    pub few: Option<Few>,
}

impl Judgement {
    /// Whether both sides have several runs, on which a verdict can be based.
    pub(crate) fn is_tested(&self) -> bool {
        self.of == Repeats::Runs && self.runs.baseline.min(self.runs.candidate) > 1
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
}
