//! Computes quantiles, and finds outliers, among values from many ranks.

use tracetree::analysis::robust::{median, median_deviation};

/// A value is an outlier if its distance from the median exceeds this many robust standard deviations. A robust
/// standard deviation is the scaled median distance from the median (Iglewicz and Hoaglin, *How to Detect and Handle
/// Outliers*, 1993).
const OUTLYING: f64 = 3.5;

/// The mean distance of the values from their median, multiplied by this factor, is an estimate of the standard
/// deviation. The mean distance is used in place of the median distance if more than half of the values are equal
/// (Iglewicz and Hoaglin).
const FROM_MEAN: f64 = 1.253_314;

/// Minimum number of ranks required to determine outliers.
pub(super) const FEWEST: usize = 4;

/// Minimum, quartiles and maximum of a list of values.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Quantiles {
    pub(super) min: f64,
    pub(super) lower: f64,
    pub(super) median: f64,
    pub(super) upper: f64,
    pub(super) max: f64,
}

impl Quantiles {
    /// Computes quantiles by linear interpolation between values (type 7 in R). All quantiles of an empty list are 0.
    pub(super) fn of(values: &[f64]) -> Quantiles {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = share * sorted.len().saturating_sub(1) as f64;
            let value = |at: usize| sorted.get(at).copied().unwrap_or(0.0);
            let (below, above) = (value(place.floor() as usize), value(place.ceil() as usize));
            below + (above - below) * place.fract()
        };
        Quantiles { min: at(0.0), lower: at(0.25), median: at(0.5), upper: at(0.75), max: at(1.0) }
    }
}

/// The position of each outlier in `values`, and its signed distance from the median in robust standard deviations.
/// Empty if there are fewer than [`FEWEST`] values.
pub(super) fn outliers(values: &[f64]) -> Vec<(usize, f64)> {
    if values.len() < FEWEST {
        return Vec::new();
    }
    let middle = median(values);
    let spread = match median_deviation(values) {
        0.0 => {
            let distances = values.iter().map(|value| (value - middle).abs());
            FROM_MEAN * distances.sum::<f64>() / values.len() as f64
        }
        spread => spread,
    };
    let distance = |(at, value): (usize, &f64)| (at, (value - middle) / spread);
    let is_far = |&(_, z): &(usize, f64)| z.is_finite() && z.abs() > OUTLYING;
    values.iter().enumerate().map(distance).filter(is_far).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_on_the_line_between_values() {
        let found = Quantiles::of(&[4.0, 1.0, 3.0, 2.0]);
        assert_eq!((found.min, found.lower, found.median), (1.0, 1.75, 2.5));
        assert_eq!((found.upper, found.max), (3.25, 4.0));
        assert_eq!(Quantiles::of(&[]), Quantiles::default());
        assert_eq!(Quantiles::of(&[7.0]).upper, 7.0);
    }

    #[test]
    fn one_outlier_is_found_among_equal_and_among_scattered_values() {
        let mut equal = vec![10.0; 16];
        equal[3] = 14.0;
        assert_eq!(outliers(&equal).iter().map(|&(at, _)| at).collect::<Vec<_>>(), [3]);
        let scattered = [10.0, 10.1, 9.9, 10.2, 9.8, 15.0];
        assert_eq!(outliers(&scattered).iter().map(|&(at, _)| at).collect::<Vec<_>>(), [5]);
        assert!(outliers(&[10.0; 16]).is_empty() && outliers(&[1.0, 1.0, 9.0]).is_empty());
        assert!(outliers(&[10.0, 10.1, 9.9, 10.2, 9.8, 10.15]).is_empty());
    }
}
