//! Computes statistics that are robust against single outliers.

use crate::side::{PerSide, Side};
use crate::signed::signed;
use crate::trace::Nanos;

/// Factor that converts the median absolute deviation of normally distributed samples to their standard
/// deviation.
const TO_STANDARD: f64 = 1.4826;

/// The middle sample, or the mean of the two middle samples; 0 if there are no samples.
pub fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    match (sorted.len(), sorted.len() % 2) {
        (0, _) => 0.0,
        (_, 1) => sorted[half],
        (_, _) => f64::midpoint(sorted[half - 1], sorted[half]),
    }
}

/// The middle sample, or the lower of the two middle samples; 0 if there are no samples. Unlike an ordinary
/// median, the result is always one of the samples. For the step times of runs, the result is the step time
/// of the median run, so headlines agree with the tables, which show the median run.
pub fn lower_median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
}

/// The median absolute deviation, scaled to estimate the standard deviation.
pub fn median_deviation(samples: &[f64]) -> f64 {
    let middle = median(samples);
    let distances: Vec<f64> = samples.iter().map(|sample| (sample - middle).abs()).collect();
    TO_STANDARD * median(&distances)
}

/// The largest difference between two samples; 0 if there are no samples.
pub fn range(samples: &[f64]) -> f64 {
    let least = samples.iter().copied().fold(f64::INFINITY, f64::min);
    let most = samples.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (most - least).max(0.0)
}

/// A minority of one side's samples that explains at least half of the difference between the means of the two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Few {
    /// The side whose samples stand out.
    pub side: Side,
    /// Number of samples that stand out, which is fewer than half of the samples on this side.
    pub count: usize,
    /// Total number of samples on `side`.
    pub of: usize,
    /// Mean difference between the samples that stand out and the median of `side`; positive if these samples
    /// are above the median.
    pub excess: Nanos,
}

/// Minimum distance of an outlier from the median, in scaled median absolute deviations.
const STANDS_OUT: f64 = 5.0;

/// Minimum distance of an outlier from the median, as a share of the largest distance of any sample from the
/// median.
const OF_FURTHEST: f64 = 0.2;

impl Few {
    /// Finds a minority of outliers on one side that explains at least half of the difference between the
    /// means. The samples are in µs. Returns `None` if there is no difference, or if no minority of outliers
    /// explains the difference.
    pub fn among(samples: &PerSide<Vec<f64>>) -> Option<Few> {
        let means = samples.as_ref().map(|of| of.iter().sum::<f64>() / of.len().max(1) as f64);
        let difference = means.candidate - means.baseline;
        let of_side = |side: Side| {
            let direction = match side {
                Side::Baseline => -difference.signum(),
                Side::Candidate => difference.signum(),
            };
            Few::of_side(side, &samples[side], direction, difference.abs())
        };
        let found = Side::BOTH.into_iter().filter_map(of_side);
        found.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, few)| few)
    }

    /// The outliers on one side in the given direction, and the part of the difference that these outliers
    /// explain.
    fn of_side(side: Side, own: &[f64], direction: f64, difference: f64) -> Option<(f64, Few)> {
        let (middle, deviation) = (median(own), median_deviation(own));
        let along = |sample: &f64| direction * (sample - middle);
        let furthest = own.iter().map(along).fold(0.0, f64::max);
        let least = (STANDS_OUT * deviation).max(OF_FURTHEST * furthest);
        let far = own.iter().filter(|sample| along(sample) > least);
        let excesses: Vec<f64> = far.map(|sample| sample - middle).collect();
        let (count, of) = (excesses.len(), own.len());
        if count == 0 || 2 * count >= of {
            return None;
        }
        let sum: f64 = excesses.iter().sum();
        let explained = sum.abs() / of as f64;
        let excess = Nanos((1e3 * sum / count as f64).round() as i64);
        // Outliers that explain far more than the whole difference are rejected, because the other side must then
        // have outliers as well.
        let is_most = difference > 0.0 && 2.0 * (difference - explained).abs() <= difference;
        is_most.then_some((explained, Few { side, count, of, excess }))
    }

    /// A description such as `in 1 of 5 candidate steps: +60.000 ms`.
    pub(crate) fn words(&self, noun: &str) -> String {
        let side = self.side.word();
        let Few { count, of, .. } = self;
        format!("in {count} of {of} {side} {noun}: {} ms", signed(self.excess.as_millis(), 3))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_outlier_moves_neither() {
        assert_eq!(median(&[1.0, 2.0, 3.0, 4.0, 1000.0]), 3.0);
        assert_eq!(median(&[4.0, 1.0]), 2.5);
        assert_eq!(median(&[]), 0.0);
        assert_eq!((lower_median(&[4.0, 1.0]), lower_median(&[9.0, 4.0, 1.0])), (1.0, 4.0));
        assert_eq!((lower_median(&[9.0, 4.0, 1.0, 5.0]), lower_median(&[])), (4.0, 0.0));
        assert_eq!((range(&[3.0, -1.0, 2.0]), range(&[7.0]), range(&[])), (4.0, 0.0, 0.0));
        assert!((median_deviation(&[1.0, 2.0, 3.0, 4.0, 1000.0]) - 1.4826).abs() < 1e-12);
    }

    #[test]
    fn a_difference_in_one_of_five_samples_is_found_in_that_one() {
        let still = [10.0, 10.2, 9.9, 10.1, 9.8];
        let late = [10.0, 70.1, 9.9, 10.1, 9.8];
        let found = |a: &[f64], b: &[f64]| Few::among(&PerSide::new(a.to_vec(), b.to_vec()));
        let shown = found(&still, &late).expect("one stands out");
        assert_eq!((shown.side, shown.count, shown.of), (Side::Candidate, 1, 5));
        assert_eq!(shown.words("steps"), "in 1 of 5 candidate steps: +0.060 ms");
        let back = found(&late, &still).expect("one stands out");
        assert_eq!((back.side, back.count, back.excess), (Side::Baseline, 1, shown.excess));
    }

    #[test]
    fn a_difference_in_all_samples_is_in_no_few_of_them() {
        let found = |a: &[f64], b: &[f64]| Few::among(&PerSide::new(a.to_vec(), b.to_vec()));
        assert_eq!(found(&[10.0, 10.2, 9.9], &[22.0, 22.1, 21.8]), None);
        // If both sides have a slow step, the slow steps do not explain the difference between the sides.
        assert_eq!(found(&[10.0, 10.1, 10.2, 10.0, 15.0], &[22.0, 22.1, 22.2, 22.0, 27.0]), None);
        // One sample out of two is not a minority.
        assert_eq!(found(&[10.0, 10.0], &[10.0, 70.0]), None);
        assert_eq!(found(&[], &[]), None);
    }

    #[test]
    fn a_late_sample_on_both_sides_is_not_a_difference() {
        let found = |a: &[f64], b: &[f64]| Few::among(&PerSide::new(a.to_vec(), b.to_vec()));
        let late = [10.0, 70.0, 9.9, 10.1, 9.8];
        assert_eq!(found(&late, &late), None);
        assert_eq!(found(&late, &[10.0, 10.1, 9.9, 70.2, 9.8]), None);
    }
}
