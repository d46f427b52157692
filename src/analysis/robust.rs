//! Samples → their median and spread, insensitive to single outliers.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_outlier_moves_neither() {
        assert_eq!(median(&[1.0, 2.0, 3.0, 4.0, 1000.0]), 3.0);
        assert_eq!(median(&[4.0, 1.0]), 2.5);
        assert_eq!(median(&[]), 0.0);
        assert!((median_deviation(&[1.0, 2.0, 3.0, 4.0, 1000.0]) - 1.4826).abs() < 1e-12);
    }
}
