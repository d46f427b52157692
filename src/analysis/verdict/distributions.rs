//! Special functions for the verdicts. Only this file uses the crate that provides special functions.

use special::{Beta, Error, Gamma};

/// Outside of these bounds, [`inverse_trigamma`] returns the asymptotic value.
const BOUNDS: (f64, f64) = (1e-12, 1e12);

/// Number of bisections needed to compute the inverse trigamma function to full precision.
const HALVINGS: usize = 100;

/// The digamma function: first derivative of the logarithm of the gamma function.
pub(super) fn digamma(x: f64) -> f64 {
    x.digamma()
}

/// The trigamma function: second derivative of the logarithm of the gamma function.
pub(super) fn trigamma(x: f64) -> f64 {
    x.trigamma()
}

/// The number whose trigamma function is `y` > 0. The trigamma function is strictly decreasing, so
/// bisection finds this number. The function approaches 1/x² for small x and 1/x for large x.
pub(super) fn inverse_trigamma(y: f64) -> f64 {
    if y > BOUNDS.1 {
        return y.sqrt().recip();
    }
    if y < BOUNDS.0 {
        return y.recip();
    }
    let (mut low, mut high) = (1e-7_f64.ln(), 1e13_f64.ln());
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if trigamma(middle.exp()) > y { low = middle } else { high = middle }
    }
    f64::midpoint(low, high).exp()
}

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

    /// The expected values in this file come from scipy 1.17.1: `scipy.special.polygamma` and
    /// `2 * scipy.stats.t.sf(t, degrees)`.
    #[test]
    fn the_gamma_functions_have_the_values_of_an_independent_library() {
        let expected = [
            (0.5, -1.9635100260214235, 4.93480220054468),
            (1.0, -0.5772156649015329, 1.6449340668482266),
            (2.0, 0.42278433509846713, 0.6449340668482266),
            (3.25, 1.016990911068179, 0.3597982903095798),
            (40.0, 3.6763273740348428, 0.025315103841291032),
        ];
        for (x, first, second) in expected {
            assert_near(digamma(x), first);
            assert_near(trigamma(x), second);
        }
    }

    #[test]
    fn the_inverse_of_the_trigamma_function_gives_its_argument_back() {
        for x in [2e-4, 0.03, 0.5, 1.0, 2.0, 7.5, 1_000.0, 1e9] {
            assert_near(inverse_trigamma(trigamma(x)), x);
        }
    }

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
