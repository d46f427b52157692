//! Special functions for the verdicts. Only this file uses the crate that provides special functions.

use special::{Beta, Error};

/// Two-sided tail probability of Student's t distribution: the probability that a value is at least as far
/// from 0 as `t`.
#[doc(hidden)]
pub fn two_tails(t: f64, degrees: f64) -> f64 {
    let (a, b) = (degrees / 2.0, 0.5);
    let x = degrees / (degrees + t * t);
    x.inc_beta(a, b, a.ln_beta(b)).clamp(0.0, 1.0)
}

/// The probability that a value of the standard normal distribution is at most `z`.
pub(super) fn below_normal(z: f64) -> f64 {
    (-z / std::f64::consts::SQRT_2).compl_error() / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} for {expected}");
    }

    #[test]
    fn the_normal_distribution_has_its_known_values() {
        assert_near(below_normal(0.0), 0.5);
        assert_near(below_normal(-1.6448536269514722), 0.05);
        assert_near(below_normal(1.6448536269514722), 0.95);
    }

    /// The expected values come from scipy 1.17.1: `2 * scipy.stats.t.sf(t, degrees)`.
    #[test]
    fn the_tails_of_the_t_distribution_have_the_values_of_an_independent_library() {
        let expected = [
            (0.0, 3.0, 1.0),
            (0.5, 2.0, 0.6666666666666667),
            (2.776, 4.0, 0.05002277831997642),
            (4.0, 6.37, 0.006297304890937344),
            (25.0, 10.0, 2.399392760063339e-10),
            (60.0, 14.2, 1.7308763776006242e-18),
            (1.96, 4000.0, 0.05006511911774972),
        ];
        for (t, degrees, probability) in expected {
            assert_near(two_tails(t, degrees), probability);
            assert_near(two_tails(-t, degrees), probability);
        }
    }
}
