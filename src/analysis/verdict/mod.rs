//! Samples of both sides → slower, faster, similar or within noise, with the evidence for it.
//!
//! ```text
//! the difference is below a threshold                            similar
//! work that only one side has                                    slower / faster
//! the work itself changed (arguments, kernels), and the repeats  slower / faster
//! agree on the direction: the ranges of the sides are apart
//! the work is the same, and a rank test finds the sides apart    slower / faster
//! at the false discovery rate asked for
//! else                                                           within noise
//! ```
//! Where the work changed, no test is needed to know that something changed; where it did not, a
//! difference may be chance, and few repeats cannot tell (see `rank_test`).

mod rank_test;
mod sites;

pub use sites::{Repeats, Site, Verdicts};

use super::robust::{median, median_deviation};
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use rank_test::{false_discovery_rates, rank_test, shift};

/// From where on a difference matters, and how sure a verdict has to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// The least relative difference: 0.05 is 5 % more, or the inverse.
    pub relative: f64,
    /// The least difference per step; `None` for 0.1 % of the larger total.
    pub absolute: Option<Nanos>,
    /// The share of false ones among all significant differences.
    pub false_discovery_rate: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Thresholds { relative: 0.05, absolute: None, false_discovery_rate: 0.05 }
    }
}

impl Thresholds {
    /// The least difference that matters where the sides total these times.
    pub fn least(&self, totals: PerSide<Nanos>) -> Nanos {
        let share = Nanos(totals.baseline.max(totals.candidate).0 / 1_000);
        self.absolute.unwrap_or(share).max(Nanos(1))
    }
}

/// How the candidate compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// It takes more time, and the evidence supports it.
    Slower,
    /// It takes less time, and the evidence supports it.
    Faster,
    /// The difference is below the thresholds.
    Similar,
    /// The difference is above the thresholds, but the repeats do not support it.
    WithinNoise,
}

impl Verdict {
    /// `slower`, `faster`, `similar` or `within_noise`.
    pub fn label(self) -> &'static str {
        match self {
            Verdict::Slower => "slower",
            Verdict::Faster => "faster",
            Verdict::Similar => "similar",
            Verdict::WithinNoise => "within_noise",
        }
    }

    /// Whether it is a change that the evidence supports.
    pub fn is_change(self) -> bool {
        matches!(self, Verdict::Slower | Verdict::Faster)
    }
}

/// Whether both sides did the same work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Work {
    /// The same ops with the same arguments and kernels.
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

/// What a verdict is asked about.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Time of each repeat in µs.
    pub samples: PerSide<Vec<f64>>,
    /// The whole time, per step where steps are the repeats.
    pub time: PerSide<Nanos>,
    /// Whether both sides did the same work.
    pub work: Work,
}

/// A verdict and its evidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Whether both sides did the same work.
    pub work: Work,
    /// Number of repeats.
    pub repeats: PerSide<usize>,
    /// Median over the repeats in µs.
    pub median_us: PerSide<f64>,
    /// Median deviation from it, scaled to a standard deviation, in µs.
    pub deviation_us: PerSide<f64>,
    /// Hodges–Lehmann shift candidate − baseline in µs, where both sides have repeats.
    pub shift_us: Option<f64>,
    /// Probability of the Mann–Whitney test; `None` where it was not asked: with a single repeat, or
    /// too little time to matter.
    pub p: Option<f64>,
    /// The same, corrected for all questions that were asked at once.
    pub q: Option<f64>,
}

/// Judges several questions at once. `least` is the smallest difference that matters; questions
/// about less time than that are not tested and do not weaken the others.
pub(crate) fn judge(
    questions: &[Question],
    least: Nanos,
    thresholds: &Thresholds,
) -> Vec<Judgement> {
    let tested: Vec<usize> =
        (0..questions.len()).filter(|&at| questions[at].is_testable(least)).collect();
    let probabilities: Vec<f64> =
        tested.iter().map(|&at| rank_test(&questions[at].samples).unwrap_or(1.0)).collect();
    let mut corrected: Vec<Option<(f64, f64)>> = vec![None; questions.len()];
    for (position, q) in false_discovery_rates(&probabilities).into_iter().enumerate() {
        corrected[tested[position]] = Some((probabilities[position], q));
    }
    questions
        .iter()
        .zip(corrected)
        .map(|(question, test)| question.judge(test, least, thresholds))
        .collect()
}

impl Question {
    fn is_testable(&self, least: Nanos) -> bool {
        let samples = &self.samples;
        self.work != Work::OneSided
            && self.time.baseline.max(self.time.candidate) >= least
            && samples.baseline.len().min(samples.candidate.len()) > 1
    }

    fn judge(&self, test: Option<(f64, f64)>, least: Nanos, thresholds: &Thresholds) -> Judgement {
        Judgement {
            verdict: self.verdict(test.map(|test| test.1), least, thresholds),
            work: self.work,
            repeats: PerSide::from_fn(|side| self.samples[side].len()),
            median_us: PerSide::from_fn(|side| median(&self.samples[side])),
            deviation_us: PerSide::from_fn(|side| median_deviation(&self.samples[side])),
            shift_us: shift(&self.samples),
            p: test.map(|test| test.0),
            q: test.map(|test| test.1),
        }
    }

    fn verdict(&self, q: Option<f64>, least: Nanos, thresholds: &Thresholds) -> Verdict {
        let difference = self.time.candidate - self.time.baseline;
        let relative =
            self.time.ratio().is_some_and(|ratio| ratio.ln().abs() < thresholds.relative.ln_1p());
        if difference.abs() < least || relative {
            return Verdict::Similar;
        }
        let is_found = q.is_some_and(|q| q <= thresholds.false_discovery_rate);
        let is_supported = match self.work {
            Work::OneSided => true,
            Work::Changed => is_found || self.are_apart(difference),
            Work::Same => is_found,
        };
        let is_slower = difference > Nanos::ZERO;
        match (is_supported, is_slower) {
            (false, _) => Verdict::WithinNoise,
            (true, true) => Verdict::Slower,
            (true, false) => Verdict::Faster,
        }
    }

    /// Whether every repeat of one side lies beyond every one of the other, in the direction of the
    /// difference.
    fn are_apart(&self, difference: Nanos) -> bool {
        let least = |side: Side| self.samples[side].iter().copied().fold(f64::INFINITY, f64::min);
        let most = |side: Side| self.samples[side].iter().copied().fold(0.0, f64::max);
        match difference > Nanos::ZERO {
            true => most(Side::Baseline) < least(Side::Candidate),
            false => most(Side::Candidate) < least(Side::Baseline),
        }
    }
}
