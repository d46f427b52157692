//! Samples → their median, spread and shift, insensitive to single outliers.

use crate::side::PerSide;

/// Makes the median deviation comparable with a standard deviation, for normal samples.
const TO_STANDARD: f64 = 1.4826;

/// The middle sample, or the mean of the two in the middle; 0 without samples.
pub(crate) fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    match (sorted.len(), sorted.len() % 2) {
        (0, _) => 0.0,
        (_, 1) => sorted[half],
        (_, _) => f64::midpoint(sorted[half - 1], sorted[half]),
    }
}

/// The median distance from the median, scaled to a standard deviation.
pub(crate) fn median_deviation(samples: &[f64]) -> f64 {
    let middle = median(samples);
    let distances: Vec<f64> = samples.iter().map(|sample| (sample - middle).abs()).collect();
    TO_STANDARD * median(&distances)
}

/// The largest difference between two samples; 0 without samples.
pub(crate) fn range(samples: &[f64]) -> f64 {
    let least = samples.iter().copied().fold(f64::INFINITY, f64::min);
    let most = samples.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (most - least).max(0.0)
}

/// More samples of a side than this are thinned out evenly before all differences are formed.
const MOST_DIFFERENCES: usize = 1_000;

/// The median of all differences between a sample of the candidate and one of the baseline (Hodges
/// and Lehmann, *Estimates of location based on rank tests*, Ann. Math. Statist. 34 (1963) 598–611);
/// `None` where a side has no sample.
pub(super) fn shift(samples: &PerSide<Vec<f64>>) -> Option<f64> {
    let (a, b) = (thinned(&samples.baseline), thinned(&samples.candidate));
    let differences: Vec<f64> = a.iter().flat_map(|a| b.iter().map(move |b| b - a)).collect();
    (!differences.is_empty()).then(|| median(&differences))
}

fn thinned(samples: &[f64]) -> Vec<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len().min(MOST_DIFFERENCES);
    (0..count).map(|at| sorted[(2 * at + 1) * sorted.len() / (2 * count)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_samples_the_middle_one_of_each_part_is_taken() {
        let many: Vec<f64> = (0..3 * MOST_DIFFERENCES).rev().map(|at| at as f64).collect();
        let taken = thinned(&many);
        let expected: Vec<f64> = (0..MOST_DIFFERENCES).map(|at| (3 * at + 1) as f64).collect();
        assert_eq!(taken, expected);
    }

    #[test]
    fn one_outlier_moves_neither() {
        assert_eq!(median(&[1.0, 2.0, 3.0, 4.0, 1000.0]), 3.0);
        assert_eq!(median(&[4.0, 1.0]), 2.5);
        assert_eq!(median(&[]), 0.0);
        assert_eq!((range(&[3.0, -1.0, 2.0]), range(&[7.0]), range(&[])), (4.0, 0.0, 0.0));
        assert!((median_deviation(&[1.0, 2.0, 3.0, 4.0, 1000.0]) - 1.4826).abs() < 1e-12);
    }

    #[test]
    fn the_shift_is_the_median_difference() {
        let samples = PerSide::new(vec![1.0, 2.0, 100.0], vec![3.0, 4.0, 5.0]);
        assert_eq!(shift(&samples), Some(2.0));
        assert_eq!(shift(&PerSide::new(vec![], vec![1.0])), None);
    }
}
