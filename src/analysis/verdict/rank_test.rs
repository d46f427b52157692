//! Two sets of samples → how likely chance alone sets them apart, and by how much they differ.
//!
//! The test is that of Mann and Whitney (*On a test of whether one of two random variables is
//! stochastically larger than the other*, 1947), with the exact distribution of the rank sum given
//! the ties (Lehmann, *Nonparametrics*, 1975, chapter 1) for few samples and its normal
//! approximation for many. The shift is that of Hodges and Lehmann (*Estimates of location based on
//! rank tests*, 1963): the median of all differences between a sample of one side and one of the
//! other. Several tests at once are corrected after Benjamini and Hochberg (*Controlling the false
//! discovery rate*, 1995). None of them assumes a shape of the noise, and one bad step moves none
//! of them far.

use crate::analysis::robust::median;
use crate::side::PerSide;
use std::cmp::Ordering;

/// Up to so many samples of both sides together the distribution is counted out.
const EXACT_UP_TO: usize = 40;

/// More samples of a side than this are thinned out evenly before all differences are formed.
const MOST_DIFFERENCES: usize = 1_000;

/// The two-sided probability that samples of one distribution lie at least this far apart in rank;
/// `None` where a side has no sample. With three samples a side it cannot fall below 0.1.
pub(super) fn rank_test(samples: &PerSide<Vec<f64>>) -> Option<f64> {
    let (a, b) = (sorted(&samples.baseline), sorted(&samples.candidate));
    if a.is_empty() || b.is_empty() {
        return None;
    }
    // One order for both directions, so that exchanging the sides changes no bit.
    let (one, other) = if compare(&a, &b) == Ordering::Greater { (b, a) } else { (a, b) };
    let ranks = Ranks::new(&one, &other);
    match one.len() + other.len() <= EXACT_UP_TO {
        true => Some(ranks.exact()),
        false => Some(ranks.approximate()),
    }
}

/// The median difference candidate − baseline; `None` where a side has no sample.
pub(super) fn shift(samples: &PerSide<Vec<f64>>) -> Option<f64> {
    let (a, b) = (thinned(&samples.baseline), thinned(&samples.candidate));
    let differences: Vec<f64> = a.iter().flat_map(|a| b.iter().map(move |b| b - a)).collect();
    (!differences.is_empty()).then(|| median(&differences))
}

/// The smallest false discovery rate at which each test would be called significant, in the order
/// of `probabilities`.
pub(super) fn false_discovery_rates(probabilities: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|&a, &b| probabilities[a].total_cmp(&probabilities[b]).then(a.cmp(&b)));
    let mut rates = vec![1.0; probabilities.len()];
    let mut least: f64 = 1.0;
    for (position, &test) in order.iter().enumerate().rev() {
        let share = probabilities.len() as f64 / (position + 1) as f64;
        least = least.min(probabilities[test] * share);
        rates[test] = least;
    }
    rates
}

fn sorted(samples: &[f64]) -> Vec<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn compare(a: &[f64], b: &[f64]) -> Ordering {
    let differs = a.iter().zip(b).map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne());
    a.len().cmp(&b.len()).then(differs.unwrap_or(Ordering::Equal))
}

fn thinned(samples: &[f64]) -> Vec<f64> {
    let sorted = sorted(samples);
    let count = sorted.len().min(MOST_DIFFERENCES);
    (0..count).map(|at| sorted[(2 * at + 1) * sorted.len() / (2 * count)]).collect()
}

/// The ranks of two sets of samples among all, doubled, so that shared ranks are whole numbers.
struct Ranks {
    /// Doubled ranks of all samples.
    all: Vec<usize>,
    /// Number of samples in the first set.
    count: usize,
    /// Sum of the doubled ranks of the first set.
    sum: usize,
    /// Σ (t³ − t) over groups of t equal samples.
    ties: f64,
}

impl Ranks {
    /// Both sets are sorted.
    fn new(one: &[f64], other: &[f64]) -> Ranks {
        let mut samples: Vec<(f64, bool)> = one.iter().map(|&sample| (sample, true)).collect();
        samples.extend(other.iter().map(|&sample| (sample, false)));
        samples.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut ranks = Ranks { all: Vec::new(), count: one.len(), sum: 0, ties: 0.0 };
        for group in samples.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq()) {
            // Ranks from `before + 1` to `before + len`, shared: twice their mean.
            let doubled = 2 * ranks.all.len() + group.len() + 1;
            ranks.sum += doubled * group.iter().filter(|sample| sample.1).count();
            ranks.all.extend(group.iter().map(|_| doubled));
            ranks.ties += (group.len().pow(3) - group.len()) as f64;
        }
        ranks
    }

    /// Twice the expected sum of the first set.
    fn expected(&self) -> usize {
        self.count * (self.all.len() + 1)
    }

    /// Counts the choices of as many ranks whose sum is at least as far from the expected one.
    fn exact(&self) -> f64 {
        let most: usize = self.all.iter().sum();
        let mut ways = vec![vec![0.0_f64; most + 1]; self.count + 1];
        ways[0][0] = 1.0;
        for &rank in &self.all {
            for chosen in (1..=self.count).rev() {
                let (fewer, more) = ways.split_at_mut(chosen);
                for sum in rank..=most {
                    more[0][sum] += fewer[chosen - 1][sum - rank];
                }
            }
        }
        let distance = self.sum.abs_diff(self.expected());
        let of_all: f64 = ways[self.count].iter().sum();
        let is_as_far = |&(sum, _): &(usize, &f64)| sum.abs_diff(self.expected()) >= distance;
        let as_far: f64 = ways[self.count].iter().enumerate().filter(is_as_far).map(|w| w.1).sum();
        (as_far / of_all).min(1.0)
    }

    /// The normal approximation with corrections for ties and for whole numbers.
    fn approximate(&self) -> f64 {
        let (all, one) = (self.all.len() as f64, self.count as f64);
        let variance = one * (all - one) / 12.0 * (all + 1.0 - self.ties / (all * (all - 1.0)));
        let distance = self.sum.abs_diff(self.expected()) as f64 / 2.0 - 0.5;
        if variance <= 0.0 || distance <= 0.0 {
            return 1.0;
        }
        two_tails(distance / variance.sqrt())
    }
}

/// The probability that a standard normal number is further than `z` from 0, to 2·10⁻⁷ (Abramowitz
/// and Stegun, *Handbook of Mathematical Functions*, 1964, formula 7.1.26).
fn two_tails(z: f64) -> f64 {
    const COEFFICIENTS: [f64; 5] =
        [0.254_829_592, -0.284_496_736, 1.421_413_741, -1.453_152_027, 1.061_405_429];
    let x = z / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let polynomial =
        COEFFICIENTS.iter().rev().fold(0.0, |sum, coefficient| (sum + coefficient) * t);
    polynomial * (-x * x).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(a: &[f64], b: &[f64]) -> f64 {
        rank_test(&PerSide::new(a.to_vec(), b.to_vec())).expect("samples on both sides")
    }

    #[test]
    fn three_against_three_cannot_fall_below_a_tenth() {
        assert!((p(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]) - 0.1).abs() < 1e-12);
        assert_eq!(p(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]), 1.0);
    }

    #[test]
    fn four_against_five_agrees_with_the_printed_table() {
        // The first set holds ranks 1, 2, 3 and 5: 2 of the 126 choices sum to at most 11.
        assert!((p(&[1.0, 2.0, 3.0, 5.0], &[4.0, 6.0, 7.0, 8.0, 9.0]) - 4.0 / 126.0).abs() < 1e-12);
    }

    #[test]
    fn ties_share_their_rank() {
        // Of the 6 choices of two from 1, 2, 2, 3, the two outer sums lie as far out as 1 + 2.
        assert!((p(&[1.0, 2.0], &[2.0, 3.0]) - 4.0 / 6.0).abs() < 1e-12);
        assert_eq!(p(&[7.0; 5], &[7.0; 5]), 1.0);
    }

    #[test]
    fn many_samples_use_the_normal_distribution() {
        let a: Vec<f64> = (0..30).map(f64::from).collect();
        let b: Vec<f64> = a.iter().map(|sample| sample + 0.5).collect();
        let c: Vec<f64> = a.iter().map(|sample| sample + 20.0).collect();
        assert!(p(&a, &b) > 0.8);
        assert!(p(&a, &c) < 1e-6);
        assert_eq!(p(&a, &c), p(&c, &a));
        assert!((two_tails(1.959_964) - 0.05).abs() < 1e-6);
    }

    #[test]
    fn the_shift_is_the_median_difference() {
        let samples = PerSide::new(vec![1.0, 2.0, 100.0], vec![3.0, 4.0, 5.0]);
        assert_eq!(shift(&samples), Some(2.0));
        assert_eq!(shift(&PerSide::new(vec![], vec![1.0])), None);
    }

    #[test]
    fn rates_are_corrected_for_the_number_of_tests() {
        let rates = false_discovery_rates(&[0.01, 0.04, 0.03, 0.5]);
        let expected = [0.04, 0.04 * 4.0 / 3.0, 0.04 * 4.0 / 3.0, 0.5];
        for (rate, expected) in rates.iter().zip(expected) {
            assert!((rate - expected).abs() < 1e-12, "{rates:?}");
        }
    }
}
