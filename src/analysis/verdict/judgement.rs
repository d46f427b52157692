//! What one comparison of times came to: the verdict, the evidence for it, and from where on a
//! difference matters.

use crate::analysis::robust::Few;
use crate::side::PerSide;
use crate::trace::Nanos;

/// What changed by less than this share of the total is judged, but not told: a screen has room for
/// what matters.
const TOLD_SHARE: f64 = 0.001;

/// From where on a difference matters, and how sure a verdict has to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// The least relative difference: 0.02 is 2 % more, or the inverse.
    pub relative: f64,
    /// The least difference per repeat; `None` for none, and for [`Thresholds::least`] a share of
    /// the total.
    pub absolute: Option<Nanos>,
    /// The share of false ones among all places that are told to have changed.
    pub false_discovery_rate: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Thresholds { relative: 0.02, absolute: None, false_discovery_rate: 0.05 }
    }
}

impl Thresholds {
    /// The least difference that a reader is told of, where the sides total these times in µs: 0.1 %
    /// of the larger total unless the user says otherwise.
    pub fn least(&self, totals: PerSide<f64>) -> Nanos {
        let share = totals.baseline.max(totals.candidate) * TOLD_SHARE;
        self.absolute.unwrap_or(Nanos((share * 1e3) as i64)).max(Nanos(1))
    }

    /// Whether two times in µs are too close to matter.
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

/// How the candidate compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// It takes more time, and the repeats support it.
    Slower,
    /// It takes less time, and the repeats support it.
    Faster,
    /// The difference is below the thresholds.
    Similar,
    /// The difference is above the thresholds; it was tested, and the repeats do not support it.
    WithinNoise,
    /// The difference is above the thresholds; nothing tells how much of it is noise, since a side
    /// has no repeats.
    NotTested,
}

impl Verdict {
    /// `slower`, `faster`, `similar`, `within_noise` or `not_tested`.
    pub fn label(self) -> &'static str {
        match self {
            Verdict::Slower => "slower",
            Verdict::Faster => "faster",
            Verdict::Similar => "similar",
            Verdict::WithinNoise => "within_noise",
            Verdict::NotTested => "not_tested",
        }
    }

    /// Whether it is a change that the repeats support.
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
    /// The same ops with the same arguments, and as many of the same kernels in a step.
    Same,
    /// Other arguments or kernels.
    Changed,
    /// Work that one side does not have.
    OneSided,
}

impl Work {
    /// `same`, `changed` or `one_sided`.
    pub fn label(self) -> &'static str {
        match self {
            Work::Same => "same",
            Work::Changed => "changed",
            Work::OneSided => "one_sided",
        }
    }
}

/// What the repeats of a place are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Repeats {
    /// Runs: both sides have several.
    Runs,
    #[default]
    /// Steps: both traces have at least two.
    Steps,
    /// There are none: what one step took may be chance.
    None,
}

impl Repeats {
    /// `runs`, `steps` or `none`.
    pub fn label(self) -> &'static str {
        match self {
            Repeats::Runs => "runs",
            Repeats::Steps => "steps",
            Repeats::None => "none",
        }
    }

    /// Which noise a verdict rests on, as tables write it: `between_runs`, `within_one_run` or `none`.
    /// Steps of one run share a machine's state, so that their spread says nothing about another run.
    pub fn basis(self) -> &'static str {
        match self {
            Repeats::Runs => "between_runs",
            Repeats::Steps => "within_one_run",
            Repeats::None => "none",
        }
    }
}

/// A verdict and its evidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Number of repeats.
    pub repeats: PerSide<usize>,
    /// What the repeats are.
    pub of: Repeats,
    /// What was compared, in µs: the mean over the repeats, or the whole time where there are none.
    pub mean_us: PerSide<f64>,
    /// Median over the repeats in µs.
    pub median_us: PerSide<f64>,
    /// Median deviation from it, scaled to a standard deviation, in µs.
    pub deviation_us: PerSide<f64>,
    /// The largest difference between two repeats, in µs.
    pub spread_us: PerSide<f64>,
    /// Hodges–Lehmann shift candidate − baseline in µs, where both sides have repeats.
    pub shift_us: Option<f64>,
    /// Probability of the moderated t test; `None` where it was not asked: without repeats, or where
    /// a repeat has no time at all.
    pub p: Option<f64>,
    /// The false discovery rate at that probability, among all places.
    pub q: Option<f64>,
    /// Whether the difference is more than what the clock rounds away: a tick for each event.
    pub is_resolved: bool,
    /// The few repeats that most of the difference is in; `None` where it is in most of them.
    pub few: Option<Few>,
}

impl Judgement {
    /// Candidate / baseline of what was compared; `None` where either is not above zero.
    pub fn ratio(&self) -> Option<f64> {
        let PerSide { baseline, candidate } = self.mean_us;
        (baseline > 0.0 && candidate > 0.0).then(|| candidate / baseline)
    }

    /// How far apart the sides are in what was compared, in µs.
    pub(super) fn difference_us(&self) -> f64 {
        (self.mean_us.candidate - self.mean_us.baseline).abs()
    }

    /// Whether both sides have repeats.
    pub fn is_tested(&self) -> bool {
        self.repeats.baseline.min(self.repeats.candidate) > 1
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
    fn a_least_difference_is_kept_to_the_nanosecond() {
        let one = Thresholds { absolute: Some(Nanos(1_000)), ..Thresholds::default() };
        assert!(one.are_close(PerSide::new(5.0, 5.999)));
        assert!(!one.are_close(PerSide::new(5.0, 6.001)));
    }

    #[test]
    fn a_thousandth_of_the_larger_total_is_told_unless_the_user_says_otherwise() {
        let totals = PerSide::new(2_000.0, 5_000.0);
        assert_eq!(Thresholds::default().least(totals), Nanos(5_000));
        let own = Thresholds { absolute: Some(Nanos(70)), ..Thresholds::default() };
        assert_eq!(own.least(totals), Nanos(70));
    }
}
