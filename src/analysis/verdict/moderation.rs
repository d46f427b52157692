//! Improves the estimate of each call site's spread by taking the spreads of all other call sites into
//! account.
//!
//! With three repeats per side, the spread of a single call site is known only to within a factor of two, and
//! a test based only on this spread finds nothing. All call sites together show which spread is usual, and
//! how much the spreads of individual call sites vary around it. Each call site's variance is therefore moved
//! toward the usual variance, as if additional repeats with the usual variance had been measured. This is an
//! empirical Bayes method after Smyth, *Linear models and empirical Bayes methods for assessing differential
//! expression in microarray experiments*, Statistical Applications in Genetics and Molecular Biology 3 (2004)
//! 3. The times of short kernels have a larger relative spread than the times of long kernels, so the usual
//! variance is a function of the time (Law and others, *voom*, Genome Biology 15 (2014) R29: "limma-trend").
//!
//! ```text
//! s²  variance of a call site, d degrees of freedom  log s² = log s0²(time) + noise of d + noise of d0
//! s0² usual variance, worth d0 degrees of freedom
//! moderated variance   (d0·s0² + d·s²) / (d0 + d)    with d0 + d degrees of freedom
//! ```

use super::distributions::{digamma, inverse_trigamma, trigamma};
use super::trend::Trend;
use crate::order::Order as _;

/// Lower limit for variances, as a share of the median variance. With a coarse clock, some call sites have no
/// spread at all, and the logarithm of a zero spread would outweigh all other call sites.
const LEAST_SHARE: f64 = 1e-5;

/// Absolute lower limit for variances: the square of a relative difference of 1 in 100,000. No clock resolves
/// a difference this small.
const LEAST: f64 = 1e-10;

/// Minimum number of call sites required to estimate the usual spread.
const FEWEST: usize = 3;

/// Statistics of the log times of a call site.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    pub(super) mean: f64,
    /// Variance of the log times around the mean on each side.
    pub(super) variance: f64,
    /// Degrees of freedom of the variance; at least 1.
    pub(super) degrees: f64,
}

/// The usual spread, estimated from all call sites.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Prior {
    /// Logarithm of the usual variance, as a function of the mean log time; `None` if there are too few call
    /// sites.
    usual: Option<Trend>,
    /// Correction added to the trend, because the mean of logarithms is less than the logarithm of the mean.
    correction: f64,
    /// Weight of the usual variance, as a number of degrees of freedom; infinite if all call sites have the
    /// same spread.
    degrees: f64,
    /// Total degrees of freedom of all call sites, which is an upper limit for the degrees of freedom of a
    /// moderated spread.
    most: f64,
    least: f64,
}

impl Prior {
    /// Fits the prior to the spreads of all call sites.
    pub(super) fn of(spreads: &[Spread]) -> Prior {
        let mut sorted = spreads.to_vec();
        // Sorting makes the sums independent of the order of the call sites.
        sorted.order_by(|a, b| {
            let by = |pick: fn(&Spread) -> f64| pick(a).total_cmp(&pick(b));
            by(|s| s.mean).then(by(|s| s.variance)).then(by(|s| s.degrees))
        });
        let least = least_variance(&sorted);
        let most = sorted.iter().map(|spread| spread.degrees).sum();
        if sorted.len() < FEWEST {
            return Prior { usual: None, correction: 0.0, degrees: 0.0, most, least };
        }
        let usual = Trend::through(&sorted.iter().map(|s| s.point(least)).collect::<Vec<_>>());
        let excess = excess(&sorted, &usual, least);
        let degrees = if excess > 0.0 { 2.0 * inverse_trigamma(excess) } else { f64::INFINITY };
        let correction =
            if degrees.is_finite() { digamma(degrees / 2.0) - (degrees / 2.0).ln() } else { 0.0 };
        Prior { usual: Some(usual), correction, degrees, most, least }
    }

    /// Moves the spread of a call site toward the usual spread.
    pub(super) fn moderate(&self, spread: &Spread) -> Spread {
        let own = spread.variance.max(self.least);
        let Some(usual) = &self.usual else { return Spread { variance: own, ..*spread } };
        let usual = (usual.at(spread.mean) + self.correction).exp();
        let degrees = (self.degrees + spread.degrees).min(self.most.max(spread.degrees));
        let variance = if self.degrees.is_finite() {
            (self.degrees * usual + spread.degrees * own) / (self.degrees + spread.degrees)
        } else {
            usual
        };
        Spread { mean: spread.mean, variance, degrees }
    }

    /// Like [`Prior::moderate`], but the result has at least the usual variance. A machine may stall in some
    /// runs but not in others. Therefore, even if a call site takes about the same time in the few runs on a
    /// side, the next run may differ.
    pub(super) fn moderate_runs(&self, spread: &Spread) -> Spread {
        let moderated = self.moderate(spread);
        let usual = self
            .usual
            .as_ref()
            .map_or(0.0, |usual| (usual.at(spread.mean) + self.correction).exp());
        Spread { variance: moderated.variance.max(usual), ..moderated }
    }
}

impl Spread {
    /// A point to which the trend is fitted: the mean log time and the log variance of a call site. The log
    /// variance is corrected for the bias that few degrees of freedom cause.
    fn point(&self, least: f64) -> (f64, f64) {
        let half = self.degrees / 2.0;
        (self.mean, self.variance.max(least).ln() - digamma(half) + half.ln())
    }
}

fn least_variance(spreads: &[Spread]) -> f64 {
    let variances: Vec<f64> = spreads.iter().map(|spread| spread.variance).collect();
    (LEAST_SHARE * crate::analysis::robust::median(&variances)).max(LEAST)
}

/// Scatter of the log variances around the trend, minus the scatter that is expected from the degrees of
/// freedom alone.
fn excess(spreads: &[Spread], usual: &Trend, least: f64) -> f64 {
    let count = spreads.len() as f64;
    let distance = |spread: &Spread| {
        let (mean, variance) = spread.point(least);
        variance - usual.at(mean)
    };
    let found: f64 = spreads.iter().map(|spread| distance(spread).powi(2)).sum();
    let expected: f64 = spreads.iter().map(|spread| trigamma(spread.degrees / 2.0)).sum();
    found / (count - usual.parameters).max(1.0) - expected / count
}
