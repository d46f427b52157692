//! Controls the false discovery rate: adjusts the p-values of many tests for the number of tests.
//!
//! Of a hundred unchanged call sites, about five have p < 0.05 by chance. If `found` call sites have a p-value of
//! at most p, the share of false findings among them is about p · tests / found (Benjamini and Hochberg,
//! *Controlling the false discovery rate*, Journal of the Royal Statistical Society B 57 (1995) 289–300).

/// The p-values of a family of tests, and the false discovery rates computed from them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Discoveries {
    /// The p-values in ascending order.
    probabilities: Vec<f64>,
    /// The q-value of each p-value: the smallest estimated false discovery rate at this p-value or at a larger one.
    rates: Vec<f64>,
}

impl Discoveries {
    /// Computes the false discovery rates of a family of tests from their p-values.
    pub(super) fn among(probabilities: impl Iterator<Item = f64>) -> Discoveries {
        let mut probabilities: Vec<f64> = probabilities.collect();
        probabilities.sort_by(f64::total_cmp);
        let tests = probabilities.len() as f64;
        let mut rates = vec![1.0; probabilities.len()];
        let mut least: f64 = 1.0;
        for (at, &p) in probabilities.iter().enumerate().rev() {
            least = least.min(p * tests / (at + 1) as f64);
            rates[at] = least;
        }
        Discoveries { probabilities, rates }
    }

    /// The smallest false discovery rate at which a test with the p-value `p` counts as a finding. The rate depends
    /// only on the p-value, so a test outside the family has the same rate as a test in the family with the same
    /// p-value.
    pub(super) fn rate(&self, p: f64) -> f64 {
        let up_to = self.probabilities.partition_point(|&other| other <= p);
        let own = p * self.probabilities.len().max(1) as f64 / up_to.max(1) as f64;
        own.min(self.rates.get(up_to).copied().unwrap_or(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_corrected_for_the_number_of_tests() {
        let probabilities = [0.01, 0.04, 0.03, 0.5];
        let found = Discoveries::among(probabilities.into_iter());
        let expected = [0.04, 0.04 * 4.0 / 3.0, 0.04 * 4.0 / 3.0, 0.5];
        for (p, expected) in probabilities.into_iter().zip(expected) {
            assert!((found.rate(p) - expected).abs() < 1e-12, "{p}");
        }
    }

    #[test]
    fn rates_grow_with_p_even_for_values_outside_the_family() {
        let found = Discoveries::among([0.001, 0.01, 0.2, 0.9].into_iter());
        assert!((found.rate(0.0001) - 0.0004).abs() < 1e-12);
        assert!((found.rate(0.012) - 0.024).abs() < 1e-12);
        let rates: Vec<f64> = (0..=1000).map(|at| found.rate(f64::from(at) / 1000.0)).collect();
        assert!(rates.is_sorted());
        assert_eq!(rates[1000], 1.0);
    }

    #[test]
    fn without_a_family_no_verdict_is_corrected() {
        assert_eq!(Discoveries::among(std::iter::empty()).rate(0.03), 0.03);
    }
}
